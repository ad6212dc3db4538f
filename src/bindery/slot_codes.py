"""Four additive codes of two-object scenes, and how much of unseen scenes each of them explains.

Two choices make four: a direction for each *value*, or for each *pair* of values that form an object; and the same
direction wherever it stands (*slot-free*), or one for each place (*slot-indexed*). Only what a code can hold of
the sectors of `bindery.swap` can it explain:

==========================  ====  ===================  ================  =====================
code                        bag   attribute in place   object in place   attribute with object
==========================  ====  ===================  ================  =====================
values, slot-free            x
values, slot-indexed         x     x                    x
pairs, slot-free             x                                            x
pairs, slot-indexed          x     x                    x                 x
==========================  ====  ===================  ================  =====================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bindery.errors import InputError
from bindery.swap import Floats, exchange, nearer

Codes = NDArray[np.intp]
CODES = ("values, slot-free", "values, slot-indexed", "pairs, slot-free", "pairs, slot-indexed")


def design(code: str, attribute: Codes, obj: Codes) -> Floats:
    """One row a scene, one column a direction: how often each direction enters the sum.

    Parameters
    ----------
    code : one of `CODES`
    attribute, obj : (..., 2) int arrays
        Values of the left and of the right object.
    """
    if code not in CODES:
        raise InputError(f"unknown code {code!r}; choose one of {'; '.join(CODES)}")
    both = attribute * (int(obj.max()) + 1) + obj
    columns = [both] if code.startswith("pairs") else [attribute, obj]
    parts = []
    for values in columns:
        names, number = np.unique(values, return_inverse=True)
        slots = np.eye(len(names))[number.reshape(values.shape)]  # (..., 2, V)
        indexed = code.endswith("indexed")
        parts.append(slots.reshape(*slots.shape[:-2], -1) if indexed else slots.sum(axis=-2))
    return np.concatenate(parts, axis=-1)


@dataclass(frozen=True)
class Explained:
    """Predictions of one code for contents left out of its fit, and what they miss."""

    predicted: Floats
    """(O, G, R, D) tangents: the prediction of each content from one rendering of the others."""
    missed: Floats
    """(O,) squared error, as the product of the errors in two different renderings."""
    total: Floats
    """(O,) the same of the mean of the fitted scenes."""

    @property
    def share(self) -> float:
        """Explained share of the variance between unseen scenes, at most about 1; it may be negative."""
        return float(1 - self.missed.sum() / self.total.sum())

    def choice(self, rows: Floats, factor: str = "attribute") -> Floats:
        """Is a rendering nearer to the prediction for its arrangement or to that for the exchanged one? (O,).

        Neither its content nor its rendering took part in either prediction. Ties are worth one half.
        """
        others = (self.predicted.sum(axis=2, keepdims=True) - self.predicted) / (rows.shape[2] - 1)
        return nearer(rows, others, exchange(others, factor))


def explain(
    code: str, rows: Floats, attribute: Codes, obj: Codes, *, folds: int = 10, seed: int = 0
) -> Explained:
    """Fit a code of two-object scenes to all contents but a fold, predict the fold, in turn: see `held_out`.

    Parameters
    ----------
    code : one of `CODES`
    rows : (O, G, R, D) array
        Tangents, from `bindery.swap.tangents`.
    attribute, obj : (O, G, 2) int arrays
        Values of the left and of the right object of each arrangement.
    """
    return held_out(design(code, attribute, obj), rows, folds=folds, seed=seed)


def held_out(directions: Floats, rows: Floats, *, folds: int = 10, seed: int = 0) -> Explained:
    """Least squares on all contents but a fold, prediction of the fold, in turn; each rendering apart.

    A content stays whole: neither a scene nor its exchanged twins are seen when they are predicted. Errors are
    products of two renderings, whose noise is independent: what rendering again changes counts neither as
    explained nor as missed, and a code is judged by what it can hold, not by how many images fit it.

    Parameters
    ----------
    directions : (O, G, P) array
        How often each of P directions enters the sum.
    rows : (O, G, R, D) array
        What is to be explained.
    folds : int
        2 to O.
    """
    n, arrangements, renderings, dim = rows.shape
    if not 2 <= folds <= n:
        raise InputError(f"folds must be 2 to {n}, the number of contents; got {folds}")
    part = np.random.default_rng(seed).permutation(np.arange(n) % folds)
    predicted, centred = np.empty_like(rows), np.empty_like(rows)
    for fold in range(folds):
        out, fitted = part == fold, part != fold
        centre, middle = rows[fitted].mean(axis=(0, 1)), directions[fitted].mean(axis=(0, 1))
        left = (directions[fitted] - middle).reshape(-1, directions.shape[-1])
        targets = (rows[fitted] - centre).reshape(len(left), -1)
        weights = np.linalg.pinv(left, rcond=1e-8) @ targets
        given = (directions[out] - middle) @ weights
        predicted[out] = centre + given.reshape(-1, arrangements, renderings, dim)
        centred[out] = rows[out] - centre
    return Explained(predicted, _cross(rows - predicted), _cross(centred))


def _cross(errors: Floats) -> Floats:
    """(O,) mean product of two different renderings, summed over arrangements and dimensions."""
    count = errors.shape[2]
    products = (errors.sum(axis=2) ** 2).sum(axis=(1, 2)) - (errors**2).sum(axis=(1, 2, 3))
    return products / (count * (count - 1))
