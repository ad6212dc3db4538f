"""Many metrics at once, how many encoders a correlation needs, and what a published coefficient implies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pingouin as pg
from scipy.stats import t as student

from bindery.errors import InputError
from bindery.inference.correlation import fisher_interval
from bindery.inference.panel import check_panel
from bindery.inference.resampling import Method, correlation, permuted_correlations


def max_t(
    table: pd.DataFrame,
    metrics: Sequence[str],
    y: str,
    *,
    method: Method = "pearson",
    permutations: int = 9999,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Correlations of many metrics with one outcome, p adjusted for having tried them all.

    The outcome is permuted over encoders; the adjusted p of a metric is the share of permutations in which
    the *largest* |r| of all metrics reaches its |r| (Westfall and Young, single step). Correlated metrics
    therefore cost less than a Bonferroni factor.

    Parameters
    ----------
    table : DataFrame
        One row an encoder, see `bindery.inference.check_panel`.
    metrics : names of columns
    y : name of the outcome

    Returns
    -------
    DataFrame
        One row a metric, in the order given: ``metric``, ``y``, ``method``, ``n``, ``r``, ``p_perm``,
        ``p_adj``, ``critical_r`` (the |r| that the best of all useless metrics exceeds with probability
        1 − level), ``n_tests``, ``missing``. A metric that lacks values is kept with NaN, its encoders
        named in ``missing``, and is not counted in ``n_tests``.

    Raises
    ------
    InputError
        See `check_panel`; or no metric without gaps.
    """
    names = list(metrics)
    if repeated := [name for i, name in enumerate(names) if name in names[:i]]:
        raise InputError(f"metric {repeated[0]!r} is listed twice")
    check_panel(table, [y])
    gaps = {name: check_panel(table, [name], missing="drop").dropped for name in names}
    tested = [name for name in names if not gaps[name]]
    if not tested:
        raise InputError("no metric has a value for every encoder")
    values = check_panel(table, [*tested, y]).values
    if method == "spearman":
        values = pd.DataFrame(values).rank().to_numpy()
    observed = {name: correlation(values[:, i], values[:, -1]) for i, name in enumerate(tested)}
    null = np.abs(
        permuted_correlations(values[:, :-1], values[:, -1], permutations, np.random.default_rng(seed))
    )
    largest = null.max(axis=1)
    critical = float(np.quantile(largest, level))
    rows = []
    for name in names:
        r = observed.get(name, np.nan)
        row = {"metric": name, "y": y, "method": method, "n": len(values) - len(gaps[name]), "r": r}
        own = null[:, tested.index(name)] if name in observed else None
        for column, sample in (("p_perm", own), ("p_adj", None if own is None else largest)):
            reached = np.nan if sample is None else (sample >= abs(r) - 1e-12).sum()
            row[column] = (1 + reached) / (1 + permutations)
        rows.append(row | {"critical_r": critical, "n_tests": len(tested), "missing": ", ".join(gaps[name])})
    return pd.DataFrame(rows)


def power_table(
    r: Sequence[float] = (0.2, 0.3, 0.4, 0.5, 0.6, 0.69, 0.8),
    power: Sequence[float] = (0.5, 0.8, 0.9),
    *,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Independent encoders needed to find a true correlation: ``r``, ``power``, ``alpha``, ``n``."""
    rows = [
        {
            "r": true,
            "power": wanted,
            "alpha": alpha,
            "n": math.ceil(pg.power_corr(r=true, power=wanted, alpha=alpha)),
        }
        for true in r
        for wanted in power
    ]
    return pd.DataFrame(rows)


def power_curve(
    n: Sequence[int] = (8, 13, 21, 26, 40, 60), r: Sequence[float] = (0.3, 0.5, 0.69), *, alpha: float = 0.05
) -> pd.DataFrame:
    """Chance of p < alpha when the true correlation is ``r``: ``n``, ``r``, ``alpha``, ``power``."""
    rows = [
        {"n": count, "r": true, "alpha": alpha, "power": float(pg.power_corr(r=true, n=count, alpha=alpha))}
        for true in r
        for count in n
    ]
    return pd.DataFrame(rows)


def published(r: float, n: int, *, covariates: int = 0, level: float = 0.95) -> pd.DataFrame:
    """What a reported Pearson coefficient of ``n`` encoders implies, given k covariates held fixed.

    Returns
    -------
    DataFrame
        One row: ``r``, ``n``, ``covariates``, ``df`` = n − 2 − k, ``r2``, ``ci_low``, ``ci_high``, ``p_val``
        (two-sided t).

    Raises
    ------
    InputError
        |r| ≥ 1, or fewer than four encoders more than covariates.
    """
    if not abs(r) < 1 or n - covariates < 4:
        raise InputError(f"needs |r| < 1 and n of at least 4 + covariates; got r={r}, n={n}, {covariates}")
    df = n - 2 - covariates
    p = 2 * student.sf(abs(r) * math.sqrt(df / (1 - r**2)), df)
    low, high = fisher_interval(r, n - covariates, level=level)
    record = {"r": r, "n": n, "covariates": covariates, "df": df, "r2": r**2}
    return pd.DataFrame([record | {"ci_low": low, "ci_high": high, "p_val": float(p)}])
