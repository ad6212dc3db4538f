"""Training conditions: what a view of a scene may differ in, and what is left in sight after a crop."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from bindery.errors import InputError
from bindery.scenes import Scenes

# RGB to luma and two chroma axes (YIQ): a hue shift rotates the chroma plane.
_YIQ = torch.tensor([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]])
_RGB = torch.linalg.inv(_YIQ)


@dataclass(frozen=True)
class Condition:
    """Strength of each augmentation; 0 (or ``crop=1``) switches it off.

    ``crop``: smallest share of the area kept; ``flip``: probability; ``hue``: largest shift in turns;
    ``brightness``, ``contrast``: largest relative change; ``grey``, ``blur``: probabilities; ``noise``:
    largest standard deviation, a quarter of the images have some.
    """

    crop: float = 1.0
    flip: float = 0.0
    hue: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    grey: float = 0.0
    blur: float = 0.0
    noise: float = 0.0


PHOTOMETRIC = Condition(hue=0.5, brightness=0.4, contrast=0.4, grey=0.2, blur=0.3, noise=0.06)
CONDITIONS = {
    "photometric": PHOTOMETRIC,
    "standard": Condition(crop=0.25, flip=0.5, hue=0.1, brightness=0.2, contrast=0.2),
    "photometric-flip": replace(PHOTOMETRIC, flip=0.5),
    "photometric-mildcrop": replace(PHOTOMETRIC, crop=0.8),
    "photometric-crop": replace(PHOTOMETRIC, crop=0.25),
    "none": Condition(),
}


def condition(name: str) -> Condition:
    """The condition of that name; raises InputError with the choices."""
    if name not in CONDITIONS:
        raise InputError(f"unknown condition {name!r}; choose one of {', '.join(CONDITIONS)}")
    return CONDITIONS[name]


@dataclass(frozen=True)
class Window:
    """The square a view shows, (B,) each: left and top edge and side in [0, 1], and whether mirrored."""

    left: Tensor
    top: Tensor
    side: Tensor
    flipped: Tensor


def draw_window(n: int, how: Condition, generator: torch.Generator) -> Window:
    """Random crops of area in [crop, 1] and random flips."""
    area = how.crop + (1 - how.crop) * torch.rand(n, generator=generator)
    side = area.sqrt()
    left, top = (torch.rand(n, generator=generator) * (1 - side) for _ in range(2))
    return Window(left, top, side, torch.rand(n, generator=generator) < how.flip)


def apply_window(images: Tensor, window: Window) -> Tensor:
    """Resample each image to its window, bilinearly."""
    sign = 1 - 2 * window.flipped.float()
    theta = torch.zeros(len(images), 2, 3)
    theta[:, 0, 0], theta[:, 1, 1] = window.side * sign, window.side
    theta[:, 0, 2] = 2 * window.left + window.side - 1
    theta[:, 1, 2] = 2 * window.top + window.side - 1
    grid = F.affine_grid(theta, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)


def seen_through(scenes: Scenes, window: Window) -> Scenes:
    """The scenes as the window shows them: an object whose centre is cut off is gone, cells are new."""
    left, top, side = (part.numpy()[:, None] for part in (window.left, window.top, window.side))
    x, y = (scenes.x - left) / side, (scenes.y - top) / side
    x = np.where(window.flipped.numpy()[:, None], 1 - x, x)
    gone = ~scenes.present | (x < 0) | (x >= 1) | (y < 0) | (y >= 1)
    cell = np.clip(y * 3, 0, 2).astype(np.int8) * 3 + np.clip(x * 3, 0, 2).astype(np.int8)

    def hidden(values: NDArray[np.int8]) -> NDArray[np.int8]:
        return np.where(gone, np.int8(-1), values)

    x, y, radius = (part.astype(np.float32) for part in (x, y, scenes.radius / side))
    return Scenes(hidden(scenes.shape), scenes.colour, hidden(cell), x, y, radius, scenes.ground)


def recolour(images: Tensor, how: Condition, generator: torch.Generator) -> Tensor:
    """Hue, brightness, contrast, grey, blur and noise, drawn for each image; clipped to [0, 1]."""
    n = len(images)

    def uniform(largest: float) -> Tensor:
        return largest * (2 * torch.rand(n, generator=generator) - 1)

    angle = 2 * torch.pi * uniform(how.hue)
    chroma = (torch.rand(n, generator=generator) >= how.grey).float()
    turn = torch.zeros(n, 3, 3)
    turn[:, 0, 0] = 1
    turn[:, 1, 1] = turn[:, 2, 2] = chroma * angle.cos()
    turn[:, 1, 2], turn[:, 2, 1] = -chroma * angle.sin(), chroma * angle.sin()
    contrast, brightness = 1 + uniform(how.contrast), 1 + uniform(how.brightness)
    matrix = (_RGB @ turn @ _YIQ) * (contrast * brightness)[:, None, None]
    mean = images.mean((2, 3)) @ _YIQ[0]  # contrast keeps the mean luma
    shift = ((1 - contrast) * brightness * mean)[:, None, None]
    out = (torch.bmm(matrix, images.flatten(2)) + shift).view_as(images)
    if how.blur:
        chosen = torch.rand(n, generator=generator) < how.blur
        out[chosen] = F.avg_pool2d(F.pad(out[chosen], (1, 1, 1, 1), mode="replicate"), 3, 1)
    if how.noise:
        chosen = torch.rand(n, generator=generator) < 0.25
        level = how.noise * torch.rand(int(chosen.sum()), 1, 1, 1, generator=generator)
        out[chosen] += level * torch.randn(out[chosen].shape, generator=generator)
    return out.clamp(0, 1)


def view(images: Tensor, scenes: Scenes, how: Condition, generator: torch.Generator) -> tuple[Tensor, Scenes]:
    """One augmented view of each image (B, 3, H, W) in [0, 1], and the scene that is left in sight."""
    if how.crop < 1 or how.flip > 0:
        window = draw_window(len(images), how, generator)
        images, scenes = apply_window(images, window), seen_through(scenes, window)
    return recolour(images, how, generator), scenes
