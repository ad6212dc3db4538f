"""Rendered scenes of one coloured shape, as labelled sets: for encoders that read the scenes' few words."""

from __future__ import annotations

import hashlib
from itertools import product

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from PIL import Image

from bindery import scenes as sc
from bindery.data.composition import CompositionDataset
from bindery.data.images import ImageSequence
from bindery.errors import InputError

MIN_SIZE = 16
CREDIT = "rendered by bindery.scenes"
GROUP_COLOURS, GROUP_SHAPES = sc.COLOURS[:2], sc.SHAPES[:2]


class RenderedScenes(ImageSequence):
    """Scenes as images of ``size`` pixels, rendered when they are asked for."""

    def __init__(self, scenes: sc.Scenes, size: int) -> None:
        if size < MIN_SIZE:
            raise InputError(f"size must be at least {MIN_SIZE} pixels, not {size}")
        self.scenes, self.size = scenes, size

    def __len__(self) -> int:
        return len(self.scenes)

    def image(self, index: int) -> Image.Image:
        return sc.to_pil(sc.render(self.scenes[[index]], self.size))[0]

    def content_key(self, index: int) -> str:
        image = sc.to_pil(sc.render(self.scenes[[index]], self.size))[0]
        return hashlib.sha256(f"{self.size}|".encode() + image.tobytes()).hexdigest()


def scenes_colours(n: int = 30, *, size: int = 64, seed: int = 0) -> CompositionDataset:
    """One coloured shape on a tinted ground: attribute colour (8), object shape (6), ``n`` scenes a pair.

    Cell, exact place, size and ground are drawn afresh for every image, so no two images share a source.

    Raises
    ------
    InputError
        Fewer than one image a pair, or a size below 16 pixels.
    """
    if n < 1:
        raise InputError(f"n must be at least 1 image a pair, not {n}")
    pairs = np.array(list(product(range(len(sc.COLOURS)), range(len(sc.SHAPES)))))
    colour, shape = np.repeat(pairs, n, axis=0).T
    return _dataset("scenes-colours", colour, shape, default_rng([seed, 1]), size)


def scenes_groups(
    n: int = 400, *, n_test: int = 100, size: int = 64, seed: int = 0, spurious: float = 0.95
) -> CompositionDataset:
    """Discs and rings with a spurious colour: attribute colour (red, green), object shape (disc, ring).

    Of the ``n`` training images a share ``spurious`` of the discs is red and of the rings green, exactly up to
    rounding; validation and test show ``n_test`` images of each of the four groups. Use ``split(by="official")``.

    Raises
    ------
    InputError
        Too few images, a share outside [0, 1], or a size below 16 pixels.
    """
    if n < 4 or n_test < 1 or not 0 <= spurious <= 1:
        raise InputError(f"need n >= 4, n_test >= 1 and 0 <= spurious <= 1; got {n}, {n_test} and {spurious}")
    parts, colours, shapes = [], [], []
    for kind in range(2):
        count = n // 2
        own = round(spurious * count)
        colours += [np.repeat([kind, 1 - kind], [own, count - own])]
        shapes += [np.full(count, kind)]
        parts += ["train"] * count
    for part, (tint, kind) in product(("val", "test"), product(range(2), range(2))):
        colours.append(np.full(n_test, tint))
        shapes.append(np.full(n_test, kind))
        parts += [part] * n_test
    return _dataset(
        "scenes-groups",
        np.concatenate(colours),
        np.concatenate(shapes),
        default_rng([seed, 2]),
        size,
        np.array(parts),
    )


def _dataset(
    name: str,
    colour: NDArray[np.integer],
    shape: NDArray[np.integer],
    rng: Generator,
    size: int,
    official: NDArray[np.str_] | None = None,
) -> CompositionDataset:
    n = len(colour)
    ground = rng.uniform(0.03, 0.5, size=(n, 3))
    cell = rng.integers(len(sc.CELLS), size=(n, 1))
    scenes = sc.place(shape[:, None], colour[:, None], cell, sc.cell_geometry((n,), rng), ground)
    labels = pd.DataFrame(
        {
            "colour": np.array(sc.COLOURS)[colour],
            "shape": np.array(sc.SHAPES)[shape],
            "place": np.array(sc.CELLS)[cell[:, 0]],
        }
    )
    sources = pd.DataFrame({"scene": [str(i) for i in range(n)]})
    return CompositionDataset(
        name, RenderedScenes(scenes, size), labels, sources, "colour", "shape", CREDIT, official
    )
