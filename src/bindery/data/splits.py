"""Train, validation and test parts of a labelled image set, with seen and unseen pairs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from bindery.errors import DataError, InputError

Pair = tuple[str, str]
Index = NDArray[np.intp]
PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts, and which pairs were left for evaluation only.

    Attributes
    ----------
    train, val, test : (n,) int arrays
        Ascending row numbers of the data set; rows in none of them are not used.
    seen_pairs : list of (attribute, object)
        Pairs with at least one training image.
    val_unseen, test_unseen : list of (attribute, object)
        Pairs without a training image that occur in validation, in test.
    pairs : list of (attribute, object), one a row of the data set.
    sources : DataFrame, one row a row of the data set
        Ids that the parts must not share.
    how : str
        "source", "pair" or "official".
    """

    train: Index
    val: Index
    test: Index
    seen_pairs: list[Pair]
    val_unseen: list[Pair]
    test_unseen: list[Pair]
    pairs: list[Pair]
    sources: pd.DataFrame
    how: str

    @property
    def unseen_pairs(self) -> list[Pair]:
        """Pairs that occur in validation or test, and never in training."""
        return sorted({*self.val_unseen, *self.test_unseen})

    def check(self) -> Split:
        """This split, when no row and no source id is shared between its parts.

        Raises
        ------
        DataError
            Says which parts share which ids. A split by pair alone does share them: that is its point.
        """
        parts = {"train": self.train, "val": self.val, "test": self.test}
        for one, other in (("train", "test"), ("train", "val"), ("val", "test")):
            if len(rows := np.intersect1d(parts[one], parts[other])):
                raise DataError(f"{len(rows)} images are in both {one} and {other}; the split is damaged")
            for kind in self.sources.columns:
                column = self.sources[kind]
                shared = sorted(set(column.iloc[parts[one]]) & set(column.iloc[parts[other]]))
                if shared:
                    raise DataError(
                        f"{one} and {other} share {len(shared)} ids of {kind!r} (such as {shared[0]!r}); "
                        'use split(by="source") for parts that share none'
                    )
        if common := set(self.seen_pairs) & set(self.unseen_pairs):
            raise DataError(f"{min(common)} is listed as seen and as unseen; the split is damaged")
        return self

    def describe(self) -> pd.DataFrame:
        """Images, pairs, unseen pairs and source ids of each part: one row a part."""
        rows = []
        for name in PARTS:
            part = getattr(self, name)
            found = {self.pairs[i] for i in part}
            row = {"images": len(part), "pairs": len(found), "unseen": len(found - set(self.seen_pairs))}
            row |= {f"{kind} ids": self.sources[kind].iloc[part].nunique() for kind in self.sources.columns}
            rows.append(row)
        return pd.DataFrame(rows, index=pd.Index(PARTS, name="part"))


def from_parts(parts: NDArray[np.str_], pairs: Sequence[Pair], sources: pd.DataFrame, how: str) -> Split:
    """A `Split` from the name of the part ("train", "val", "test" or "") of every row."""
    rows = {name: np.flatnonzero(parts == name) for name in PARTS}
    if not len(rows["train"]):
        raise InputError("no training image is left; give more images or smaller val and test shares")
    seen = {pairs[int(i)] for i in rows["train"]}
    unseen = {name: sorted({pairs[int(i)] for i in rows[name]} - seen) for name in ("val", "test")}
    return Split(
        rows["train"], rows["val"], rows["test"], sorted(seen), unseen["val"], unseen["test"],
        list(pairs), sources, how,
    )  # fmt: skip


def choose_seen(pairs: Sequence[Pair], share: float, rng: Generator) -> set[Pair]:
    """A random ``share`` of the distinct pairs that touches every attribute and object.

    A random spanning forest of the attribute-object graph comes first, so the seen graph is connected
    whenever the whole graph is; random pairs then fill it up. When the forest alone is larger than the share,
    the forest is taken.
    """
    distinct = sorted(set(pairs))
    if len(distinct) < 2:
        raise InputError(f"a split needs at least two pairs; the data has only {distinct}")
    order = [distinct[i] for i in rng.permutation(len(distinct))]
    parent: dict[Hashable, Hashable] = {}

    def root(node: Hashable) -> Hashable:
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    forest = []
    for pair in order:
        ends = root(("attribute", pair[0])), root(("object", pair[1]))
        if ends[0] != ends[1]:
            parent[ends[0]] = ends[1]
            forest.append(pair)
    chosen = set(forest)
    rest = [pair for pair in order if pair not in chosen]
    chosen.update(rest[: max(0, round(share * len(distinct)) - len(forest))])
    if share < 1 and len(chosen) == len(distinct):
        raise InputError(
            f"none of the {len(distinct)} pairs can be left out: "
            "each is needed to see every attribute and object"
        )
    return chosen


def deal(ids: Sequence[str], val: float, test: float, rng: Generator) -> dict[str, str]:
    """Deal ids into the three parts by share; train is never empty, and test comes before val."""
    shuffled = [ids[i] for i in rng.permutation(len(ids))]
    n = len(shuffled)
    n_test = min(max(1, round(test * n)), n - 1) if test > 0 else 0
    n_val = min(max(1, round(val * n)), n - 1 - n_test) if val > 0 else 0
    names = ["test"] * n_test + ["val"] * n_val + ["train"] * (n - n_test - n_val)
    return dict(zip(shuffled, names, strict=True))


def split_pairs(
    pairs: Sequence[Pair], seen: set[Pair], val: float, test: float, rng: Generator
) -> dict[Pair, str]:
    """The part of every unseen pair: "val" or "test", in the proportion val : test."""
    unseen = sorted(set(pairs) - seen)
    shuffled = [unseen[i] for i in rng.permutation(len(unseen))]
    n_val = round(len(unseen) * val / (val + test)) if len(unseen) > 1 else 0
    return {pair: "val" if i < n_val else "test" for i, pair in enumerate(shuffled)}


def by_pair(pairs: Sequence[Pair], seen: float, val: float, test: float, rng: Generator) -> NDArray[np.str_]:
    """Parts of the rows when only pairs are kept apart: images of one drawing may stand on both sides."""
    chosen = choose_seen(pairs, seen, rng)
    home = split_pairs(pairs, chosen, val, test, rng)
    parts = np.array([home.get(pair, "") for pair in pairs], dtype="<U5")
    for pair, rows in _positions(pairs).items():
        if pair in chosen:
            dealt = deal([str(row) for row in rows], val, test, rng)
            parts[rows] = [dealt[str(row)] for row in rows]
    return parts


def by_source(
    pairs: Sequence[Pair], sources: pd.DataFrame, seen: float, val: float, test: float, rng: Generator
) -> NDArray[np.str_]:
    """Parts of the rows such that no source id stands in two parts.

    The ids of each kind are dealt within the class they belong to (a pair, an object, an attribute, or
    nothing), so that every class keeps training sources. A row is used when all its ids fall in one part, and
    an unseen pair's rows only in the part of that pair; the other rows are left out.
    """
    chosen = choose_seen(pairs, seen, rng)
    home = split_pairs(pairs, chosen, val, test, rng)
    wanted = np.array([home.get(pair, "") for pair in pairs], dtype="<U5")
    result: NDArray[np.str_] | None = None
    for kind in sources.columns:
        parts = _deal_kind(sources[kind].to_list(), pairs, home, val, test, rng)
        result = parts if result is None else np.where(result == parts, result, "")
    if result is None:
        raise InputError('this data set names no sources; use split(by="pair")')
    return np.where((wanted == "") | (wanted == result), result, "")


def _deal_kind(
    ids: list[str], pairs: Sequence[Pair], home: dict[Pair, str], val: float, test: float, rng: Generator
) -> NDArray[np.str_]:
    """The part of every row by one kind of source, dealt class by class."""
    part: dict[str, str] = {}
    for stratum, members in sorted(_classes(ids, pairs).items(), key=lambda item: str(item[0])):
        if stratum in home:  # every id of an unseen pair goes where the pair goes
            part |= dict.fromkeys(members, home[stratum])
        else:
            part |= deal(sorted(members), val, test, rng)
    return np.array([part[identity] for identity in ids], dtype="<U5")


def _classes(ids: list[str], pairs: Sequence[Pair]) -> dict[Hashable, list[str]]:
    """Ids by the narrowest label of which each has one value: pair, object, attribute, or none."""
    frame = pd.DataFrame({"id": ids, "attribute": [a for a, _ in pairs], "object": [o for _, o in pairs]})
    once = frame.drop_duplicates()
    for labels in (["attribute", "object"], ["object"], ["attribute"]):
        unique = once[["id", *labels]].drop_duplicates()
        if not unique["id"].duplicated().any():
            strata: dict[Hashable, list[str]] = {}
            for row in unique.itertuples(index=False):
                values = tuple(row[1:])
                strata.setdefault(values if len(values) > 1 else values[0], []).append(row[0])
            return strata
    return {"every class": sorted(set(ids))}


def _positions(pairs: Sequence[Pair]) -> dict[Pair, Index]:
    found: dict[Pair, list[int]] = {}
    for row, pair in enumerate(pairs):
        found.setdefault(pair, []).append(row)
    return {pair: np.array(rows, dtype=np.intp) for pair, rows in sorted(found.items())}


def uncovered(parts: NDArray[np.str_], pairs: Sequence[Pair]) -> list[str]:
    """Attributes and objects of the validation and test rows that no training row shows."""
    train = [pair for pair, part in zip(pairs, parts, strict=True) if part == "train"]
    known = {pair[0] for pair in train}, {pair[1] for pair in train}
    used = [pair for pair, part in zip(pairs, parts, strict=True) if part in ("val", "test")]
    return sorted({pair[i] for pair in used for i in (0, 1) if pair[i] not in known[i]})
