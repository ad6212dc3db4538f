"""Compositional classification with image decompositions: the arms of Paper G's Table 1, and those it lacks.

Three steps lead from the published baseline to the best arm, so that the gap between them can be divided:
composites scaled to unit length (normalisation), added in the tangent space (curvature), and fitted by least
squares (confounding of factors on an incomplete grid).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import clone

from bindery.checks import finite_rows, same_length
from bindery.decomposition import GeodesicDecomposition, LinearDecomposition
from bindery.errors import InputError
from bindery.openworld import Curve, binned_curve, bootstrap_curve, seen_unseen_curve
from bindery.scores import FactorScorer, score_images
from bindery.worlds import Candidates, ImageScores, Pair

World = Literal["closed", "open"]
Model = LinearDecomposition | GeodesicDecomposition

ARMS: dict[str, Model] = {
    "LDE raw": LinearDecomposition(),
    "LDE unit": LinearDecomposition(normalize=True),
    "LDE unit least squares": LinearDecomposition(normalize=True, fit="least_squares"),
    "GDE": GeodesicDecomposition(),
    "GDE least squares": GeodesicDecomposition(fit="least_squares"),
}
"""LDE raw is the published baseline (composites not normalised, as released), GDE the published method."""


def unit(embeddings: ArrayLike) -> NDArray[np.floating]:
    """(N, D) embeddings divided by their norms; raises InputError for rows that are zero or not finite."""
    rows = finite_rows(embeddings, "embeddings")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not norms.all():
        raise InputError(f"embedding {int(np.argmin(norms))} is zero and has no direction")
    return rows / norms


def candidates(seen: Iterable[Pair], evaluated: Sequence[Pair], world: World) -> Candidates:
    """The pairs a prediction may choose from: those that occur (closed), or all combinations (open)."""
    seen = list(seen)
    if world == "closed":
        return Candidates.closed_world(seen, evaluated)
    both = [*seen, *evaluated]
    return Candidates.open_world([a for a, _ in both], [o for _, o in both], seen)


def score(
    model: Model, embeddings: ArrayLike, pairs: Sequence[Pair], seen: Iterable[Pair], world: World = "closed"
) -> ImageScores:
    """Scores of N unit embeddings (N, D) with true ``pairs`` (N,) under a fitted two-factor model."""
    return score_images(embeddings, FactorScorer(model, candidates(seen, pairs, world)), pairs)


def evaluate(
    embeddings: ArrayLike,
    pairs: Sequence[Pair],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    *,
    arms: Mapping[str, Model] = ARMS,
    worlds: Sequence[World] = ("closed", "open"),
) -> pd.DataFrame:
    """Fit every arm on the training rows and score the test rows.

    Parameters
    ----------
    embeddings : (N, D) array
        Unit-normed here.
    pairs : sequence of N (attribute, object)
    train, test : int arrays
        Row numbers; a pair is seen when a training row has it.

    Returns
    -------
    DataFrame
        One row an arm and world: ``arm``, ``world``, ``auc``, ``auc_20_bins``, ``best_seen``, ``best_unseen``,
        ``best_harmonic_mean``, and the three accuracies at bias 0; all in per cent, as the paper prints them.

    Source: Paper G, Sec. 5.1 and Table 1.
    """
    same_length(embeddings=np.asarray(embeddings), pairs=pairs)
    rows = unit(embeddings)
    train_pairs, test_pairs = [pairs[i] for i in train], [pairs[i] for i in test]
    attributes, objects = [a for a, _ in train_pairs], [o for _, o in train_pairs]
    table = []
    for arm, template in arms.items():
        model = clone(template).fit(rows[train], attributes, objects)
        for world in worlds:
            scores = score(model, rows[test], test_pairs, set(train_pairs), world)
            table.append(
                {"arm": arm, "world": world, **_metrics(seen_unseen_curve(scores), binned_curve(scores))}
            )
    return pd.DataFrame(table)


def _metrics(exact: Curve, binned: Curve) -> dict[str, float]:
    names = (
        "best_seen",
        "best_unseen",
        "best_harmonic_mean",
        "attribute_accuracy",
        "object_accuracy",
        "pair_accuracy",
    )
    values = {"auc": exact.auc, "auc_20_bins": binned.auc, **{name: getattr(exact, name) for name in names}}
    return {name: 100 * value for name, value in values.items()}


def steps(table: pd.DataFrame, metric: str = "auc") -> pd.DataFrame:
    """How a metric's gap divides: normalisation, curvature, least squares; paired by ``seed``.

    Parameters
    ----------
    table : DataFrame
        Rows of `evaluate` with a column ``seed``, one world.

    Returns
    -------
    DataFrame
        ``step``, ``mean``, ``ci_low``, ``ci_high``, ``n``: 95 % t intervals over the seeds' paired differences.
        Splits of one data set overlap, so the intervals speak of the split, not of new data.
    """
    wide = table.pivot(index="seed", columns="arm", values=metric)
    differences = {
        "normalisation: LDE raw to LDE unit": wide["LDE unit"] - wide["LDE raw"],
        "curvature: LDE unit to GDE": wide["GDE"] - wide["LDE unit"],
        "least squares: GDE to GDE least squares": wide["GDE least squares"] - wide["GDE"],
        "published gap: LDE raw to GDE": wide["GDE"] - wide["LDE raw"],
    }
    return pd.DataFrame([{"step": name, **interval(values)} for name, values in differences.items()])


def interval(values: ArrayLike, level: float = 0.95) -> dict[str, float]:
    """Mean and t interval of n >= 2 values: ``mean``, ``ci_low``, ``ci_high``, ``n``."""
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) < 2:
        raise InputError(f"an interval needs at least two values; got {len(numbers)}")
    half = stats.t.ppf((1 + level) / 2, len(numbers) - 1) * numbers.std(ddof=1) / np.sqrt(len(numbers))
    mean = float(numbers.mean())
    return {"mean": mean, "ci_low": mean - float(half), "ci_high": mean + float(half), "n": len(numbers)}


def paired_interval(
    first: ImageScores, second: ImageScores, *, draws: int = 1000, seed: int = 0
) -> dict[str, float]:
    """AUC of ``first`` minus AUC of ``second`` in points, with the 95 % interval of a paired bootstrap over images.

    For a publisher's fixed split, where there are no seeds to average over. Same keys as `interval`.
    """
    bands = [bootstrap_curve(scores, draws=draws, seed=seed).samples["auc"] for scores in (first, second)]
    difference = 100 * (seen_unseen_curve(first).auc - seen_unseen_curve(second).auc)
    low, high = 100 * np.quantile(bands[0] - bands[1], [0.025, 0.975])
    return {"mean": difference, "ci_low": float(low), "ci_high": float(high), "n": len(first)}
