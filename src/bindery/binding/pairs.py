"""Decisions about pairs of images: same or different assignment, and twins that differ in the link only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from bindery.binding.score import BindingResult
from bindery.checks import finite_rows, same_length
from bindery.errors import InputError
from bindery.readouts import cosine

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class SameDifferentResult:
    """Same or different assignment, by a threshold on the similarity; chance .5."""

    out_of_sample: float
    in_sample: float
    threshold: float
    auroc: float
    n: int


def auroc(scores: ArrayLike, positive: ArrayLike) -> float:
    """Area under the ROC curve (Mann-Whitney, ties count half); needs both classes."""
    chosen = np.asarray(positive, bool)
    n_pos, n_neg = int(chosen.sum()), int((~chosen).sum())
    if not n_pos or not n_neg:
        raise InputError(f"AUROC needs both classes, got {n_pos} positive and {n_neg} negative")
    ranks = rankdata(np.asarray(scores, np.float64))
    return float((ranks[chosen].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg))


def best_threshold(scores: Floats, same: NDArray[np.bool_]) -> float:
    """The threshold with the highest accuracy of ``score > threshold``; lowest of equals."""
    levels, inverse = np.unique(scores, return_inverse=True)
    same_at = np.bincount(inverse, weights=same)
    different_at = np.bincount(inverse, weights=~same)
    right = np.concatenate([[same.sum()], same.sum() - same_at.cumsum() + different_at.cumsum()])
    cut = int(np.argmax(right))
    if cut in (0, len(levels)):
        return -np.inf if cut == 0 else np.inf
    return float((levels[cut - 1] + levels[cut]) / 2)


def same_different(result: BindingResult, *, seed: int = 0) -> SameDifferentResult:
    """The paper's Disc: same or different, balanced, each trial giving one pair.

    A random half of the trials pairs the query with its target, the other half with one of the seven
    distractors at random. The paper's wording ("optimal threshold") suggests a threshold fitted in sample;
    out of sample it is fitted on one half and applied to the other, both ways.

    Raises InputError below 4 trials. Source: Paper S, Sec. 3 (Same/Different), App.
    """
    if result.n < 4:
        raise InputError(f"same/different needs at least 4 trials, got {result.n}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(result.n)
    same = np.zeros(result.n, bool)
    same[order[::2]] = True
    column = np.where(same, 0, rng.integers(1, 8, result.n))
    scores = result.similarities[np.arange(result.n), column]
    first = np.zeros(result.n, bool)
    first[order[: 2 * (result.n // 4)]] = True  # an even count keeps both halves balanced

    def right(fit: NDArray[np.bool_], test: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return (scores[test] > best_threshold(scores[fit], same[fit])) == same[test]

    outside = np.concatenate([right(first, ~first), right(~first, first)])
    threshold = best_threshold(scores, same)
    inside = float(((scores > threshold) == same).mean())
    return SameDifferentResult(float(outside.mean()), inside, threshold, auroc(scores, same), result.n)


@dataclass(frozen=True)
class TwinResult:
    """Choice between the pair as seen in the query and the exchanged pair, both in another content."""

    accuracy: float
    interval: tuple[float, float]
    n: int
    by_content: dict[str, float]


def twin_choice(
    embeddings: ArrayLike,
    labels: pd.DataFrame,
    *,
    first: str,
    second: str,
    content: str,
    n_boot: int = 2000,
    seed: int = 0,
) -> TwinResult:
    """Binding on ordered pairs, for instance the two skin tones of an emoji of two people.

    Every image with values (a, b), a != b, is a query. For every other content that holds both (a, b) and
    (b, a), the encoder chooses by cosine which of the two matches; ties count half. A bag code scores .5. Where
    several images share content and values, the first stands for them.

    Parameters
    ----------
    embeddings : (N, D) array
    labels : DataFrame
        N rows; ``first`` and ``second`` name the columns with the values in order (e.g. left and right tone),
        ``content`` the column that tells what is drawn (e.g. which pair of people).
    n_boot : int
        Bootstrap draws over query contents for the 95 % interval: choices within one drawing depend.

    Raises
    ------
    InputError
        A column is missing, or no two contents share a pair of twins.
    """
    rows = finite_rows(embeddings, "embeddings")
    same_length(embeddings=rows, labels=labels)
    if missing := [name for name in (first, second, content) if name not in labels.columns]:
        raise InputError(f"labels have no column {missing[0]!r}; they have {', '.join(labels.columns)}")
    keys = list(
        zip(labels[content].astype(str), labels[first].astype(str), labels[second].astype(str), strict=True)
    )
    index: dict[tuple[str, str, str], int] = {}
    for row, key in enumerate(keys):
        index.setdefault(key, row)
    contents = sorted({key[0] for key in keys})
    triples = [
        (row, index[other, a, b], index[other, b, a])
        for (own, a, b), row in index.items()
        if a != b
        for other in contents
        if other != own and (other, a, b) in index and (other, b, a) in index
    ]
    if not triples:
        raise InputError("no two contents share a pair of twins (a, b) and (b, a): nothing to choose between")
    query, match, twin = np.array(triples).T
    scores = cosine(rows[query], np.stack([rows[match], rows[twin]], axis=1))
    right = pd.Series((scores[:, 0] > scores[:, 1]) + 0.5 * (scores[:, 0] == scores[:, 1]))
    grouped = right.groupby([keys[row][0] for row in query])
    sums, counts = grouped.sum().to_numpy(), grouped.count().to_numpy()
    draws = np.random.default_rng(seed).integers(len(sums), size=(n_boot, len(sums)))
    low, high = np.quantile(sums[draws].sum(axis=1) / counts[draws].sum(axis=1), [0.025, 0.975])
    by_content = {str(name): float(value) for name, value in grouped.mean().items()}
    return TwinResult(float(right.mean()), (float(low), float(high)), len(right), by_content)
