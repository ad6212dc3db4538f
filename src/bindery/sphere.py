r"""The unit sphere :math:`S^{D-1}`: Exp, Log, distance, transport, and the intrinsic mean.

Arrays are (N, D), one row a point, or one (D,) vector; float32 or float64 in, the same out, computed in
float64 block by block, and never a D x D matrix. Angles are in radians. Zero tangents and coincident
points are legal. Where a map is not defined (the antipode) it raises and names the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bindery.checks import finite_rows, row_list
from bindery.errors import InputError
from bindery.frechet import FrechetMean, frechet_mean
from bindery.rows import Array, as_rows, common_rows, map_rows, row_norms, unit64, unit_rows
from bindery.tangent import antipode_tolerance, exp_rows, log_rows

__all__ = ["FrechetMean", "distance", "exp", "frechet_mean", "log", "transport", "unit"]

#: Share of a tangent vector that may point along its base point before it is refused.
_TANGENT_TOLERANCE = 1e-4


def unit(vectors: ArrayLike) -> Array:
    """Each row divided by its norm, (N, D) or (D,); dtype kept.

    Raises
    ------
    InputError
        A row that is zero or not finite (rows told): it has no direction.
    """
    rows, single = as_rows(vectors, "vectors")
    finite_rows(rows, "vectors")
    norms = row_norms(rows)
    wrong = np.flatnonzero(~((norms > 0) & np.isfinite(norms)))
    if len(wrong):
        raise InputError(f"vectors must not be zero; row {row_list(wrong)} has no direction")

    def kernel(block: Array, _: int) -> Array:
        wide = block.astype(np.float64)
        return wide / np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]

    return _squeeze(map_rows(kernel, np.empty_like(rows), rows), single)


def exp(tangents: ArrayLike, base: ArrayLike) -> Array:
    r"""Walk from ``base`` along a tangent vector, by its length.

    .. math:: \mathrm{Exp}_\mu(v) = \cos|v|\,\mu + \frac{\sin|v|}{|v|}\,v, \qquad \mathrm{Exp}_\mu(0) = \mu

    Parameters
    ----------
    tangents : (N, D) or (D,) array
        Tangent vectors at ``base``, in radians; of any length, zero included.
    base : (D,) or (N, D) array
        Unit vector(s).

    Returns
    -------
    (N, D) or (D,) array
        Unit vectors.

    Raises
    ------
    InputError
        A row that is not finite or not tangent to its base; a base of other than unit norm.

    Source: Paper G, Eq. 13.
    """
    vectors, single = as_rows(tangents, "tangents")
    finite_rows(vectors, "tangents")
    bases, single_base, _ = unit_rows(base, "base")
    shape = (common_rows(tangents=vectors, base=bases), vectors.shape[1])

    def kernel(v: Array, p: Array, first: int) -> Array:
        wide, p = v.astype(np.float64), unit64(p)
        _refuse_normal(wide, p, first)
        return exp_rows(wide, p)

    return _squeeze(map_rows(kernel, np.empty(shape, vectors.dtype), vectors, bases), single and single_base)


def log(points: ArrayLike, base: ArrayLike) -> Array:
    r"""The tangent vector at ``base`` that leads to each point; the inverse of :func:`exp` within pi.

    .. math:: \mathrm{Log}_\mu(u) = \theta\,\frac{p}{|p|}, \quad p = u - (u\cdot\mu)\,\mu,
              \quad \theta = 2\,\mathrm{atan2}(|u-\mu|, |u+\mu|)

    The angle has no arccos, and p is formed from the difference u - mu, which is exact where it is small: the
    relative error stays below 1e-6 in float64 from 1e-9 to pi - 1e-6.

    Parameters
    ----------
    points : (N, D) or (D,) array
        Unit vectors.
    base : (D,) or (N, D) array
        Unit vector(s).

    Returns
    -------
    (N, D) or (D,) array
        Tangent vectors at ``base``; the norm is the angle, in [0, pi).

    Raises
    ------
    InputError
        A point at the antipode of its base, not of unit norm, or not finite; the rows are told.

    Source: Paper G, Eq. 14.
    """
    rows, single, _ = unit_rows(points, "points")
    bases, single_base, _ = unit_rows(base, "base")
    shape = (common_rows(points=rows, base=bases), rows.shape[1])
    tolerance = antipode_tolerance(rows, bases)

    def kernel(q: Array, p: Array, first: int) -> Array:
        return log_rows(unit64(q), unit64(p), tolerance, first)[0]

    return _squeeze(map_rows(kernel, np.empty(shape, rows.dtype), rows, bases), single and single_base)


def distance(x: ArrayLike, y: ArrayLike) -> Array:
    r"""Angle between unit vectors, row by row, in [0, pi]: :math:`2\,\mathrm{atan2}(|x-y|, |x+y|)`.

    Symmetric to the last bit, and exactly 0 for a point and itself.

    Parameters
    ----------
    x, y : (N, D) or (D,) array
        Unit vectors; one of them may be a single vector.

    Returns
    -------
    (N,) array, or a scalar array () for two single vectors
        Radians.

    Raises
    ------
    InputError
        A row not of unit norm or not finite (rows told); shapes that do not agree.
    """
    left, single_x, _ = unit_rows(x, "x")
    right, single_y, _ = unit_rows(y, "y")
    out = np.empty(common_rows(x=left, y=right), np.result_type(left, right))

    def kernel(p: Array, q: Array, _: int) -> Array:
        p, q = unit64(p), unit64(q)
        return 2 * np.arctan2(np.linalg.norm(p - q, axis=1), np.linalg.norm(p + q, axis=1))

    return _squeeze(map_rows(kernel, out, left, right), single_x and single_y)


def transport(tangents: ArrayLike, start: ArrayLike, end: ArrayLike) -> Array:
    r"""Parallel transport of tangent vectors at ``start`` along the geodesic to ``end``.

    .. math:: v \mapsto v - 2\,\frac{s\cdot v}{s\cdot s}\,s, \qquad s = \mathrm{start} + \mathrm{end}

    This is a reflection, hence an isometry to rounding; from a point to itself it changes nothing.

    Parameters
    ----------
    tangents : (N, D) or (D,) array
        Tangent vectors at ``start``.
    start, end : (D,) or (N, D) array
        Unit vectors.

    Returns
    -------
    (N, D) or (D,) array
        Tangent vectors at ``end`` with the same lengths and angles between them.

    Raises
    ------
    InputError
        ``end`` is the antipode of ``start`` (rows told), or an input is not unit, tangent or finite.

    Source: Paper G's code (context points other than the mean); unused in the paper.
    """
    vectors, single = as_rows(tangents, "tangents")
    finite_rows(vectors, "tangents")
    starts, single_start, _ = unit_rows(start, "start")
    ends, single_end, _ = unit_rows(end, "end")
    shape = (common_rows(tangents=vectors, start=starts, end=ends), vectors.shape[1])
    tolerance = antipode_tolerance(starts, ends)

    def kernel(v: Array, p: Array, q: Array, first: int) -> Array:
        p, q, v = unit64(p), unit64(q), v.astype(np.float64)
        _refuse_normal(v, p, first)
        total = np.broadcast_to(p + q, v.shape)
        size = np.einsum("ij,ij->i", total, total)
        opposite = np.flatnonzero(size <= tolerance**2)
        if len(opposite):
            raise InputError(
                f"end is the antipode of start in row {row_list(opposite + first)}: no single shortest path"
            )
        return v - (2 * np.einsum("ij,ij->i", total, v) / size)[:, None] * total

    out = map_rows(kernel, np.empty(shape, vectors.dtype), vectors, starts, ends)
    return _squeeze(out, single and single_start and single_end)


def _refuse_normal(tangents: Array, base: Array, first_row: int) -> None:
    along = np.abs((tangents * base).sum(axis=1))
    wrong = np.flatnonzero(along > _TANGENT_TOLERANCE * np.maximum(1.0, np.linalg.norm(tangents, axis=1)))
    if len(wrong):
        rows = row_list(wrong + first_row)
        raise InputError(f"tangents must be orthogonal to their base point; row {rows} is not")


def _squeeze(rows: Array, single: bool) -> Array:
    return rows[0] if single else rows
