"""The declared analysis of the zoo's run: each claim's estimate, interval and verdict by the rules fixed beforehand.

The rules stand in ``notebooks/protocols/zoo.yml`` under ``analysis``; nothing here is chosen after the fact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bindery import protocol, zoo_results
from bindery.errors import InputError
from bindery.inference import fisher_interval
from bindery.inference.correlation import correlate

TARGET = "jitter_accuracy"
DECORRELATION = "variance-decorrelation"
NULL_BAND = 0.3
DRAWS = 10_000
Interval = tuple[float, float]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


def panel(table: pd.DataFrame, condition: str = "photometric", *, control: bool = False) -> pd.DataFrame:
    """One row an objective, seeds averaged: columns ``encoder``, ``family``, ``trained``, the measurements, and
    ``jer_random``, the untrained network's JER averaged over the same seeds.

    Raises
    ------
    InputError
        The table holds no declared trainings of the condition.
    """
    runs = zoo_results.declared(table)
    runs = runs[(runs["condition"] == condition) & (control | (runs["family"] != "control"))]
    if runs.empty:
        raise InputError(f"the table holds no declared trainings of the condition {condition!r}")
    nulls = table[table["family"] == "random"].set_index("seed")["jer"]
    runs = runs.assign(jer_random=runs["seed"].map(nulls))
    means = runs.groupby(["objective", "family"], sort=False).mean(numeric_only=True)
    counts = runs.groupby(["objective", "family"], sort=False).size()
    return means.assign(n_seeds=counts, trained=True).reset_index().rename(columns={"objective": "encoder"})


def complete(table: pd.DataFrame, condition: str = "photometric") -> bool:
    """Whether every declared objective is there with every declared seed; before that nothing is decided."""
    plan = protocol.read()
    wanted = {
        protocol.run_name(plan.config(objective, condition, seed))
        for objective in plan.objectives
        for seed in plan.seeds
    }
    return wanted <= set(table["name"])


def family_draws(families: NDArray[np.str_], draws: int, seed: int) -> list[Rows]:
    """Rows of each bootstrap draw: families with replacement, then objectives within each with replacement."""
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(families == family) for family in dict.fromkeys(families)]
    return [
        np.concatenate(
            [rng.choice(members[f], len(members[f])) for f in rng.integers(len(members), size=len(members))]
        )
        for _ in range(draws)
    ]


def _interval(values: list[float]) -> Interval:
    finite = np.array(values)[np.isfinite(values)]
    low, high = np.quantile(finite, [0.025, 0.975])
    return float(low), float(high)


def _r(x: Floats, y: Floats) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):  # a draw of one objective only has no coefficient
        return float(np.corrcoef(x, y)[0, 1])


def order_verdict(interval: Interval, threshold: float = 0.0) -> str:
    """ "supports" above the threshold, "contradicts" below it, else "inconclusive"."""
    low, high = interval
    return "supports" if low > threshold else "contradicts" if high < threshold else "inconclusive"


def null_verdict(interval: Interval) -> str:
    """ "supports" within ±.3, "contradicts" where 0 is excluded, else "inconclusive"."""
    low, high = interval
    if low >= -NULL_BAND and high <= NULL_BAND:
        return "supports"
    return "contradicts" if low > 0 or high < 0 else "inconclusive"


def correlations(
    rows: pd.DataFrame, target: str = TARGET, *, draws: int = DRAWS, seed: int = 0
) -> pd.DataFrame:
    """Every declared predictor with the target: r, both intervals, the deciding (wider) one, p, leave-one-out."""
    sampled = family_draws(rows["family"].to_numpy(str), draws, seed)
    found = []
    for name in zoo_results.PREDICTORS:
        x, y = (rows[column].to_numpy(float) for column in (name, target))
        r = _r(x, y)
        fisher, family = fisher_interval(r, len(rows)), _interval([_r(x[c], y[c]) for c in sampled])
        wider = max(fisher, family, key=lambda interval: interval[1] - interval[0])
        more = correlate(rows, name, target, draws=200, seed=seed).iloc[0]
        row: dict[str, Any] = {"predictor": name, "target": target, "n": len(rows), "r": r}
        row |= {"low": wider[0], "high": wider[1], "fisher_low": fisher[0], "fisher_high": fisher[1]}
        row |= {
            "family_low": family[0],
            "family_high": family[1],
            "spearman": float(stats.spearmanr(x, y)[0]),
        }
        found.append(row | {key: more[key] for key in ("p_perm", "loo_low", "loo_high")})
    return pd.DataFrame(found)


def family_contrast(
    table: pd.DataFrame, column: str, condition: str = "photometric"
) -> tuple[float, Interval, int]:
    """Decorrelation's mean less the highest other family mean, seed by seed: mean, t interval, seeds."""
    runs = zoo_results.declared(table)
    runs = runs[(runs["condition"] == condition) & (runs["family"] != "control")]
    means = runs.pivot_table(index="seed", columns="family", values=column).dropna()
    gaps = means[DECORRELATION] - means.drop(columns=DECORRELATION).max(axis=1)
    if len(gaps) < 2:
        return float(gaps.mean()), (-np.inf, np.inf), len(gaps)
    half = stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / len(gaps) ** 0.5
    return float(gaps.mean()), (float(gaps.mean() - half), float(gaps.mean() + half)), len(gaps)


def _r2(y: Floats, *predictors: Floats) -> float:
    design = np.column_stack([np.ones(len(y)), *predictors])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    total = ((y - y.mean()) ** 2).sum()
    return float(1 - (residual**2).sum() / total) if total > 0 else np.nan


def at_floor(table: pd.DataFrame, condition: str) -> bool:
    """Fewer than four label-free objectives above the upper end of the untrained network's interval."""
    rows = panel(table, condition)
    free = rows[~rows["family"].isin(["supervised", "vision-language"])]
    limit = table.loc[table["family"] == "random", "jitter_accuracy_high"].mean()
    return int((free[TARGET] > limit).sum()) < 4


def untrained(table: pd.DataFrame, margin: float = 0.02) -> list[str]:
    """Names of declared runs whose probes of shape and place hardly exceed the untrained network's."""
    score = (table["probe_shape"] + table["probe_place"]) / 2
    nulls = score[table["family"] == "random"].set_axis(table.loc[table["family"] == "random", "seed"])
    runs = zoo_results.declared(table)
    gained = (runs["probe_shape"] + runs["probe_place"]) / 2 - runs["seed"].map(nulls)
    return runs.loc[gained < margin, "name"].tolist()


def verdicts(
    table: pd.DataFrame, condition: str = "photometric", *, draws: int = DRAWS, seed: int = 0
) -> pd.DataFrame:
    """The declared claims: ``claim``, ``estimate``, ``low``, ``high``, ``n``, ``verdict``.

    A condition that lacks a declared objective or seed gets the verdict "open" throughout, one at floor "at
    floor".
    """
    rows = panel(table, condition)
    found = correlations(rows, draws=draws, seed=seed).set_index("predictor")
    sampled = family_draws(rows["family"].to_numpy(str), draws, seed)
    claims: list[tuple[str, float, Interval, int, str]] = []
    for name, decide in {
        "g_pr": null_verdict,
        "g_iso": null_verdict,
        "l_iso": null_verdict,
        "jer": order_verdict,
    }.items():
        claim = "jer-predicts" if name == "jer" else f"geometry-does-not-predict:{name}"
        r, low, high = (float(found.at[name, column]) for column in ("r", "low", "high"))  # type: ignore[arg-type]
        claims.append((claim, r, (low, high), len(rows), decide((low, high))))
    columns = [TARGET, "jer", "g_pr", "same_different_in_sample", "jer_random"]
    y, jer, g_pr, decided, null = rows[columns].to_numpy(float).T
    statistics: dict[str, tuple[Callable[[Rows], float], float]] = {
        "jer-predicts-better-than-geometry": (lambda c: _r(jer[c], y[c]) - _r(g_pr[c], y[c]), 0.0),
        "training-lowers-jer": (lambda c: float((null[c] - jer[c]).mean()), 0.0),
        "jer-and-same-different-explain-binding": (
            lambda c: _r2(y[c], jer[c], decided[c]) - _r2(y[c], jer[c]),
            0.1,
        ),
    }
    for claim, (statistic, threshold) in statistics.items():
        interval = _interval([statistic(chosen) for chosen in sampled])
        told = order_verdict(interval, threshold)
        claims.append((claim, statistic(np.arange(len(rows))), interval, len(rows), told))
    for claim, column in (("decorrelation-binds-best", TARGET), ("decorrelation-keeps-jer", "jer")):
        mean, interval, seeds = family_contrast(table, column, condition)
        claims.append((claim, mean, interval, seeds, order_verdict(interval)))
    silent = "" if complete(table, condition) else "open"
    silent = silent or ("at floor" if at_floor(table, condition) else "")
    return pd.DataFrame(
        [
            {
                "claim": claim,
                "estimate": value,
                "low": low,
                "high": high,
                "n": n,
                "verdict": silent or told,
            }
            for claim, value, (low, high), n, told in claims
        ]
    )
