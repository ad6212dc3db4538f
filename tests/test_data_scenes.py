"""Rendered scenes as labelled sets: what each image shows, balance, the spurious link, seeds, bad input."""

from __future__ import annotations

import numpy as np
import pytest

from bindery import data
from bindery import scenes as sc
from bindery.data.scene_sets import scenes_colours, scenes_groups
from bindery.errors import InputError


def nearest_colour(image: np.ndarray) -> str:
    """The palette colour of the pixels that differ most from the ground."""
    pixels = np.asarray(image, np.float32).reshape(-1, 3) / 255
    away = np.abs(pixels - np.median(pixels, axis=0)).sum(axis=1)
    object_ = pixels[away >= 0.9 * away.max()].mean(axis=0)
    return sc.COLOURS[int(np.abs(sc.PALETTE - object_).sum(axis=1).argmin())]


def test_every_pair_occurs_alike_and_shows_its_colour() -> None:
    shown = data.load("scenes-colours", n=2)
    counts = shown.describe()
    assert counts.shape == (8, 6) and (counts.to_numpy() == 2).all()
    assert [nearest_colour(image) for image in shown.images] == list(shown.labels["colour"])


def test_a_split_leaves_unseen_pairs_and_shares_no_scene() -> None:
    division = scenes_colours(n=5).split(seed=3, by="pair").check()
    assert division.test_unseen and set(division.seen_pairs).isdisjoint(division.unseen_pairs)


@pytest.mark.parametrize("spurious", [0.5, 0.9, 1.0])
def test_the_link_is_exact_in_training_and_absent_in_the_test(spurious: float) -> None:
    shown = scenes_groups(40, n_test=3, spurious=spurious)
    division = shown.split(by="official")
    own = [pair in (("red", "disc"), ("green", "ring")) for pair in shown.pairs()]
    assert np.mean(np.take(own, division.train)) == spurious
    for part in (division.val, division.test):
        assert len(part) == 12 and np.mean(np.take(own, part)) == 0.5


def test_the_seed_decides_and_size_does_not_move_anything() -> None:
    one, same, other = (scenes_colours(1, seed=seed) for seed in (0, 0, 1))
    assert one.image_hashes() == same.image_hashes()
    assert not set(one.image_hashes()) & set(other.image_hashes())
    assert len(set(one.image_hashes())) == len(one)
    small, large = (np.asarray(scenes_colours(1, size=size).images[5], float) for size in (32, 64))
    means = large.reshape(32, 2, 32, 2, 3).mean(axis=(1, 3))
    assert np.abs(means - small).mean() < 2  # grey levels of 255


@pytest.mark.parametrize(
    ("key", "options", "told"),
    [
        ("scenes-colours", {"n": 0}, "at least 1"),
        ("scenes-colours", {"size": 8}, "16 pixels"),
        ("scenes-groups", {"spurious": 1.5}, "<= 1"),
        ("scenes-groups", {"spurius": 0.9}, "did you mean 'spurious'"),
    ],
)
def test_bad_input(key: str, options: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        data.load(key, **options)
