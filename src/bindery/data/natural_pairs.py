"""Readers of UT-Zappos and MIT-States in the ``compositional-split-natural`` layout."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bindery.data import where
from bindery.data.composition import CompositionDataset
from bindery.data.folder import from_files
from bindery.errors import DataError

METADATA = "metadata_compositional-split-natural.t7"
PAIRS = "compositional-split-natural"
# Attributes, objects, pairs (train, val, test, any), images (train, val, test); Paper G, Sec. 5.
COUNTS = {
    "ut-zappos": (16, 12, 83, 30, 36, 116, 22998, 3214, 2914),
    "mit-states": (115, 245, 1262, 600, 800, 1962, 30338, 10420, 12995),
}


def ut_zappos(
    root: str | Path | None = None, *, check_counts: bool = True, bad: str = "raise"
) -> CompositionDataset:
    """UT-Zappos: attribute material, object kind of shoe; its natural split is ``split(by="official")``."""
    return read_natural("ut-zappos", root, check_counts=check_counts, bad=bad)


def mit_states(
    root: str | Path | None = None, *, check_counts: bool = True, bad: str = "raise"
) -> CompositionDataset:
    """MIT-States: attribute state, object noun; its natural split is ``split(by="official")``."""
    return read_natural("mit-states", root, check_counts=check_counts, bad=bad)


def read_natural(
    key: str, root: str | Path | None, *, check_counts: bool = True, bad: str = "raise"
) -> CompositionDataset:
    """Images, pair lists and metadata of one data set; rows without a pair or outside the lists are skipped.

    Parameters
    ----------
    root : path, optional
        Folder with ``images/``, ``compositional-split-natural/`` and the ``.t7`` file. Never changed.
    check_counts : bool
        Compare attributes, objects, pairs and images with the published counts.
    bad : {"raise", "skip"}
        What to do with a damaged image.

    Raises
    ------
    DataError
        Something is missing, holds code, or has the wrong count.
    """
    folder = where.find(key, root)
    images, lists, metadata = where.require(key, folder, "images", PAIRS, METADATA)
    pairs = {part: read_pairs(key, lists / f"{part}_pairs.txt") for part in ("train", "val", "test")}
    rows = [row for row in read_metadata(metadata) if _used(row, pairs)]
    if not rows:
        raise DataError(f"{key}: no image of {metadata} belongs to a listed pair; get the splits again")
    official = [str(row["set"]) for row in rows]
    if check_counts and not where.rehearsing():
        _check(key, pairs, official)
    paths = locate(key, images, rows)
    labels = {"attribute": [row["attr"] for row in rows], "object": [row["obj"] for row in rows]}
    ids = [str(row["image"]) for row in rows]
    return from_files(
        key,
        images,
        paths,
        labels,
        bad=bad,
        sources={"file": ids},
        official=official,
        credit=where.credit(key),
    )


def read_pairs(key: str, path: Path) -> set[tuple[str, str]]:
    """Pairs of a text file with one ``attribute object`` a line."""
    if not path.exists():
        raise DataError(where.missing(key, f"{path.name} in {path.parent}"))
    found = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            words = line.split()
            if len(words) != 2:
                raise DataError(f"{path}, line {number}: expected 'attribute object', got {line!r}")
            found.add((words[0], words[1]))
    return found


def read_metadata(path: Path) -> list[dict[str, Any]]:
    """The list of dictionaries in a ``.t7`` file, read without running anything stored in it."""
    import torch  # slow to import, and needed here only

    try:
        rows = torch.load(path, weights_only=True, map_location="cpu")
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise DataError(
            f"{path} is damaged or holds more than plain values, and is not opened; get the splits again"
        ) from error
    fields = {"image", "attr", "obj", "set"}
    if not isinstance(rows, list) or not all(isinstance(row, dict) and fields <= set(row) for row in rows):
        raise DataError(f"{path}: expected a list of dictionaries with {', '.join(sorted(fields))}")
    return rows


def locate(key: str, images: Path, rows: Iterable[dict[str, Any]]) -> list[Path]:
    """The file of every row, in the publisher's folders or the prepared ``<attribute>_<object>/``.

    Folder names may have spaces or underscores; UT-Zappos may keep its own tree, named by ``_image``.
    """
    files = {p.relative_to(images).as_posix().replace(" ", "_"): p for p in images.rglob("*") if p.is_file()}
    paths, lost = [], []
    for row in rows:
        name = Path(str(row["image"])).name
        options = (str(row["image"]), f"{row['attr']}_{row['obj']}/{name}", str(row.get("_image", "")))
        found = next((files[o] for o in (option.replace(" ", "_") for option in options) if o in files), None)
        if found is None:
            lost.append(str(row["image"]))
        else:
            paths.append(found)
    if lost:
        raise DataError(where.missing(key, f"{len(lost):,} images below {images} (such as {lost[0]})"))
    return paths


def _used(row: dict[str, Any], pairs: dict[str, set[tuple[str, str]]]) -> bool:
    part = row["set"]
    return row["attr"] != "NA" and part in pairs and (row["attr"], row["obj"]) in pairs[part]


def _check(key: str, pairs: dict[str, set[tuple[str, str]]], official: list[str]) -> None:
    every = set().union(*pairs.values())
    parts = np.array(official)
    found = (
        len({a for a, _ in every}), len({o for _, o in every}),
        len(pairs["train"]), len(pairs["val"]), len(pairs["test"]), len(every),
        *(int((parts == part).sum()) for part in ("train", "val", "test")),
    )  # fmt: skip
    names = (
        "attributes", "objects", "training pairs", "validation pairs", "test pairs", "pairs",
        "training images", "validation images", "test images",
    )  # fmt: skip
    for what, count, expected in zip(names, found, COUNTS[key], strict=True):
        where.check_count(key, what, count, expected)
