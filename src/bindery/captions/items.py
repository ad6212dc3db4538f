"""Caption pairs with their images: what is asked, and which questions share an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bindery.checks import same_length
from bindery.data.images import Images, Part
from bindery.errors import DataError, InputError


@dataclass(frozen=True)
class CaptionItems:
    """N questions, each with an image, a caption that fits it and one that does not.

    ``image`` (N,) numbers the distinct images, which ``images`` holds in that order (None: captions only).
    ``cluster`` (N,) names what makes answers depend on each other: the photograph, or the example. Rows with
    the same image are in the same cluster.
    """

    name: str
    true: tuple[str, ...]
    false: tuple[str, ...]
    category: tuple[str, ...]
    image: NDArray[np.intp]
    cluster: NDArray[np.str_]
    images: Images | None = None

    def __post_init__(self) -> None:
        n = same_length(
            true=self.true, false=self.false, category=self.category, image=self.image, cluster=self.cluster
        )
        if not n:
            raise InputError(f"{self.name} holds no caption pairs")
        if self.images is not None and not 0 <= self.image.min() <= self.image.max() < len(self.images):
            raise InputError(f"{self.name} points to image {self.image.max()} of {len(self.images)}")

    def __len__(self) -> int:
        return len(self.true)

    @property
    def categories(self) -> list[str]:
        """Names of the kinds of question, in the order of their first item."""
        return list(dict.fromkeys(self.category))

    def of(self, category: str) -> CaptionItems:
        """The items of one kind; InputError when there is no such kind."""
        if category not in self.category:
            raise InputError(f"{self.name} has no category {category!r}; it has {', '.join(self.categories)}")
        return self.subset(np.flatnonzero(np.array(self.category) == category))

    def subset(self, rows: ArrayLike) -> CaptionItems:
        """The items at ``rows``, in that order, with only the images that they ask about."""
        index = np.asarray(rows, dtype=np.intp)
        kept, image = np.unique(self.image[index], return_inverse=True)
        true, false, category = (
            tuple(column[i] for i in index) for column in (self.true, self.false, self.category)
        )
        images = None if self.images is None else Part(self.images, kept)
        return replace(
            self, true=true, false=false, category=category, image=image.astype(np.intp),
            cluster=self.cluster[index], images=images,
        )  # fmt: skip

    def counts(self) -> pd.DataFrame:
        """One row a category: ``pairs``, ``images``, ``captions`` (distinct), ``clusters``."""
        rows = []
        for category in self.categories:
            part = self.of(category)
            rows.append({
                "category": category, "pairs": len(part), "images": len(np.unique(part.image)),
                "captions": len({*part.true, *part.false}), "clusters": len(np.unique(part.cluster)),
            })  # fmt: skip
        return pd.DataFrame(rows)

    def pictures(self) -> Images:
        """The distinct images; DataError when only the captions are here."""
        if self.images is None:
            raise DataError(f"{self.name} is here without its images; give the folder that holds them")
        return self.images


def numbered(keys: Sequence[object]) -> tuple[NDArray[np.intp], list[int]]:
    """Number of each key among the distinct ones, by first occurrence, and the row of that occurrence."""
    seen: dict[object, int] = {}
    first = []
    for row, key in enumerate(keys):
        if key not in seen:
            seen[key] = len(seen)
            first.append(row)
    return np.array([seen[key] for key in keys], dtype=np.intp), first
