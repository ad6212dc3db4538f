"""Lazy image sequences: files on disk, a part of another sequence, several sequences in a row."""

from __future__ import annotations

import hashlib
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from bindery.errors import DataError, InputError

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")


class Images(Protocol):
    """A lazy sequence of RGB images; ``content_key`` names the pixels without having to render them."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Image.Image: ...

    def content_key(self, index: int) -> str: ...


class ImageSequence(Sequence[Image.Image]):
    """Base of the sequences here: negative indices, slices and bounds are dealt with once."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def image(self, index: int) -> Image.Image:
        """Image ``index`` (0 <= index < len) as PIL RGB."""

    def content_key(self, index: int) -> str:
        """A hash that changes when the pixels of image ``index`` change."""
        return hashlib.sha256(f"{self[index].size}".encode() + self[index].tobytes()).hexdigest()

    @overload
    def __getitem__(self, index: int) -> Image.Image: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Image.Image]: ...

    def __getitem__(self, index: int | slice) -> Image.Image | Sequence[Image.Image]:
        if isinstance(index, slice):
            return Part(self, np.arange(len(self))[index])
        position = int(index) + len(self) if index < 0 else int(index)
        if not 0 <= position < len(self):
            raise IndexError(f"image {index} of {len(self)}")
        return self.image(position)


@dataclass
class Part(ImageSequence):
    """The images at ``indices`` of another sequence, in that order; nothing is rendered or read."""

    whole: Images
    indices: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.indices)

    def image(self, index: int) -> Image.Image:
        return self.whole[int(self.indices[index])]

    def content_key(self, index: int) -> str:
        return self.whole.content_key(int(self.indices[index]))


@dataclass
class Files(ImageSequence):
    """Image files, opened when asked for; never changed. A damaged file is named at its first read."""

    paths: Sequence[Path]
    _keys: dict[int, str] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.paths)

    def image(self, index: int) -> Image.Image:
        return read_image(self.paths[index])

    def content_key(self, index: int) -> str:
        if index not in self._keys:
            self._keys[index] = hashlib.sha256(_bytes(self.paths[index])).hexdigest()
        return self._keys[index]


class Pictures(ImageSequence):
    """Images that are already in memory."""

    def __init__(self, images: Sequence[Image.Image]) -> None:
        self.images = [to_rgb(image) for image in images]

    def __len__(self) -> int:
        return len(self.images)

    def image(self, index: int) -> Image.Image:
        return self.images[index]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the image {path} ({error.strerror}); check the folder") from error


def read_image(path: Path) -> Image.Image:
    """An image file as RGB: grey, palette, CMYK, 16-bit and transparent images are converted (white behind).

    Raises
    ------
    DataError
        The file is missing, truncated or not an image; the message names it.
    """
    try:
        with Image.open(path) as image:
            image.load()
            return to_rgb(image)
    except FileNotFoundError as error:
        raise DataError(f"the image {path} is missing; unpack the data set again") from error
    except UnidentifiedImageError as error:
        raise DataError(f"{path} is not an image; remove it or replace it with an image file") from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"the image {path} is damaged ({error}); get it again") from error


def to_rgb(image: Image.Image) -> Image.Image:
    """PIL RGB copy of any image; transparency is laid on white, 16-bit grey is scaled to 8 bits."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        white = Image.new("RGBA", rgba.size, "white")
        return Image.alpha_composite(white, rgba).convert("RGB")
    if image.mode.startswith("I"):
        scaled = np.asarray(image, dtype=np.float64) / 257.0
        return Image.fromarray(np.clip(scaled, 0, 255).astype(np.uint8)).convert("RGB")
    return image.convert("RGB")


def usable(paths: Sequence[Path], bad: str) -> NDArray[np.intp]:
    """Positions of the files that can be read.

    Parameters
    ----------
    bad : {"raise", "skip"}
        "raise": nothing is read now (a damaged file raises at its first read); "skip": every file is read
        once and damaged ones are left out, their names given in a warning.
    """
    if bad == "raise":
        return np.arange(len(paths))
    if bad != "skip":
        raise InputError(f'bad must be "raise" or "skip", not {bad!r}')
    good, lost = [], []
    for position, path in enumerate(paths):
        try:
            read_image(path)
            good.append(position)
        except DataError:
            lost.append(str(path))
    if lost:
        shown = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
        warnings.warn(f"{len(lost)} damaged images left out: {shown}", UserWarning, stacklevel=2)
    return np.array(good, dtype=np.intp)
