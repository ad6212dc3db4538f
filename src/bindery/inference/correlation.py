"""Correlations over encoders: n, interval, p; and what the families of encoders leave of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pingouin as pg
from scipy.stats import norm

from bindery.errors import InputError
from bindery.inference.panel import Missing, Panel, check_panel, is_constant
from bindery.inference.resampling import (
    Floats,
    Method,
    Statistic,
    bootstrap_interval,
    correlation,
    permutation_p,
    permuted_correlations,
    without_each_family,
)


def fisher_interval(
    r: float, n: int, *, method: Method = "pearson", level: float = 0.95
) -> tuple[float, float]:
    """Interval of a correlation of ``n`` independent encoders, by Fisher's z.

    The variance is 1/(n − 3) for Pearson and (1 + r²/2)/(n − 3) for Spearman (Bonett and Wright 2000), whose
    interval keeps its coverage where the plain one does not.
    """
    spread = np.sqrt((1 + (r**2 / 2 if method == "spearman" else 0)) / (n - 3))
    with np.errstate(divide="ignore"):  # r = 1 has the interval [1, 1]
        centre, reach = np.arctanh(np.clip(r, -1, 1)), norm.ppf((1 + level) / 2) * spread
    return float(np.tanh(centre - reach)), float(np.tanh(centre + reach))


def correlate(
    table: pd.DataFrame,
    x: str,
    y: str,
    *,
    method: Method = "pearson",
    level: float = 0.95,
    draws: int = 2000,
    permutations: int = 9999,
    seed: int = 0,
    missing: Missing = "raise",
) -> pd.DataFrame:
    """Correlation of two metrics over encoders.

    Parameters
    ----------
    table : DataFrame
        One row an encoder, see `bindery.inference.check_panel`.
    x, y : names of columns
    method : {"pearson", "spearman"}
    level : float
        Of every interval.
    draws, permutations, seed : int
        Of the bootstrap over families, of the permutation test, and of both.
    missing : {"raise", "drop"}

    Returns
    -------
    DataFrame
        One row: ``x``, ``y``, ``method`` and

        * pingouin's columns as they are: ``n``, ``r``, ``CI95``, ``p_val``, ``power`` (it restates p) and,
          for Pearson, ``BF10``;
        * ``ci_low``, ``ci_high`` (`fisher_interval`) and ``p_perm``, for independent encoders;
        * ``n_families``; ``family_ci_low``, ``family_ci_high``: whole families resampled, percentile, NaN
          below three families;
        * ``loo_low``, ``loo_high``, ``loo_low_family``, ``loo_high_family``: the extremes when one family is
          left out;
        * ``dropped``: encoders left out for missing values.

    Raises
    ------
    InputError
        See `check_panel`.

    Source: Paper S, Table 2 (Pearson r, two-sided p); the rest is ours.
    """
    _check_method(method)
    panel = check_panel(table, [x, y], missing=missing)
    first, second = panel.values.T
    classical = pg.corr(first, second, method=method).iloc[0].to_dict()
    r = float(classical["r"])
    low, high = fisher_interval(r, len(first), method=method, level=level)
    rng = np.random.default_rng(seed)
    ranks = pd.DataFrame(panel.values).rank().to_numpy() if method == "spearman" else panel.values
    null = permuted_correlations(ranks[:, 0], ranks[:, 1], permutations, rng)
    record = {"x": x, "y": y, "method": method} | classical | {"ci_low": low, "ci_high": high}
    record["p_perm"] = permutation_p(r, null)

    def statistic(rows: Floats) -> float:
        return correlation(rows[:, 0], rows[:, 1], method)

    return pd.DataFrame([record | _families(statistic, panel, 4, draws, level, rng)])


def partial_correlate(
    table: pd.DataFrame,
    x: str,
    y: str,
    covariates: Sequence[str],
    *,
    method: Method = "pearson",
    level: float = 0.95,
    draws: int = 2000,
    permutations: int = 9999,
    seed: int = 0,
    missing: Missing = "raise",
) -> pd.DataFrame:
    """Correlation of what a linear fit on ``covariates`` leaves of x and of y; n − k − 2 degrees of freedom.

    Returns and raises as `correlate`, with the column ``covariates``; needs four encoders more than
    covariates. ``p_perm`` permutes the residuals of y (Freedman and Lane).

    Source: Paper S, SugarCrepe analysis (JER given zero-shot accuracy).
    """
    _check_method(method)
    covariates = [covariates] if isinstance(covariates, str) else list(covariates)
    if not covariates or set(covariates) & {x, y}:
        raise InputError("covariates must name at least one column other than x and y")
    fewest = 4 + len(covariates)
    panel = check_panel(table, [x, y, *covariates], missing=missing, fewest=fewest)
    values = pd.DataFrame(panel.values).rank().to_numpy() if method == "spearman" else panel.values
    left = _residuals(values)
    for name, column, total in zip((x, y), left.T, values.T, strict=False):
        if np.linalg.norm(column) <= 1e-9 * np.linalg.norm(total - total.mean()):
            raise InputError(f"{name} is a linear function of {', '.join(covariates)}; nothing is left of it")
    frame = pd.DataFrame(panel.values, columns=[x, y, *covariates])
    classical = pg.partial_corr(frame, x=x, y=y, covar=covariates, method=method).iloc[0].to_dict()
    r = float(classical["r"])
    low, high = fisher_interval(r, len(values) - len(covariates), method=method, level=level)
    rng = np.random.default_rng(seed)
    record = {"x": x, "y": y, "covariates": ", ".join(covariates), "method": method} | classical
    record |= {"ci_low": low, "ci_high": high}
    record["p_perm"] = permutation_p(r, permuted_correlations(left[:, 0], left[:, 1], permutations, rng))

    def statistic(rows: Floats) -> float:
        ranked = pd.DataFrame(rows).rank().to_numpy() if method == "spearman" else rows
        if any(is_constant(column) for column in ranked.T):
            return np.nan
        return correlation(*_residuals(ranked).T)

    return pd.DataFrame([record | _families(statistic, panel, fewest, draws, level, rng)])


def difference_of_correlations(
    table: pd.DataFrame,
    first: tuple[str, str],
    second: tuple[str, str],
    *,
    method: Method = "pearson",
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    missing: Missing = "raise",
) -> pd.DataFrame:
    """Difference r(first) − r(second) of two correlations over the same encoders.

    Parameters
    ----------
    table : DataFrame
        See `correlate`.
    first, second : pairs of column names
        They may share a column, such as a geometry metric with binding and with a single-factor control.

    Returns
    -------
    DataFrame
        One row: ``first``, ``second``, ``method``, ``n``, ``r_first``, ``r_second``, ``difference``,
        ``ci_low``, ``ci_high`` (encoders resampled, percentile) and the family columns of `correlate`.

    Raises
    ------
    InputError
        See `check_panel`.
    """
    _check_method(method)
    columns = list(dict.fromkeys((*first, *second)))
    panel = check_panel(table, columns, missing=missing)
    a, b, c, d = (columns.index(name) for name in (*first, *second))

    def both(rows: Floats) -> tuple[float, float]:
        return correlation(rows[:, a], rows[:, b], method), correlation(rows[:, c], rows[:, d], method)

    def statistic(rows: Floats) -> float:
        one, two = both(rows)
        return one - two

    one, two = both(panel.values)
    rng = np.random.default_rng(seed)
    names = np.array(panel.encoders)
    low, high = bootstrap_interval(statistic, panel.values, names, draws=draws, level=level, rng=rng)
    record: dict[str, Any] = {"first": " ~ ".join(first), "second": " ~ ".join(second), "method": method}
    record |= {"n": len(names), "r_first": one, "r_second": two, "difference": one - two}
    record |= {"ci_low": low, "ci_high": high}
    return pd.DataFrame([record | _families(statistic, panel, 4, draws, level, rng)])


def leave_one_family_out(
    table: pd.DataFrame, x: str, y: str, *, method: Method = "pearson", missing: Missing = "raise"
) -> pd.DataFrame:
    """The correlation without each family: ``family``, ``n`` that remain, ``r`` (NaN below four encoders)."""
    _check_method(method)
    panel = check_panel(table, [x, y], missing=missing)
    left = without_each_family(
        lambda rows: correlation(rows[:, 0], rows[:, 1], method), panel.values, panel.families, 4
    )
    n = [int((panel.families != family).sum()) for family in left]
    return pd.DataFrame({"family": list(left), "n": n, "r": list(left.values())})


def _families(
    statistic: Statistic, panel: Panel, fewest: int, draws: int, level: float, rng: np.random.Generator
) -> dict[str, Any]:
    low, high = bootstrap_interval(statistic, panel.values, panel.families, draws=draws, level=level, rng=rng)
    left = without_each_family(statistic, panel.values, panel.families, fewest)
    known = sorted((value, family) for family, value in left.items() if np.isfinite(value))
    least, most = (known[0], known[-1]) if known else ((np.nan, ""), (np.nan, ""))
    return {
        "n_families": len(left),
        "family_ci_low": low,
        "family_ci_high": high,
        "loo_low": least[0],
        "loo_low_family": least[1],
        "loo_high": most[0],
        "loo_high_family": most[1],
        "dropped": ", ".join(panel.dropped),
    }


def _residuals(values: Floats) -> Floats:
    """The first two columns after a least-squares fit on the others and a constant, (n, 2)."""
    design = np.column_stack([np.ones(len(values)), values[:, 2:]])
    return values[:, :2] - design @ np.linalg.lstsq(design, values[:, :2], rcond=None)[0]


def _check_method(method: str) -> None:
    if method not in ("pearson", "spearman"):
        raise InputError(f"method must be pearson or spearman; got {method!r}")
