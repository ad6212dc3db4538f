"""The seen–unseen curve of compositional classification: exact, or by the papers' 20 biases.

An image is summarised by three numbers: its best score over the seen pairs, its best score over the
unseen pairs, and the score of its true pair (`ImageScores`; `bindery.scores` makes them without a table of
scores). A bias added to all unseen pairs moves an image from its best seen to its best unseen pair once,
at ``seen − unseen``; so one sort of those switching points gives the whole curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bindery.errors import InputError
from bindery.worlds import Bools, Candidates, Floats, ImageScores, image_scores

__all__ = [
    "Candidates",
    "Curve",
    "CurveBand",
    "ImageScores",
    "binned_curve",
    "bootstrap_curve",
    "image_scores",
    "seen_unseen_curve",
]

_LARGE_BIAS = 1e3
_SHIFT = 1e-4


@dataclass(frozen=True, eq=False)
class Curve:
    """Accuracy on seen-pair images against accuracy on unseen-pair images as the bias grows, all in [0, 1].

    ``bias``, ``seen``, ``unseen`` (B,): the points, by growing bias. The exact curve has one point for each
    interval between switching points; its bias is the middle of the interval (−∞ first, +∞ last).
    ``attribute_accuracy``, ``object_accuracy``, ``pair_accuracy``: over all images, at bias 0.
    """

    kind: str
    bias: Floats
    seen: Floats
    unseen: Floats
    attribute_accuracy: float
    object_accuracy: float
    pair_accuracy: float
    n_seen: int
    n_unseen: int

    @property
    def auc(self) -> float:
        """Area under seen against unseen accuracy, by trapezoids over all points."""
        return float(np.trapezoid(self.seen, self.unseen))

    @property
    def harmonic_mean(self) -> Floats:
        """(B,) harmonic mean of the two accuracies; 0 where both are 0."""
        return _harmonic_mean(self.seen, self.unseen)

    @property
    def best_harmonic_mean(self) -> float:
        """The highest harmonic mean on the curve."""
        return float(self.harmonic_mean.max())

    @property
    def best_bias(self) -> float:
        """The smallest listed bias that attains the best harmonic mean."""
        return float(self.bias[self.harmonic_mean.argmax()])

    @property
    def best_seen(self) -> float:
        """The highest seen accuracy on the curve."""
        return float(self.seen.max())

    @property
    def best_unseen(self) -> float:
        """The highest unseen accuracy on the curve."""
        return float(self.unseen.max())

    def to_frame(self) -> pd.DataFrame:
        """One row with every number of the papers' tables, in [0, 1]."""
        names = ("attribute_accuracy", "object_accuracy", "pair_accuracy", "best_seen", "best_unseen")
        more = ("best_harmonic_mean", "best_bias", "auc", "n_seen", "n_unseen", "kind")
        return pd.DataFrame([{name: getattr(self, name) for name in names + more}])


def seen_unseen_curve(scores: ImageScores) -> Curve:
    """The exact curve: every bias from −∞ to +∞, so one point for each interval between switching points.

    Images that switch at the same bias switch together, and the trapezoid joins the points before and
    after; the value therefore depends neither on the order of the images nor on a constant added to the
    scores.

    Raises
    ------
    InputError
        No image has a seen pair, or none an unseen pair.

    Source: Paper G, Sec. 5 (protocol of generalised zero-shot evaluation), without its binning.
    """
    sweep = _Sweep(scores)
    seen, unseen = sweep.accuracies(np.ones(len(scores)))
    middle = (sweep.switches[:-1] + sweep.switches[1:]) / 2
    return _curve("exact", scores, np.r_[-np.inf, middle, np.inf], seen, unseen)


def binned_curve(scores: ImageScores) -> Curve:
    """The papers' curve: about 20 to 39 biases, then 1000.

    Of the unseen-pair images that are right at bias 1000, the values (best seen score − true score) − 1e-4
    are sorted and every max(count // 20, 1)-th kept. Best seen accuracy is then read at the smallest kept
    bias, not at −∞, and the area misses what lies between the kept points.

    Source: Paper G's released evaluator, shared by the compositional zero-shot literature.
    """
    right = ~scores.is_seen & (scores.predict(_LARGE_BIAS) == scores.true)
    gaps = np.sort((scores.seen_score - scores.true_score)[right] - _SHIFT)
    biases = np.r_[gaps[:: max(len(gaps) // 20, 1)], _LARGE_BIAS]
    hits = np.array([scores.predict(bias) == scores.true for bias in biases])
    _require_both(scores)
    seen, unseen = hits[:, scores.is_seen].mean(axis=1), hits[:, ~scores.is_seen].mean(axis=1)
    return _curve("binned", scores, biases, seen, unseen)


@dataclass(frozen=True, eq=False)
class CurveBand:
    """Bootstrap of the exact curve over images.

    ``unseen`` (G,) grid of unseen accuracy; ``low``, ``high`` (G,) band of the seen accuracy still reached
    there. ``table``: one row a metric with ``value``, ``ci_low``, ``ci_high``. ``samples`` (draws rows): the
    metrics of every draw; two methods scored on the same images with the same seed are resampled alike, so
    the difference of their samples gives a paired interval.
    """

    unseen: Floats
    low: Floats
    high: Floats
    table: pd.DataFrame
    samples: pd.DataFrame


def bootstrap_curve(
    scores: ImageScores, *, draws: int = 1000, level: float = 0.95, seed: int = 0, grid: int = 101
) -> CurveBand:
    """Percentile intervals for the exact curve, resampling seen-pair and unseen-pair images separately.

    The interval tells the error of these test images only: not that of the split, the training images or
    the encoder.
    """
    sweep, exact = _Sweep(scores), seen_unseen_curve(scores)
    rng = np.random.default_rng(seed)
    strata = [np.flatnonzero(scores.is_seen), np.flatnonzero(~scores.is_seen)]
    hits = _hits_at_zero(scores)
    levels = np.linspace(0, exact.best_unseen, grid)
    rows, reached = [], np.zeros((draws, grid))
    for draw in range(draws):
        weight = np.zeros(len(scores))
        for members in strata:
            weight[members] = np.bincount(
                rng.integers(len(members), size=len(members)), minlength=len(members)
            )
        seen, unseen = sweep.accuracies(weight)
        reached[draw] = np.r_[seen, 0.0][np.searchsorted(unseen, levels)]
        best = {"best_seen": seen[0], "best_unseen": unseen[-1]}
        area = {"best_harmonic_mean": _harmonic_mean(seen, unseen).max(), "auc": np.trapezoid(seen, unseen)}
        rows.append({name: float(weight @ hit / len(scores)) for name, hit in hits.items()} | best | area)
    samples = pd.DataFrame(rows)
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(samples.to_numpy(), tails, axis=0)
    value = [getattr(exact, name) for name in samples.columns]
    table = pd.DataFrame({"metric": samples.columns, "value": value, "ci_low": low, "ci_high": high})
    band = np.quantile(reached, tails, axis=0)
    return CurveBand(levels, band[0], band[1], table, samples)


class _Sweep:
    """Images sorted by the bias at which they switch from their best seen to their best unseen pair."""

    def __init__(self, scores: ImageScores) -> None:
        _require_both(scores)
        switch = scores.seen_score - scores.unseen_score
        self.order = np.argsort(switch, kind="stable")
        self.switches, first = np.unique(switch[self.order], return_index=True)
        self.last = np.r_[first[1:], len(switch)] - 1  # last image of each group that switches together
        self.is_seen = scores.is_seen[self.order]
        self.seen_right = (self.is_seen & (scores.seen_best == scores.true)[self.order]).astype(np.float64)
        self.unseen_right = (~self.is_seen & (scores.unseen_best == scores.true)[self.order]).astype(
            np.float64
        )

    def accuracies(self, weight: Floats) -> tuple[Floats, Floats]:
        """Seen and unseen accuracy (K + 1,) before, between and after the K switches; ``weight`` (N,)."""
        weight = weight[self.order]
        lost = np.r_[0.0, np.cumsum(weight * self.seen_right)[self.last]]
        won = np.r_[0.0, np.cumsum(weight * self.unseen_right)[self.last]]
        return (lost[-1] - lost) / weight[self.is_seen].sum(), won / weight[~self.is_seen].sum()


def _require_both(scores: ImageScores) -> None:
    for side, members in (("seen", scores.is_seen), ("unseen", ~scores.is_seen)):
        if not members.any():
            raise InputError(f"no image has {side} pairs as its label: a seen–unseen curve needs both kinds")


def _harmonic_mean(seen: Floats, unseen: Floats) -> Floats:
    with np.errstate(divide="ignore"):  # either accuracy 0: 2 / inf = 0
        return 2 / (1 / seen + 1 / unseen)


def _hits_at_zero(scores: ImageScores) -> dict[str, Bools]:
    picked, where = scores.predict(0.0), scores.candidates
    return {
        "attribute_accuracy": where.attribute_index[picked] == where.attribute_index[scores.true],
        "object_accuracy": where.object_index[picked] == where.object_index[scores.true],
        "pair_accuracy": picked == scores.true,
    }


def _curve(kind: str, scores: ImageScores, bias: Floats, seen: Floats, unseen: Floats) -> Curve:
    at_zero = {name: float(hit.mean()) for name, hit in _hits_at_zero(scores).items()}
    n_seen = int(scores.is_seen.sum())
    return Curve(kind, bias, seen, unseen, **at_zero, n_seen=n_seen, n_unseen=len(scores) - n_seen)
