"""Exp and Log: on the sphere, in the sheet, there and back, at every length, at zero."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, CheckFailed, expect, numbers, part


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows scaled to length one."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def arrows(rng: np.random.Generator, lengths: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """A base point and one arrow in its sheet for each length."""
    base = unit(rng.standard_normal(dim))
    raw = rng.standard_normal((len(lengths), dim))
    raw -= (raw @ base)[:, None] * base
    raw -= (raw @ base)[:, None] * base
    return base, lengths[:, None] * unit(raw)


@part(1, "exp walks along great circles")
def great_circles(ask: Ask, rng: np.random.Generator) -> None:
    """Unit norms, and the angle walked is the arrow's length."""
    n, dim = int(rng.integers(4, 9)), int(rng.integers(3, 40))
    base, tangents = arrows(rng, rng.uniform(0.2, 3.0, n), dim)
    points = numbers(ask("exp", tangents, base), "exp", (n, dim))
    expect(
        np.allclose(np.linalg.norm(points, axis=1), 1),
        "exp leaves the sphere: its points are not of length 1.",
    )
    walked = points @ base
    expect(
        np.allclose(walked, np.cos(np.linalg.norm(tangents, axis=1))),
        "exp stops at the wrong angle: it should walk as far as the arrow is long.",
    )
    aside = np.einsum("nd,nd->n", points, unit(tangents))
    expect(
        np.allclose(aside, np.sin(np.linalg.norm(tangents, axis=1))),
        "exp walks in another direction than the arrow's.",
    )


@part(1, "log gives arrows of the sheet, as long as the angle")
def in_the_sheet(ask: Ask, rng: np.random.Generator) -> None:
    """Orthogonal to the base, length equal to the angle, for angles that arccos gets right too."""
    n, dim = int(rng.integers(4, 9)), int(rng.integers(3, 40))
    base, points = unit(rng.standard_normal(dim)), unit(rng.standard_normal((n, dim)))
    tangents = numbers(ask("log", points, base), "log", (n, dim))
    expect(
        np.allclose(tangents @ base, 0, atol=1e-10),
        "log's arrows stick out of the sheet: they are not orthogonal to the base.",
    )
    angle = np.arccos(points @ base)
    expect(
        np.allclose(np.linalg.norm(tangents, axis=1), angle),
        "log's arrows have the wrong length: it should be the angle between base and point, not the chord or its sine.",
    )


@part(2, "there and back at every length")
def round_trip(ask: Ask, rng: np.random.Generator) -> None:
    """Relative error of log(exp(v)) for arrows from 1e-9 to 3.1 long."""
    lengths = np.concatenate([10.0 ** rng.uniform(-9, -1, 9), rng.uniform(0.1, 3.1, 5)])
    base, tangents = arrows(rng, lengths, int(rng.integers(4, 30)))
    points = numbers(ask("exp", tangents, base), "exp", tangents.shape)
    back = numbers(ask("log", unit(points), base), "log", tangents.shape)
    error = np.linalg.norm(back - tangents, axis=1) / lengths
    # A point of length one is rounded to about 1e-16, which is 1e-7 of the shortest arrow.
    allowed = 1e-9 + 2e-15 / lengths
    long, short = lengths > 1e-2, lengths <= 1e-2
    expect((error < allowed)[long].all(), "log(exp(v)) is not v, although v is neither short nor beyond pi.")
    expect(
        (error < allowed)[short].all(),
        "log(exp(v)) is not v for short arrows: digits are lost where point and base nearly coincide.",
    )


@part(1, "nothing special at zero")
def at_zero(ask: Ask, rng: np.random.Generator) -> None:
    """The zero arrow, the base itself, and points whose cosine is rounded above one."""
    dim = int(rng.integers(5, 50))
    base, tangents = arrows(rng, rng.uniform(0.5, 1.0, 3), dim)
    tangents[1] = 0
    points = numbers(ask("exp", tangents, base), "exp of a batch with a zero arrow", tangents.shape)
    expect(np.allclose(points[1], base, rtol=0, atol=1e-15), "exp of the zero arrow is not the base point.")
    near = unit(base + 1e-16 * rng.standard_normal((200, dim)))
    near[0] = base
    back = numbers(ask("log", near, base), "log of the base and its nearest neighbours", near.shape)
    expect(np.all(np.abs(back[0]) < 1e-15), "log of the base point is not the zero arrow.")
    expect(
        np.all(np.abs(back) < 1e-14),
        "log of points that are all but the base gives arrows that are too long.",
    )
    try:
        opposite = ask("log", -base[None], base)
    except CheckFailed:
        return  # to refuse the one point that has no direction is an answer too
    numbers(opposite, "log of the point opposite the base", (1, dim))
