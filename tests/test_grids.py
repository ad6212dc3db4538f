"""Complete grids inside incomplete data."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindery.errors import InputError
from bindery.grids import complete_grid

PAIR = st.tuples(st.sampled_from("abcd"), st.sampled_from("uvwx"))


def full(a: int, o: int, k: int) -> list[tuple[str, str]]:
    return [(f"a{i}", f"o{j}") for i in range(a) for j in range(o) for _ in range(k)]


def test_complete_data_is_kept_whole() -> None:
    pairs = full(3, 4, 2)
    assert complete_grid(pairs, 2).tolist() == list(range(len(pairs)))


def test_per_pair_and_objects_are_limits() -> None:
    pairs = full(3, 5, 6)
    rows = complete_grid(pairs, 4, n_objects=2, seed=1)
    counts = Counter(pairs[i] for i in rows)
    assert set(counts.values()) == {4}
    assert len({o for _, o in counts}) == 2
    assert len(counts) == 6
    assert not np.array_equal(rows, complete_grid(pairs, 4, n_objects=2, seed=3))


def test_the_object_that_is_never_complete_is_dropped() -> None:
    pairs = [pair for pair in full(3, 3, 2) if pair not in {("a0", "o2"), ("a1", "o2")}]
    kept = {pairs[i] for i in complete_grid(pairs, 2)}
    assert kept == {(f"a{i}", f"o{j}") for i in range(3) for j in range(2)}


def test_first_number_that_leaves_a_grid_is_taken() -> None:
    pairs = full(2, 2, 3) + [("a0", "o2")] * 9
    assert len(complete_grid(pairs, 9, least=(9, 3))) == 12
    with pytest.raises(InputError, match="no two attributes"):
        complete_grid(pairs, 9, least=(9,))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("uvwx")), min_size=1, max_size=60),
    st.integers(1, 3),
)
def test_what_is_returned_is_complete(pairs: list[tuple[str, str]], least: int) -> None:
    try:
        rows = complete_grid(pairs, 5, least=(least,))
    except InputError:
        return
    counts = Counter(pairs[i] for i in rows)
    attributes, objects = ({pair[i] for pair in counts} for i in (0, 1))
    assert len(attributes) >= 2
    assert len(objects) >= 2
    assert len(counts) == len(attributes) * len(objects)
    assert least <= min(counts.values())
    assert max(counts.values()) <= 5
    assert np.all(np.diff(rows) > 0)


def test_numbers_below_one_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        complete_grid(full(2, 2, 1), 0)
