"""Linear probes on features with a spurious coordinate: what balancing over groups must change."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bindery.errors import InputError
from bindery.groups import group_accuracy
from bindery.probes import LinearProbe

Case = tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]


def birds(n: int, link: float, seed: int) -> Case:
    """Class in a noisy coordinate; place in a clean one that agrees with it with probability ``link``."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    place = np.where(rng.random(n) < link, label, 1 - label)
    signs = 2 * np.c_[label, place] - 1
    features = np.c_[
        signs * [1.0, 1.0] + rng.standard_normal((n, 2)) * [0.9, 0.3], rng.standard_normal((n, 6))
    ]
    return features, label, list(zip(place.tolist(), label.tolist(), strict=True))


TRAIN, TEST = birds(3000, 0.95, 0), birds(3000, 0.5, 1)


def worst(probe: LinearProbe) -> float:
    return group_accuracy(probe.predict(TEST[0]), TEST[1], TEST[2]).worst


class TestLinearProbe:
    def test_plain_probe_leans_on_the_place_and_balancing_helps(self) -> None:
        plain = worst(LinearProbe().fit(*TRAIN))
        for balance in ("subsample", "upsample"):
            assert worst(LinearProbe(balance).fit(*TRAIN)) > plain + 0.2

    def test_on_balanced_groups_all_three_agree(self) -> None:
        features, label, groups = birds(4000, 0.5, 2)
        values = [
            LinearProbe(balance, draws=3).fit(features, label, groups).decision_function(TEST[0])
            for balance in ("none", "subsample", "upsample")
        ]
        assert np.corrcoef(values).min() > 0.99

    def test_upsampling_equals_repeating_the_images(self) -> None:
        features = np.random.default_rng(3).standard_normal((30, 2))
        label = np.r_[np.zeros(10), np.ones(20)].astype(int)
        doubled = np.r_[np.arange(10), np.arange(10), np.arange(10, 30)]
        weighted = LinearProbe("upsample", C=1e6).fit(features, label, label)
        repeated = LinearProbe("none", C=1e6).fit(features[doubled], label[doubled])
        assert_allclose(weighted.decision_function(features), repeated.decision_function(features), atol=2e-3)

    def test_several_classes_with_names(self) -> None:
        rng = np.random.default_rng(4)
        names = np.array(["cat", "dog", "owl"])[rng.integers(3, size=300)]
        features = np.eye(3)[np.searchsorted(["cat", "dog", "owl"], names)] * 6 + rng.standard_normal(
            (300, 3)
        )
        assert LinearProbe().fit(features, names).score(features, names) > 0.95

    def test_seeded(self) -> None:
        here, there, other = (
            LinearProbe("subsample", draws=1, seed=seed).fit(*TRAIN).decision_function(TEST[0])
            for seed in (0, 0, 1)
        )
        assert (here == there).all()
        assert (here != other).any()


class TestErrors:
    def test_groups_needed(self) -> None:
        with pytest.raises(InputError, match="needs the group of every image"):
            LinearProbe("subsample").fit(TRAIN[0], TRAIN[1])

    def test_one_class(self) -> None:
        with pytest.raises(InputError, match="two classes or more"):
            LinearProbe().fit(np.ones((3, 2)), [1, 1, 1])

    def test_unknown_balance_and_lengths(self) -> None:
        with pytest.raises(InputError, match="none, subsample or upsample"):
            LinearProbe("both").fit(*TRAIN)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="features has 3000, labels has 2"):
            LinearProbe().fit(TRAIN[0], [0, 1])

    def test_not_finite(self) -> None:
        features = np.ones((4, 2))
        features[2, 0] = np.inf
        with pytest.raises(InputError, match="rows 2 hold NaN or infinity"):
            LinearProbe().fit(features, [0, 1, 0, 1])
