"""The natural photographs inside scikit-image's wheel: a few, but real, and always there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import skimage
from numpy.random import default_rng
from PIL import Image

from bindery.data.images import Files, ImageSequence
from bindery.errors import DataError, InputError

# name: (file, credit). Photographs only: no drawings, diagrams, microscopy or text pages.
PHOTOGRAPHS = {
    "astronaut": ("astronaut.png", "Eileen Collins, NASA, public domain"),
    "brick": ("brick.png", "CC0Textures, CC0 (grey)"),
    "camera": ("camera.png", "Lav Varshney, CC0 (grey)"),
    "cat": ("chelsea.png", "Stefan van der Walt, CC0"),
    "clock": ("clock_motion.png", "Stefan van der Walt, public domain (grey)"),
    "coffee": ("coffee.png", "Rachel Michetti, CC0"),
    "coins": ("coins.png", "Greek coins from Pompeii, Brooklyn Museum, no known restrictions (grey)"),
    "grass": ("grass.png", "linolafett on DeviantArt, CC0 (grey)"),
    "gravel": ("gravel.png", "CC0Textures, CC0 (grey)"),
    "moon": ("moon.png", "surface of the moon, author not stated by scikit-image (grey)"),
    "motorcycle": ("motorcycle_left.png", "Daniel Scharstein et al., Middlebury stereo data 2014"),
    "rocket": ("rocket.jpg", "SpaceX, public domain"),
}
SMALLEST_CROP = 0.25


@dataclass
class Photographs(Files):
    """Photographs with their names and credits."""

    names: tuple[str, ...] = ()
    credits: tuple[str, ...] = ()


def photographs() -> Photographs:
    """The 12 photographs in scikit-image's wheel, opened when asked for: 5 in colour, 7 grey.

    Raises
    ------
    DataError
        This scikit-image does not ship one of them.
    """
    folder = Path(skimage.__file__).parent / "data"
    paths = [folder / file for file, _ in PHOTOGRAPHS.values()]
    if missing := [path.name for path in paths if not path.exists()]:
        raise DataError(
            f"this scikit-image does not ship {', '.join(missing)}; install the version in requirements.lock"
        )
    return Photographs(paths, names=tuple(PHOTOGRAPHS), credits=tuple(c for _, c in PHOTOGRAPHS.values()))


class Crops(ImageSequence):
    """Random square crops of the photographs, taken when asked for; crop i comes from photograph i mod 12.

    Crops of one photograph overlap and resemble each other: n crops are far fewer than n independent images,
    and statistics over them say more about these 12 photographs than about photographs in general.
    """

    def __init__(self, n: int, seed: int, size: int) -> None:
        if n < 1 or size < 1:
            raise InputError(f"n and size must be at least 1; got {n} and {size}")
        self.photographs = photographs()
        self.n, self.seed, self.size = n, seed, size
        self._open: dict[int, Image.Image] = {}

    def __len__(self) -> int:
        return self.n

    def image(self, index: int) -> Image.Image:
        which = index % len(self.photographs)
        photograph = self._open.setdefault(which, self.photographs[which])
        rng = default_rng([self.seed, index])
        side = round(min(photograph.size) * np.sqrt(rng.uniform(SMALLEST_CROP, 1.0)))
        x = int(rng.integers(photograph.width - side + 1))
        y = int(rng.integers(photograph.height - side + 1))
        crop = photograph.resize((self.size, self.size), Image.Resampling.BICUBIC, (x, y, x + side, y + side))
        return crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.uniform() < 0.5 else crop

    def content_key(self, index: int) -> str:
        photograph = self.photographs.content_key(index % len(self.photographs))
        told = f"crop|{photograph}|{self.seed}|{index}|{self.size}"
        return hashlib.sha256(told.encode()).hexdigest()


def photograph_crops(n: int, seed: int = 0, size: int = 224) -> Crops:
    """``n`` random square crops (25 to 100 % of the largest square's area, half of them mirrored).

    They serve geometry statistics where a run without a network needs natural pixels; see `Crops` for why
    they are no substitute for many photographs.
    """
    return Crops(n, seed, size)
