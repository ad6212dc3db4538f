"""Scores of images on all candidate pairs, block by block: no pair table, no table of scores.

A composed pair is ``Exp_mu(v_a + v_o)``, so its cosine with an image x factors into A + O + 1 dot products:
``cos|v| · (x·mu) + sin|v|/|v| · (x·v_a + x·v_o)`` with ``v = v_a + v_o`` and ``|v|`` from Gram matrices.
Blocks are scanned in float32; every score that is kept, and every choice closer than float32 can tell, is
computed in float64. The result is that of a plain float64 evaluation.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bindery.checks import finite_rows, same_length
from bindery.errors import InputError
from bindery.rows import unit_rows
from bindery.worlds import Candidates, Floats, ImageScores, Ints, Pair

_CHUNK = 1024  # images whose dot products are held at once


class PairScorer(Protocol):
    """Scores of B images on P candidates, computed from the B rows of ``dots(images)``."""

    candidates: Candidates
    block: int  # images scanned at once: their scores should fit the processor's cache
    threads: int

    def dots(self, images: Floats) -> Floats:
        """What the scores are made of, (B, M) float64."""

    def scores(self, dots: Floats, dtype: DTypeLike) -> NDArray[np.floating]:
        """(B, P) scores in ``dtype``."""

    def at(self, dots: Floats, index: Ints) -> Floats:
        """(B,) float64 score of one candidate an image."""

    def rounding(self, dots: Floats) -> float:
        """Bound of the error of a float32 score in this block."""


class FactorScorer:
    """Scores of a fitted two-factor decomposition (`bindery.decomposition`) on any candidates.

    Parameters
    ----------
    model : fitted LinearDecomposition or GeodesicDecomposition
        The first factor is the attribute, the second the object.
    candidates : Candidates
        P pairs of attributes and objects that the model was fitted on.

    Raises
    ------
    InputError
        A candidate's attribute or object was not in the training data (named), the model has not two
        factors, or a composite that must be normalised is zero.

    Source: Paper G, Eq. 11 and 13; a linear composite is ``c + v_a + v_o``, divided by its norm when the
    model normalises.
    """

    block = 8

    def __init__(self, model: Any, candidates: Candidates) -> None:
        self.candidates = candidates
        self.threads = min(os.cpu_count() or 1, 4)
        base, attributes, objects = _factors(model, candidates)
        rows, columns = candidates.attribute_index, candidates.object_index
        self._cosine: Floats | None = None
        self._scale: Floats | None = None
        if model.kind == "geodesic":
            angle = _norms(attributes, objects)[rows, columns]
            self._cosine, self._scale = np.cos(angle), np.sinc(angle / np.pi)
            self._factors = np.vstack([attributes, objects, base])
            return
        attributes = attributes + base
        if model.normalize:
            norm = _norms(attributes, objects)[rows, columns]
            if not norm.all():
                pair = candidates.pairs[int(np.argmin(norm))]
                raise InputError(f"the composite of {pair} is zero and has no direction")
            self._scale = 1 / norm
        self._factors = np.vstack([attributes, objects])

    def dots(self, images: Floats) -> Floats:
        """(B, A + O [+ 1]) products with the attribute directions, the object directions and the base."""
        return images @ self._factors.T

    def _split(self, dots: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        n_attributes, n_objects = len(self.candidates.attributes), len(self.candidates.objects)
        return dots[:, :n_attributes], dots[:, n_attributes : n_attributes + n_objects]

    def scores(self, dots: Floats, dtype: DTypeLike) -> NDArray[np.floating]:
        """(B, P) scores; the sum over the grid is a broadcast, other candidates are gathered."""
        dots = dots.astype(dtype)
        on_attribute, on_object = self._split(dots)
        if self.candidates.is_grid:
            # The outer sum as a product of rank two: the same rounding, and faster than a broadcast.
            left = np.stack([on_attribute, np.ones_like(on_attribute)], axis=2)
            right = np.stack([np.ones_like(on_object), on_object], axis=1)
            total = (left @ right).reshape(len(dots), -1)
        else:
            total = on_attribute[:, self.candidates.attribute_index]
            total += on_object[:, self.candidates.object_index]
        if self._scale is not None:
            total *= self._scale.astype(dtype)
        if self._cosine is not None:
            total += dots[:, -1:] * self._cosine.astype(dtype)
        return total

    def at(self, dots: Floats, index: Ints) -> Floats:
        """(B,) float64 score of one candidate an image, in the same order of operations as `scores`."""
        on_attribute, on_object = self._split(dots)
        rows = np.arange(len(dots))
        total: Floats = on_attribute[rows, self.candidates.attribute_index[index]].astype(np.float64)
        total = total + on_object[rows, self.candidates.object_index[index]]
        if self._scale is not None:
            total = total * self._scale[index]
        if self._cosine is not None:
            total = total + dots[:, -1] * self._cosine[index]
        return total

    def rounding(self, dots: Floats) -> float:
        """Eight roundings of the largest term."""
        scale = 1.0 if self._scale is None else float(np.abs(self._scale).max())
        return float(8 * np.finfo(np.float32).eps * (1 + scale) * np.abs(dots).max())


class TableScorer:
    """Scores on one embedding a candidate, (P, D), such as the text embeddings of a zero-shot classifier."""

    block = 256
    threads = 1  # the matrix product is threaded already

    def __init__(self, table: ArrayLike, candidates: Candidates) -> None:
        self.candidates = candidates
        self._table = finite_rows(table, "table")
        if len(self._table) != len(candidates):
            raise InputError(f"table has {len(self._table)} rows for {len(candidates)} candidates")
        self._largest = max(float(np.abs(rows).sum(axis=1).max()) for rows in self._chunks(np.float64))

    def _chunks(self, dtype: DTypeLike) -> Iterator[NDArray[np.floating]]:
        for start in range(0, len(self._table), 4096):
            yield self._table[start : start + 4096].astype(dtype, copy=False)

    def dots(self, images: Floats) -> Floats:
        """The images themselves, (B, D)."""
        return images

    def scores(self, dots: Floats, dtype: DTypeLike) -> NDArray[np.floating]:
        """(B, P) scores."""
        images = dots.astype(dtype)
        return np.concatenate([images @ rows.T for rows in self._chunks(dtype)], axis=1)

    def at(self, dots: Floats, index: Ints) -> Floats:
        """(B,) float64 score of one candidate an image."""
        return np.einsum("bd,bd->b", dots, self._table[index].astype(np.float64))

    def rounding(self, dots: Floats) -> float:
        """D independent roundings, each as large as the sum of all magnitudes allows."""
        return float(np.finfo(np.float32).eps * self._largest * np.abs(dots).max() * dots.shape[1] ** 0.5)


def score_images(images: ArrayLike, scorer: PairScorer, pairs: Sequence[Pair]) -> ImageScores:
    """The best seen, the best unseen and the true score of N images, (N, D) unit rows, true pairs (N,).

    Holds ``block × P`` scores a thread and nothing larger. Ties go to the candidate that comes first.

    Raises
    ------
    InputError
        Rows that are not finite or not of unit length (told), lengths that differ, or a true pair that is
        no allowed candidate.
    """
    rows, _, _ = unit_rows(images, "images")
    same_length(images=rows, pairs=pairs)
    candidates = scorer.candidates
    true = candidates.index(pairs)
    seen, unseen = candidates.columns()
    blocked = np.setdiff1d(np.arange(len(candidates)), unseen)
    best, value = np.empty((2, len(rows)), dtype=np.intp), np.empty((3, len(rows)))
    with ThreadPoolExecutor(scorer.threads) as pool:
        for chunk in _slices(len(rows), _CHUNK):
            dots = scorer.dots(rows[chunk].astype(np.float64))
            scan = partial(_scan, scorer, seen, blocked, 2 * scorer.rounding(dots))
            parts = pool.map(scan, [dots[block] for block in _slices(len(dots), scorer.block)])
            best[:, chunk] = np.concatenate(list(parts), axis=1)
            value[:, chunk] = [scorer.at(dots, index) for index in (true[chunk], *best[:, chunk])]
    return ImageScores(candidates, true, value[0], best[0], value[1], best[1], value[2])


def _scan(scorer: PairScorer, seen: Ints, blocked: Ints, noise: float, dots: Floats) -> Ints:
    """Best seen and best unseen candidate, (2, B): in float32, then in float64 where that cannot tell."""
    best, unsure = _best(scorer.scores(dots, np.float32), seen, blocked, noise)
    for block in _slices(len(unsure), 8):
        rows = unsure[block]
        best[:, rows], _ = _best(scorer.scores(dots[rows], np.float64), seen, blocked, None)
    return best


def _best(scores: NDArray[np.floating], seen: Ints, blocked: Ints, noise: float | None) -> tuple[Ints, Ints]:
    """Best seen and best unseen candidate, (2, B), and the rows whose runner-up lies within ``noise``.

    Overwrites ``scores``.
    """
    rows = np.arange(len(scores))
    among_seen = scores.take(seen, axis=1)
    scores[:, blocked] = -np.inf
    best, unsure = [], np.zeros(len(scores), dtype=bool)
    for table in (among_seen, scores):
        index = table.argmax(axis=1)
        if noise is not None:
            top = table[rows, index]
            table[rows, index] = -np.inf
            unsure |= top - table.max(axis=1) <= noise
        best.append(index)
    return np.stack([seen[best[0]], best[1]]), np.flatnonzero(unsure)


def _slices(n: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, n, size)]


def _factors(model: Any, candidates: Candidates) -> tuple[Floats, Floats, Floats]:
    """Base (D,), attribute directions with the intercept (A, D) and object directions (O, D), reordered."""
    factors = list(model.classes_)
    if len(factors) != 2:
        raise InputError(f"pairs need a model of two factors; this one has {len(factors)}: {factors}")
    picked = []
    for factor, names in zip(factors, (candidates.attributes, candidates.objects), strict=True):
        row = {str(name): i for i, name in enumerate(model.classes_[factor])}
        if missing := [name for name in names if name not in row]:
            raise InputError(f"{factor} {missing[0]!r} was not in the training data, so no pair can use it")
        picked.append(np.asarray(model.directions_[factor], dtype=np.float64)[[row[name] for name in names]])
    base, intercept = (np.asarray(vector, dtype=np.float64) for vector in (model.context_, model.intercept_))
    return base, picked[0] + intercept, picked[1]


def _norms(attributes: Floats, objects: Floats) -> Floats:
    """|a + o| for every attribute and object, (A, O), from their Gram matrix."""
    squares = [np.einsum("nd,nd->n", rows, rows) for rows in (attributes, objects)]
    return np.sqrt(np.maximum(squares[0][:, None] + squares[1] + 2 * attributes @ objects.T, 0))
