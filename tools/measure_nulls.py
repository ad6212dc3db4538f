"""JER of randomly initialised networks: the null of every distinct architecture of the reconstructed suite.

    python tools/measure_nulls.py                    # everything that is still missing, cheapest first
    python tools/measure_nulls.py --estimate         # what each architecture would cost, nothing measured
    python tools/measure_nulls.py --only vit-s16     # one architecture
    python tools/measure_nulls.py --merge part.json  # take over what another process or machine wrote with --out

About two hours of one core in all, up to five minutes a step for the largest. Writes
``results/jer_null.json`` after every (architecture, weight seed, image); stopping loses one such step.
Two weight seeds by four photographs of scikit-image, one by two for networks above 200 million parameters;
encoders that share an architecture share its null. Where D <= 512 the exact Jacobian costs no more than the
range finder, so it is formed and all three estimates come from it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
import timm
import torch
from PIL import Image

from bindery import provenance
from bindery.encoders import Card, Preprocess, load_card, suite
from bindery.encoders.build import seeded
from bindery.jacobian import (
    KINDS,
    DenseMap,
    Linearization,
    SingularValues,
    effective_rank,
    estimate,
    full_jacobian,
    linearize,
    noise_images,
    rank_free_of_k,
)
from bindery.paths import results_dir

K, ROUNDS, EXACT_UP_TO = 32, 5, 512
PHOTOS = ("astronaut", "chelsea", "coffee", "rocket")
WIDTHS = (64, 128, 256, 512, 1024)
LARGE_M = 200.0


@dataclass(frozen=True)
class Architecture:
    """What is initialised at random, and the encoders that have this null in common."""

    name: str
    encoders: tuple[str, ...]
    size_m: float
    preprocess: Preprocess
    build: Callable[[int], torch.nn.Module]

    def module(self, seed: int, dtype: str) -> torch.nn.Module:
        return self.build(seed).to(getattr(torch, dtype)).eval()


@dataclass(frozen=True)
class Step:
    """One Jacobian to measure."""

    architecture: Architecture
    seed: int
    image: str
    dtype: str

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.architecture.name, self.seed, self.image, self.dtype


def suite_architectures() -> list[Architecture]:
    """The distinct ones, smallest first."""
    groups: dict[tuple[str, str, str], list[Card]] = {}
    for card in suite("paper-s"):
        groups.setdefault((card.architecture, card.pooling, card.feature), []).append(card)
    found = [
        Architecture(
            name=cards[0].architecture,
            encoders=tuple(card.name for card in cards),
            size_m=cards[0].parameters_m,
            preprocess=cards[0].preprocess,
            build=lambda seed, card=cards[0]: load_card(card, weights="random", seed=seed).module,
        )
        for cards in groups.values()
    ]
    return sorted(found, key=lambda a: (a.size_m > LARGE_M, a.size_m))


def width_architectures() -> list[Architecture]:
    """One vision transformer at several widths, for the dependence on D alone."""

    def build(width: int, seed: int) -> torch.nn.Module:
        with seeded(seed):
            return timm.create_model(
                "vit_base_patch32_224", num_classes=0, embed_dim=width, num_heads=max(1, width // 64)
            ).requires_grad_(False)

    return [
        Architecture(
            f"vit_patch32_224 width {width}", (), 12e-6 * 12 * width**2, Preprocess(),
            lambda seed, width=width: build(width, seed),
        )
        for width in WIDTHS
    ]  # fmt: skip


def steps() -> Iterator[Step]:
    """In rounds, so that every architecture has some values before any has all."""
    architectures, widths = suite_architectures(), width_architectures()
    small = [a for a in architectures if a.size_m <= LARGE_M]
    large = [a for a in architectures if a.size_m > LARGE_M]
    for round_, (image, seed) in enumerate((image, seed) for image in PHOTOS for seed in (0, 1)):
        yield from (Step(a, seed, image, dtype_of(a)) for a in small)
        if round_ == 1:
            yield from (Step(a, 0, photo, "float32") for a in widths for photo in PHOTOS[:2])
            # The same step in both precisions shows what bfloat16 costs in accuracy.
            checked = [a for a in small if a.size_m < 30]
            yield from (Step(a, 0, PHOTOS[0], other(dtype_of(a))) for a in checked)
            yield from (Step(a, 0, "noise", dtype_of(a)) for a in checked)
        if round_ in (1, 3):
            yield from (Step(a, 0, PHOTOS[round_ // 2], "bfloat16") for a in large)


def dtype_of(architecture: Architecture) -> str:
    """bfloat16 but for ResNet-50, whose ReLU masks may flip when rounded; its pair shows that this costs little.

    The ResNet-50 of twice the width is measured in bfloat16 on the strength of that pair.
    """
    return "float32" if architecture.name == "resnet50" else "bfloat16"


def other(dtype: str) -> str:
    return "bfloat16" if dtype == "float32" else "float32"


def point(architecture: Architecture, image: str) -> torch.Tensor:
    if image == "noise":
        return next(noise_images(1, architecture.preprocess.size))
    return architecture.preprocess([Image.fromarray(getattr(skimage.data, image)())])


def measure(step: Step, module: torch.nn.Module) -> dict[str, Any]:
    """One record: singular values by every method that is affordable."""
    wall, cpu = time.perf_counter(), time.process_time()
    linear = linearize(module, point(step.architecture, step.image))
    seed = (0, (*PHOTOS, "noise").index(step.image))
    exact: SingularValues | None = None
    if linear.shape[0] <= EXACT_UP_TO:
        dense = DenseMap(full_jacobian(linear).matrix.float())
        exact = estimate(dense, K, "exact")
        found = estimate(dense, K, "range_finder", ROUNDS, seed=seed)
    else:
        found = estimate(linear, K, "range_finder", ROUNDS, seed=seed)
    assert found.sketch is not None
    record: dict[str, Any] = {
        "architecture": step.architecture.name,
        "weight_seed": step.seed,
        "image": step.image,
        "dtype": step.dtype,
        "dim": linear.shape[0],
        "range_finder": _short(found.values),
        "sketch": _short(found.sketch),
        "exact": _short(exact.values) if exact else None,
        "seconds": round(time.perf_counter() - wall, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "threads": torch.get_num_threads(),
        "commit": provenance.commit(),
    }
    return record


def _short(values: np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def summary(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row an architecture and precision: means over photographs and weight seeds, sd over all."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        if record["image"] != "noise":
            groups.setdefault((record["architecture"], record["dtype"]), []).append(record)
    shared = {a.name: list(a.encoders) for a in suite_architectures()}
    rows = []
    for (name, dtype), members in groups.items():
        row: dict[str, Any] = {
            "architecture": name,
            "encoders": shared.get(name, []),
            "dtype": dtype,
            "dim": members[0]["dim"],
            "n": len(members),
            "weight_seeds": len({m["weight_seed"] for m in members}),
        }
        for method in ("range_finder", "sketch", "exact"):
            if any(m[method] is None for m in members):
                continue
            for kind in KINDS:
                values = np.array([effective_rank(m[method], kind) for m in members])
                row[f"{method}_{kind}"] = round(float(values.mean()), 4)
                row[f"{method}_{kind}_sd"] = round(float(values.std(ddof=1)), 4) if len(values) > 1 else None
        sketches = np.array([effective_rank(m["sketch"], "pr_variance") for m in members])
        row["r_hat"] = round(rank_free_of_k(sketches, K), 2)
        rows.append(row)
    return rows


def key_of(record: dict[str, Any]) -> tuple[str, int, str, str]:
    return record["architecture"], record["weight_seed"], record["image"], record["dtype"]


def merged(records: list[dict[str, Any]], parts: list[Path]) -> list[dict[str, Any]]:
    """Records and those of other files, each step once, in the order of `steps`; the first file to have a step wins."""
    found = {key_of(record): record for record in records}
    for part in parts:
        try:
            content = json.loads(part.read_text())
            measured_with = content["protocol"]["k"], content["protocol"]["rounds"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SystemExit(f"{part} is no file that --out wrote ({error!r}); give one") from error
        if measured_with != (K, ROUNDS):
            raise SystemExit(f"{part} was measured with another k or number of rounds; measure it again")
        for record in content["records"]:
            found.setdefault(key_of(record), record)
    order = {step.key: index for index, step in enumerate(steps())}
    if strange := sorted(set(found) - set(order)):
        raise SystemExit(f"a record is no step of the protocol: {strange[0]}; remove it")
    return [found[key] for key in sorted(found, key=order.__getitem__)]


def save(path: Path, records: list[dict[str, Any]]) -> None:
    content = {
        "about": "Singular values of input Jacobians at random initialisation; see tools/measure_nulls.py.",
        "protocol": {
            "k": K, "rounds": ROUNDS, "oversample": 0, "input": "normalised 224 px", "images": list(PHOTOS),
            "weights": "library default initialisation, eval mode, batch-norm statistics 0 and 1",
            "noise": "standard normal input",
        },
        "provenance": {"command": "python tools/measure_nulls.py", "commit": provenance.commit(),
                       "versions": provenance.versions()},
        "summary": summary(records),
        "records": records,
    }  # fmt: skip
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    temporary.replace(path)


def seconds_expected(linear: Linearization) -> float:
    """From one chunk each way."""
    k = min(linear.chunk, 8)
    linear = Linearization(linear.function, linear.point, linear.shape[0], k)
    ones = torch.ones(k, linear.shape[1], dtype=linear.dtype) * 1e-3
    start = time.perf_counter()
    linear.vjp(torch.ones(k, linear.shape[0], dtype=linear.dtype))
    backward = (time.perf_counter() - start) / k
    if linear.shape[0] <= EXACT_UP_TO:
        return backward * linear.shape[0]
    start = time.perf_counter()
    linear.jvp(ones)
    return (backward + (time.perf_counter() - start) / k) * K * (ROUNDS + 1)


def print_estimate(chosen: list[Step]) -> None:
    """Seconds of one step, their number and the minutes in all, for each architecture."""
    counts: dict[str, int] = {}
    for step in chosen:
        counts[step.architecture.name] = counts.get(step.architecture.name, 0) + 1
    total = 0.0
    for name, count in counts.items():
        step = next(s for s in chosen if s.architecture.name == name)
        module = step.architecture.module(0, step.dtype)
        each = seconds_expected(linearize(module, point(step.architecture, PHOTOS[0])))
        total += each * count
        print(
            f"{name:32} {step.dtype:9} {each:7.1f} s x {count:2} = {each * count / 60:6.1f} min", flush=True
        )
    print(f"{'all':32} {total / 60:36.1f} min", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", default=[], help="architecture or encoder name")
    parser.add_argument("--estimate", action="store_true", help="print the expected cost and stop")
    parser.add_argument("--out", type=Path, default=None, help="default: results/jer_null.json")
    parser.add_argument("--merge", type=Path, action="append", default=[], help="take over its records first")
    options = parser.parse_args()
    path = options.out or results_dir() / "jer_null.json"
    records = json.loads(path.read_text())["records"] if path.exists() else []
    if options.merge:
        records = merged(records, options.merge)
        save(path, records)
    done = {key_of(record) for record in records}
    chosen = [
        s
        for s in steps()
        if s.key not in done
        and (not options.only or {s.architecture.name, *s.architecture.encoders} & set(options.only))
    ]
    if options.estimate:
        print_estimate(chosen)
        return
    for index, step in enumerate(chosen, 1):
        record = measure(step, step.architecture.module(step.seed, step.dtype))
        records.append(record)
        save(path, records)
        print(
            f"[{index}/{len(chosen)}] {step.architecture.name} seed {step.seed} {step.image} {step.dtype}: "
            f"JER {effective_rank(record['range_finder']):.2f} ({record['seconds']:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
