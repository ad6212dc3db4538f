"""Lemma 1: planted directions come back, the gauge is fixed, and what is not decomposable is told."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part
from bindery.course.plain import Plain
from bindery.sphere import distance, exp, frechet_mean, log


def unit(rows: np.ndarray) -> np.ndarray:
    """Vectors along the last axis, scaled to length one."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def planted(
    rng: np.random.Generator, scale: float = 0.5
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Base, zero-sum directions of both factors, and the (A, O, D) points they make."""
    n_a, n_o, dim = int(rng.integers(2, 5)), int(rng.integers(5, 8)), int(rng.integers(12, 25))
    base = unit(rng.standard_normal(dim))

    def factor(n: int) -> np.ndarray:
        raw = rng.standard_normal((n, dim)) / np.sqrt(dim)
        raw -= np.outer(raw @ base, base)
        return scale * (raw - raw.mean(axis=0))

    attribute, object_ = factor(n_a), factor(n_o)
    arrows = attribute[:, None] + object_
    return base, attribute, object_, unit(exp(arrows.reshape(-1, dim), base)).reshape(arrows.shape)


def found(ask: Ask, points: np.ndarray) -> dict[str, np.ndarray]:
    """The student's three arrays, shapes checked."""
    answer: Plain = ask("directions", points)
    names = {"mean": points.shape[2:], "attribute": points.shape[::2], "object": points.shape[1:]}
    expect(
        isinstance(answer, dict) and set(names) <= set(answer),
        "directions must return a dictionary with the keys mean, attribute and object.",
    )
    return {
        name: numbers(answer[name], f"directions, under {name!r},", shape) for name, shape in names.items()
    }


@part(2, "planted directions come back")
def recovery(ask: Ask, rng: np.random.Generator) -> None:
    """Zero-sum directions, to rounding."""
    base, attribute, object_, points = planted(rng)
    got = found(ask, points)
    expect(
        distance(unit(got["mean"]), base) < 1e-6,
        "The mean is not the intrinsic mean of all points of the grid.",
    )
    expect(
        np.allclose(got["attribute"], attribute, atol=1e-6),
        "The attribute directions are not the planted ones, although those sum to zero and the points are exact.",
    )
    expect(np.allclose(got["object"], object_, atol=1e-6), "The object directions are not the planted ones.")


@part(1, "the gauge is fixed")
def gauge(ask: Ask, rng: np.random.Generator) -> None:
    """Sums of zero on points that are not decomposable at all."""
    points = unit(rng.standard_normal(20) + 0.6 * rng.standard_normal((3, 6, 20)))
    got = found(ask, points)
    for name in ("attribute", "object"):
        expect(
            np.allclose(got[name].sum(axis=0), 0, atol=1e-6),
            f"The {name} directions of arbitrary points do not sum to zero: they are not means over whole slices "
            "at the intrinsic mean.",
        )


@part(1, "turning the points turns the directions")
def rotation(ask: Ask, rng: np.random.Generator) -> None:
    """Equivariance, on points that are not decomposable."""
    points = unit(rng.standard_normal(9) + 0.5 * rng.standard_normal((3, 5, 9)))
    turn = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    before, after = found(ask, points), found(ask, points @ turn)
    for name in before:
        expect(
            np.allclose(before[name] @ turn, after[name], atol=1e-6),
            f"Turning all points does not turn {name!r} with them.",
        )


@part(1, "decomposable points violate nothing")
def nothing_left(ask: Ask, rng: np.random.Generator) -> None:
    """Zero for a decomposable set, whatever its gauge."""
    _, _, _, points = planted(rng, 0.8)
    expect(
        numbers(ask("violation", points), "violation") < 1e-6,
        "violation is not zero for points that are decomposable.",
    )


@part(1, "and others violate as much as they do")
def something_left(ask: Ask, rng: np.random.Generator) -> None:
    """Against this file's own sum over the grid."""
    points = unit(rng.standard_normal(15) + 0.7 * rng.standard_normal((4, 6, 15)))
    mean = frechet_mean(points.reshape(-1, 15)).point
    arrows = log(points.reshape(-1, 15), mean).reshape(points.shape)
    total = 0.0
    for a in range(4):
        for o in range(6):
            rest = arrows[a, o] - arrows[a].mean(axis=0) - arrows[:, o].mean(axis=0)
            total += float(rest @ rest)
    expect(
        np.isclose(numbers(ask("violation", points), "violation"), np.sqrt(total / 24), rtol=1e-5),
        "violation of arbitrary points is not the root mean square, over the grid, of the length of what is left.",
    )
