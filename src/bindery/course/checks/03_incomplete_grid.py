"""Incomplete grids: slow references, exact recovery, normal equations, and the company that values keep."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part


def mask(rng: np.random.Generator) -> np.ndarray:
    """A connected incomplete grid: one whole row and column, a third of the rest."""
    present = rng.random((int(rng.integers(3, 6)), int(rng.integers(6, 10)))) < 0.35
    present[int(rng.integers(len(present)))] = True
    present[:, int(rng.integers(present.shape[1]))] = True
    return present


def hidden(values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """NaN where a pair is missing."""
    return np.where(present[..., None], values, np.nan)


def predictions(ask: Ask, name: str, values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """The student's (A, O, D) predictions."""
    return numbers(ask(name, hidden(values, present), present), name, values.shape)


@part(1, "on a complete grid the two agree")
def complete(ask: Ask, rng: np.random.Generator) -> None:
    """And are the two-way means."""
    values, present = rng.standard_normal((4, 5, 3)), np.ones((4, 5), bool)
    two_way = values.mean(axis=1, keepdims=True) + values.mean(axis=0) - values.mean(axis=(0, 1))
    for name in ("marginal_means", "least_squares"):
        expect(
            np.allclose(predictions(ask, name, values, present), two_way),
            f"{name} is wrong on a complete grid, where it is the row mean plus the column mean minus the grand mean.",
        )


@part(1, "marginal means are means over the available pairs")
def marginals(ask: Ask, rng: np.random.Generator) -> None:
    """Against loops."""
    present = mask(rng)
    values = rng.standard_normal((*present.shape, 2)) + 3
    got, expected = predictions(ask, "marginal_means", values, present), np.empty(values.shape)
    grand = values[present].mean(axis=0)
    for a, row in enumerate(present):
        for o, column in enumerate(present.T):
            expected[a, o] = values[a, row].mean(axis=0) + values[column, o].mean(axis=0) - grand
    expect(
        np.allclose(got, expected),
        "marginal_means does not average over the available pairs alone: each mean has its own number of pairs.",
    )


@part(2, "least squares finds an additive world exactly")
def recovery(ask: Ask, rng: np.random.Generator) -> None:
    """All pairs, the missing ones too."""
    present = mask(rng)
    values = rng.standard_normal((len(present), 1, 3)) + 2 * rng.standard_normal((1, present.shape[1], 3))
    expect(
        np.allclose(predictions(ask, "least_squares", values, present), values, atol=1e-8),
        "least_squares does not find the missing pairs of an additive table, which the available ones determine.",
    )


@part(1, "and is the nearest additive table otherwise")
def optimality(ask: Ask, rng: np.random.Generator) -> None:
    """Normal equations, row by row and column by column; the answer is additive."""
    present = mask(rng)
    values = rng.standard_normal((*present.shape, 2))
    got = predictions(ask, "least_squares", values, present)
    additive = got[:, :1] + got[:1] - got[:1, :1]
    expect(
        np.allclose(got, additive),
        "least_squares returns a table that is no sum of attribute and object effects.",
    )
    rest = np.where(present[..., None], values - got, 0.0)
    expect(
        np.allclose(rest.sum(axis=0), 0, atol=1e-8) and np.allclose(rest.sum(axis=1), 0, atol=1e-8),
        "least_squares is not nearest to the available pairs: its misses do not sum to zero in each row and column.",
    )


@part(1, "company explains the bias")
def bias(ask: Ask, rng: np.random.Generator) -> None:
    """Against loops."""
    present = mask(rng)
    beta = rng.standard_normal((present.shape[1], 4))
    expected = np.array([beta[row].mean(axis=0) for row in present])
    expect(
        np.allclose(numbers(ask("company", beta, present), "company", expected.shape), expected),
        "company is not the mean effect of the objects that each attribute was seen with.",
    )
