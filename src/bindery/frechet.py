"""The intrinsic (Frechet, Karcher) mean on the sphere, with a certificate of what was reached."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bindery.checks import row_list, same_length
from bindery.errors import BinderyError, InputError
from bindery.rows import Array, blocks, unit64, unit_rows
from bindery.tangent import LogSums, exp_rows, log_sums

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FrechetMean:
    """An intrinsic mean and what is known about it.

    ``unique`` is True when every row of positive weight lies within an open ball of radius pi/2 around
    ``point`` (``max_angle < pi / 2``). Then the mean is the only point of that ball at which the gradient
    vanishes, and the only global minimiser (Afsari 2011, Theorem 2.1). The condition is sufficient, not
    necessary: False means that uniqueness was not shown.
    """

    point: Array
    """(D,) unit vector, dtype of the input."""
    gradient_norm: float
    """Length of the weighted mean of Log at ``point``, in radians."""
    n_iter: int
    """Steps taken; each is one pass over the points."""
    max_angle: float
    """Largest angle from ``point`` to a row of positive weight, in radians."""
    unique: bool
    """Whether ``max_angle < pi / 2``, which proves that there is no other mean."""


def frechet_mean(
    points: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    tol: float | None = None,
    max_iter: int = 200,
    on_fail: Literal["raise", "warn"] = "raise",
) -> FrechetMean:
    r"""The point with the smallest weighted mean squared angle to the points.

    .. math:: \mu = \arg\min_u \sum_i w_i\, d(u, u_i)^2, \qquad \sum_i w_i\,\mathrm{Log}_\mu(u_i) = 0

    Starts at the normalised weighted arithmetic mean and repeats
    :math:`\mu \leftarrow \mathrm{Exp}_\mu(\eta \sum_i w_i \mathrm{Log}_\mu(u_i))`. The step is
    :math:`\eta = 1/(h + (1-h)/(D-1))` with :math:`h = \sum_i w_i\,\theta_i / \tan\theta_i`: Newton's for a
    cloud that looks alike in all directions. Should the gradient ever grow, the steps fall back to the
    published :math:`\eta = 1`, which never increases the objective. Each step is one pass over memory.

    Parameters
    ----------
    points : (N, D) array
        Unit vectors, N >= 1, D >= 2.
    weights : (N,) array, optional
        Weights >= 0, not all zero; divided by their sum. Equal by default.
    tol : float, optional
        Gradient norm, in radians, at which to stop; 1e-10 for float64, 1e-6 for float32.
    max_iter : int
        Largest number of steps.
    on_fail : {"raise", "warn"}
        What to do when ``tol`` is not reached.

    Returns
    -------
    FrechetMean
        The point with its certificate.

    Raises
    ------
    InputError
        A row that is not finite, not of unit norm, or opposite an iterate (rows told); weights that do
        not fit.
    BinderyError
        ``tol`` not reached in ``max_iter`` steps and ``on_fail="raise"``.

    Source: Paper G, Sec. 3 and supplementary Alg. 1 (there 10 steps at most, tolerance 1e-5).
    """
    if on_fail not in ("raise", "warn"):
        raise InputError(f'on_fail must be "raise" or "warn", not {on_fail!r}')
    rows, _, norms = unit_rows(points, "points")
    if rows.shape[1] < 2:
        raise InputError(f"points must have at least 2 columns to lie on a sphere; got {rows.shape}")
    share = _shares(weights, len(rows))
    goal = tol if tol is not None else (1e-6 if rows.dtype == np.float32 else 1e-10)
    wide = goal < 1e-6

    def mean_log(at: Floats) -> LogSums:
        return log_sums(rows, at, share, norms, wide=wide)

    point, here, n_iter = _iterate(mean_log, _start(rows, share, norms), goal, max_iter)
    gradient = float(np.linalg.norm(here.sums))
    if gradient > goal:
        message = (
            f"the mean stopped at gradient norm {gradient:.2g} after {n_iter} steps, above tol={goal:g}; "
            "raise max_iter or tol, or look at the spread of the points"
        )
        if on_fail == "raise":
            raise BinderyError(message)
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    angle = _largest_angle(rows, share, point, here.lowest_cosine)
    return FrechetMean(point.astype(rows.dtype), gradient, n_iter, angle, angle < np.pi / 2)


def _iterate(
    mean_log: Callable[[Floats], LogSums], point: Floats, goal: float, max_iter: int
) -> tuple[Floats, LogSums, int]:
    """Newton-scaled steps, full steps once the gradient has grown."""
    here, scaled = mean_log(point), True
    for n_iter in range(max_iter):
        gradient = here.sums[0]
        size = np.linalg.norm(gradient)
        if size <= goal:
            return point, here, n_iter
        across = here.curvature
        stiffness = max(0.1, across + (1 - across) / (len(point) - 1)) if scaled else 1.0
        proposal = exp_rows(gradient / stiffness, point)
        proposal /= np.linalg.norm(proposal)
        there = mean_log(proposal)
        if scaled and np.linalg.norm(there.sums) >= size:
            scaled = False
            continue
        point, here = proposal, there
    return point, here, max_iter


def _start(rows: Array, share: Floats, norms: Floats) -> Floats:
    """The normalised weighted arithmetic mean, or the heaviest row when that mean vanishes."""
    total = np.zeros(rows.shape[1])
    for block in blocks(*rows.shape):
        total += (share[block] / norms[block]).astype(rows.dtype) @ rows[block]
    length = np.linalg.norm(total)
    return total / length if length > 1e-6 else unit64(rows[[np.argmax(share)]])[0]


def _largest_angle(rows: Array, share: Floats, point: Floats, lowest_cosine: float) -> float:
    """Exact where arccos is not: near 0 and near pi the rows are measured again."""
    if abs(lowest_cosine) < 0.99:
        return float(np.arccos(lowest_cosine))
    largest = 0.0
    for block in blocks(*rows.shape):
        kept = unit64(rows[block][share[block] > 0])
        chord, cochord = np.linalg.norm(kept - point, axis=1), np.linalg.norm(kept + point, axis=1)
        largest = max(largest, float(np.max(2 * np.arctan2(chord, cochord), initial=0.0)))
    return largest


def _shares(weights: ArrayLike | None, n_rows: int) -> Floats:
    """Weights divided by their sum; equal ones when none are given."""
    if n_rows == 0:
        raise InputError("the mean of no points is not defined; give at least one row")
    if weights is None:
        return np.full(n_rows, 1.0 / n_rows)
    given = np.asarray(weights, dtype=np.float64)
    if given.ndim != 1:
        raise InputError(f"weights must be (N,), one a row; got shape {given.shape}")
    same_length(points=range(n_rows), weights=given)
    wrong = np.flatnonzero(~(np.isfinite(given) & (given >= 0)))
    if len(wrong):
        raise InputError(f"weights must be finite and not negative; row {row_list(wrong)} is not")
    if not (total := given.sum()) > 0:
        raise InputError("weights must not all be zero")
    return given / total
