"""Labelled image sets and their splits: properties that must hold for every seed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from bindery.data import CompositionDataset
from bindery.data.images import Pictures
from bindery.errors import DataError, InputError


def grid(attributes: int, objects: int, per_pair: int, drop: set[tuple[int, int]] = frozenset()):
    """A set of plain images: one drawing a (object, j), recoloured for every attribute."""
    rows = [
        (f"a{a}", f"o{o}", f"o{o}-{j}")
        for o in range(objects)
        for a in range(attributes)
        for j in range(per_pair)
        if (a, o) not in drop
    ]
    images = Pictures([Image.new("RGB", (4, 4), (i % 256, i // 256, 0)) for i in range(len(rows))])
    labels = pd.DataFrame(rows, columns=["a", "o", "x"])[["a", "o"]]
    sources = pd.DataFrame({"drawing": [row[2] for row in rows]})
    return CompositionDataset("grid", images, labels, sources, "a", "o", "")


def connected(pairs: list[tuple[str, str]]) -> bool:
    """Whether the bipartite graph of the pairs is in one piece, by growing from its first edge."""
    reached = {("a", pairs[0][0])}
    while True:
        more = {
            (k, p[i]) for p in pairs for i, k in ((0, "a"), (1, "o")) if (("ao"[1 - i]), p[1 - i]) in reached
        }
        if more <= reached:
            break
        reached |= more
    return reached == {("a", p[0]) for p in pairs} | {("o", p[1]) for p in pairs}


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(2, 6), st.integers(2, 6)),
    seen=st.floats(0.3, 0.8),
)
@pytest.mark.parametrize("by", ["source", "pair"])
def test_split_properties(by: str, seed: int, shape: tuple[int, int], seen: float) -> None:
    data = grid(*shape, per_pair=5)
    split = data.split(seed, seen, by=by)
    pairs = data.pairs()
    parts = [split.train, split.val, split.test]
    assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts))
    trained = {pairs[i] for i in split.train}
    assert set(split.seen_pairs) == trained
    assert not trained & set(split.unseen_pairs)
    assert {p[0] for p in trained} == set(data.labels["a"])
    assert {p[1] for p in trained} == set(data.labels["o"])
    assert connected(split.seen_pairs)
    assert set(split.unseen_pairs) == {pairs[i] for part in parts[1:] for i in part} - trained
    assert split.unseen_pairs
    assert not set(split.val_unseen) & set(split.test_unseen)
    if by == "source":
        drawings = [set(data.sources["drawing"].iloc[part]) for part in parts]
        assert not drawings[0] & drawings[1] | drawings[0] & drawings[2] | drawings[1] & drawings[2]


def test_seen_share_is_met_and_the_seed_decides() -> None:
    data = grid(5, 8, 5)
    split = data.split(3, 0.6)
    assert len(split.seen_pairs) == 24
    again, other = data.split(3, 0.6), data.split(4, 0.6)
    assert split.seen_pairs == again.seen_pairs and (split.test == again.test).all()
    assert split.seen_pairs != other.seen_pairs


def test_incomplete_grid_stays_connected() -> None:
    data = grid(4, 4, 5, drop={(0, 1), (0, 2), (0, 3), (1, 0), (3, 2)})
    for seed in range(10):
        assert connected(data.split(seed, 0.7).seen_pairs)


def test_pair_split_shares_drawings_and_check_says_so() -> None:
    split = grid(4, 4, 5).split(by="pair")
    with pytest.raises(DataError, match=r"share \d+ ids of 'drawing'"):
        split.check()


def test_two_kinds_of_source_are_both_kept_apart() -> None:
    """Content belongs to the object, texture to the attribute: 6 x 6 classes, 5 contents, 4 textures each."""
    rng = np.random.default_rng(0)
    rows = [
        (f"a{a}", f"o{o}", f"o{o}.{rng.integers(5)}", f"a{a}.{rng.integers(4)}")
        for a in range(6)
        for o in range(6)
        for _ in range(12)
    ]
    frame = pd.DataFrame(rows, columns=["a", "o", "content", "texture"])
    images = Pictures([Image.new("RGB", (2, 2))] * len(rows))
    data = CompositionDataset("two", images, frame[["a", "o"]], frame[["content", "texture"]], "a", "o", "")
    split = data.split(1)
    for kind in ("content", "texture"):
        train, test = (set(frame[kind].iloc[part]) for part in (split.train, split.test))
        assert train and test and not train & test
    used = len(split.train) + len(split.val) + len(split.test)
    assert used < len(rows)  # rows that mix parts are left out


def test_split_by_a_label_column() -> None:
    data = grid(3, 3, 6)
    styles = pd.Series([f"s{i % 6}" for i in range(len(data))])
    styled = CompositionDataset(
        "styled", data.images, data.labels.assign(style=styles), data.sources, "a", "o", ""
    )
    split = styled.split(by="source", source="style")
    train, test = set(styles.iloc[split.train]), set(styles.iloc[split.test])
    assert train and test and not train & test
    with pytest.raises(InputError, match="'colour'"):
        styled.split(source="colour")


def test_without_validation() -> None:
    split = grid(4, 4, 5).split(val=0)
    assert len(split.val) == 0 and split.val_unseen == [] and len(split.test)


def test_one_pair_and_too_few_sources_are_refused() -> None:
    with pytest.raises(InputError, match="at least two pairs"):
        grid(1, 1, 5).split()
    with pytest.raises(InputError, match="take more images or sources"):
        grid(3, 3, 1).split(by="source")
    with pytest.raises(InputError, match="none of the 3 pairs"):
        grid(1, 3, 5).split(seen=0.5)
    with pytest.raises(InputError, match="official"):
        grid(2, 2, 3).split(by="official")
    with pytest.raises(InputError, match="val \\+ test < 1"):
        grid(2, 2, 3).split(val=0.6, test=0.5)


def test_subset_keeps_rows_together_and_keys_follow_pixels() -> None:
    data = grid(2, 3, 2)
    part = data.subset([5, 0, -1])
    assert part.pairs() == [data.pairs()[i] for i in (5, 0, 11)]
    assert part.image_hashes() == [data.image_hashes()[i] for i in (5, 0, 11)]
    assert np.array_equal(part.images[2], data.images[11])
    mask = np.zeros(len(data), bool)
    mask[3] = True
    assert data.subset(mask).pairs() == [data.pairs()[3]]
    assert len(set(data.image_hashes())) == len(data)
    with pytest.raises(InputError, match="row numbers"):
        data.subset([99])


def test_describe_counts_pairs_and_sheet_has_every_cell() -> None:
    data = grid(2, 3, 2)
    assert data.describe().to_numpy().tolist() == [[2, 2, 2], [2, 2, 2]]
    sheet = data.contact_sheet(6, 3, size=28)
    assert sheet.size == (3 * 30 + 2, 2 * 30 + 2)


def test_lengths_and_columns_are_checked() -> None:
    data = grid(2, 2, 1)
    with pytest.raises(InputError, match="lengths"):
        CompositionDataset("x", data.images, data.labels[:2], data.sources, "a", "o", "")
    with pytest.raises(InputError, match="no label column 'colour'"):
        data.with_pair("colour", "o")
