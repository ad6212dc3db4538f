"""The arms of Paper G's Table 1 that need a text encoder: zero-shot prompts, LDE and GDE of text, noise weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bindery.compositional import ARMS, Model, World, candidates, unit
from bindery.decomposition import GeodesicDecomposition, LinearDecomposition, pair_cosines
from bindery.encoders import Encoder
from bindery.openworld import seen_unseen_curve
from bindery.prompts import pair_prompts
from bindery.scores import FactorScorer, TableScorer, score_images
from bindery.temperature import TemperatureSearch, curve_objective, search_temperature, weighted_fit
from bindery.worlds import ImageScores, Pair

TEXT_ARMS: dict[str, Model] = {"LDE text": LinearDecomposition(), "GDE text": GeodesicDecomposition()}


def text_scores(
    encoder: Encoder,
    embeddings: NDArray[np.floating],
    pairs: Sequence[Pair],
    seen: Sequence[Pair],
    world: World = "closed",
) -> dict[str, ImageScores]:
    """Zero-shot, LDE and GDE of text on N unit image embeddings (N, D) with true ``pairs`` (N,).

    Text is decomposed over all attribute–object prompts, one each, as the paper's "text" rows.

    Raises InputError for an encoder without text.

    Source: Paper G, Sec. 5.1, rows CLIP, LDE(TEXT) and GDE(TEXT).
    """
    wanted = candidates(seen, pairs, world)
    table = unit(encoder.encode_text(pair_prompts(wanted.pairs)))
    scores = {"zero-shot": score_images(embeddings, TableScorer(table, wanted), pairs)}
    grid = [(a, o) for a in wanted.attributes for o in wanted.objects]
    prompts = unit(encoder.encode_text(pair_prompts(grid)))
    for arm, template in TEXT_ARMS.items():
        model = clone(template).fit(prompts, [a for a, _ in grid], [o for _, o in grid])
        scores[arm] = score_images(embeddings, FactorScorer(model, wanted), pairs)
    return scores


def weighted_gde(
    encoder: Encoder,
    train: tuple[NDArray[np.floating], Sequence[Pair]],
    validation: tuple[NDArray[np.floating], Sequence[Pair]],
    world: World = "closed",
    arm: str = "GDE",
) -> TemperatureSearch:
    """An image decomposition with image–text noise weights, its temperature chosen on validation images by AUC.

    ``train`` and ``validation`` are unit embeddings (N, D) with their pairs (N,). SigLIP's weights are sigmoid, all
    others' softmax.

    Source: Paper G, Sec. 4 (noise distribution, choice of t).
    """
    rows, pairs = train
    kinds = sorted(set(pairs))
    place = {pair: i for i, pair in enumerate(kinds)}
    text = unit(encoder.encode_text(pair_prompts(kinds)))
    cosines = pair_cosines(rows, text, [place[pair] for pair in pairs])
    fit = weighted_fit(
        ARMS[arm],
        rows,
        [a for a, _ in pairs],
        [o for _, o in pairs],
        cosines,
        kind="sigmoid" if encoder.logit_bias else "softmax",
        bias=encoder.logit_bias,
    )
    wanted = candidates(kinds, validation[1], world)
    objective = curve_objective(validation[0], validation[1], wanted, curve=seen_unseen_curve)
    return search_temperature(fit, objective)
