"""Scores of the binding task from embeddings: accuracy, swap choice, each kind of distractor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from bindery import scenes as sc
from bindery.binding.stimuli import KINDS, Trials
from bindery.checks import finite_rows, same_length
from bindery.errors import InputError
from bindery.readouts import Cosine, Readout

Floats = NDArray[np.floating]
Embed = Callable[[Any], ArrayLike]


def wilson(successes: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a proportion; ``successes`` may be fractional (shared ties).

    Raises InputError when n < 1 or successes lie outside [0, n].
    Source: Wilson (1927); Brown, Cai and DasGupta (2001).
    """
    if n < 1 or not 0 <= successes <= n:
        raise InputError(f"need 0 <= successes <= n and n >= 1, got successes={successes}, n={n}")
    z = float(norm.ppf((1 + level) / 2))
    share = successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


@dataclass(frozen=True)
class BindingResult:
    """Scores of one encoder on T trials, from the (T, 8) similarities of query and candidates.

    Ties share credit: where m candidates tie for the first place, the target among them earns 1/m, so that a
    constant encoder scores exactly 1/8 and .5.
    """

    similarities: NDArray[np.float64]

    @property
    def n(self) -> int:
        """Number of trials."""
        return len(self.similarities)

    @cached_property
    def credit(self) -> NDArray[np.float64]:
        """(T,) credit of each trial in [0, 1]."""
        first = self.similarities >= self.similarities.max(axis=1, keepdims=True)
        return first[:, 0] / first.sum(axis=1)

    @property
    def accuracy(self) -> float:
        """Share of trials in which the target is nearest (Paper S, Sec. 3); chance 1/8."""
        return float(self.credit.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the accuracy."""
        return wilson(float(self.credit.sum()), self.n)

    def beats(self, kind: str) -> NDArray[np.float64]:
        """(T,) share of the distractors of a kind that are farther than the target, ties counting half."""
        columns = [i for i, name in enumerate(KINDS) if name == kind and i]
        if not columns:
            raise InputError(
                f"unknown distractor {kind!r}; choose one of {', '.join(dict.fromkeys(KINDS[1:]))}"
            )
        gap = self.similarities[:, :1] - self.similarities[:, columns]
        return ((gap > 0) + 0.5 * (gap == 0)).mean(axis=1)

    @property
    def swap(self) -> float:
        """Two-alternative choice between target and swapped twin; chance and bag ceiling .5."""
        return float(self.beats("swap").mean())

    @property
    def swap_interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the swap choice."""
        return wilson(float(self.beats("swap").sum()), self.n)

    @property
    def against(self) -> dict[str, float]:
        """Two-alternative accuracy against each kind of distractor."""
        return {kind: float(self.beats(kind).mean()) for kind in dict.fromkeys(KINDS[1:])}

    def record(self) -> dict[str, float]:
        """One flat row for a table."""
        low, high = self.interval
        swap_low, swap_high = self.swap_interval
        row = {"accuracy": self.accuracy, "accuracy_low": low, "accuracy_high": high, "n": float(self.n)}
        row |= {"swap": self.swap, "swap_low": swap_low, "swap_high": swap_high}
        return row | {f"against_{kind}": value for kind, value in self.against.items() if kind != "swap"}


def embed_scenes(
    embed: Embed, scenes: sc.Scenes, *, size: int = 64, images: Literal["array", "pil"] = "array"
) -> Floats:
    """(N, D) embeddings of rendered scenes; ``embed`` gets the float32 array, or PIL images if asked.

    Raises
    ------
    InputError
        ``embed`` returns other than N finite rows.
    """
    rendered = sc.render(scenes, size)
    rows = finite_rows(np.asarray(embed(sc.to_pil(rendered) if images == "pil" else rendered)), "embeddings")
    same_length(scenes=scenes, embeddings=rows)
    return rows


def evaluate(
    embed: Embed | ArrayLike,
    trials: Trials,
    *,
    size: int = 64,
    images: Literal["array", "pil"] = "array",
    readout: Readout | None = None,
) -> BindingResult:
    """Binding of an encoder, given as a function of images or as the (9 T, D) embeddings of ``trials``.

    Parameters
    ----------
    embed
        Maps (N, 3, size, size) float32 in [0, 1] (or a list of PIL images) to (N, D), or the embeddings.
    readout
        Maps queries (T, D) and candidates (T, 8, D) to similarities (T, 8); the cosine by default.

    Source: Paper S, Sec. 3 (task and cosine readout).
    """
    if callable(embed):
        rows = embed_scenes(embed, trials.scenes, size=size, images=images)
    else:
        rows = finite_rows(embed, "embeddings")
        if len(rows) != 9 * len(trials):
            raise InputError(
                f"{len(trials)} trials need {9 * len(trials)} embeddings, a query and eight candidates each; "
                f"got {len(rows)}"
            )
    grid = rows.reshape(len(trials), 9, -1).astype(np.float64)
    return BindingResult((readout or Cosine())(grid[:, 0], grid[:, 1:]))
