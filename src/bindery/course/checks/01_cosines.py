"""Cosines: a slow reference, scale, and rows of zeros."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part


@part(1, "every row with every row")
def all_couples(ask: Ask, rng: np.random.Generator) -> None:
    """Against loops; rows of very different lengths."""
    n, m, d = int(rng.integers(4, 9)), int(rng.integers(10, 15)), int(rng.integers(3, 30))
    x = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-6, 6, (n, 1))
    y = rng.standard_normal((m, d)) + 1
    expected = [[a @ b / np.sqrt((a @ a) * (b @ b)) for b in y] for a in x]
    got = numbers(ask("cosines", x, y), "cosines", (n, m))
    expect(np.allclose(got, expected), "cosines differs from the cosine of some couple of rows.")
    expect(
        np.allclose(numbers(ask("cosines", 3 * x, y / 7), "cosines", (n, m)), got),
        "The cosines change when the rows are made longer or shorter.",
    )


@part(1, "rows of zeros")
def zeros(ask: Ask, rng: np.random.Generator) -> None:
    """Zero, not NaN; and nothing bent for short rows."""
    x, y = rng.standard_normal((5, 6)), rng.standard_normal((4, 6))
    x[2], y[1] = 0, 0
    x[3] *= 1e-9
    got = numbers(ask("cosines", x, y), "cosines with a row of zeros", (5, 4))
    expect(np.all(got[2] == 0) and np.all(got[:, 1] == 0), "The cosine with a row of zeros is not 0.")
    expected = y[0] @ x[3] / np.linalg.norm(y[0]) / np.linalg.norm(x[3])
    expect(
        np.isclose(got[3, 0], expected),
        "The cosines of short rows are bent: was something added to their lengths?",
    )
