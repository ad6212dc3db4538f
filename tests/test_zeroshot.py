"""Zero-shot classification on a toy that can be computed by hand, and the names and templates of open_clip."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import open_clip
import pytest
import torch

from bindery import data
from bindery.encoders.card import Card
from bindery.encoders.load import load_card
from bindery.errors import DataError, InputError
from bindery.zeroshot import ZeroShot, class_directions, imagenet_labels, zero_shot

PROMPTS = {"a cat": [2.0, 0.0], "the cat": [0.0, 5.0], "a dog": [0.0, 1.0], "the dog": [0.0, 3.0]}


def encode(prompts: Sequence[str]) -> np.ndarray:
    return np.array([PROMPTS[prompt] for prompt in prompts])


def test_class_direction_is_the_mean_of_unit_prompts_by_hand() -> None:
    rows = class_directions(encode, ["cat", "dog"], ["a {}", lambda name: f"the {name}"])
    assert rows == pytest.approx(np.array([[np.sqrt(0.5), np.sqrt(0.5)], [0.0, 1.0]]))


def test_accuracy_by_hand() -> None:
    """Images at 30 and 80 degrees; cat lies at 45, dog at 90: the first is a cat, the second a dog."""
    angles = np.deg2rad([30, 80, 80])
    images = 7 * np.column_stack([np.cos(angles), np.sin(angles)])
    encoder = SimpleNamespace(encode_text=encode)
    found = zero_shot(encoder, images, [0, 1, 0], ["cat", "dog"], ["a {}", "the {}"])  # type: ignore[arg-type]
    assert found.credit().tolist() == [1, 1, 0] and found.accuracy() == pytest.approx(2 / 3)
    assert found.accuracy(2) == 1
    assert found.scores[0] == pytest.approx(np.cos(np.deg2rad([15, 60])))


def test_ties_share_their_place() -> None:
    constant = ZeroShot(np.zeros((4, 5)), np.array([0, 1, 2, 3]))
    assert constant.accuracy() == pytest.approx(1 / 5) and constant.accuracy(2) == pytest.approx(2 / 5)
    half = ZeroShot(np.array([[3.0, 2.0, 2.0, 1.0]]), np.array([1]))
    assert (
        half.credit(1).tolist() == [0] and half.credit(2).tolist() == [0.5] and half.credit(3).tolist() == [1]
    )
    with pytest.raises(InputError, match="k must"):
        constant.accuracy(6)


def test_bad_input_is_refused() -> None:
    encoder, rows = SimpleNamespace(encode_text=encode), np.ones((2, 2))
    with pytest.raises(InputError, match="rows 1 are not in 0 to 1"):
        zero_shot(encoder, rows, [0, 2], ["cat", "dog"], ["a {}"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="lengths"):
        zero_shot(encoder, rows, [0], ["cat", "dog"], ["a {}"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one"):
        class_directions(encode, ["cat"], [])
    with pytest.raises(InputError, match="no common direction"):
        class_directions(lambda prompts: np.array([[1.0, 0], [-1.0, 0]]), ["cat"], ["a {}", "the {}"])


def test_same_weights_as_open_clip() -> None:
    """The library's own builder, on a random model, two templates and five classes."""
    card = Card(
        name="tiny",
        family="vision-language",
        loader="open_clip",
        architecture="ViT-S-32",
        feature="projected",
        text=True,
    )
    encoder = load_card(card, weights="random", seed=0)
    names, templates = open_clip.IMAGENET_CLASSNAMES[:5], open_clip.OPENAI_IMAGENET_TEMPLATES[:2]
    assert encoder.text is not None
    with torch.no_grad():
        theirs = open_clip.build_zero_shot_classifier(
            encoder.text.model, open_clip.get_tokenizer("ViT-S-32"), names, templates
        )
    assert class_directions(encoder.encode_text, names, templates) == pytest.approx(
        theirs.T.numpy(), abs=1e-5
    )


def test_imagenet_labels_follow_the_wordnet_folders(tmp_path: Path) -> None:
    files = data.imagenet_val(root=data.true_layout("imagenet-val", tmp_path / "v"), check_counts=False)
    labels = imagenet_labels(files)
    assert set(labels) == {0, 1}  # n01440764 and n01443537: tench and goldfish
    assert [open_clip.IMAGENET_CLASSNAMES[i] for i in (0, 1)] == ["tench", "goldfish"]
    files.paths = [tmp_path / "flat.JPEG"]
    with pytest.raises(DataError, match="no class of ImageNet"):
        imagenet_labels(files)
