"""The arms of Paper G's Tables 1 and 3 that need text: zero-shot prompts, LDE and GDE of text, noise weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bindery.compositional import ARMS, Model, World, candidates, score, unit
from bindery.data import Split
from bindery.decomposition import GeodesicDecomposition, LinearDecomposition, pair_cosines
from bindery.encoders import Encoder
from bindery.openworld import seen_unseen_curve
from bindery.prompts import GroupPrompts, pair_prompts, zero_shot_scores
from bindery.scores import FactorScorer, TableScorer, score_images
from bindery.temperature import (
    TemperatureSearch,
    curve_objective,
    predict_objects,
    search_temperature,
    weighted_fit,
    worst_group_objective,
)
from bindery.worlds import ImageScores, Pair

Rows = NDArray[np.floating]
TEXT_ARMS: dict[str, Model] = {"LDE text": LinearDecomposition(), "GDE text": GeodesicDecomposition()}


def text_scores(
    encoder: Encoder,
    embeddings: Rows,
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
    train: tuple[Rows, Sequence[Pair]],
    validation: tuple[Rows, Sequence[Pair]],
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
        kind=weight_kind(encoder),
        bias=encoder.logit_bias,
    )
    wanted = candidates(kinds, validation[1], world)
    objective = curve_objective(validation[0], validation[1], wanted, curve=seen_unseen_curve)
    return search_temperature(fit, objective)


def weight_kind(encoder: Encoder) -> Literal["sigmoid", "softmax"]:
    """Noise weights as the encoder was trained: sigmoid with a logit bias (SigLIP), softmax without (CLIP)."""
    return "sigmoid" if encoder.logit_bias else "softmax"


def evaluate(
    encoder: Encoder, embeddings: Rows, division: Split, world: World = "closed"
) -> tuple[dict[str, ImageScores], TemperatureSearch]:
    """All arms of the paper's Table 1 on one split of N unit image embeddings (N, D).

    Returns the test images' scores by arm (zero-shot, LDE text, GDE text, "LDE raw, uniform", "GDE, uniform" and
    "GDE, weighted"), and the search that chose the weighted arm's temperature on the split's validation images.

    Raises InputError for an encoder without text.

    Source: Paper G, Sec. 5.1 and Table 1.
    """
    pairs = {part: [division.pairs[i] for i in getattr(division, part)] for part in ("train", "val", "test")}
    seen = set(pairs["train"])
    test = embeddings[division.test]
    scores = text_scores(encoder, test, pairs["test"], sorted(seen), world)
    for arm in ("LDE raw", "GDE"):
        model = clone(ARMS[arm]).fit(embeddings[division.train], *zip(*pairs["train"], strict=True))
        scores[f"{arm}, uniform"] = score(model, test, pairs["test"], seen, world)
    search = weighted_gde(
        encoder,
        (embeddings[division.train], pairs["train"]),
        (embeddings[division.val], pairs["val"]),
        world,
    )
    scores["GDE, weighted"] = score(search.model, test, pairs["test"], seen, world)
    return scores, search


class GroupText:
    """Classifiers by text for a group-robustness task, from one encoder's unit text embeddings of its prompts.

    All take N unit image embeddings (N, D) and give N class names.

    Source: Paper G, Sec. 5.2 and Table 3.
    """

    def __init__(self, encoder: Encoder, asked: GroupPrompts) -> None:
        self.encoder = encoder
        self.names = list(asked.classes)
        self.classes = unit(encoder.encode_text(asked.class_prompts()))
        values, labels, prompts = zip(*asked.group_prompts(), strict=True)
        table = unit(encoder.encode_text(list(prompts)))
        self.linear = LinearDecomposition().fit(table, list(values), list(labels))
        self.geodesic = GeodesicDecomposition().fit(table, list(values), list(labels))

    def zero_shot(self, rows: Rows) -> list[str]:
        """The class with the nearest prompt."""
        return [self.names[i] for i in zero_shot_scores(rows, self.classes).argmax(axis=1)]

    def lde(self, rows: Rows) -> list[str]:
        """The class whose direction in the linear decomposition of the group prompts has the largest product."""
        return predict_objects(self.linear, rows)

    def weighted_gde(
        self, train: tuple[Rows, Sequence[Pair]], validation: tuple[Rows, Sequence[Pair]]
    ) -> TemperatureSearch:
        """GDE of training images weighted by their agreement with their group's denoised prompts.

        The temperature is the best for the worst group on validation; of equal ones the largest, as in the
        released code. Pairs are (spurious value, class).
        """
        rows, pairs = train
        groups = [(str(a), str(o)) for a, o in self.geodesic.combinations_]
        text = self.geodesic.compose(*map(list, zip(*groups, strict=True)))
        own = [groups.index(pair) for pair in pairs]
        fit = weighted_fit(
            GeodesicDecomposition(),
            rows,
            [a for a, _ in pairs],
            [o for _, o in pairs],
            pair_cosines(rows, text, own),
            kind=weight_kind(self.encoder),
            bias=self.encoder.logit_bias,
        )
        seen = [" ".join(pair) for pair in validation[1]]
        goal = worst_group_objective(validation[0], [o for _, o in validation[1]], seen)
        return search_temperature(fit, goal, prefer="last")
