"""Group accuracies by hand, both averages, subsampling that keeps ratios."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from bindery.errors import InputError
from bindery.groups import group_accuracy, subsample

# land/landbird 3 of 4 right, water/landbird 1 of 2, land/waterbird 0 of 1, water/waterbird 3 of 3
GROUPS = (
    [("land", "landbird")] * 4
    + [("water", "landbird")] * 2
    + [("land", "waterbird")]
    + [("water", "waterbird")] * 3
)
LABELS = [o for _, o in GROUPS]
PREDICTED = ["landbird"] * 3 + ["waterbird"] + ["landbird", "waterbird"] + ["landbird"] + ["waterbird"] * 3
TRAIN = [("land", "landbird")] * 70 + [("water", "landbird")] * 4 + [("land", "waterbird")] * 1
TRAIN = TRAIN + [("water", "waterbird")] * 25


class TestGroupAccuracy:
    result = group_accuracy(PREDICTED, LABELS, GROUPS, train_groups=TRAIN)

    def test_every_group_with_its_count(self) -> None:
        table = self.result.table.set_index("group")
        assert table["n"].to_dict() == dict.fromkeys([GROUPS[0]], 4) | {
            ("water", "landbird"): 2,
            ("land", "waterbird"): 1,
            ("water", "waterbird"): 3,
        }
        assert_allclose(table["accuracy"][[GROUPS[0], ("water", "landbird")]], [0.75, 0.5])
        assert table["n_train"][("land", "waterbird")] == 1

    def test_summaries(self) -> None:
        assert self.result.worst_group == ("land", "waterbird")
        assert self.result.worst == 0
        assert self.result.average == pytest.approx(7 / 10)
        assert self.result.weighted_average == pytest.approx(0.70 * 0.75 + 0.04 * 0.5 + 0.25)
        assert self.result.gap == pytest.approx(0.7)
        assert self.result.weighted_gap == pytest.approx(0.795)

    def test_one_row(self) -> None:
        frame = self.result.to_frame()
        assert len(frame) == 1
        assert frame.loc[0, "n"] == 10

    def test_without_training_groups_there_is_no_weighted_average(self) -> None:
        assert math.isnan(group_accuracy(PREDICTED, LABELS, GROUPS).weighted_average)

    def test_order_does_not_matter(self) -> None:
        order = np.random.default_rng(0).permutation(10)
        shuffled = group_accuracy(*([column[i] for i in order] for column in (PREDICTED, LABELS, GROUPS)))
        assert shuffled.table.equals(group_accuracy(PREDICTED, LABELS, GROUPS).table)

    def test_equal_training_shares_give_the_mean_of_groups(self) -> None:
        equal = group_accuracy(PREDICTED, LABELS, GROUPS, train_groups=sorted(set(GROUPS)))
        assert equal.weighted_average == pytest.approx(equal.table["accuracy"].mean())


class TestErrors:
    def test_group_missing_from_the_test_set(self) -> None:
        with pytest.raises(InputError, match=r"\('sky', 'landbird'\) has no image in the test set"):
            group_accuracy(PREDICTED, LABELS, GROUPS, expected=[("sky", "landbird")])
        with pytest.raises(InputError, match=r"\('sky', 'landbird'\) has no image in the test set"):
            group_accuracy(PREDICTED, LABELS, GROUPS, train_groups=[*TRAIN, ("sky", "landbird")])

    def test_group_missing_from_training(self) -> None:
        with pytest.raises(InputError, match=r"\('land', 'waterbird'\) has no image in the training set"):
            group_accuracy(
                PREDICTED, LABELS, GROUPS, train_groups=[g for g in TRAIN if g != ("land", "waterbird")]
            )

    def test_empty_or_unequal(self) -> None:
        with pytest.raises(InputError, match="no test image"):
            group_accuracy([], [], [])
        with pytest.raises(InputError, match="predicted has 10, labels has 9"):
            group_accuracy(PREDICTED, LABELS[:9], GROUPS)

    @pytest.mark.parametrize("fraction", [0, -0.1, 1.01])
    def test_fraction(self, fraction: float) -> None:
        with pytest.raises(InputError, match="fraction"):
            subsample(GROUPS, fraction)


class TestSubsample:
    def test_keeps_the_ratios(self) -> None:
        groups = ["a"] * 3498 + ["b"] * 184 + ["c"] * 56 + ["d"] * 1057
        kept = subsample(groups, 0.05)
        counts = {name: sum(groups[i] == name for i in kept) for name in "abcd"}
        assert counts == {"a": 175, "b": 9, "c": 3, "d": 53}  # 174.9, 9.2, 2.8, 52.85

    @given(
        sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
        small=st.floats(0.01, 1),
        large=st.floats(0.01, 1),
        seed=st.integers(0, 99),
    )
    def test_nested_distinct_and_never_empty(
        self, sizes: list[int], small: float, large: float, seed: int
    ) -> None:
        small, large = sorted((small, large))
        groups = [name for name, size in enumerate(sizes) for _ in range(size)]
        here, there = subsample(groups, small, seed=seed), subsample(groups, large, seed=seed)
        assert set(here) <= set(there)
        assert len(set(here)) == len(here)
        assert {groups[i] for i in here} == set(groups)

    def test_seeded(self) -> None:
        groups = ["a", "b"] * 50
        assert_array_equal(subsample(groups, 0.3, seed=1), subsample(groups, 0.3, seed=1))
        assert set(subsample(groups, 0.3, seed=1)) != set(subsample(groups, 0.3, seed=2))
        assert_array_equal(subsample(groups, 1.0, seed=3), np.arange(100))
