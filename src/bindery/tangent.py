"""Log on the sphere: row by row, and as weighted sums that never hold an (N, D) array of tangents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bindery.checks import row_list
from bindery.errors import InputError
from bindery.rows import Array, add_weighted, blocks, unit64

Floats = NDArray[np.float64]

#: Below this cosine the angle is taken from u + mu instead of u . mu, which no longer fixes it.
_FAR = -0.9


def antipode_tolerance(*arrays: Array) -> float:
    """Length of u + mu at or below which u counts as the antipode: rounding of the narrower dtype."""
    return 5e-7 if any(array.dtype == np.float32 for array in arrays) else 1e-14


def exp_rows(tangents: Floats, base: Floats) -> Floats:
    """Exp of tangent rows (N, D) at unit base row(s); ``sin(t) / t`` is 1 at 0, so nothing is divided."""
    length = np.linalg.norm(tangents, axis=-1, keepdims=True)
    return np.cos(length) * base + np.sinc(length / np.pi) * tangents


def log_rows(points: Floats, base: Floats, antipode: float, first_row: int = 0) -> tuple[Floats, Floats]:
    """Log of unit rows at unit base row(s) -> tangents (N, D) and angles (N,), with no cancellation.

    Raises InputError when ``|point + base| <= antipode``, naming the rows counted from ``first_row``.
    """
    difference, total = points - base, points + base
    chord, cochord = np.linalg.norm(difference, axis=1), np.linalg.norm(total, axis=1)
    opposite = np.flatnonzero(cochord <= antipode)
    if len(opposite):
        raise InputError(
            f"points must not lie opposite their base; row {row_list(opposite + first_row)} is the antipode, "
            "where Log has no single direction"
        )
    tangents = difference - (difference * base).sum(axis=1)[:, None] * base
    angles = 2 * np.arctan2(chord, cochord)
    length = np.linalg.norm(tangents, axis=1)
    return tangents * np.divide(angles, length, out=np.ones_like(length), where=length > 0)[:, None], angles


@dataclass(frozen=True)
class LogSums:
    """Weighted sums of Log over groups of rows, and what a mean needs to know beside them."""

    sums: Floats
    """(G, D): the sum of weight * Log over each group."""
    curvature: float
    """Sum of weight * theta / tan(theta): the mean Hessian of half the squared distance, across the ray."""
    lowest_cosine: float
    """Smallest cosine to the base among rows of positive weight."""


def log_sums(
    points: Array,
    base: Floats,
    weights: Floats,
    norms: Floats,
    groups: NDArray[np.intp] | None = None,
    n_groups: int = 1,
    *,
    wide: bool = False,
) -> LogSums:
    r"""Weighted sums of Log at ``base``, one pass over memory.

    .. math:: \sum_i w_i \mathrm{Log}_\mu(u_i)
        = \sum_i w_i \frac{\theta_i}{\sin\theta_i}\,(u_i - \cos\theta_i\,\mu)

    so a block needs one product with mu and one weighted sum. theta / sin theta is a smooth function of
    the cosine at 0, so small angles lose nothing; rows near the antipode go through :func:`log_rows`.

    Parameters
    ----------
    points : (N, D) array
        Rows of about unit norm.
    base : (D,) array
        Unit vector.
    weights, norms : (N,) array
        Weights >= 0, and the norms the rows are divided by.
    groups : (N,) integer array, optional
        Group of each row, in [0, n_groups).
    wide : bool
        Compute float32 blocks in float64 (slower; needed only for tolerances below 1e-6).
    """
    dtype = np.float64 if wide else points.dtype
    sums, radial, curvature, lowest = np.zeros((n_groups, points.shape[1])), np.zeros(n_groups), 0.0, 1.0
    direction = base.astype(dtype)
    for rows in blocks(*points.shape):
        block = points[rows].astype(dtype, copy=False)
        weight, norm = weights[rows], norms[rows]
        group = None if groups is None else groups[rows]
        cosine = (block @ direction).astype(np.float64) / norm
        lowest = min(lowest, float(np.min(cosine, where=weight > 0, initial=1.0)))
        scaled = weight * angle_over_sine(np.maximum(cosine, _FAR))
        far = np.flatnonzero((cosine < _FAR) & (weight > 0))
        scaled[cosine < _FAR] = 0.0
        if len(far):
            tangents, angles = _far_logs(block, far, base, antipode_tolerance(points), rows.start)
            add_weighted(sums, tangents, weight[far], None if group is None else group[far])
            curvature += float(weight[far] @ (angles / np.tan(angles)))
        add_weighted(sums, block, scaled / norm, group)
        add_weighted(radial[:, None], cosine[:, None], scaled, group)
    curvature += float(radial.sum())
    sums -= radial[:, None] * base
    sums -= (sums @ base)[:, None] * base
    return LogSums(sums, curvature, lowest)


def angle_over_sine(cosine: Floats) -> Floats:
    """theta / sin(theta) from cos(theta) in (-1, 1]; a series within 0.014 rad of 0."""
    gap = 1.0 - cosine
    near = np.abs(gap) < 1e-4
    series = 1 + gap * (1 / 3 + gap * (2 / 15 + gap * (2 / 35)))
    safe = np.where(near, 0.0, cosine)
    return np.where(near, series, np.arccos(safe) / np.sqrt((1 - safe) * (1 + safe)))


def _far_logs(
    block: Array, far: NDArray[np.intp], base: Floats, antipode: float, first_row: int
) -> tuple[Floats, Floats]:
    points = unit64(block[far])
    opposite = np.flatnonzero(np.linalg.norm(points + base, axis=1) <= antipode)
    if len(opposite):
        raise InputError(
            f"row {row_list(far[opposite] + first_row)} is the antipode of the base point, "
            "where Log has no single direction"
        )
    return log_rows(points, base, antipode)
