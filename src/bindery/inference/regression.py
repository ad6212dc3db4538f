"""Linear regression over encoders, predictor by predictor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pingouin as pg
from numpy.typing import NDArray

from bindery.errors import InputError
from bindery.inference.panel import Missing, check_panel
from bindery.inference.resampling import Floats


def regress(
    table: pd.DataFrame, outcome: str, predictors: Sequence[str], *, missing: Missing = "raise"
) -> pd.DataFrame:
    """Ordinary least squares of a metric on others, with an intercept.

    Parameters
    ----------
    table : DataFrame
        One row an encoder, see `bindery.inference.check_panel`.
    outcome : str
    predictors : names of columns
        Their order matters for the steps only.

    Returns
    -------
    DataFrame
        pingouin's table of the full model (rows ``names``: Intercept and predictors; ``coef``, ``se``, ``T``,
        ``pval``, ``r2``, ``adj_r2``, ``CI2.5``, ``CI97.5``) and ``n``; ``r2_step``, ``adj_r2_step``: of the
        model up to this predictor; ``r2_added``: over the step before; ``r2_loo_family``: of the full model
        predicting each family from the others (below 0: worse than the mean of the other families);
        ``dropped``.

    Raises
    ------
    InputError
        See `check_panel`; fewer than three encoders more than predictors; predictors that are linearly
        dependent.

    Source: Paper S, Table 2 (R² of JER, and of JER with Disc).
    """
    predictors = [predictors] if isinstance(predictors, str) else list(predictors)
    if not predictors:
        raise InputError("predictors must name at least one column")
    panel = check_panel(table, [outcome, *predictors], missing=missing, fewest=3 + len(predictors))
    target, design = panel.values[:, 0], panel.values[:, 1:]
    scaled = (design - design.mean(axis=0)) / design.std(axis=0)
    if np.linalg.matrix_rank(scaled, tol=1e-9 * np.sqrt(len(scaled))) < len(predictors):
        raise InputError(f"{', '.join(predictors)} are linearly dependent; leave one out")
    result = pg.linear_regression(pd.DataFrame(design, columns=predictors), target, as_dataframe=True)
    r2 = np.array(
        [_r2(target, _predict(design[:, :i], target, design[:, :i])) for i in range(len(predictors) + 1)]
    )
    n, step = len(target), np.arange(len(predictors) + 1)
    return result.assign(
        n=n,
        r2_step=r2,
        adj_r2_step=1 - (1 - r2) * (n - 1) / (n - 1 - step),
        r2_added=np.r_[np.nan, np.diff(r2)],
        r2_loo_family=_left_out(target, design, panel.families),
        dropped=", ".join(panel.dropped),
    )


def _predict(design: Floats, target: Floats, new: Floats) -> Floats:
    def with_one(rows: Floats) -> Floats:
        return np.column_stack([np.ones(len(rows)), rows])

    return with_one(new) @ np.linalg.lstsq(with_one(design), target, rcond=None)[0]


def _r2(target: Floats, predicted: Floats) -> float:
    return float(1 - ((target - predicted) ** 2).sum() / ((target - target.mean()) ** 2).sum())


def _left_out(target: Floats, design: Floats, families: NDArray[np.str_]) -> float:
    """1 − Σ(error of the model)² / Σ(error of the mean)², both fitted without the family they predict."""
    model, mean = 0.0, 0.0
    for family in np.unique(families):
        out = families == family
        if (~out).sum() < design.shape[1] + 2:
            return np.nan
        model += ((target[out] - _predict(design[~out], target[~out], design[out])) ** 2).sum()
        mean += ((target[out] - target[~out].mean()) ** 2).sum()
    return float(1 - model / mean)
