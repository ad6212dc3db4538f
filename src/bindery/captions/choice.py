"""From the scores of two captions to an accuracy: ties, three public rules, errors clustered by image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import factorial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bindery.binding import wilson
from bindery.checks import row_list, same_length
from bindery.errors import InputError

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]

RULES: Mapping[str, Callable[[Floats, Floats], NDArray[np.bool_]]] = {
    "strict >": lambda true, false: true > false,
    "argmax, true caption first": lambda true, false: np.argmax([true, false], axis=0) == 0,
    "argmax, false caption first": lambda true, false: np.argmax([false, true], axis=0) == 1,
}
"""How SugarCrepe's script, CLIP_benchmark and ARO decide, each on (N,) scores of the true and the false caption."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Answers to N two-alternative questions.

    Parameters
    ----------
    true, false : (N,) arrays
        Scores of the fitting and of the other caption; only their order within a question matters.
    cluster : (N,) array, optional
        What answers share, usually the image. Without it every question stands for itself.

    Raises
    ------
    InputError
        No question, lengths that differ, or a score that is not finite (rows told).
    """

    true: ArrayLike
    false: ArrayLike
    cluster: ArrayLike | None = None

    def __post_init__(self) -> None:
        true, false = (np.asarray(part, dtype=np.float64) for part in (self.true, self.false))
        cluster = np.arange(len(true)) if self.cluster is None else np.asarray(self.cluster)
        if not same_length(true=true, false=false, cluster=cluster):
            raise InputError("a choice needs at least one question")
        bad = np.flatnonzero(~(np.isfinite(true) & np.isfinite(false)))
        if len(bad):
            raise InputError(
                f"scores must be finite; questions {row_list(bad)} are not, and no tie rule is fair to them"
            )
        object.__setattr__(self, "_pair", (true, false))
        object.__setattr__(self, "_cluster", np.unique(cluster, return_inverse=True)[1])

    @property
    def pair(self) -> Pair:
        """True and false scores as float64."""
        pair: Pair = self._pair  # type: ignore[attr-defined]
        return pair

    def __len__(self) -> int:
        return len(self.pair[0])

    @property
    def tied(self) -> NDArray[np.bool_]:
        """(N,) questions whose two scores are equal."""
        return self.pair[0] == self.pair[1]

    @property
    def credit(self) -> Floats:
        """(N,) 1 where the true caption wins, one half for a tie, else 0."""
        true, false = self.pair
        return (true > false) + 0.5 * (true == false)

    @property
    def accuracy(self) -> float:
        """Mean credit: what breaking ties at random gives on average, so that saying nothing scores .5."""
        return float(self.credit.mean())

    @property
    def rules(self) -> dict[str, float]:
        """Accuracy by each public tie rule."""
        return {name: float(rule(*self.pair).mean()) for name, rule in RULES.items()}

    @property
    def n_clusters(self) -> int:
        """Distinct clusters."""
        return int(self._labels.max()) + 1

    @property
    def standard_error(self) -> float:
        """Of the accuracy, whole clusters being the independent units; NaN for a single cluster."""
        g = self.n_clusters
        if g < 2:
            return float("nan")
        sums = np.bincount(self._labels, weights=self.credit - self.accuracy)
        return float(np.sqrt(g / (g - 1) * (sums**2).sum()) / len(self))

    @property
    def effective_n(self) -> float:
        """Independent questions that would have this standard error, between 1 and N.

        An accuracy of 0 or 1 has no spread to estimate it from: then it is the number of clusters.
        """
        variance = self.accuracy * (1 - self.accuracy)
        error = self.standard_error
        if not variance or not error > 0:
            return float(self.n_clusters)
        return float(np.clip(variance / error**2, 1.0, len(self)))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval with `effective_n` in place of N: never narrower than of independent items."""
        n = max(1, round(self.effective_n))
        return wilson(self.accuracy * n, n)

    def subset(self, rows: ArrayLike) -> Choice:
        """The answers at ``rows`` (indices or a mask)."""
        true, false = (part[np.asarray(rows)] for part in self.pair)
        return Choice(true, false, self._labels[np.asarray(rows)])

    def record(self) -> dict[str, float]:
        """One flat row: ``accuracy``, ``ci_low``, ``ci_high``, ``ties`` (share), the three rules, ``n``, …"""
        low, high = self.interval
        row = {"accuracy": self.accuracy, "ci_low": low, "ci_high": high, "ties": float(self.tied.mean())}
        return (
            row | self.rules | {"n": len(self), "clusters": self.n_clusters, "effective_n": self.effective_n}
        )

    def table(self, category: ArrayLike) -> pd.DataFrame:
        """`record` of each category, in the order of their first question, and of all."""
        kinds = np.asarray(category)
        same_length(answers=self, category=kinds)
        rows = {kind: self.subset(kinds == kind).record() for kind in dict.fromkeys(kinds.tolist())}
        return pd.DataFrame.from_dict(rows | {"all": self.record()}, orient="index")

    @property
    def _labels(self) -> NDArray[np.intp]:
        labels: NDArray[np.intp] = self._cluster  # type: ignore[attr-defined]
        return labels


def fourfold(choice: Choice) -> pd.DataFrame:
    """Winoground's three scores of 2 n answers, of which 2 i and 2 i + 1 belong to example i.

    Text: for both images the right caption wins. Image: for both captions the right image wins. Group: both.
    An example in which scores tie is worth the probability of being right when ties break at random.

    Returns
    -------
    DataFrame
        Rows text, image, group: ``accuracy``, ``strict`` (a tie loses), ``ties`` (share of examples in which
        some comparison ties), ``chance`` (of continuous random scores), ``n``.

    Raises
    ------
    InputError
        An odd number of answers.

    Source: Thrush et al. 2022 (Winoground), Sec. 3, with strict inequalities.
    """
    if len(choice) % 2:
        raise InputError(f"two answers make an example; got {len(choice)} answers")
    true, false = choice.pair
    own = true.reshape(-1, 2)  # caption 0 with image 0, caption 1 with image 1
    other = false.reshape(-1, 2)  # caption 1 with image 0, caption 0 with image 1
    questions = {"text": (own, other), "image": (own, other[:, ::-1])}
    rows = {}
    for name, (right, wrong) in questions.items():
        credit = ((right > wrong) + 0.5 * (right == wrong)).prod(axis=1)
        rows[name] = (credit, (right > wrong).all(axis=1), (right == wrong).any(axis=1), 1 / 4)
    low, high = own.min(axis=1), other.max(axis=1)
    a, b = ((part == low[:, None]).sum(axis=1) for part in (own, other))
    orders = np.array(
        [factorial(i) * factorial(j) / factorial(i + j) for i, j in zip(a, b, strict=True)], dtype=np.float64
    )
    rows["group"] = (np.where(low == high, orders, low > high), low > high, low == high, 1 / 6)
    return pd.DataFrame.from_dict(
        {
            name: {
                "accuracy": float(credit.mean()), "strict": float(strict.mean()), "ties": float(ties.mean()),
                "chance": chance, "n": len(own),
            }
            for name, (credit, strict, ties, chance) in rows.items()
        },
        orient="index",
    )  # fmt: skip
