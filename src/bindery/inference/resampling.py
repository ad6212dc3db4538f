"""Uncertainty without a normal distribution: permutation, bootstrap of encoders and of families."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], float]
Method = Literal["pearson", "spearman"]

FEWEST_FAMILIES = 3


def correlation(x: Floats, y: Floats, method: Method = "pearson") -> float:
    """Pearson or Spearman coefficient; NaN when a column is constant."""
    if method == "spearman":
        x, y = rankdata(x), rankdata(y)
    x, y = x - x.mean(), y - y.mean()
    scale = np.sqrt((x @ x) * (y @ y))
    return float(np.clip(x @ y / scale, -1, 1)) if scale > 0 else np.nan


def permuted_correlations(x: Floats, y: Floats, permutations: int, rng: np.random.Generator) -> Floats:
    """(permutations,) or (permutations, m) coefficients of the columns of ``x`` with shuffled ``y``."""
    centred = y - y.mean()
    shuffled = rng.permuted(np.tile(centred / np.linalg.norm(centred), (permutations, 1)), axis=1)
    columns = x - x.mean(axis=0)
    return shuffled @ (columns / np.linalg.norm(columns, axis=0))


def permutation_p(observed: float, null: Floats) -> float:
    """Two-sided p: the observed arrangement counts as one of the permutations, so it is never 0."""
    return float((1 + (np.abs(null) >= abs(observed) - 1e-12).sum()) / (1 + len(null)))


def bootstrap_interval(
    statistic: Statistic,
    values: Floats,
    units: NDArray[np.str_],
    *,
    draws: int,
    level: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Percentile interval of ``statistic`` (rows -> float), resampling whole units.

    ``units`` (n,) names the family of each row, or the row itself. NaN for fewer than three units, where
    resampling says nothing. Draws in which the statistic is undefined are left out.
    """
    names, member = np.unique(units, return_inverse=True)
    if len(names) < FEWEST_FAMILIES:
        return np.nan, np.nan
    rows = [np.flatnonzero(member == code) for code in range(len(names))]
    picks = rng.integers(len(names), size=(draws, len(names)))
    samples = np.array([statistic(values[np.concatenate([rows[code] for code in pick])]) for pick in picks])
    defined = samples[np.isfinite(samples)]
    if not len(defined):
        return np.nan, np.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def without_each_family(
    statistic: Statistic, values: Floats, families: NDArray[np.str_], fewest: int
) -> dict[str, float]:
    """The statistic with one family left out; NaN when fewer than ``fewest`` rows remain."""
    results = {}
    for family in np.unique(families):
        rest = values[families != family]
        results[str(family)] = statistic(rest) if len(rest) >= fewest else np.nan
    return results
