"""Complete grids of attribute and object, one object an image, with renderings: how well does a space decompose?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bindery import compositional, sphere
from bindery import scenes as sc
from bindery.binding import SceneImages
from bindery.compositional import ARMS
from bindery.data.backgrounds import NUISANCE
from bindery.data.compositor import Composed, Recipe
from bindery.data.pack import emoji_pack
from bindery.data.splits import choose_seen
from bindery.errors import InputError
from bindery.slot_codes import held_out
from bindery.swap import Floats

Pair = tuple[str, str]
PAIR_ARMS = ("LDE raw", "LDE unit", "GDE", "GDE least squares")


@dataclass(frozen=True)
class PairSet:
    """Z pairs (attribute, object) of a complete grid, R renderings each; images pair by pair."""

    name: str
    images: Any
    pairs: list[Pair]
    renderings: int

    @property
    def labels(self) -> list[Pair]:
        """The pair of every image."""
        return [pair for pair in self.pairs for _ in range(self.renderings)]


def scene_pairs(factor: str, renderings: int = 12, *, seed: int, size: int = 32) -> PairSet:
    """One coloured shape on dark ground: shapes with places ("place") or with colours ("colour").

    The third factor, the place within the cell and the size are drawn for each image.
    """
    values = {"place": sc.CELLS, "colour": sc.COLOURS}
    if factor not in values:
        raise InputError(f"unknown factor {factor!r}; choose place or colour")
    names = values[factor]
    grid = list(product(range(len(names)), range(len(sc.SHAPES))))
    rng = np.random.default_rng(seed)
    n = len(grid) * renderings
    first, shape = np.repeat(np.array(grid), renderings, axis=0).T[:, :, None]
    other = rng.integers(len(sc.COLOURS if factor == "place" else sc.CELLS), size=(n, 1))
    colour, cell = (other, first) if factor == "place" else (first, other)
    ground = np.full(3, sc.ground_level("dark"))
    scenes = sc.place(shape, colour, cell, sc.cell_geometry((n,), rng), ground)
    pairs = [(names[a], sc.SHAPES[o]) for a, o in grid]
    return PairSet(f"scenes: shape × {factor}", SceneImages(scenes, size), pairs, renderings)


def emoji_pairs(*, seed: int, size: int = 224) -> PairSet:
    """Nine colours with three shapes; a rendering is a style of drawing with a layout, the same for all pairs."""
    drawings = {
        (d.style, d.factors["colour"], d.factors["shape"]): d.id for d in emoji_pack().select("colours")
    }
    colours, shapes = (sorted({key[i] for key in drawings}) for i in (1, 2))
    pairs = list(product(colours, shapes))
    styles = [
        s for s in sorted({key[0] for key in drawings}) if all((s, *pair) in drawings for pair in pairs)
    ]
    recipes = [
        Recipe(drawings[style, *pair], NUISANCE[turn % len(NUISANCE)], "colours", turn, seed)
        for pair in pairs
        for turn, style in enumerate(styles)
    ]
    return PairSet("emoji-colours", Composed(recipes, size), pairs, len(styles))


def decomposability(
    embeddings: ArrayLike, dataset: PairSet, *, splits: int = 5, seen: float = 0.6, seed: int = 0
) -> dict[str, float]:
    """How well the space of an encoder decomposes into the two factors of a grid.

    Returns
    -------
    dict
        ``additive``: explained share of pair means left out of the additive fit in the tangent space, free of
        rendering noise (`held_out`); ``share_attribute``, ``share_object``, ``share_interaction``: how the
        variance between pair means divides; ``rendering``: share of all variance that rendering again accounts for;
        ``auc_<arm>``: area under the seen-unseen curve in per cent, mean over random splits in which training
        has a share ``seen`` of the pairs and one half of the renderings, and test all pairs in the other half;
        ``attribute_alone``, ``object_alone``: accuracy of the nearest class mean for one factor, all pairs seen.
    """
    points = sphere.unit(np.asarray(embeddings, np.float64))
    base = sphere.frechet_mean(points, tol=1e-9, on_fail="warn").point
    shape = (len(dataset.pairs), 1, dataset.renderings)
    rows = np.asarray(sphere.log(points, base)).reshape(*shape, -1)
    rows = rows - rows.mean(axis=(0, 1))
    values = [pd.factorize(np.array([pair[i] for pair in dataset.pairs]), sort=True)[0] for i in (0, 1)]
    directions = np.hstack([np.eye(column.max() + 1)[column] for column in values])[:, None]
    found = held_out(directions, rows, folds=len(rows), seed=seed)
    signal, everything = found.total.sum() / len(rows), (rows**2).sum() / len(rows) / shape[2]
    row = {
        "additive": found.share,
        "rendering": float(1 - signal / everything),
        **_sources(rows[:, 0], values),
    }
    parts = [_split(dataset, seen, np.random.default_rng([seed, k])) for k in range(splits)]
    arms = {name: ARMS[name] for name in PAIR_ARMS}
    tables = [
        compositional.evaluate(points, dataset.labels, train, test, arms=arms, worlds=("closed",))
        for train, test in parts
    ]
    means = pd.concat(tables).groupby("arm")["auc"].mean()
    row |= {f"auc_{arm}": float(means[arm]) for arm in PAIR_ARMS}
    alone = [
        _alone(rows, column, np.random.default_rng([seed, 100 + k]))
        for column in values
        for k in range(splits)
    ]
    return row | {
        "attribute_alone": float(np.mean(alone[:splits])),
        "object_alone": float(np.mean(alone[splits:])),
    }


def _sources(rows: Floats, values: list[NDArray[np.intp]]) -> dict[str, float]:
    """Shares of the two factors and of their interaction, from products of different renderings."""
    grid = rows.reshape(values[0].max() + 1, values[1].max() + 1, *rows.shape[1:])
    grid = grid - grid.mean(axis=(0, 1))
    first, second = grid.mean(axis=1, keepdims=True), grid.mean(axis=0, keepdims=True)
    parts = {"attribute": first, "object": second, "interaction": grid - first - second}
    energy = {
        name: float(((part.sum(axis=2) ** 2).sum(axis=-1) - (part**2).sum(axis=(2, 3))).mean())
        for name, part in parts.items()
    }
    return {f"share_{name}": value / sum(energy.values()) for name, value in energy.items()}


def _halves(renderings: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(R,) which renderings are for training: one half, the larger one when R is odd."""
    return rng.permutation(renderings) < (renderings + 1) // 2


def _split(
    dataset: PairSet, seen: float, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    known = choose_seen(dataset.pairs, seen, rng)
    first = _halves(dataset.renderings, rng)
    train = np.outer([pair in known for pair in dataset.pairs], first)
    test = np.outer(np.ones(len(dataset.pairs), bool), ~first)
    return np.flatnonzero(train), np.flatnonzero(test)


def _alone(rows: Floats, values: NDArray[np.intp], rng: np.random.Generator) -> float:
    """Accuracy of the nearest mean of a value, over images in renderings that the means do not hold."""
    first = _halves(rows.shape[2], rng)
    known, asked = rows[:, 0, first].mean(axis=1), rows[:, 0, ~first]
    means = np.stack([known[values == value].mean(axis=0) for value in range(values.max() + 1)])
    distance = ((asked[:, :, None] - means) ** 2).sum(axis=-1)
    return float((distance.argmin(axis=-1) == values[:, None]).mean())
