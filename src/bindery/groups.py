"""Group robustness: worst group, the two averages that papers mix up, their gaps, all groups with counts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bindery.checks import same_length
from bindery.errors import InputError


@dataclass(frozen=True, eq=False)
class GroupAccuracy:
    """Accuracies in [0, 1] of the groups of a test set.

    ``table``: one row a group with ``group``, ``n``, ``correct``, ``accuracy`` and, when training groups were
    given, ``n_train``.
    """

    table: pd.DataFrame

    @property
    def worst_group(self) -> Hashable:
        """The group with the lowest accuracy; of several, the first in the table."""
        return self.table["group"].iloc[int(self.table["accuracy"].argmin())]

    @property
    def worst(self) -> float:
        """The lowest accuracy of a group."""
        return float(self.table["accuracy"].min())

    @property
    def average(self) -> float:
        """Share of the test images that are right."""
        return float(self.table["correct"].sum() / self.table["n"].sum())

    @property
    def weighted_average(self) -> float:
        """Group accuracies weighted by share of the *training* set; NaN when that was not given."""
        if "n_train" not in self.table:
            return math.nan
        return float(np.average(self.table["accuracy"], weights=self.table["n_train"]))

    @property
    def gap(self) -> float:
        """Average over the test set minus worst group."""
        return self.average - self.worst

    @property
    def weighted_gap(self) -> float:
        """Train-share-weighted average minus worst group."""
        return self.weighted_average - self.worst

    def to_frame(self) -> pd.DataFrame:
        """One row with every summary."""
        names = ("worst", "average", "gap", "weighted_average", "weighted_gap", "worst_group")
        return pd.DataFrame(
            [{name: getattr(self, name) for name in names} | {"n": int(self.table["n"].sum())}]
        )


def group_accuracy(
    predicted: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
    *,
    train_groups: Sequence[Hashable] | None = None,
    expected: Iterable[Hashable] | None = None,
) -> GroupAccuracy:
    """Accuracy of every group, and what is made of them.

    Paper G's average is over the test set; the baselines it quotes weight groups by training share. The two
    differ by points, and so do their gaps: compare like with like.

    Parameters
    ----------
    predicted, labels : (N,)
        Predicted and true class of each test image.
    groups : (N,)
        Group of each test image, such as the pair (attribute, object).
    train_groups : (M,), optional
        Group of each training image, for the weighted average.
    expected : optional
        Groups that must occur; default: those of the training set.

    Raises
    ------
    InputError
        Lengths differ, no image, or a group without an image in the test set or in the training set (named).

    Source: Paper G, Sec. 5 (WG, AVG, GAP); Sagawa et al. 2020 for the weighted average.
    """
    if not same_length(predicted=predicted, labels=labels, groups=groups):
        raise InputError("no test image: accuracy of an empty set is undefined")
    right = [guess == label for guess, label in zip(predicted, labels, strict=True)]
    names, member = _codes(groups)
    n = np.bincount(member)
    correct = np.bincount(member, weights=right).astype(int)
    columns: dict[str, object] = {"group": names, "n": n, "correct": correct, "accuracy": correct / n}
    _require(names, expected or (), "test")
    if train_groups is not None:
        train_names, train_member = _codes(train_groups)
        counts = dict(zip(train_names, np.bincount(train_member).tolist(), strict=True))
        _require(names, train_names, "test")
        _require(train_names, names, "training")
        columns["n_train"] = [counts[name] for name in names]
    return GroupAccuracy(pd.DataFrame(columns))


def subsample(groups: Sequence[Hashable], fraction: float, *, seed: int = 0) -> NDArray[np.intp]:
    """Sorted indices of a random part of the images that keeps the ratios between the groups.

    Each group keeps ``fraction`` of its images, rounded half up, never fewer than one. The subsets of one
    seed are nested: a larger fraction contains a smaller one.

    Raises
    ------
    InputError
        ``fraction`` is not in (0, 1].

    Source: Paper G, Fig. 4 (its rounding is not stated).
    """
    if not 0 < fraction <= 1:
        raise InputError(f"fraction must lie in (0, 1]; got {fraction}")
    rng = np.random.default_rng(seed)
    names, member = _codes(groups)
    kept = []
    for code in range(len(names)):
        rows = rng.permutation(np.flatnonzero(member == code))
        kept.append(rows[: max(1, math.floor(fraction * len(rows) + 0.5))])
    return np.sort(np.concatenate(kept))


def _codes(groups: Sequence[Hashable]) -> tuple[list[Hashable], NDArray[np.intp]]:
    """Distinct groups, sorted by name, and the position (N,) of each image's group among them."""
    names = sorted(set(groups), key=str)
    position = {name: code for code, name in enumerate(names)}
    return names, np.array([position[group] for group in groups], dtype=np.intp)


def _require(present: Iterable[Hashable], wanted: Iterable[Hashable], where: str) -> None:
    if missing := sorted(set(wanted) - set(present), key=str):
        raise InputError(
            f"group {missing[0]!r} has no image in the {where} set, so it has no accuracy or weight"
        )
