"""The cost of fitting a geodesic decomposition, beside the published Log and beside one pass over the array.

162,770 embeddings of 768 entries is CelebA's training split seen by a ViT-L/14, in four groups of its sizes.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import Row, row
from bindery.decomposition import GeodesicDecomposition
from bindery.sphere import frechet_mean, unit

Array = np.ndarray
GROUPS = {
    ("female", "dark"): 71629,
    ("male", "dark"): 66874,
    ("female", "blonde"): 22880,
    ("male", "blonde"): 1387,
}


def run(*, dim: int = 768, repeats: int = 3, slice_rows: int = 20000, seed: int = 0) -> list[Row]:
    """Time our fit, the published mean, and one normalising pass; print ratios and return them.

    The published mean multiplies by a ``dim`` x ``dim`` projector in every step. It is written out plainly,
    timed on ``slice_rows`` rows, and scaled by the number of rows.
    """
    points, attributes, objects = _celeba_sized(dim, seed)
    ours, model = _median(lambda: GeodesicDecomposition(tol=1e-6).fit(points, attributes, objects), repeats)
    extra = _peak_mib(lambda: GeodesicDecomposition(tol=1e-6).fit(points, attributes, objects))
    mean, _ = _median(lambda: frechet_mean(points, tol=1e-6), repeats)
    normalise, _ = _median(lambda: points / np.linalg.norm(points, axis=1, keepdims=True), repeats)
    part, (_, steps) = _median(lambda: published_mean(points[:slice_rows]), repeats)
    published = part * len(points) / slice_rows
    held = f"{model.mean_.n_iter} steps, {extra:.0f} MiB more than the array"
    rows = [
        row("fit, tol 1e-6 / one pass X / |X|", ours, normalise, held),
        row("fit, tol 1e-6 / intrinsic mean alone", ours, mean, "reference: the mean of all rows, one group"),
        row(
            "intrinsic mean / published form",
            mean,
            published,
            f"{steps} steps on {slice_rows} rows, scaled to all",
        ),
    ]
    print(f"fit of {len(points)} x {dim} float32, median of {repeats}")
    print(f"  fit {ours:.2f} s ({model.mean_.n_iter} steps, {extra:.0f} MiB more than the array)")
    print(f"  one pass X / |X| {normalise:.2f} s: the fit takes {ours / normalise:.2f} of that")
    print(
        f"  intrinsic mean {mean:.2f} s; published form {published:.1f} s (scaled): {published / mean:.0f}x"
    )
    return rows


def published_mean(points: Array, tol: float = 1e-5, max_iter: int = 10) -> tuple[Array, int]:
    """The paper's Alg. 1 with its Log: a projector, arccos, and a full step."""
    mean = points.mean(axis=0)
    mean /= np.linalg.norm(mean)
    steps = 0
    while steps < max_iter:
        steps += 1
        projector = np.eye(len(mean), dtype=points.dtype) - np.outer(mean, mean)
        across = points @ projector
        angle = np.arccos(np.clip(points @ mean, -1, 1))
        tangents = angle[:, None] * across / (np.linalg.norm(across, axis=1, keepdims=True) + 1.2e-7)
        gradient = tangents.mean(axis=0)
        length = np.linalg.norm(gradient)
        mean = np.cos(length) * mean + np.sin(length) * gradient / length
        mean /= np.linalg.norm(mean)
        if length < tol:
            break
    return mean, steps


def _celeba_sized(dim: int, seed: int) -> tuple[Array, list[str], list[str]]:
    """Unit float32 rows in a cone of about 45 degrees whose groups differ, and their labels."""
    rng = np.random.default_rng(seed)
    spread = np.linspace(2.0, 0.3, dim) ** 2
    spread *= np.sqrt(dim) / np.linalg.norm(spread)
    centre, blocks = unit(rng.normal(size=dim)), []
    for count in GROUPS.values():
        own = centre + 0.25 * unit(rng.normal(size=dim))
        noise = rng.standard_normal((count, dim), dtype=np.float32)
        blocks.append(unit(own.astype(np.float32) + noise * (spread / np.sqrt(dim)).astype(np.float32)))
    attributes = [attribute for (attribute, _), count in GROUPS.items() for _ in range(count)]
    objects = [name for (_, name), count in GROUPS.items() for _ in range(count)]
    return np.concatenate(blocks), attributes, objects


def _median(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = call()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), value


def _peak_mib(call: Callable[[], Any]) -> float:
    """Most memory that ``call`` held beyond what was there, by NumPy's own account."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


if __name__ == "__main__":
    run()
