"""Tiny folders in the true layout of each data set, for tests and rehearsals: true names, noise inside."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng
from PIL import Image

from bindery.data.image_sets import SUGAR_CREPE
from bindery.errors import InputError

SIDE = 64


def true_layout(kind: str, folder: str | Path, n: int = 8, *, seed: int = 0) -> Path:
    """Write ``n`` small images with their lists, named and laid out like data set ``kind``.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    folder : path
        Made when absent; complete or not there at all, whatever interrupts.
    n : int, at least 8
        Number of images; "cue-conflict" has at least 16, "waterbirds" and "celeba" at least 12.

    Returns
    -------
    Path
        ``folder``, ready for the reader with ``check_counts=False``.
    """
    if kind not in KINDS:
        raise InputError(f"no layout {kind!r}; known: {', '.join(KINDS)}")
    if n < 8:
        raise InputError(f"a layout needs at least 8 images, not {n}")
    target = Path(folder)
    if target.is_dir():
        return target
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    KINDS[kind](partial, n, default_rng(seed))
    try:
        partial.rename(target)
    except OSError:  # another process was first
        shutil.rmtree(partial)
    return target


def _picture(path: Path, rng: Generator) -> None:
    """A soft random picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    small = Image.fromarray(rng.integers(0, 256, (5, 5, 3), dtype=np.uint8))
    small.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(path)


def _natural(folder: Path, n: int, rng: Generator, states: tuple[str, ...], things: tuple[str, ...]) -> None:
    """Three seen pairs; the fourth, made of seen values, is in validation and test only."""
    import torch  # slow to import, and needed here only

    grid = [(state, thing) for state in states for thing in things]
    seen, unseen = grid[:-1], grid[-1]
    lists = {"train": seen, "val": [seen[0], unseen], "test": [seen[0], seen[1], unseen]}
    parts = [("train", pair) for pair in seen] + [("val", p) for p in lists["val"]]
    parts += [("test", p) for p in lists["test"]]
    rows = []
    for i in range(n):
        part, (state, thing) = parts[i % len(parts)]
        image = f"{state}_{thing}/{i:05d}.jpg"
        _picture(folder / "images" / image, rng)
        rows.append({"image": image, "attr": state, "obj": thing, "set": part, "_image": f"x/{i}.jpg"})
    rows.append({"image": "x/none.jpg", "attr": "NA", "obj": "NA", "set": "NA", "_image": "x/none.jpg"})
    split = folder / "compositional-split-natural"
    split.mkdir()
    for part, pairs in lists.items():
        (split / f"{part}_pairs.txt").write_text("".join(f"{a} {o}\n" for a, o in pairs))
    torch.save(rows, folder / "metadata_compositional-split-natural.t7")


def _mit_states(folder: Path, n: int, rng: Generator) -> None:
    _natural(folder, n, rng, ("ripe", "sliced"), ("apple", "tomato"))


def _ut_zappos(folder: Path, n: int, rng: Generator) -> None:
    _natural(folder, n, rng, ("Leather", "Suede"), ("Boots.Ankle", "Shoes.Flats"))


def _waterbirds(folder: Path, n: int, rng: Generator) -> None:
    """At least 12: every group in every part, so that the worst group exists."""
    rows = []
    for i in range(max(n, 12)):
        y, place, part = i % 2, (i // 2) % 2, (i // 4) % 3
        name = ("001.Black_footed_Albatross", "002.Laysan_Albatross")[y] + f"/Bird_{i:04d}.jpg"
        _picture(folder / name, rng)
        rows.append((i + 1, name, y, part, place, f"/x/place_{i}.jpg"))
    columns = ["img_id", "img_filename", "y", "split", "place", "place_filename"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "metadata.csv", index=False)


def _celeba(folder: Path, n: int, rng: Generator) -> None:
    """At least 12, as Waterbirds."""
    n = max(n, 12)
    names = [f"{i + 1:06d}.jpg" for i in range(n)]
    for name in names:
        _picture(folder / "img_align_celeba" / "img_align_celeba" / name, rng)
    sign = [(-1, 1)[i % 2] for i in range(n)]
    blond = [(-1, 1)[(i // 2) % 2] for i in range(n)]
    frame = pd.DataFrame({"image_id": names, "Blond_Hair": blond, "Male": sign, "Young": 1})
    frame.to_csv(folder / "list_attr_celeba.csv", index=False)
    part = [(i // 4) % 3 for i in range(n)]
    pd.DataFrame({"image_id": names, "partition": part}).to_csv(
        folder / "list_eval_partition.csv", index=False
    )


def _cue_conflict(folder: Path, n: int, rng: Generator) -> None:
    """At least 16: two contents by two textures for every pair, so that a split by source is possible."""
    for i in range(max(n, 16)):
        shape, texture = ("cat", "car")[i % 2], ("dog", "clock")[(i // 2) % 2]
        content, style = i // 8 + 1, (i // 4) % 2 + 1
        _picture(folder / shape / f"{shape}{content}-{texture}{style}.png", rng)


def _imagenet_val(folder: Path, n: int, rng: Generator) -> None:
    for i in range(n):
        wnid = ("n01440764", "n01443537")[i % 2]
        _picture(folder / wnid / f"ILSVRC2012_val_{i + 1:08d}.JPEG", rng)


def _sugar_crepe(folder: Path, n: int, rng: Generator) -> None:
    """Every category, over the images that the COCO layout of the same ``n`` has."""
    for k, category in enumerate(SUGAR_CREPE):
        entries = {
            str(i): {
                "filename": _coco_name((i + k) % n),
                "caption": f"A red ball lies on {i + 2} blue boxes.",
                "negative_caption": f"A blue ball lies on {i + 2} red boxes.",
            }
            for i in range(n)
        }
        (folder / f"{category}.json").write_text(json.dumps(entries))


def _coco(folder: Path, n: int, rng: Generator) -> None:
    for i in range(n):
        _picture(folder / "val2017" / _coco_name(i), rng)


def _coco_name(i: int) -> str:
    return f"{100 + i:012d}.jpg"


KINDS: dict[str, Callable[[Path, int, Generator], None]] = {
    "mit-states": _mit_states,
    "ut-zappos": _ut_zappos,
    "waterbirds": _waterbirds,
    "celeba": _celeba,
    "cue-conflict": _cue_conflict,
    "imagenet-val": _imagenet_val,
    "sugar-crepe": _sugar_crepe,
    "coco": _coco,
}
