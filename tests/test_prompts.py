"""Paper G's prompts, and cosines against a hand-made table."""

from __future__ import annotations

import numpy as np
import pytest

from bindery.errors import InputError
from bindery.prompts import CELEBA, WATERBIRDS, pair_prompt, pair_prompts, zero_shot_scores


@pytest.mark.parametrize(
    ("pair", "prompt"),
    [
        (("Ripe", "Apple"), "an image of a ripe apple"),
        (("Faux.Fur", "Shoes.Flats"), "an image of a faux fur shoes flats"),
        (("worn", "wet_suit"), "an image of a worn wet_suit"),
    ],
)
def test_pair_template(pair: tuple[str, str], prompt: str) -> None:
    assert pair_prompt(*pair) == prompt
    assert pair_prompts([pair, pair]) == [prompt, prompt]


def test_group_prompts_have_the_papers_counts_and_wording() -> None:
    birds, faces = WATERBIRDS.group_prompts(), CELEBA.group_prompts()
    assert (len(birds), len(faces)) == (16, 12)
    assert ("land", "waterbird", "This is a picture of a forest. This is a picture of a waterbird.") in birds
    assert ("male", "dark", "A photo of a man. A photo of a celebrity with dark hair.") in faces
    assert len({prompt for _, _, prompt in birds + faces}) == 28


def test_the_typo_of_the_released_code_is_kept_and_told() -> None:
    assert any("moutain" in prompt for prompt in WATERBIRDS.spurious["land"])
    assert "moutain" in WATERBIRDS.note


def test_scores_are_scaled_cosines() -> None:
    images = np.array([[3.0, 0.0], [1.0, 1.0]])
    texts = np.array([[0.0, 2.0], [5.0, 0.0], [-1.0, 0.0]])
    half = np.sqrt(0.5)
    expected = np.array([[0, 1, -1], [half, half, -half]])
    np.testing.assert_allclose(zero_shot_scores(images, texts), expected, atol=1e-12)
    np.testing.assert_allclose(
        zero_shot_scores(images, texts, scale=10, bias=-2), 10 * expected - 2, atol=1e-12
    )


def test_bad_rows_are_named() -> None:
    good = np.eye(3)
    with pytest.raises(InputError, match="row 1 is zero"):
        zero_shot_scores(good * np.array([[1], [0], [1]]), good)
    with pytest.raises(InputError, match="lengths 3 and 2"):
        zero_shot_scores(good, np.eye(2))
    with pytest.raises(InputError, match="rows 2 hold NaN"):
        zero_shot_scores(np.where(np.eye(3)[::-1] > 0, 1, [[0.0], [0], [np.nan]]), good)
