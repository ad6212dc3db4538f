"""SugarCrepe's kinds of question about rendered scenes, for encoders that know only the scenes' words."""

from __future__ import annotations

import numpy as np

from bindery import scenes as sc
from bindery.binding import SceneImages
from bindery.captions.items import CaptionItems
from bindery.errors import InputError
from bindery.scene_text import PAIR_KINDS, caption_pairs


def scene_items(
    n: int = 200,
    *,
    seed: int,
    size: int = 32,
    kinds: tuple[str, ...] = PAIR_KINDS,
    ground: sc.Ground = "dark",
) -> CaptionItems:
    """``n`` questions a kind about scenes of two objects; every question has a scene of its own.

    Parameters
    ----------
    n : int
        Questions of each kind.
    size : int
        Side of the rendered images in pixels.
    kinds : names of kinds, see `bindery.scene_text.caption_pairs`

    Raises
    ------
    InputError
        ``n`` below 1, or an unknown kind.
    """
    if n < 1:
        raise InputError(f"n must be at least 1, not {n}")
    true: list[str] = []
    false: list[str] = []
    parts = []
    for index, kind in enumerate(kinds):
        drawn = sc.training_scenes(4 * n + 40, seed=seed + index, objects=(2, 2), ground=ground)
        # A swap of equal shapes or colours changes nothing; the same rule for all kinds keeps the scenes alike.
        distinct = (drawn.shape[:, 0] != drawn.shape[:, 1]) & (drawn.colour[:, 0] != drawn.colour[:, 1])
        scenes = drawn[np.flatnonzero(distinct)[:n]]
        right, wrong = caption_pairs(scenes, kind, seed=seed + 100 + index)
        true, false = [*true, *right], [*false, *wrong]
        parts.append(scenes)
    every = sc.Scenes(*(np.concatenate(columns) for columns in zip(*map(_columns, parts), strict=True)))
    number = np.arange(len(true))
    return CaptionItems(
        name="scene-captions",
        true=tuple(true),
        false=tuple(false),
        category=tuple(kind for kind in kinds for _ in range(n)),
        image=number,
        cluster=number.astype(str),
        images=SceneImages(every, size),
    )


def _columns(scenes: sc.Scenes) -> list[np.ndarray]:
    return [getattr(scenes, name) for name in ("shape", "colour", "cell", "x", "y", "radius", "ground")]
