"""What can be scored without a network: pixel codes of the images, and oracle codes of the scenes."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bindery import scenes as sc
from bindery.errors import InputError

Floats = NDArray[np.floating]
LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def pixel_code(
    images: Floats, kind: Literal["rgb", "grey", "contrast"], *, ground: float | None = None
) -> Floats:
    """Pixels as an embedding, (N, 3, H, W) in [0, 1] to (N, D).

    "rgb": the values; "grey": luma; "contrast": the largest channel of abs(x - ground), the silhouettes, for
    which ``ground`` (a level in [0, 1], see ``scenes.GROUNDS``) must be given.
    """
    match kind:
        case "rgb":
            code = images
        case "grey":
            code = np.einsum("nchw,c->nhw", images, LUMA)
        case "contrast":
            if ground is None:
                raise InputError(
                    'the "contrast" code needs the level of the ground, e.g. scenes.GROUNDS["dark"]'
                )
            code = np.abs(images - np.float32(ground)).max(axis=1)
        case _:
            raise InputError(f"unknown pixel code {kind!r}; choose rgb, grey or contrast")
    return code.reshape(len(images), -1)


def oracle(scenes: sc.Scenes, kind: Literal["shape", "place", "bag", "bound"]) -> NDArray[np.float32]:
    """A perfect code of the scene: its shapes, its places, both without their link (bag), or linked (bound).

    "bag" is the ceiling of every code without binding: .5 in the eight-way task and in the swap choice.
    """
    if kind == "bag":
        return np.hstack([sc.presence(scenes, "shape"), sc.presence(scenes, "place")])
    if kind not in ("shape", "place", "bound"):
        raise InputError(f"unknown oracle {kind!r}; choose shape, place, bag or bound")
    return sc.presence(scenes, kind)
