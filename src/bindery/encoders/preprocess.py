"""From images to the normalised tensor an encoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field

from bindery.errors import InputError

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

ImageLike = Image.Image | NDArray[np.uint8]
_FILTERS = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}


class Preprocess(BaseModel):
    """Resize, centre crop, scale to [0, 1], normalise.

    ``resize="shortest"`` brings the shorter side to ``floor(size / crop)`` and cuts the centre;
    ``"squash"`` resizes both sides to ``size``. ``mean`` and ``std`` are per RGB channel, for values in
    [0, 1].
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(default=224, gt=0)
    resize: Literal["shortest", "squash"] = "shortest"
    crop: float = Field(default=1.0, gt=0, le=1)
    interpolation: Literal["bicubic", "bilinear"] = "bicubic"
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD

    def __call__(self, images: Sequence[ImageLike]) -> torch.Tensor:
        """Normalised (B, 3, size, size) float32 tensor of PIL images or (H, W, 3) uint8 arrays.

        Raises InputError for an image with transparency, a float array, or a wrong shape.
        """
        pixels = np.stack([self._resize(as_rgb(image)) for image in images])
        scaled = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255
        mean, std = (torch.tensor(value).view(1, 3, 1, 1) for value in (self.mean, self.std))
        return ((scaled - mean) / std).contiguous()

    def _resize(self, image: Image.Image) -> NDArray[np.uint8]:
        filter_, side = _FILTERS[self.interpolation], self.size
        if self.resize == "squash":
            return np.asarray(image.resize((side, side), filter_))
        shorter = int(side / self.crop)
        scale = shorter / min(image.size)
        width, height = (max(shorter, int(length * scale)) for length in image.size)
        if image.size != (width, height):
            image = image.resize((width, height), filter_)
        left, top = round((width - side) / 2), round((height - side) / 2)
        return np.asarray(image.crop((left, top, left + side, top + side)))


def as_rgb(image: ImageLike) -> Image.Image:
    """One image as PIL RGB; refuses what would silently change its look."""
    if isinstance(image, Image.Image):
        if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
            raise InputError(
                f"an image has transparency (mode {image.mode}); composite it on a background first"
            )
        return image if image.mode == "RGB" else image.convert("RGB")
    array = np.asarray(image)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        raise InputError(
            "an image must be a PIL image or an (H, W, 3) uint8 array in 0..255; "
            f"got {array.dtype} of shape {array.shape}"
        )
    return Image.fromarray(array)
