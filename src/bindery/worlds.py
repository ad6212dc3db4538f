"""Closed and open worlds: the pairs a prediction may choose from, and what N images score on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bindery.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The P pairs a prediction may choose from, in a fixed order (attribute first, both sorted).

    ``attribute_index`` and ``object_index`` (P,) point into ``attributes`` and ``objects``; ``seen`` (P,)
    marks the training pairs, ``allowed`` (P,) the pairs that may be predicted at all.
    """

    attributes: tuple[str, ...]
    objects: tuple[str, ...]
    attribute_index: Ints
    object_index: Ints
    seen: Bools
    allowed: Bools

    @classmethod
    def open_world(
        cls, attributes: Iterable[str], objects: Iterable[str], seen_pairs: Iterable[Pair]
    ) -> Candidates:
        """Every attribute with every object: P = A·O, all allowed."""
        names_a, names_o = sorted(set(attributes)), sorted(set(objects))
        grid = [(a, o) for a in names_a for o in names_o]
        return cls._build(names_a, names_o, grid, set(seen_pairs), None)

    @classmethod
    def closed_world(
        cls, seen_pairs: Iterable[Pair], evaluated_pairs: Iterable[Pair], listed_pairs: Iterable[Pair] = ()
    ) -> Candidates:
        """The pairs of the split lists only.

        Training pairs and the pairs under evaluation (validation or test) are allowed; further
        ``listed_pairs`` keep their place in the order and are never predicted.
        """
        seen, evaluated = set(seen_pairs), set(evaluated_pairs)
        listed = sorted(seen | evaluated | set(listed_pairs))
        names_a, names_o = sorted({a for a, _ in listed}), sorted({o for _, o in listed})
        return cls._build(names_a, names_o, listed, seen, seen | evaluated)

    @classmethod
    def _build(
        cls,
        names_a: list[str],
        names_o: list[str],
        pairs: list[Pair],
        seen: set[Pair],
        allowed: set[Pair] | None,
    ) -> Candidates:
        if stray := sorted(seen - set(pairs)):
            raise InputError(f"seen pair {stray[0]} is not made of the attributes and objects given")
        row_a, row_o = ({name: i for i, name in enumerate(names)} for names in (names_a, names_o))
        built = cls(
            tuple(names_a),
            tuple(names_o),
            np.array([row_a[a] for a, _ in pairs], dtype=np.intp),
            np.array([row_o[o] for _, o in pairs], dtype=np.intp),
            np.array([pair in seen for pair in pairs], dtype=bool),
            np.array([allowed is None or pair in allowed for pair in pairs], dtype=bool),
        )
        for side, column in zip(("seen", "unseen"), built.columns(), strict=True):
            if not len(column):
                raise InputError(f"no {side} pair among the candidates: a seen–unseen curve needs both kinds")
        return built

    def __len__(self) -> int:
        return len(self.seen)

    @cached_property
    def pairs(self) -> list[Pair]:
        """The P (attribute, object) pairs, in order."""
        return [
            (self.attributes[a], self.objects[o])
            for a, o in zip(self.attribute_index, self.object_index, strict=True)
        ]

    @property
    def is_grid(self) -> bool:
        """Whether the candidates are the full product, attribute by attribute."""
        return len(self) == len(self.attributes) * len(self.objects)

    def columns(self) -> tuple[Ints, Ints]:
        """The candidate numbers of the allowed seen and of the allowed unseen pairs."""
        return np.flatnonzero(self.seen & self.allowed), np.flatnonzero(~self.seen & self.allowed)

    def index(self, pairs: Sequence[Pair]) -> Ints:
        """The candidate number (N,) of each pair; raises InputError for one that cannot be predicted."""
        row = {pair: i for i, pair in enumerate(self.pairs)}
        found = np.array([row.get((str(a), str(o)), -1) for a, o in pairs], dtype=np.intp)
        bad = np.flatnonzero((found < 0) | ~self.allowed[found])
        if len(bad):
            raise InputError(
                f"image {bad[0]} has the pair {tuple(pairs[bad[0]])}, which is no allowed candidate "
                f"({len(bad)} such images); build the candidates from the pairs of this split"
            )
        return found


@dataclass(frozen=True, eq=False)
class ImageScores:
    """What a curve needs of N images: scores (N,) and candidate numbers (N,) of three pairs each.

    Of equal scores the candidate that comes first counts as best, among seen and among unseen pairs alike.
    """

    candidates: Candidates
    true: Ints
    true_score: Floats
    seen_best: Ints
    seen_score: Floats
    unseen_best: Ints
    unseen_score: Floats

    def __len__(self) -> int:
        return len(self.true)

    @cached_property
    def is_seen(self) -> Bools:
        """(N,) whether the image's true pair is a training pair."""
        return self.candidates.seen[self.true]

    def predict(self, bias: float = 0.0) -> Ints:
        """The candidate number (N,) with the highest score once ``bias`` is added to all unseen pairs.

        A tie between the best seen and the best unseen pair goes to the candidate that comes first.
        """
        margin = self.unseen_score + bias - self.seen_score
        unseen = (margin > 0) | ((margin == 0) & (self.unseen_best < self.seen_best))
        return np.where(unseen, self.unseen_best, self.seen_best)


def image_scores(scores: ArrayLike, candidates: Candidates, pairs: Sequence[Pair]) -> ImageScores:
    """Summarise a full (N, P) score table; for a table too large to hold see `bindery.scores.score_images`.

    Raises
    ------
    InputError
        The shape is not (number of pairs given, number of candidates), a score is not finite, or a true
        pair is not an allowed candidate.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.shape != (len(pairs), len(candidates)):
        raise InputError(
            f"scores must be {(len(pairs), len(candidates))} (images, candidates); got {table.shape}"
        )
    if not np.isfinite(table).all():
        raise InputError("scores must be finite")
    rows, true = np.arange(len(table)), candidates.index(pairs)
    seen, unseen = (column[table[:, column].argmax(axis=1)] for column in candidates.columns())
    return ImageScores(
        candidates, true, table[rows, true], seen, table[rows, seen], unseen, table[rows, unseen]
    )
