"""Two baselines on frozen features: the plain (ERM) linear probe and DFR, its group-balanced retraining."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bindery.checks import finite_rows, same_length
from bindery.errors import InputError

Balance = Literal["none", "subsample", "upsample"]


class LinearProbe(ClassifierMixin, BaseEstimator):
    """Logistic regression on standardised frozen features, optionally balanced over groups.

    Parameters
    ----------
    balance : {"none", "subsample", "upsample"}
        "none" is empirical risk minimisation. "subsample" draws as many images from every group as the
        smallest has, and averages ``draws`` such fits; "upsample" weights every group equally (what repeating
        the images of small groups does on average). Both are deep feature reweighting (DFR).
    C : float
        Inverse strength of the l2 penalty; choose it on validation data.
    draws : int
        Number of subsampled fits that are averaged.
    seed : int
        Seed of the subsampling.

    Attributes
    ----------
    classes_ : (K,) class labels, sorted.

    Notes
    -----
    DFR as published retrains the last layer on held-out data; whether ``fit`` gets training or held-out
    features is the caller's choice and belongs in the caption.

    Source: Kirichenko, Izmailov, Wilson 2023 (DFR), baselines of Paper G, Table 3.
    """

    def __init__(self, balance: Balance = "none", *, C: float = 1.0, draws: int = 10, seed: int = 0) -> None:
        self.balance = balance
        self.C = C
        self.draws = draws
        self.seed = seed

    def fit(
        self, features: ArrayLike, labels: Sequence[Hashable], groups: Sequence[Hashable] | None = None
    ) -> LinearProbe:
        """Fit on (N, D) features, N labels and, unless ``balance`` is "none", N groups.

        Raises
        ------
        InputError
            A row is not finite (told), lengths differ, one class only, unknown ``balance``, or no groups
            where they are needed.
        """
        rows, target = finite_rows(features, "features"), np.asarray(labels)
        same_length(features=rows, labels=target)
        self.classes_ = np.unique(target)
        if len(self.classes_) < 2:
            raise InputError(
                f"a probe needs two classes or more; the labels hold only {self.classes_.tolist()}"
            )
        self._models = [
            self._new().fit(rows[picked], target[picked], logisticregression__sample_weight=weight)
            for picked, weight in self._rounds(len(rows), groups)
        ]
        return self

    def _rounds(
        self, n: int, groups: Sequence[Hashable] | None
    ) -> list[tuple[NDArray[np.intp], NDArray[np.float64] | None]]:
        """The rows and weights of every fit."""
        everything = np.arange(n)
        if self.balance == "none":
            return [(everything, None)]
        if self.balance not in ("subsample", "upsample"):
            raise InputError(f"balance must be none, subsample or upsample; got {self.balance!r}")
        if groups is None:
            raise InputError(f"balance={self.balance!r} needs the group of every image")
        same_length(features=everything, groups=groups)
        position = {name: code for code, name in enumerate(sorted(set(groups), key=str))}
        member = np.array([position[group] for group in groups])
        counts = np.bincount(member)
        if self.balance == "upsample":
            return [(everything, n / (len(counts) * counts[member]))]
        rng = np.random.default_rng(self.seed)
        members = [np.flatnonzero(member == code) for code in range(len(counts))]
        return [
            (np.concatenate([rng.choice(rows, counts.min(), replace=False) for rows in members]), None)
            for _ in range(self.draws)
        ]

    def _new(self) -> Any:
        return make_pipeline(StandardScaler(), LogisticRegression(C=self.C, max_iter=2000))

    def decision_function(self, features: ArrayLike) -> NDArray[np.float64]:
        """(N,) or (N, K) decision values, averaged over the fits."""
        rows = finite_rows(features, "features")
        return np.mean([model.decision_function(rows) for model in self._models], axis=0)

    def predict(self, features: ArrayLike) -> NDArray[Any]:
        """(N,) class labels."""
        value = self.decision_function(features)
        return self.classes_[(value > 0).astype(int) if value.ndim == 1 else value.argmax(axis=1)]
