"""The seen–unseen curve: accuracies at a bias, the area against a slow walk over all biases, ties, invariances."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part

Scores = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def scores(rng: np.random.Generator, n: int = 40, *, whole: bool = False) -> Scores:
    """True score and both rivals of images of seen and unseen pairs; whole numbers tie often."""
    rows = rng.standard_normal((3, n)) * 1.5 + np.array([[1.0], [0.7], [0.0]])
    is_seen = np.arange(n) < int(rng.integers(n // 4, 3 * n // 4))
    true, seen, unseen = np.round(2 * rows) if whole else rows
    return true, seen, unseen, rng.permutation(is_seen)


def slow_accuracies(data: Scores, bias: float) -> tuple[float, float]:
    """One image after the other."""
    right: dict[bool, list[bool]] = {True: [], False: []}
    for true, seen, unseen, is_seen in zip(*data, strict=True):
        own = true if is_seen else true + bias
        right[bool(is_seen)].append(own > seen and own > unseen + bias)
    return float(np.mean(right[True])), float(np.mean(right[False]))


def slow_area(data: Scores) -> float:
    """Trapezoids between biases in every gap."""
    true, seen, unseen, _ = data
    switches = np.unique(np.concatenate([true - unseen, seen - true]))
    middles = np.r_[switches[0] - 1, (switches[:-1] + switches[1:]) / 2, switches[-1] + 1]
    points = np.array([slow_accuracies(data, bias) for bias in middles])
    return float(np.trapezoid(points[:, 0], points[:, 1]))


@part(2, "the accuracies at one bias")
def one_bias(ask: Ask, rng: np.random.Generator) -> None:
    """Against one image after the other, from very negative to very positive."""
    data = scores(rng)
    for bias in (-50.0, *rng.uniform(-2, 2, 4), 50.0):
        got = numbers(ask("accuracies", *data, float(bias)), "accuracies", (2,))
        expect(
            np.allclose(got, slow_accuracies(data, bias)),
            "accuracies is wrong at some bias: it is added to the own pair's score too, if that pair is unseen, and "
            "both accuracies are shares of all images of their kind.",
        )


@part(1, "a score that only equals its rival is not right")
def strict(ask: Ask, rng: np.random.Generator) -> None:
    """Whole numbers and whole biases, with many ties."""
    data = scores(rng, 60, whole=True)
    for bias in (-1.0, 0.0, 2.0):
        got = numbers(ask("accuracies", *data, bias), "accuracies", (2,))
        expect(
            np.allclose(got, slow_accuracies(data, bias)),
            "An image whose own pair ties with a rival counts as right.",
        )


@part(2, "the exact area")
def exact(ask: Ask, rng: np.random.Generator) -> None:
    """Against the walk over all biases, few images so that every step is large."""
    for n in (12, 60):
        true, seen, unseen, is_seen = scores(rng, n)
        # Each image on a scale of its own, over eight decades: no grid of biases finds all the steps.
        scale = 10.0 ** rng.uniform(-8, 0, n)
        data = (true * scale, seen * scale, unseen * scale, is_seen)
        expect(
            np.isclose(numbers(ask("area", *data), "area"), slow_area(data), atol=1e-9),
            "area differs from the area under the curve through every bias: steps are missed, or images that are wrong "
            "at any bias are left out of the count.",
        )


@part(1, "images that switch at the same bias switch together")
def together(ask: Ask, rng: np.random.Generator) -> None:
    """Ties between a lost and a won image count half."""
    data = scores(rng, 50, whole=True)
    expect(
        np.isclose(numbers(ask("area", *data), "area"), slow_area(data), atol=1e-9),
        "area is wrong when images switch at equal biases: the curve then joins the points before and after.",
    )


@part(1, "order and level do not matter")
def invariance(ask: Ask, rng: np.random.Generator) -> None:
    """Permuted images; a constant added to all scores of an image."""
    data = scores(rng, 30)
    before, order = numbers(ask("area", *data), "area"), rng.permutation(30)
    level = rng.uniform(-3, 3, 30)
    shuffled = [row[order] for row in data]
    lifted = [*(row + level for row in data[:3]), data[3]]
    after = [numbers(ask("area", *changed), "area") for changed in (shuffled, lifted)]
    expect(np.isclose(after[0], before, atol=1e-9), "area changes when the images are reordered.")
    expect(
        np.isclose(after[1], before, atol=1e-9),
        "area changes when a constant is added to all scores of an image.",
    )
    expect(
        np.isclose(before, slow_area(data), atol=1e-9),
        "area does not change, but it is not the exact one either.",
    )
