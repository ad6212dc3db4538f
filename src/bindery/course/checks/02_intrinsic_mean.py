"""The intrinsic mean: arrows that cancel, two points in closed form, invariances, and an honest certificate."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part
from bindery.sphere import distance, exp, log, unit


def cloud(rng: np.random.Generator, n: int, dim: int, angle: float) -> np.ndarray:
    """Points at about ``angle`` from a random centre, on all sides of it."""
    base = unit(rng.standard_normal(dim))
    aside = rng.standard_normal((n, dim))
    aside -= np.outer(aside @ base, base)
    aside -= aside.mean(axis=0)
    aside = aside - np.outer(aside @ base, base)
    return unit(exp(angle * rng.uniform(0.8, 1.1, (n, 1)) * unit(aside), base))


def mean_of(ask: Ask, points: np.ndarray, weights: np.ndarray, what: str = "intrinsic_mean") -> np.ndarray:
    """The student's mean, which must be a unit vector."""
    mean = numbers(ask("intrinsic_mean", points, weights), what, (points.shape[1],))
    expect(abs(np.linalg.norm(mean) - 1) < 1e-8, f"{what} is not a point of the sphere: its length is not 1.")
    return unit(mean)


@part(1, "the arrows cancel for a narrow cloud with weights")
def narrow(ask: Ask, rng: np.random.Generator) -> None:
    """Gradient norm, angles near 20 degrees."""
    points, weights = cloud(rng, 30, int(rng.integers(5, 40)), 0.35), rng.uniform(0.1, 5.0, 30)
    step = weights @ log(points, mean_of(ask, points, weights)) / weights.sum()
    expect(
        np.linalg.norm(step) < 1e-8,
        "The weighted arrows do not cancel at the mean of a narrow cloud: is this the arithmetic mean, or one step?",
    )


@part(1, "and for a wide one")
def wide(ask: Ask, rng: np.random.Generator) -> None:
    """Gradient norm, angles near 80 degrees, where ten full steps are not enough."""
    points, weights = cloud(rng, 60, int(rng.integers(30, 50)), 1.35), rng.uniform(0.2, 1.0, 60)
    step = weights @ log(points, mean_of(ask, points, weights)) / weights.sum()
    expect(
        np.linalg.norm(step) < 1e-8, "The walk stops too early: the arrows of a wide cloud do not cancel yet."
    )


@part(1, "two points have their mean on the arc between them")
def two_points(ask: Ask, rng: np.random.Generator) -> None:
    """Closed form: at the weights' share of the angle."""
    points, share = unit(rng.standard_normal((2, int(rng.integers(3, 20))))), rng.uniform(0.1, 0.9)
    mean = mean_of(ask, points, np.array([1 - share, share]))
    there = exp(share * log(points[1], points[0]), points[0])
    expect(
        distance(mean, there) < 1e-7,
        "The mean of two points is not where the arc between them is divided by their weights.",
    )


@part(1, "what must not matter does not, and what must does")
def invariance(ask: Ask, rng: np.random.Generator) -> None:
    """Order, scale of the weights, points without weight, rotations, equal points."""
    dim = int(rng.integers(4, 12))
    points, weights = cloud(rng, 12, dim, 0.9), rng.uniform(0.5, 2.0, 12)
    mean, order = mean_of(ask, points, weights), rng.permutation(12)
    expect(
        distance(mean_of(ask, points[order], 7 * weights[order]), mean) < 1e-7,
        "The mean changes when the points are reordered or all weights multiplied by one number.",
    )
    more = np.vstack([points, unit(rng.standard_normal((2, dim)))])
    expect(
        distance(mean_of(ask, more, np.r_[weights, 0, 0]), mean) < 1e-7,
        "Points of weight zero move the mean.",
    )
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    expect(
        distance(mean_of(ask, points @ turn, weights), mean @ turn) < 1e-7,
        "Turning all points does not turn the mean with them.",
    )
    same = np.repeat(points[:1], 5, axis=0)
    expect(
        distance(mean_of(ask, same, np.ones(5), "intrinsic_mean of equal points"), points[0]) < 1e-7,
        "Equal points are not their own mean.",
    )


@part(2, "the certificate tells the truth, also about a wrong mean")
def honest(ask: Ask, rng: np.random.Generator) -> None:
    """Both numbers against this file's own, at a point that is no mean."""
    dim = int(rng.integers(4, 20))
    points, weights = cloud(rng, 20, dim, 0.8), rng.uniform(0.5, 2.0, 20)
    at = unit(points[0] + points[1])
    far = int(distance(points, at).argmax())
    weights[far] = 0
    gradient, largest = numbers(ask("certificate", points, weights, at), "certificate", (2,))
    expect(
        np.isclose(gradient, np.linalg.norm(weights @ log(points, at)) / weights.sum()),
        "The first number is not the length of the weighted sum of arrows, with weights that sum to one.",
    )
    expect(
        np.isclose(largest, distance(points[weights > 0], at).max()),
        "The second number is not the largest angle, in radians, to a point that has weight.",
    )
