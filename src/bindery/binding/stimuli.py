"""The trials of the binding task as scenes; see :mod:`bindery.binding` for the kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bindery import scenes as sc
from bindery.data.images import ImageSequence
from bindery.errors import InputError

KINDS = ("target", "swap", "moved", "moved", "part-shape", "part-place", "different", "different")
CHANCE = 1 / len(KINDS)
Mode = Literal["exact", "jitter"]


class SceneImages(ImageSequence):
    """Scenes as a lazy sequence of PIL images, ``size`` pixels a side, for `Store` and `embed`."""

    name = "scenes"

    def __init__(self, scenes: sc.Scenes, size: int) -> None:
        self.scenes, self.size = scenes, size

    def __len__(self) -> int:
        return len(self.scenes)

    def image(self, index: int) -> Image.Image:
        return sc.to_pil(sc.render(self.scenes[[index]], self.size))[0]


@dataclass(frozen=True)
class Trials:
    """T binding trials as 9 T scenes: each query, then its eight candidates in the order of ``KINDS``."""

    scenes: sc.Scenes
    mode: Mode
    ground: str
    seed: int

    def __len__(self) -> int:
        return len(self.scenes) // 9

    def images(self, size: int = 64) -> NDArray[np.float32]:
        """(9 T, 3, size, size) float32 in [0, 1]."""
        return sc.render(self.scenes, size)

    def pil(self, size: int = 64) -> list[Image.Image]:
        """The same images for an encoder's own preprocessing."""
        return sc.to_pil(self.images(size))


def trials(n: int = 600, *, seed: int, mode: Mode = "jitter", ground: sc.Ground = "dark") -> Trials:
    """Draw ``n`` trials. "exact": an object's coordinates and size depend on its cell only, within a trial;
    "jitter": places within the cell and sizes are redrawn in every image.

    Raises
    ------
    InputError
        ``n`` below 1, unknown mode or ground.
    """
    if n < 1:
        raise InputError(f"need at least one trial, got n={n}")
    if mode not in ("exact", "jitter"):
        raise InputError(f"unknown mode {mode!r}; choose exact or jitter")
    level = sc.ground_level(ground)
    rng = np.random.default_rng(seed)
    shapes = rng.permuted(np.tile(np.arange(len(sc.SHAPES)), (n, 1)), axis=1)
    cells = rng.permuted(np.tile(np.arange(len(sc.CELLS)), (n, 1)), axis=1)
    # Columns of `shapes`/`cells` for the two objects of each image; which object keeps its place in the two
    # partial distractors is settled by the order of the columns, which is itself random.
    plan = [((0, 1), (0, 1)), ((0, 1), (0, 1)), ((0, 1), (1, 0)), ((0, 1), (2, 3)), ((0, 1), (4, 5))]
    plan += [((0, 2), (0, 1)), ((0, 1), (0, 6)), ((2, 3), (2, 4)), ((4, 5), (3, 7))]
    shape = np.stack([shapes[:, list(which)] for which, _ in plan], axis=1)
    cell = np.stack([cells[:, list(where)] for _, where in plan], axis=1)
    geometry = sc.cell_geometry((n, 1 if mode == "exact" else 9), rng)
    x, y, radius = (np.broadcast_to(part, (n, 9, 9)).reshape(-1, 9) for part in geometry)
    colour = rng.permuted(np.tile(np.array(sc.CANDIDATE_COLOURS), (n, 9, 1)), axis=2)
    colour[:, 0] -= min(sc.CANDIDATE_COLOURS) - min(sc.QUERY_COLOURS)
    shape, colour, cell = (part.reshape(-1, 2) for part in (shape, colour, cell))
    return Trials(sc.place(shape, colour, cell, (x, y, radius), np.full(3, level)), mode, ground, seed)
