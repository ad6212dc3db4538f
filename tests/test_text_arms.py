"""Arms that read text: on a toy encoder whose prompts decompose, so that what must come out is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bindery import text_arms
from bindery.compositional import unit
from bindery.data.splits import from_parts
from bindery.errors import InputError
from bindery.openworld import seen_unseen_curve
from bindery.prompts import SCENES, pair_prompt
from bindery.worlds import Pair

D = 16


def direction(word: str) -> np.ndarray:
    """A fixed random vector for each word."""
    return np.random.default_rng([ord(letter) for letter in word]).standard_normal(D)


def toy(bias: float = 0.0) -> SimpleNamespace:
    """An encoder whose text embedding of a pair is the sum of its words' vectors and a common one."""

    def encode_text(prompts: Sequence[str]) -> np.ndarray:
        words = [re.fullmatch(r"an image of a (\w+) (\w+)", prompt) for prompt in prompts]
        assert all(words), prompts
        return np.array([direction("common") + direction(m[1]) + direction(m[2]) for m in words if m])

    return SimpleNamespace(encode_text=encode_text, logit_bias=bias, name="toy")


def images(noise: float, copies: int = 6) -> tuple[np.ndarray, list[Pair]]:
    rng = np.random.default_rng(0)
    pairs = [(f"a{i}", f"o{j}") for i in range(4) for j in range(5) for _ in range(copies)]
    rows = toy().encode_text([pair_prompt(*pair) for pair in pairs])
    return unit(rows + noise * rng.standard_normal(rows.shape)), pairs


SEEN = [(f"a{i}", f"o{j}") for i in range(4) for j in range(5) if (i + j) % 3]


@pytest.mark.parametrize("world", ["closed", "open"])
def test_zero_shot_is_right_where_images_are_their_prompts(world: text_arms.World) -> None:
    rows, pairs = images(noise=0.0)
    scored = text_arms.text_scores(toy(), rows, pairs, SEEN, world)
    assert set(scored) == {"zero-shot", "LDE text", "GDE text"}
    assert seen_unseen_curve(scored["zero-shot"]).pair_accuracy == 1
    assert (scored["zero-shot"].predict(0.0) == scored["zero-shot"].true).all()


def test_weights_prefer_images_that_agree_with_their_prompt() -> None:
    rows, pairs = images(noise=0.8)
    spoiled = rows.copy()
    wrong = np.arange(0, len(rows), 6)  # one image in six shows something else
    spoiled[wrong] = np.roll(rows[wrong], 3, axis=0)
    training = [i for i, pair in enumerate(pairs) if pair in set(SEEN)]
    validation = [i for i in range(len(pairs)) if i % 6 != 0]
    search = text_arms.weighted_gde(
        toy(),
        (spoiled[training], [pairs[i] for i in training]),
        (rows[validation], [pairs[i] for i in validation]),
    )
    assert search.value == search.table["value"].max()
    flat = search.table.set_index("temperature")["value"].iloc[-1]
    assert search.value >= flat and 0.01 <= search.temperature <= 0.30


def test_sigmoid_weights_for_an_encoder_with_a_bias() -> None:
    rows, pairs = images(noise=0.6)
    training = [i for i, pair in enumerate(pairs) if pair in set(SEEN)]
    arguments = (rows[training], [pairs[i] for i in training]), (rows, pairs)
    softmax, far, near = (text_arms.weighted_gde(toy(bias), *arguments) for bias in (0.0, -200.0, 5.0))
    # Far below its bias the sigmoid is an exponential, and the weights are the softmax's.
    assert np.allclose(far.table["value"], softmax.table["value"])
    assert np.allclose(far.model.attribute_directions_, softmax.model.attribute_directions_, atol=1e-6)
    assert not np.allclose(near.model.attribute_directions_, softmax.model.attribute_directions_, atol=1e-6)


def test_an_encoder_without_text_says_so() -> None:
    rows, pairs = images(noise=0.1)

    def refuse(prompts: Sequence[str]) -> np.ndarray:
        raise InputError("resnet has no text side")

    with pytest.raises(InputError, match="no text side"):
        text_arms.text_scores(SimpleNamespace(encode_text=refuse, logit_bias=0.0), rows, pairs, SEEN)


def group_toy() -> SimpleNamespace:
    """An encoder of group prompts: its text is the sum of the known words' vectors and a common one."""

    def encode_text(prompts: Sequence[str]) -> np.ndarray:
        known = ("disc", "ring", "red", "green")
        return np.array(
            [direction("common") + sum(direction(w) for w in known if w in p.split()) for p in prompts]
        )

    return SimpleNamespace(encode_text=encode_text, logit_bias=0.0, name="toy")


def test_group_classifiers_are_right_where_images_are_their_prompts() -> None:
    toy_encoder = group_toy()
    pairs = [(a, o) for a in ("red", "green") for o in ("disc", "ring") for _ in range(5)]
    clean = unit(toy_encoder.encode_text([f"an image of a {a} {o}" for a, o in pairs]))
    rows = unit(clean + 0.02 * np.random.default_rng(0).standard_normal(clean.shape))
    by_text = text_arms.GroupText(toy_encoder, SCENES)
    truth = [o for _, o in pairs]
    assert by_text.zero_shot(rows) == truth and by_text.lde(rows) == truth
    search = by_text.weighted_gde((rows, pairs), (rows, pairs))
    assert search.value == 1.0
    assert search.temperature == max(search.table.temperature)  # of equal values the largest


def test_all_arms_come_from_one_call() -> None:
    rows, pairs = images(noise=0.3)
    labels = pd.DataFrame(index=range(len(pairs)))
    parts = np.array(
        ["train" if pair in SEEN and i % 3 else ("val", "test")[i % 2] for i, pair in enumerate(pairs)]
    )
    division = from_parts(parts, pairs, labels, "pair")
    scored, search = text_arms.evaluate(toy(), rows, division)
    assert list(scored) == [
        "zero-shot", "LDE text", "GDE text", "LDE raw, uniform", "GDE, uniform", "GDE, weighted",
    ]  # fmt: skip
    assert all(len(found.true) == len(division.test) for found in scored.values())
    assert search.temperature > 0
    assert (text_arms.weight_kind(toy()), text_arms.weight_kind(toy(-3.0))) == ("softmax", "sigmoid")
