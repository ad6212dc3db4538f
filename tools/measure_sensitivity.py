"""Sensitivity of the ImageNet encoders that ship in packages: singular values, trained and untrained.

    python tools/measure_sensitivity.py                             # everything that is still missing
    python tools/measure_sensitivity.py --only efficientnet-lite0   # one encoder

Range finder with k = 32 and 5 power rounds (the sketch of the same directions beside it) at photographs of
scikit-image and at Gaussian noise, for the embedding; then for each block of the smallest network, averaged
over places, and for the last map unpooled. Writes ``results/sensitivity.json`` after every step. About half a
minute of one core each, half an hour in all. Chapters 10 and 12 compute a sketch again and compare.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from bindery import provenance
from bindery.data import photographs
from bindery.encoders import load
from bindery.jacobian import noise_images, singular_values
from bindery.paths import results_dir

K, ROUNDS = 32, 5
PHOTOS = ("astronaut", "cat", "coffee", "rocket")
ENCODERS = ("efficientnet-lite0", "efficientnet-lite2", "efficientnet-lite1")
WEIGHTS: tuple[Literal["pretrained", "random"], ...] = ("pretrained", "random")


@dataclass(frozen=True)
class Step:
    """One Jacobian: the embedding's (module empty) or that of a block."""

    encoder: str
    weights: Literal["pretrained", "random"]
    image: str
    module: str = ""
    token: Literal["auto", "all"] = "auto"


def steps() -> Iterator[Step]:
    """The smallest network first, then its depth, then the others."""
    first = ENCODERS[0]
    for image in (*PHOTOS[:2], "noise"):
        yield from (Step(first, weights, image) for weights in WEIGHTS)
    for block in range(7):
        yield from (Step(first, weights, PHOTOS[0], f"blocks.{block}") for weights in WEIGHTS)
    yield from (Step(first, weights, PHOTOS[0], "bn2", "all") for weights in WEIGHTS)
    yield from (Step(first, weights, image) for image in PHOTOS[2:] for weights in WEIGHTS)
    yield from (Step(name, weights, PHOTOS[0]) for name in ENCODERS[1:] for weights in WEIGHTS)
    yield from (Step(name, weights, PHOTOS[1]) for name in ENCODERS[1:] for weights in WEIGHTS)


def measure(step: Step) -> dict[str, Any]:
    """One record."""
    wall, cpu = time.perf_counter(), time.process_time()
    encoder = load(step.encoder, weights=step.weights, seed=0)
    shown = photographs()
    image: Any = (
        next(noise_images(1, encoder.input_size))
        if step.image == "noise"
        else shown[shown.names.index(step.image)]
    )
    index = (*PHOTOS, "noise").index(step.image)
    found = singular_values(
        encoder,
        image,
        K,
        "range_finder",
        ROUNDS,
        seed=(0, index),
        module=step.module or None,
        token=step.token,
    )
    assert found.sketch is not None
    return asdict(step) | {
        "weight_seed": 0,
        "dim": found.shape[0],
        "range_finder": [float(f"{value:.6g}") for value in found.values],
        "sketch": [float(f"{value:.6g}") for value in found.sketch],
        "seconds": round(time.perf_counter() - wall, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "commit": provenance.commit(),
    }


def save(path: Path, records: list[dict[str, Any]]) -> None:
    content = {
        "about": "Singular values of input Jacobians; see tools/measure_sensitivity.py.",
        "protocol": {
            "k": K, "rounds": ROUNDS, "directions": "seed (0, number of the image)", "images": list(PHOTOS),
            "input": "the encoder's own preprocessing", "random": "weight seed 0, batch-norm statistics 0 and 1",
            "noise": "standard normal input", "blocks": "map averaged over places; bn2: last map, not averaged",
        },
        "provenance": {"command": "python tools/measure_sensitivity.py", "commit": provenance.commit(),
                       "versions": provenance.versions()},
        "records": records,
    }  # fmt: skip
    half = path.with_suffix(".tmp")
    half.write_text(json.dumps(content, indent=1) + "\n")
    half.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", default=[], help="encoder name")
    options = parser.parse_args()
    torch.set_num_threads(1)
    path = results_dir() / "sensitivity.json"
    records = json.loads(path.read_text())["records"] if path.exists() else []
    names = list(Step.__dataclass_fields__)
    done = {tuple(record[name] for name in names) for record in records}
    for step in steps():
        if tuple(asdict(step).values()) in done or (options.only and step.encoder not in options.only):
            continue
        records.append(measure(step))
        save(path, records)
        print(step, f"{records[-1]['cpu_seconds']:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
