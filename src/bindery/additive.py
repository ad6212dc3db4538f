"""The additive model of combination means: its directions, and how much of the variance it explains."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lstsq

from bindery.checks import finite_rows, same_length
from bindery.errors import InputError
from bindery.labels import Factors, Labels, read_labels
from bindery.rows import Array, add_weighted, blocks

Floats = NDArray[np.float64]


def by_means(tangents: Floats, mass: Floats, factors: Factors) -> tuple[Floats, dict[str, Floats]]:
    """Mean of the combinations that hold a value, for each value (Paper G, Eq. 11)."""
    directions = {}
    for i, (factor, names) in enumerate(factors.classes.items()):
        total = np.zeros((len(names), tangents.shape[1]))
        np.add.at(total, factors.combinations[:, i], mass[:, None] * tangents)
        directions[factor] = total / np.bincount(factors.combinations[:, i], mass)[:, None]
    if len(factors.classes) > 1 and len(parts := factors.components()) > 1:
        warnings.warn(
            f"values fall into {len(parts)} parts that no combination links ({_told(parts)}); composites "
            "across parts mix the offsets of both",
            UserWarning,
            stacklevel=3,
        )
    return np.zeros(tangents.shape[1]), directions


def by_least_squares(tangents: Floats, mass: Floats, factors: Factors) -> tuple[Floats, dict[str, Floats]]:
    """The additive model nearest to the tangent means; directions sum to 0 in each factor."""
    root, design = np.sqrt(mass)[:, None], factors.design()
    solution, _, rank, _ = lstsq(root * design, root * tangents, lapack_driver="gelsy")
    _require_rank(int(rank), factors)
    directions, start = {}, 1
    for factor, names in factors.classes.items():
        free = solution[start : start + len(names) - 1]
        directions[factor] = np.vstack([free, -free.sum(axis=0)])
        start += len(names) - 1
    return solution[0], directions


def _require_rank(rank: int, factors: Factors) -> None:
    unknowns, parts = factors.design().shape[1], factors.components()
    if rank < unknowns:
        reason = f"they fix {rank} of {unknowns} unknowns"
        if len(parts) > 1:
            reason = f"they fall into {len(parts)} parts that nothing links: {_told(parts)}"
        raise InputError(
            f"the training combinations do not determine the directions: {reason}; "
            "add combinations that link them, or fit each part alone"
        )


def _told(parts: list[list[str]], limit: int = 4) -> str:
    """Components in words, the first few values of each."""
    shown = ["{" + ", ".join(part[:limit]) + (", ..." if len(part) > limit else "") + "}" for part in parts]
    return " and ".join(shown[:limit]) + (f" and {len(shown) - limit} more" if len(shown) > limit else "")


@dataclass(frozen=True)
class AdditiveR2:
    """Share of the variance of combination means that one direction a value explains."""

    in_sample: float
    """1 - residual / total sum of squares, at most 1; it grows with the number of values fitted."""
    held_out: float
    """The same for combinations left out of the fit, against the mean of the others; may be negative."""
    n_combinations: int
    """Combinations with images."""
    n_held_out: int
    """Combinations that could be predicted: the others hold all of their values and stay linked."""
    null: float
    """In-sample share expected from means without structure, p / (Z - 1) for p free directions."""


def additive_r2(X: ArrayLike, labels: Labels, groups: Sequence[Hashable] | None = None) -> AdditiveR2:
    r"""How much of the variance between combination means the additive model explains.

    The model is :math:`\bar x_z = b + v_{z_1} + \dots + v_{z_s}`, fitted by least squares with equal weight
    a combination. Each combination is left out in turn, exactly and without refitting: with residual e and
    leverage h its prediction from the others misses by :math:`e / (1 - h)`.

    Parameters
    ----------
    X : (N, D) array
        Vectors of a flat space: embeddings as points of R^D, or their Log at a common base point.
    labels : mapping factor -> N strings
        Any number of factors >= 1.
    groups : sequence of N hashables, optional
        Source of each image (drawing, content photograph). When given, sources are divided in two halves,
        alternating among the sources of the same combinations; a left-out combination is predicted from
        the other combinations of one half and compared with its own mean in the other half, both ways.
        Then no source helps to predict itself.

    Returns
    -------
    AdditiveR2

    Raises
    ------
    InputError
        Rows that are not finite, lengths that differ, fewer than two combinations, or combinations that do
        not determine the directions (components named).
    """
    rows = finite_rows(X, "X")
    factors = read_labels(labels)
    same_length(X=rows, labels=factors.row_combination)
    count = len(factors.combinations)
    if count < 2:
        raise InputError("one combination has no variance to explain; give at least two")
    means = _combination_means(rows, factors, np.ones(len(rows), dtype=bool))
    fitted, leverage = _fit_means(means, factors)
    total = np.sum((means - means.mean(axis=0)) ** 2)
    usable = leverage < 1 - 1e-9
    parameters = factors.design().shape[1] - 1
    return AdditiveR2(
        in_sample=float(1 - np.sum((means - fitted) ** 2) / total),
        held_out=_held_out(rows, factors, groups, usable, leverage),
        n_combinations=count,
        n_held_out=int(usable.sum()),
        null=parameters / (count - 1),
    )


def _held_out(
    rows: Array,
    factors: Factors,
    groups: Sequence[Hashable] | None,
    usable: NDArray[np.bool_],
    leverage: Floats,
) -> float:
    """1 - sum of squared misses / sum of squared misses of the mean of the others."""
    if not usable.any():
        return float("nan")
    n, everything = len(factors.combinations), np.ones(len(rows), dtype=bool)
    half = everything if groups is None else _halves(groups, factors)
    halves = [(everything, everything)] if groups is None else [(half, ~half), (~half, half)]
    miss = base = 0.0
    for fit_rows, target_rows in halves:
        means, target = (_combination_means(rows, factors, chosen) for chosen in (fit_rows, target_rows))
        fitted, _ = _fit_means(means, factors)
        predicted = means - (means - fitted) / (1 - np.where(usable, leverage, 0))[:, None]
        others = (means.sum(axis=0) - means) / (n - 1)
        miss += float(np.sum((target - predicted)[usable] ** 2))
        base += float(np.sum((target - others)[usable] ** 2))
    return 1 - miss / base


def _combination_means(rows: Array, factors: Factors, chosen: NDArray[np.bool_]) -> Floats:
    """(Z, D) means over the chosen rows."""
    counts = np.bincount(factors.row_combination, chosen, minlength=len(factors.combinations))
    if len(empty := np.flatnonzero(counts == 0)):
        raise InputError(
            f"combination {factors.names[empty[0]]} has images of one source only; "
            "held-out sources need two in each combination"
        )
    totals = np.zeros((len(counts), rows.shape[1]))
    for block in blocks(*rows.shape):
        add_weighted(totals, rows[block], chosen[block].astype(float), factors.row_combination[block])
    return totals / counts[:, None]


def _fit_means(means: Floats, factors: Factors) -> tuple[Floats, Floats]:
    """Fitted means (Z, D) and leverages (Z,) of the additive model, equal weights."""
    basis, singular, _ = np.linalg.svd(factors.design(), full_matrices=False)
    _require_rank(int(np.sum(singular > 1e-9 * singular[0])), factors)
    return basis @ (basis.T @ means), np.einsum("zp,zp->z", basis, basis)


def _halves(groups: Sequence[Hashable], factors: Factors) -> NDArray[np.bool_]:
    """(N,) half of each row: sources alternate in the order of the first combination they occur in."""
    same_length(groups=groups, labels=factors.row_combination)
    frame = pd.DataFrame({"source": list(groups), "combination": factors.row_combination})
    first = frame.groupby("source", sort=True)["combination"].min().sort_values(kind="stable")
    half = pd.Series(np.arange(len(first)) % 2 == 0, index=first.index)
    return frame["source"].map(half).to_numpy(dtype=bool)
