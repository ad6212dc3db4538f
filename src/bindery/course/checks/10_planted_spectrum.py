"""Planted spectra: the matrix has them in random directions, and the three effective ranks in closed form."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part

NAMES = ("entropy", "pr", "pr_variance")


def matrix_with(rng: np.random.Generator, s: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """This file's own planted matrix."""
    u, v = (np.linalg.qr(rng.standard_normal((n, len(s))))[0] for n in (rows, columns))
    return (u * s) @ v.T


def ranks(ask: Ask, matrix: np.ndarray) -> dict[str, float]:
    """The student's three numbers."""
    got = ask("effective_ranks", matrix)
    expect(
        isinstance(got, dict) and all(name in got for name in NAMES),
        "effective_ranks must return a dictionary with the keys pr, entropy and pr_variance.",
    )
    return {name: float(numbers(got[name], f"effective_ranks, under {name!r},")) for name in NAMES}


@part(2, "planted singular values in random directions")
def planting(ask: Ask, rng: np.random.Generator) -> None:
    """The spectrum, another matrix for another seed, the same for the same, and no preferred axes."""
    s = np.sort(rng.uniform(0.5, 3, 4))[::-1]
    seeds = rng.integers(10_000, size=2).tolist()
    one, same, other = (
        numbers(ask("planted", s, 9, 7, k), "planted", (9, 7)) for k in (seeds[0], seeds[0], seeds[1])
    )
    got = np.linalg.svd(one, compute_uv=False)
    expect(np.allclose(got[:4], s), "The singular values of the planted matrix are not the ones asked for.")
    expect(
        np.allclose(got[4:], 0, atol=1e-9), "The planted matrix has more singular values than were asked for."
    )
    expect(np.array_equal(one, same), "planted gives different matrices for the same seed.")
    expect(not np.allclose(one, other), "planted gives the same matrix for different seeds.")
    total = np.zeros((7, 7))
    for _ in range(60):
        sample = numbers(ask("planted", s, 9, 7, int(rng.integers(1 << 30))), "planted", (9, 7))
        total += sample.T @ sample / 60
    level = (s**2).sum() / 7
    expect(
        np.abs(np.diag(total) / level - 1).max() < 0.6,
        "Some input directions of planted matrices are preferred: over many seeds all should carry the same.",
    )
    corners = [
        numbers(ask("planted", np.ones(1), 3, 3, int(rng.integers(1 << 30))), "planted", (3, 3))[0, 0] > 0
        for _ in range(60)
    ]
    # A fair coin falls on one side fewer than 8 times of 60 once in 10^9 runs.
    expect(
        8 <= sum(corners) <= 52,
        "Planted matrices prefer a sign: QR fixes the signs of its columns, so Q alone is not a random rotation.",
    )


@part(1, "flat spectra have their count as rank")
def flat(ask: Ask, rng: np.random.Generator) -> None:
    """r equal values and many zeros, at any scale."""
    for r in (1, int(rng.integers(2, 6)), 8):
        got = ranks(ask, matrix_with(rng, np.full(r, rng.uniform(0.01, 50)), 20, 12))
        for name, value in got.items():
            expect(
                np.isclose(value, r, rtol=1e-6),
                f"{name} of a matrix with r equal singular values and zeros is not r.",
            )


@part(1, "two values, by hand")
def two_values(ask: Ask, rng: np.random.Generator) -> None:
    """Closed forms for singular values 1 and t."""
    t = float(rng.uniform(0.2, 0.8))
    got = ranks(ask, matrix_with(rng, 3 * np.array([1.0, t]), 6, 9))
    p = 1 / (1 + t)
    closed = {
        "pr": (1 + t) ** 2 / (1 + t**2),
        "pr_variance": (1 + t**2) ** 2 / (1 + t**4),
        "entropy": p**-p * (1 - p) ** (p - 1),
    }
    for name, value in closed.items():
        expect(np.isclose(got[name], value), f"{name} is wrong for a matrix with two singular values.")


@part(1, "any spectrum")
def general(ask: Ask, rng: np.random.Generator) -> None:
    """Loops; a Gaussian matrix and a power law, wide and tall."""
    for matrix in (rng.standard_normal((5, 11)), matrix_with(rng, np.arange(1, 9.0) ** -1.2, 30, 8)):
        s = [float(x) for x in np.linalg.svd(matrix, compute_uv=False)]
        p = [x / sum(s) for x in s]
        slow = {
            "pr": sum(s) ** 2 / sum(x**2 for x in s),
            "entropy": float(np.exp(-sum(x * np.log(x) for x in p))),
            "pr_variance": sum(x**2 for x in s) ** 2 / sum(x**4 for x in s),
        }
        got = ranks(ask, matrix)
        for name, value in slow.items():
            expect(
                np.isclose(got[name], value), f"{name} does not follow its formula for a general spectrum."
            )
