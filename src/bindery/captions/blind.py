"""What can be answered without the image, and what cannot be answered without word order."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from bindery.captions.choice import Choice
from bindery.captions.items import CaptionItems
from bindery.errors import InputError

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words(caption: str) -> list[str]:
    """Words of a caption: letters and digits, apostrophes inside, capitals and punctuation aside.

    >>> words("The cat's on its hind legs, and swats.")
    ['the', "cat's", 'on', 'its', 'hind', 'legs', 'and', 'swats']
    """
    return _WORD.findall(caption.casefold())


def shorter_caption(items: CaptionItems) -> Choice:
    """The caption with fewer characters wins; equal lengths tie."""
    true, false = ([-len(caption) for caption in side] for side in (items.true, items.false))
    return Choice(true, false, items.cluster)


def order_only(items: CaptionItems) -> NDArray[np.bool_]:
    """(N,) pairs with the same words, each as often: only their order tells the captions apart.

    Whoever ignores order ties on them; with the share q of such pairs it cannot score above 1 − q/2.
    """
    return np.array(
        [Counter(words(a)) == Counter(words(b)) for a, b in zip(items.true, items.false, strict=True)]
    )


def bag_of_words(items: CaptionItems, *, folds: int = 5, seed: int = 0, strength: float = 1.0) -> Choice:
    """Which caption is false, judged from its words alone, by what other photographs' captions taught.

    Logistic regression on the difference of the two captions' word counts, without intercept, fitted on the
    pairs of other clusters. Pairs that differ in order only tie by construction.

    Parameters
    ----------
    folds : int
        Of the cross-validation over clusters, at least 2.
    strength : float
        Inverse of the ridge penalty.

    Raises
    ------
    InputError
        Fewer clusters than folds.
    """
    if not 2 <= folds <= len(np.unique(items.cluster)):
        raise InputError(f"folds must lie between 2 and the number of clusters; got {folds}")
    counter = CountVectorizer(analyzer=words)
    counts = sparse.csr_matrix(counter.fit_transform([*items.true, *items.false]), dtype=np.float64)
    difference = counts[: len(items)] - counts[len(items) :]
    scores = np.zeros(len(items))
    splitter = GroupKFold(folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(difference, groups=items.cluster):
        # Each pair is shown in both directions, so that the two answers are equally frequent.
        design = sparse.vstack([difference[train], -difference[train]])
        answer = np.repeat([1, 0], len(train))
        model = LogisticRegression(C=strength, fit_intercept=False, max_iter=1000).fit(design, answer)
        scores[test] = difference[test] @ model.coef_[0]
    scores[np.abs(scores) < 1e-12] = 0.0
    return Choice(scores, np.zeros(len(items)), items.cluster)


def blind_table(items: CaptionItems, *, folds: int = 5, seed: int = 0) -> pd.DataFrame:
    """Blind baselines of each category and of all, with intervals clustered as the items are.

    Returns
    -------
    DataFrame
        One row a category, then "all": ``pairs``, ``images``, ``shorter`` and ``bag_of_words`` (accuracy,
        ties one half) with ``*_low`` and ``*_high``, ``shorter_ties``, ``order_only`` (share of pairs that
        differ in word order alone) and ``order_blind_ceiling`` (the best accuracy of whoever ignores order).
        The bag of words is fitted within each category, and over all for "all".
    """
    rows = {}
    parts = {category: items.of(category) for category in items.categories}
    for name, part in (parts | {"all": items}).items():
        same = order_only(part)
        row: dict[str, float] = {"pairs": len(part), "images": len(np.unique(part.image))}
        for label, choice in (
            ("shorter", shorter_caption(part)),
            ("bag_of_words", bag_of_words(part, folds=folds, seed=seed)),
        ):
            low, high = choice.interval
            row |= {label: choice.accuracy, f"{label}_low": low, f"{label}_high": high}
            row[f"{label}_ties"] = float(choice.tied.mean())
        rows[name] = row | {
            "order_only": float(same.mean()),
            "order_blind_ceiling": 1 - float(same.mean()) / 2,
        }
    return pd.DataFrame.from_dict(rows, orient="index").astype({"pairs": int, "images": int})
