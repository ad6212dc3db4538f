"""Puts a drawing on a painted background: background, place, scale and rotation come from a seed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from numpy.random import Generator, default_rng
from PIL import Image, ImageOps

from bindery.data.backgrounds import PLACES, paint
from bindery.data.images import ImageSequence
from bindery.data.pack import EmojiPack, emoji_pack
from bindery.errors import InputError

# Part of every content key: raise it when the picture of a recipe changes.
VERSION = 1
MIN_SIZE = 16


@dataclass(frozen=True)
class Recipe:
    """All that decides one image, apart from its size.

    Attributes
    ----------
    drawing : str
        Id of a drawing of the pack.
    background : str
        One of `bindery.data.backgrounds.NUISANCE` or ``PLACES``.
    key : str
        What the random layout depends on besides ``seed`` and ``variant``: recipes with one key and
        different drawings share background, place, scale and rotation.
    """

    drawing: str
    background: str
    key: str
    variant: int
    seed: int

    def rng(self) -> Generator:
        """The generator of this recipe's layout."""
        return default_rng([self.seed, crc32(self.key.encode()), self.variant])


class Composed(ImageSequence):
    """Images rendered from recipes when they are asked for.

    Parameters
    ----------
    recipes : sequence of Recipe
    size : int, at least 16
        Side of the square images, in pixels.
    """

    def __init__(self, recipes: Sequence[Recipe], size: int, pack: EmojiPack | None = None) -> None:
        if size < MIN_SIZE:
            raise InputError(f"size must be at least {MIN_SIZE} pixels, not {size}")
        self.recipes = list(recipes)
        self.size = size
        self._pack = pack

    @property
    def pack(self) -> EmojiPack:
        """The drawings."""
        return self._pack or emoji_pack()

    def __len__(self) -> int:
        return len(self.recipes)

    def image(self, index: int) -> Image.Image:
        recipe = self.recipes[index]
        return compose(recipe, self.pack.sprite(recipe.drawing), self.size)

    def content_key(self, index: int) -> str:
        told = f"{VERSION}|{self.pack.sha256}|{self.size}|{self.recipes[index]}"
        return hashlib.sha256(told.encode()).hexdigest()


def compose(recipe: Recipe, sprite: Image.Image, size: int) -> Image.Image:
    """The drawing on its background, wholly inside the frame.

    On a nuisance background it takes 45 to 80 % of the frame, turned up to 15 degrees, anywhere. In a place
    it takes 40 to 65 %, turned up to 6 degrees, and stands in the lower quarter.
    """
    rng = recipe.rng()
    in_place = recipe.background in PLACES
    low, high, turn = (0.40, 0.65, 6.0) if in_place else (0.45, 0.80, 15.0)
    scale, angle = rng.uniform(low, high), rng.uniform(-turn, turn)
    across, down = rng.uniform(size=2)
    image = paint(recipe.background, size, rng)
    ratio = (scale * size - 4) / max(sprite.size)
    shape = (max(1, round(sprite.width * ratio)), max(1, round(sprite.height * ratio)))
    figure = sprite.resize(shape, Image.Resampling.BICUBIC)
    figure = ImageOps.expand(figure, 2, (0, 0, 0, 0))  # so that turned straight edges are smooth
    figure = figure.rotate(angle, Image.Resampling.BICUBIC, expand=True)
    x = math.floor(across * (size - figure.width + 1))
    y = math.floor(down * (size - figure.height + 1))
    if in_place:  # feet between 75 and 97 % of the height
        y = max(0, round((0.97 - 0.22 * down) * size) - figure.height)
    image.paste(figure, (x, y), figure)
    return image
