"""A labelled image set: images, labels by factor, what each image was made from, and its splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.random import default_rng
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from bindery.data import splits
from bindery.data.images import Images, Part, Pictures
from bindery.data.splits import Pair, Split
from bindery.errors import InputError

ATTEMPTS = 20


@dataclass(frozen=True)
class CompositionDataset:
    """Images that combine an attribute with an object.

    Attributes
    ----------
    name : str
    images : lazy sequence of N PIL RGB images
        Nothing is read or rendered before it is asked for.
    labels : (N, factors) DataFrame of str
        One column a factor.
    sources : (N, kinds) DataFrame of str
        One column a kind of source ("drawing", "content", "texture", "file"): ids that training and test
        must not share. May have no column.
    attribute, object : str
        The two label columns that make the pair.
    credit : str
        Who made the images, and their licence.
    official : (N,) array of str, or None
        The publisher's own part of every image: "train", "val", "test" or "" (in none).
    """

    name: str
    images: Images
    labels: pd.DataFrame
    sources: pd.DataFrame
    attribute: str
    object: str
    credit: str
    official: NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        lengths = {"images": len(self.images), "labels": len(self.labels), "sources": len(self.sources)}
        if self.official is not None:
            lengths["official"] = len(self.official)
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise InputError(f"{self.name}: lengths must agree, but they are {told}")
        for column in (self.attribute, self.object):
            if column not in self.labels:
                raise InputError(f"{self.name}: no label column {column!r}; there are {list(self.labels)}")
        if not lengths["images"]:
            raise InputError(f"{self.name}: no images")

    @classmethod
    def from_images(
        cls,
        images: Sequence[Image.Image],
        attributes: Sequence[str],
        objects: Sequence[str],
        name: str = "images",
    ) -> CompositionDataset:
        """A data set of images in memory, each its own source."""
        labels = pd.DataFrame({"attribute": list(attributes), "object": list(objects)}, dtype=str)
        sources = pd.DataFrame({"image": [str(i) for i in range(len(images))]}, dtype=str)
        return cls(name, Pictures(images), labels, sources, "attribute", "object", credit="")

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        values = {f: self.labels[f].nunique() for f in (self.attribute, self.object)}
        told = " x ".join(f"{count} {factor}" for factor, count in values.items())
        return (
            f"CompositionDataset({self.name!r}: {len(self)} images, {told}, {len(set(self.pairs()))} pairs)"
        )

    def subset(self, indices: ArrayLike) -> CompositionDataset:
        """The rows at ``indices`` (integers, or a boolean mask of length N), in that order."""
        rows = np.asarray(indices)
        if rows.dtype == bool:
            if rows.shape != (len(self),):
                raise InputError(f"a mask must have one value an image, ({len(self)},); got {rows.shape}")
            rows = np.flatnonzero(rows)
        rows = rows.astype(np.intp)
        if len(rows) and (rows.min() < -len(self) or rows.max() >= len(self)):
            raise InputError(f"row numbers must lie in 0..{len(self) - 1}; got up to {rows.max()}")
        rows = rows % len(self)
        return replace(
            self,
            images=Part(self.images, rows),
            labels=self.labels.iloc[rows].reset_index(drop=True),
            sources=self.sources.iloc[rows].reset_index(drop=True),
            official=None if self.official is None else self.official[rows],
        )

    def with_pair(self, attribute: str, object: str) -> CompositionDataset:
        """The same images with two other label columns as the pair."""
        return replace(self, attribute=attribute, object=object)

    def pairs(self) -> list[Pair]:
        """(attribute, object) of every image."""
        return list(zip(self.labels[self.attribute], self.labels[self.object], strict=True))

    def image_hashes(self) -> list[str]:
        """A content key an image, without rendering where a recipe suffices."""
        return [self.images.content_key(i) for i in range(len(self))]

    def describe(self) -> pd.DataFrame:
        """Number of images by pair: one row an attribute, one column an object."""
        return pd.crosstab(self.labels[self.attribute], self.labels[self.object])

    def contact_sheet(self, n: int = 24, columns: int = 8, *, size: int = 112, seed: int = 0) -> Image.Image:
        """``n`` images of random rows (in row order) on one sheet, ``size`` pixels each."""
        n = min(n, len(self))
        rows = np.sort(default_rng(seed).choice(len(self), n, replace=False))
        gap = max(2, size // 28)
        columns = min(columns, n)
        height = -(-n // columns) * (size + gap) + gap
        sheet = Image.new("RGB", (columns * (size + gap) + gap, height), "white")
        for position, row in enumerate(rows):
            image = self.images[int(row)].copy()
            image.thumbnail((size, size), Image.Resampling.LANCZOS)
            x = gap + (position % columns) * (size + gap) + (size - image.width) // 2
            y = gap + (position // columns) * (size + gap) + (size - image.height) // 2
            sheet.paste(image, (x, y))
        return sheet

    def split(
        self,
        seed: int = 0,
        seen: float = 0.6,
        by: Literal["source", "pair", "official"] = "source",
        val: float = 0.2,
        *,
        test: float = 0.2,
        source: str | Sequence[str] | None = None,
    ) -> Split:
        """Training, validation and test rows; some pairs occur only in validation or test.

        Parameters
        ----------
        seed : int
        seen : float in (0, 1]
            Share of the pairs that training shows. They touch every attribute and object, and the graph of
            seen attribute-object pairs is connected whenever the whole graph is.
        by : {"source", "pair", "official"}
            "source": no source id stands in two of the three parts; rows whose sources fall in different
            parts are left out. "pair": only pairs are kept apart, so drawings recur. "official": the
            publisher's parts.
        val, test : float
            Shares of each class's sources ("source") or of each seen pair's images ("pair"); unseen pairs are
            divided in the proportion val : test. ``val=0`` gives no validation part, and leaves more to train
            on where a class has few sources.
        source : str or list of str, optional
            Columns of ``sources`` or ``labels`` to keep apart instead of all columns of ``sources``, such as
            "style".

        Raises
        ------
        InputError
            Shares out of range, fewer than two pairs, too few sources to keep apart, or no official parts.
        """
        pairs = self.pairs()
        if by == "official":
            if self.official is None:
                raise InputError(f'{self.name} has no official parts; use by="source" or by="pair"')
            return splits.from_parts(self.official, pairs, self.sources, by)
        if by not in ("source", "pair"):
            raise InputError(f'by must be "source", "pair" or "official", not {by!r}')
        if not (0 < seen <= 1 and val >= 0 and test > 0 and val + test < 1):
            raise InputError(
                f"need 0 < seen <= 1, val >= 0, test > 0 and val + test < 1; got {seen}, {val} and {test}"
            )
        kinds = self._kinds(source)
        if by == "pair":
            parts = splits.by_pair(pairs, seen, val, test, default_rng(seed))
            return splits.from_parts(parts, pairs, kinds, by)
        for attempt in range(ATTEMPTS):
            parts = splits.by_source(pairs, kinds, seen, val, test, default_rng([seed, attempt]))
            missing = splits.uncovered(parts, pairs)
            if not missing and {"train", "test"} <= set(parts):
                return splits.from_parts(parts, pairs, kinds, by).check()
        why = f"{missing[0]!r} is never trained on" if missing else "training or test stays empty"
        raise InputError(
            f"{self.name}: no split without shared sources found in {ATTEMPTS} tries ({why}); "
            "take more images or sources a class, a larger seen share, or val=0"
        )

    def _kinds(self, source: str | Sequence[str] | None) -> pd.DataFrame:
        if source is None:
            return self.sources
        names = [source] if isinstance(source, str) else list(source)
        columns = pd.concat(
            [self.sources, self.labels.drop(columns=self.sources.columns, errors="ignore")], axis=1
        )
        if unknown := [name for name in names if name not in columns]:
            raise InputError(f"no source or label column {unknown[0]!r}; there are {list(columns)}")
        return columns[names]
