"""Ties as one half: a symmetry, the blind model, and a slow count."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part


def scores(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores of both captions, coarse, so that many tie."""
    n = int(rng.integers(80, 200))
    right, wrong = np.round(rng.normal([[0.2], [0.0]], 1.0, (2, n)) * 2) / 2
    wrong[0] = right[0]
    return right, wrong


@part(1, "neither side gets the ties")
def symmetry(ask: Ask, rng: np.random.Generator) -> None:
    """Exchanged captions, and a model that sees no captions."""
    right, wrong = scores(rng)
    there, back = (
        float(numbers(ask("accuracy", a, b), "accuracy")) for a, b in ((right, wrong), (wrong, right))
    )
    expect(
        np.isclose(there + back, 1),
        "Exchanging right and wrong captions should turn an accuracy of a into 1 - a: one side gets the ties.",
    )
    blind = numbers(ask("accuracy", right, right.copy()), "accuracy")
    expect(
        np.isclose(blind, 0.5),
        "A model that gives both captions the same score should have an accuracy of one half.",
    )


@part(1, "the share of right answers")
def count(ask: Ask, rng: np.random.Generator) -> None:
    """Against a count, with ties and without."""
    for right, wrong in (scores(rng), tuple(rng.standard_normal((2, 37)))):
        expected = sum(
            1.0 if a > b else 0.5 if a == b else 0.0 for a, b in zip(right, wrong, strict=True)
        ) / len(right)
        got = numbers(ask("accuracy", right, wrong), "accuracy")
        expect(
            np.isclose(got, expected),
            "accuracy is not the share of questions whose right caption scores higher, plus half the share of ties.",
        )
