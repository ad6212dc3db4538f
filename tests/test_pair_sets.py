"""Decomposability of complete grids: closed forms of what additive spaces and others give."""

from __future__ import annotations

import numpy as np
import pytest

from bindery.pair_sets import PAIR_ARMS, PairSet, decomposability, emoji_pairs, scene_pairs


def grid(n_attributes: int = 5, n_objects: int = 4, renderings: int = 6) -> PairSet:
    pairs = [(f"a{a}", f"o{o}") for a in range(n_attributes) for o in range(n_objects)]
    return PairSet("toy", [None] * len(pairs) * renderings, pairs, renderings)


def embeddings(interaction: float, noise: float, seed: int, dim: int = 30) -> np.ndarray:
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((5, 1, dim)), rng.standard_normal((1, 4, dim))
    means = 6 * rng.standard_normal(dim) + first + second + interaction * rng.standard_normal((5, 4, dim))
    rows = np.repeat(means.reshape(20, dim), 6, axis=0)
    return rows + noise * rng.standard_normal(rows.shape)


def test_an_additive_space_is_found_additive_whatever_the_noise() -> None:
    clean = decomposability(embeddings(0, 0.01, 1), grid())
    noisy = decomposability(embeddings(0, 1.0, 1), grid())
    assert clean["additive"] > 0.97 and clean["auc_GDE least squares"] > 99
    assert noisy["additive"] == pytest.approx(clean["additive"], abs=0.08)
    assert noisy["rendering"] > 0.3 > clean["rendering"]
    assert clean["share_interaction"] < 0.02
    assert clean["share_attribute"] + clean["share_object"] + clean["share_interaction"] == pytest.approx(1)


def test_a_space_without_factors_is_not() -> None:
    rng = np.random.default_rng(2)
    rows = np.repeat(rng.standard_normal((20, 30)), 6, axis=0) + 0.01 * rng.standard_normal((120, 30))
    found = decomposability(rows, grid())
    # Additive predictions of pure interaction miss by more than the mean of the others does.
    assert found["additive"] < 0
    # p directions of Z - 1: 7 of 19 degrees of freedom belong to the factors.
    assert found["share_interaction"] == pytest.approx(12 / 19, abs=0.12)
    assert set(found) >= {f"auc_{arm}" for arm in PAIR_ARMS}


def test_single_factors_are_found_by_the_nearest_mean() -> None:
    found = decomposability(embeddings(0, 0.01, 3), grid())
    assert found["attribute_alone"] == found["object_alone"] == 1
    noise = decomposability(np.random.default_rng(4).standard_normal((120, 30)), grid())
    assert noise["attribute_alone"] < 0.35 and noise["auc_GDE"] < 5


@pytest.mark.parametrize("factor", ["place", "colour"])
def test_scene_grids_are_complete_and_hold_one_object(factor: str) -> None:
    found = scene_pairs(factor, 3, seed=1)
    scenes = found.images.scenes
    assert len(found.pairs) == len(set(found.pairs)) == {"place": 54, "colour": 48}[factor]
    assert len(scenes) == len(found.labels) == 3 * len(found.pairs) and scenes.shape.shape[1] == 1
    other = scenes.colour if factor == "place" else scenes.cell
    assert len(np.unique(other)) > 6, "the third factor varies"


def test_emoji_grid_shares_the_layout_of_a_rendering() -> None:
    found = emoji_pairs(seed=1, size=32)
    assert len(found.pairs) == 27 and len(found.images) == 27 * found.renderings
    recipes = found.images.recipes
    for turn in range(found.renderings):
        layouts = {(r.background, r.key, r.variant) for r in recipes[turn :: found.renderings]}
        assert len(layouts) == 1
