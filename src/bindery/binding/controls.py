"""Single-factor controls: are shapes, places and colours seen at all, by the cosine and by a linear probe?

An encoder that fails the binding task may be blind to one factor; only one that passes these and fails that
lacks the link.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bindery import scenes as sc
from bindery.binding.pairs import auroc
from bindery.binding.score import BindingResult, Embed, embed_scenes
from bindery.checks import finite_rows, same_length
from bindery.errors import InputError
from bindery.readouts import LinearProbe, cosine

FACTORS = ("shape", "place", "colour")
_SIZES = {"shape": len(sc.SHAPES), "place": len(sc.CELLS), "colour": len(sc.COLOURS)}


@dataclass(frozen=True)
class FactorTrials:
    """T presence trials of one factor as 9 T two-object scenes: query, target, seven distractors."""

    scenes: sc.Scenes
    factor: str

    def __len__(self) -> int:
        return len(self.scenes) // 9


def factor_trials(factor: str, n: int = 300, *, seed: int, ground: sc.Ground = "dark") -> FactorTrials:
    """Trials on which one factor is present: the target shows the query's two values, each distractor another
    pair of values (it may share one); the other factors are redrawn in every image. Chance 1/8.

    For shape and place the colours are red/green in the query and blue/yellow in the candidates.

    Raises
    ------
    InputError
        Unknown factor or ground, or ``n`` below 1.
    """
    if factor not in FACTORS:
        raise InputError(f"unknown factor {factor!r}; choose one of {', '.join(FACTORS)}")
    if n < 1:
        raise InputError(f"need at least one trial, got n={n}")
    level = sc.ground_level(ground)
    rng = np.random.default_rng(seed)
    values = {}
    for name, size in _SIZES.items():
        values[name] = rng.permuted(np.tile(np.arange(size), (n, 9, 1)), axis=2)[:, :, :2]
    if factor != "colour":
        colour = rng.permuted(np.tile(np.array(sc.CANDIDATE_COLOURS), (n, 9, 1)), axis=2)
        colour[:, 0] -= min(sc.CANDIDATE_COLOURS) - min(sc.QUERY_COLOURS)
        values["colour"] = colour
    pairs = np.array(list(combinations(range(_SIZES[factor]), 2)))
    chosen = rng.permuted(np.tile(np.arange(len(pairs)), (n, 1)), axis=1)[:, [0, *range(8)]]
    values[factor] = rng.permuted(pairs[chosen], axis=2)  # query and target share the first pair
    shape, colour, cell = (values[name].reshape(-1, 2) for name in ("shape", "colour", "place"))
    scenes = sc.place(shape, colour, cell, sc.cell_geometry((9 * n,), rng), np.full(3, level))
    return FactorTrials(scenes, factor)


def factor_retrieval(
    embed: Embed | ArrayLike,
    trials: FactorTrials,
    *,
    size: int = 64,
    images: Literal["array", "pil"] = "array",
) -> BindingResult:
    """Retrieval by cosine of the candidate with the query's pair of values: ``accuracy`` and ``interval``."""
    if callable(embed):
        rows = embed_scenes(embed, trials.scenes, size=size, images=images)
    else:
        rows = finite_rows(embed, "embeddings")
    same_length(scenes=trials.scenes, embeddings=rows)
    grid = rows.reshape(len(trials), 9, -1)
    return BindingResult(cosine(grid[:, 0], grid[:, 1:]))


def linear_probe(
    train: ArrayLike,
    train_scenes: sc.Scenes,
    test: ArrayLike,
    test_scenes: sc.Scenes,
    *,
    factors: tuple[str, ...] = (*FACTORS, "bound"),
    alpha: float = 1e-3,
) -> dict[str, float]:
    """Mean AUROC, over the values of each factor, of a ridge probe for "this value occurs"; chance .5.

    ``train`` and ``test`` are the (N, D) embeddings of their scenes; "bound" probes shape-in-cell, which a
    code may hold linearly although its cosine ignores it.
    """
    scores = {}
    for factor in factors:
        probe = LinearProbe(train, sc.presence(train_scenes, factor), alpha)
        predicted = probe.predict(finite_rows(test, "test"))
        truth = sc.presence(test_scenes, factor)
        judged = [v for v in range(truth.shape[1]) if 0 < truth[:, v].sum() < len(truth)]
        scores[factor] = float(np.mean([auroc(predicted[:, v], truth[:, v] > 0) for v in judged]))
    return scores
