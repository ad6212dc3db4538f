"""Cost and accuracy of the Jacobian estimates, beside a plain forward pass of batch 33 and single JVPs.

Both sides run interleaved in one process with one thread; CPU seconds, medians. Memory is the peak resident
size over the loaded network, polled in a process of its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from torch import Tensor, nn
from torch.func import jvp

from benchmarks import Row, row
from bindery.encoders.build import seeded
from bindery.jacobian import (
    DenseMap,
    differentiable,
    directions,
    effective_rank,
    estimate,
    full_jacobian,
    linearize,
    noise_images,
    singular_values,
    value_errors,
)

K, REPEATS, SIZE = 32, 3, 224
NETWORKS = ("deit_small_patch16_224", "resnet50")


def network(name: str) -> nn.Module:
    with seeded(0):
        return timm.create_model(name, num_classes=0).eval().requires_grad_(False)


def sketch(module: nn.Module, image: Tensor, dtype: Any = None) -> Any:
    # Without the self-check, which is made once an encoder, not once an image.
    return singular_values(module, image, K, "sketch", dtype=dtype, check=False)


def single_products(module: nn.Module, image: Tensor) -> None:
    """What one writes first: a loop of `torch.func.jvp`."""
    rows = directions(image.numel(), K).float().reshape(K, *image.shape)
    with differentiable(), torch.no_grad():
        torch.cat([jvp(module, (image,), (row,))[1] for row in rows])


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def peak_mb(name: str) -> float:
    """Peak resident memory of one sketch over that of the loaded network, in MB."""
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.jacobian", name],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(json.loads(told.stdout.splitlines()[-1]))


def _measure_peak(name: str) -> float:
    torch.set_num_threads(1)
    module, image = network(name), next(noise_images(1, SIZE))
    with torch.no_grad():
        module(image)
    base, peak, done = _resident_mb(), [0.0], threading.Event()

    def poll() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], _resident_mb())

    watcher = threading.Thread(target=poll)
    watcher.start()
    sketch(module, image)
    done.set()
    watcher.join()
    return peak[0] - base


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def cost(name: str) -> list[Row]:
    module, image = network(name), next(noise_images(1, SIZE))
    batch = image.repeat(K + 1, 1, 1, 1)

    def forward() -> None:
        with torch.no_grad():
            module(batch)

    sides: dict[str, Callable[[], object]] = {
        "forward": forward,
        "sketch": lambda: sketch(module, image),
        "single": lambda: single_products(module, image),
    }
    for side in ("forward", "sketch"):
        sides[side]()
    taken: dict[str, list[float]] = {side: [] for side in sides}
    for repeat in range(REPEATS):
        for side, function in sides.items():
            if side != "single" or repeat == 0:
                taken[side].append(seconds(function))
    reference = statistics.median(taken["forward"])
    ours = statistics.median(taken["sketch"])
    single = statistics.median(taken["single"])
    double = sketch(module, image, "float64").values
    error = float(np.abs(sketch(module, image).values / double - 1).max())
    peak = f"{peak_mb(name):.0f} MB" if Path("/proc/self/statm").exists() else "not measured"
    return [
        share(f"{name}: sketch k={K} / forward of {K + 1}", ours, reference,
            f"want <= 1.6; peak {peak} over the model (want <= 400); worst value off float64 by {error:.1e}"),
        share(f"{name}: loop of {K} single JVPs / forward of {K + 1}", single, reference, "what it replaces"),
    ]  # fmt: skip


def accuracy(name: str) -> list[Row]:
    """Range finder against the exact Jacobian, where D is small enough."""
    module, image = network(name), next(noise_images(1, SIZE))
    linear = linearize(module, image)
    kept: list[Any] = []
    exact_s = seconds(lambda: kept.append(full_jacobian(linear)))
    dense = DenseMap(kept[0].matrix)
    finder_s = seconds(lambda: kept.append(estimate(linear, K, "range_finder")))
    exact, found = estimate(dense, K, "exact"), kept[1]
    off = effective_rank(found) / effective_rank(exact) - 1
    errors = value_errors(dense, K)["rounds 5"]
    note = (
        f"JER {effective_rank(found):.2f}, exact {effective_rank(exact):.2f} ({off:+.2%}, want within 1 %); "
        f"value 1 off by {errors.iloc[0]:.0e}, 16 by {errors.iloc[15]:.0e}, 32 by {errors.iloc[-1]:.0e}"
    )
    return [share(f"{name}: range finder, 5 rounds / exact Jacobian", finder_s, exact_s, note)]


def share(name: str, ours: float, reference: float, note: str) -> Row:
    """A row whose ratio is our cost in units of the reference."""
    return row(name, ours, reference, note, ratio=ours / reference)


def run() -> list[Row]:
    """Rows for the table of ``python -m benchmarks``; a few minutes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [line for name in NETWORKS for line in cost(name)]
        return rows + accuracy(NETWORKS[0])
    finally:
        torch.set_num_threads(threads)


if __name__ == "__main__":
    print(json.dumps(_measure_peak(sys.argv[1])))
