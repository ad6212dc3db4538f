"""Participation ratio and isotropy of 50,000 × 2,048 embeddings beside the singular values of the matrix."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from scipy.linalg import svdvals

from benchmarks import Row, row
from bindery.geometry import isotropy, participation_ratio

N, DIM = 50_000, 2_048


def run() -> list[Row]:
    """The rows of `make bench`: name, our seconds, reference seconds, ratio, note."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((N, DIM), dtype=np.float32)
    rows *= (np.arange(1, DIM + 1) ** -0.3).astype(np.float32)
    rows += np.float32(0.5)
    reference, values = _timed(lambda: svdvals(rows - rows.mean(axis=0), overwrite_a=True), 1)
    values = values.astype(np.float64) ** 2
    expected = {
        participation_ratio: values.sum() ** 2 / (DIM * (values**2).sum()),
        isotropy: 1 - values[0] / values.sum(),
    }
    return [_row(metric, rows, value, reference) for metric, value in expected.items()]


def _row(metric: Callable[[np.ndarray], float], rows: np.ndarray, expected: float, reference: float) -> Row:
    seconds, value = _timed(lambda: metric(rows), 3)
    note = (
        f"{N:,} x {DIM:,} float32; reference: values-only SVD of the centred matrix, one run; "
        f"relative difference {abs(value / expected - 1):.1e}"
    )
    return row(metric.__name__, seconds, reference, note)


def _timed(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return median(times), result


if __name__ == "__main__":
    for line in run():
        print(line)
