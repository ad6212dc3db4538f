"""Decomposable embeddings: one direction for each value of each factor, in R^D or on the sphere.

A combination of values ``z = (z_1, ..., z_s)`` is composed as ``context + v_z1 + ... + v_zs`` (linear, LDE)
or as ``Exp_context(v_z1 + ... + v_zs)`` (geodesic, GDE), whether or not it was seen in training.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bindery.additive import AdditiveR2, additive_r2
from bindery.checks import finite_rows, row_list
from bindery.errors import InputError
from bindery.factor_model import Decomposition, Fit, Floats
from bindery.frechet import frechet_mean
from bindery.noise_weights import Weighting, noise_weights, pair_cosines
from bindery.rows import Array, add_weighted, blocks, row_norms, unit64, unit_rows
from bindery.tangent import exp_rows, log_sums

__all__ = [
    "AdditiveR2",
    "GeodesicDecomposition",
    "LinearDecomposition",
    "additive_r2",
    "noise_weights",
    "pair_cosines",
]


class LinearDecomposition(Decomposition):
    """Directions that add in R^D: ``context + v_z1 + ... + v_zs`` (LDE, "ideal words").

    Parameters
    ----------
    normalize : bool
        Divide composites by their norm. The published code does not, and scores with a plain dot product,
        so that the norms of the composites act as class priors; both are offered, as both are measured.
    fit : {"means", "least_squares"}
        As in `GeodesicDecomposition`.
    weighting : {"pair", "image"}
        As in `GeodesicDecomposition`.

    Source: Paper G, Sec. 3 (LDE); Trager et al. 2023, Prop. 4.
    """

    kind = "linear"

    def __init__(self, normalize: bool = False, fit: Fit = "means", weighting: Weighting = "pair") -> None:
        self.normalize, self._fit, self.weighting = normalize, fit, weighting

    def _centre(
        self, points: Array, shares: Floats, groups: NDArray[np.intp], n: int
    ) -> tuple[Floats, Floats]:
        rows = finite_rows(points, "X")
        totals = np.zeros((n, rows.shape[1]))
        for block in blocks(*rows.shape):
            add_weighted(totals, rows[block], shares[block], groups[block])
        context = totals.sum(axis=0)
        return context, totals - np.bincount(groups, shares, minlength=n)[:, None] * context

    def _place(self, tangents: Floats) -> Array:
        rows = self.context_ + tangents
        if self.normalize:
            norms = row_norms(rows)
            if len(zero := np.flatnonzero(norms == 0)):
                raise InputError(f"composite {row_list(zero)} is zero and has no direction to normalise")
            rows /= norms[:, None]
        return rows.astype(self.dtype_)


class GeodesicDecomposition(Decomposition):
    """Directions that add in the tangent space at the intrinsic mean: ``Exp(v_z1 + ... + v_zs)`` (GDE).

    Parameters
    ----------
    fit : {"means", "least_squares"}
        "means" is the paper's: a direction is the mean of the tangent means of the available combinations
        that hold its value. On an incomplete grid that mixes in the company the value keeps.
        "least_squares" fits the additive model to the tangent means; its directions sum to 0 in every
        factor, which makes them unique (Lemma 1) and leaves an ``intercept_``. On a complete grid with
        equal masses the two agree. Least squares needs the values to be linked by combinations and
        raises otherwise; "means" does not need it, but its composites across unlinked parts each carry
        the offsets of both parts, and it warns.
    weighting : {"pair", "image"}
        "pair" (the paper) gives every combination the same mass; "image" gives every image its own weight,
        so that a combination counts by its number of images.
    tol, max_iter
        Of `bindery.sphere.frechet_mean`.

    Source: Paper G, Prop. 1 and 2, Eq. 11.
    """

    kind = "geodesic"
    normalize = True

    def __init__(
        self,
        fit: Fit = "means",
        weighting: Weighting = "pair",
        tol: float | None = None,
        max_iter: int = 200,
    ) -> None:
        self._fit, self.weighting, self.tol, self.max_iter = fit, weighting, tol, max_iter

    def _centre(
        self, points: Array, shares: Floats, groups: NDArray[np.intp], n: int
    ) -> tuple[Floats, Floats]:
        rows, _, norms = unit_rows(points, "X")
        self.mean_ = frechet_mean(rows, shares, tol=self.tol, max_iter=self.max_iter)
        context = unit64(self.mean_.point[None])[0]
        return context, log_sums(rows, context, shares, norms, groups, n).sums

    def _place(self, tangents: Floats) -> Array:
        return exp_rows(tangents, self.context_).astype(self.dtype_)
