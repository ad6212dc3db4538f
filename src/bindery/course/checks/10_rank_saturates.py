"""Saturation: the value at k, the k that is needed, and an estimate that does not depend on k."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part


def slow_rank(s: np.ndarray, k: int) -> float:
    """The formula for the k largest, as a loop."""
    top = sorted((float(x) for x in s), reverse=True)[:k]
    return sum(top) ** 2 / sum(x * x for x in top)


@part(1, "the value at k")
def value(ask: Ask, rng: np.random.Generator) -> None:
    """Against a loop; unordered values; a k beyond their number."""
    s = rng.permutation(np.arange(1, 41.0) ** -rng.uniform(0.3, 1.2))
    for k in (1, 5, int(rng.integers(8, 30)), 40, 64):
        got = numbers(ask("rank_at", s, k), "rank_at")
        expect(
            np.isclose(got, slow_rank(s, k)),
            "rank_at is not the effective rank of the k largest singular values, which come in no order.",
        )


@part(1, "it stops at k, and at the true rank")
def stops(ask: Ask, rng: np.random.Generator) -> None:
    """Flat spectra with zeros, at any scale."""
    r = int(rng.integers(10, 30))
    s = rng.permutation(np.r_[np.full(r, rng.uniform(0.1, 9)), np.zeros(20)])
    for k in (r // 2, r, r + 10):
        expect(
            np.isclose(numbers(ask("rank_at", s, k), "rank_at"), min(k, r)),
            "rank_at of r equal values and zeros is not the smaller of k and r.",
        )


@part(1, "how many directions are needed")
def needed(ask: Ask, rng: np.random.Generator) -> None:
    """Against a search from below."""
    for power in (0.2, 1.0):
        s, share = rng.permutation(np.arange(1, 61.0) ** -power), float(rng.uniform(0.6, 0.97))
        expected = next(k for k in range(1, 61) if slow_rank(s, k) >= share * slow_rank(s, 60))
        got = numbers(ask("directions_needed", s, share), "directions_needed")
        expect(
            got == expected,
            "directions_needed is not the smallest k that reaches the share of the full value.",
        )


def planted(rng: np.random.Generator, s: np.ndarray) -> np.ndarray:
    """A matrix, wider than it is tall, with these singular values."""
    u, v = (np.linalg.qr(rng.standard_normal((n, len(s))))[0] for n in (90, 120))
    return (u * s) @ v.T


@part(2, "an estimate that does not depend on k")
def free(ask: Ask, rng: np.random.Generator) -> None:
    """Mean over seeds, at two k far below the rank."""
    for s in (np.full(int(rng.integers(40, 70)), 2.0), np.arange(1, 81.0) ** -0.35):
        jacobian, truth = planted(rng, s), float((s**2).sum() ** 2 / (s**4).sum())
        for k in (24, 36):
            seeds = rng.integers(1 << 30, size=20).tolist()
            got = [float(numbers(ask("rank_free_of_k", jacobian, k, one), "rank_free_of_k")) for one in seeds]
            expect(
                abs(np.mean(got) / truth - 1) < 0.2,
                "rank_free_of_k is more than 20 % away from the rank of the whole Jacobian, averaged over seeds: it "
                "still depends on k, or is of s and not of its squares.",
            )


@part(1, "from random products")
def randomness(ask: Ask, rng: np.random.Generator) -> None:
    """Seeds matter, scale does not, equal seeds agree."""
    jacobian = planted(rng, rng.uniform(0.5, 1.5, 40))
    first, again, other = (
        float(numbers(ask("rank_free_of_k", jacobian, 12, seed), "rank_free_of_k")) for seed in (3, 3, 4)
    )
    expect(first == again, "rank_free_of_k gives two answers for one seed.")
    expect(first != other, "rank_free_of_k does not use its seed: is it a sketch of k random directions?")
    scaled = numbers(ask("rank_free_of_k", 50 * jacobian, 12, 3), "rank_free_of_k")
    expect(np.isclose(first, scaled), "rank_free_of_k changes when the Jacobian is multiplied by a number.")
