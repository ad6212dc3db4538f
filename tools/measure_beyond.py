"""What chapters 15 and 16 read: two-object scenes and decomposability, for every trained encoder at hand.

    python tools/measure_beyond.py                     # what is still missing
    python tools/measure_beyond.py --zoo FOLDER        # trained encoders of another folder than the cache's
    python tools/measure_beyond.py --only vicreg-s0    # one encoder

Measures the trainings of the zoo's protocol that are in the folder (`bindery zoo run`), the untrained network of
each seed, the EfficientNets that ship in packages, one of them untrained, pixels and two oracle codes. Writes
``results/two_objects.parquet`` and ``results/decomposability.parquet`` after every encoder; a row is kept while its
weights, its settings and the code that measured it stay the same. About four CPU seconds for an encoder of the
zoo, one to two CPU minutes for an EfficientNet.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from numpy.typing import ArrayLike

from bindery import beyond, pair_sets, protocol, provenance, slot_codes, swap, two_objects
from bindery import scenes as sc
from bindery.encoders import Encoder, embed, fingerprint, load
from bindery.encoders.build import seeded
from bindery.paths import cache_dir, results_dir
from bindery.zoo import release
from bindery.zoo.backbone import build_backbone

FILES = {"two_objects": "two_objects.parquet", "decomposability": "decomposability.parquet"}
SEEDS = {"two_objects": 161130, "decomposability": 151130}
# EfficientNets read 224 pixels and more: fewer contents and renderings of the same sets.
SMALL: dict[str, Any] = {"renderings": 8}
LARGE: dict[str, Any] = {"renderings": 4, "shapes": two_objects.SHAPES[:3]}
# Flips in training ask an encoder to ignore left and right; above and below they leave alone.
CELLS = (("left", "right"), ("top", "bottom"))
LARGE_DUOS = ("handshake", "men-holding-hands", "women-holding-hands")
EFFICIENTNETS: tuple[tuple[str, Literal["pretrained", "random"]], ...] = (
    ("efficientnet-lite0", "pretrained"), ("efficientnet-lite1", "pretrained"), ("efficientnet-lite2", "pretrained"),
    ("efficientnet-lite0", "random"),
)  # fmt: skip
Set = two_objects.TwoObjects | pair_sets.PairSet
Embed = Callable[[Set], ArrayLike]


@cache
def sets(part: str, size: int) -> tuple[Set, ...]:
    """The image sets of a part, for images of ``size`` pixels."""
    seed, large = SEEDS[part], size > 100
    if part == "two_objects":
        how = LARGE if large else SMALL
        beside, above = (two_objects.scene_set(seed=seed, size=size, cells=cells, **how) for cells in CELLS)
        duos = LARGE_DUOS if large else two_objects.DUOS
        return beside, two_objects.duo_set(how["renderings"], seed=seed, duos=duos), above
    emoji = pair_sets.emoji_pairs(seed=seed)
    place = pair_sets.scene_pairs("place", 4 if large else 12, seed=seed, size=size)
    if large:
        return place, emoji
    return place, pair_sets.scene_pairs("colour", seed=seed, size=size), emoji


@cache
def pixels(part: str, number: int) -> np.ndarray:
    """A set's images at 32 pixels, (N, 3, 32, 32) in [0, 1]: what every encoder of the zoo reads."""
    dataset = sets(part, 32)[number]
    read = release.load(next(iter(release.cards()))).preprocess
    return np.asarray(read([dataset.images[i] for i in range(len(dataset.images))]))


def small(function: Callable[[np.ndarray], ArrayLike]) -> Embed:
    """A function of pixel arrays as a function of sets."""

    def rows(dataset: Set) -> ArrayLike:
        part = "two_objects" if isinstance(dataset, two_objects.TwoObjects) else "decomposability"
        return function(pixels(part, sets(part, 32).index(dataset)))

    return rows


def large(network: Encoder) -> Embed:
    return lambda dataset: embed(network, dataset.images, batch_size=8, progress=False)


def oracle(kind: str) -> Embed:
    """Codes of rendered two-object scenes: the bag of values, or shapes and colours each with its place."""

    def rows(dataset: Set) -> ArrayLike:
        assert isinstance(dataset, two_objects.TwoObjects) and dataset.scenes is not None
        scenes = dataset.scenes
        if kind == "bag":
            return sc.bag_labels(scenes)
        slots = np.eye(len(sc.SHAPES))[scenes.shape], np.eye(len(sc.COLOURS))[scenes.colour]
        return np.hstack([part.reshape(len(part), -1) for part in slots])

    return rows


def entries(folder: Path) -> Iterator[tuple[dict[str, Any], int, Callable[[], Embed]]]:
    """What tells an encoder, its image size, and how to load it."""
    codes: dict[str, Callable[[], Embed]] = {
        "pixels": partial(small, flat), "oracle-bag": partial(oracle, "bag"), "oracle-slots": partial(oracle, "slots"),
    }  # fmt: skip
    for name, make in codes.items():
        told = {
            "name": name,
            "family": "baseline",
            "objective": name,
            "condition": "none",
            "weights_sha256": "",
        }
        yield told, 32, make
    plan = protocol.read()
    for seed in plan.seeds:
        told = {"name": f"random-s{seed}", "family": "random", "objective": "random", "condition": "none"}
        yield told | {"seed": seed, "weights_sha256": ""}, 32, partial(untrained, seed)
    found = release.cards(folder)
    kinds = ((o, c, s) for s in plan.seeds for c in plan.conditions for o in plan.objectives)
    for name in (protocol.run_name(plan.config(*kind)) for kind in kinds):
        if name in found:
            card = found[name]
            told = {key: getattr(card, key) for key in ("name", "family", "objective", "condition", "seed")}
            yield told | {"weights_sha256": card.sha256}, 32, partial(trained, name, folder)
    for name, weights in EFFICIENTNETS:
        network = load(name, weights=weights)
        told = {
            "name": name if weights == "pretrained" else f"{name}, untrained",
            "objective": "ImageNet labels",
        }
        told |= {"family": "supervised" if weights == "pretrained" else "random", "condition": "ImageNet"}
        yield told | {"weights_sha256": network.weights_sha256}, network.input_size, partial(large, network)


def flat(images: np.ndarray) -> ArrayLike:
    return images.reshape(len(images), -1)


def untrained(seed: int) -> Embed:
    with seeded(seed):
        return small(protocol.embedder(build_backbone("resnet").eval().requires_grad_(False)))


def trained(name: str, folder: Path) -> Embed:
    return small(protocol.embedder(release.load(name, folder=folder).module))


def measured_by(part: str) -> str:
    """Hash of the code that makes the numbers of a part, less comments, and of the settings here."""
    modules = (beyond, two_objects) if part == "two_objects" else (pair_sets,)
    code = [
        fingerprint.normal_form(Path(str(m.__file__)).read_text("utf-8"))
        for m in (slot_codes, swap, *modules)
    ]
    return provenance.sha256_json([code, SEEDS[part], SMALL, LARGE, LARGE_DUOS, CELLS])[:16]


def rows_of(
    part: str, told: dict[str, Any], size: int, make: Callable[[], Embed], there: set[str]
) -> list[dict[str, Any]]:
    """Rows of one encoder for the image sets that are not ``there`` yet."""
    rows, function = [], None
    for dataset in sets(part, size):
        if dataset.name in there or (told["name"].startswith("oracle") and not _has_scenes(dataset)):
            continue
        function = function or make()
        made = np.asarray(function(dataset))
        if isinstance(dataset, two_objects.TwoObjects):
            row = beyond.two_objects_row(made, dataset, seed=SEEDS[part])
        else:
            row = pair_sets.decomposability(made, dataset, seed=SEEDS[part])
        digits = {
            key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in row.items()
        }
        rows.append(told | {"data": dataset.name, "size": size, "dim": made.shape[1]} | digits)
    return rows


def _has_scenes(dataset: Set) -> bool:
    return isinstance(dataset, two_objects.TwoObjects) and dataset.scenes is not None


def read(path: Path) -> list[dict[str, Any]]:
    return [dict(row) for row in pd.read_parquet(path).to_dict("records")] if path.exists() else []  # type: ignore[misc]


def save(path: Path, part: str, rows: list[dict[str, Any]]) -> None:
    told = {"about": __doc__, "command": "python tools/measure_beyond.py", "commit": provenance.commit()}
    told |= {"seed": SEEDS[part], "versions": provenance.versions()}  # type: ignore[dict-item]
    table = pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False)
    metadata = {**(table.schema.metadata or {}), b"bindery": json.dumps(told).encode()}
    half = path.with_suffix(".tmp")
    pq.write_table(table.replace_schema_metadata(metadata), half)
    half.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--zoo", type=Path, default=None, help="folder of trained encoders; default: the cache"
    )
    parser.add_argument("--only", action="append", default=[], help="name of an encoder")
    options = parser.parse_args()
    torch.set_num_threads(1)
    order = [told["name"] for told, *_ in entries(options.zoo or cache_dir("zoo"))]
    for part, file in FILES.items():
        path, code = results_dir() / file, measured_by(part)
        rows = [row for row in read(path) if row["measured_by"] == code and row["name"] in order]
        for told, size, make in entries(options.zoo or cache_dir("zoo")):
            told = told | {"measured_by": code}
            if options.only and told["name"] not in options.only:
                continue
            same = [row for row in rows if all(row.get(key) == value for key, value in told.items())]
            started = time.process_time()
            more = rows_of(part, told, size, make, {row["data"] for row in same})
            if not more:
                continue
            rows = [row for row in rows if row["name"] != told["name"]] + same + more
            rows.sort(key=lambda row: order.index(row["name"]))
            save(path, part, rows)
            print(part, told["name"], f"{time.process_time() - started:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
