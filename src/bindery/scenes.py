"""Coloured shapes on a 3x3 grid, rendered from a seed: the zoo's training scenes and the binding stimuli.

A scene is a row of arrays (which shape, colour and cell, where exactly, how large), an image is made from it
only when asked for, at any size. Objects of all shapes have the same area and never leave their cell, so that
neither ink nor overlap gives a layout away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bindery.errors import InputError

SHAPES = ("disc", "ring", "triangle", "cross", "bar", "pillar")
COLOURS = ("red", "green", "blue", "yellow", "orange", "cyan", "magenta", "white")
CELLS = (
    "top left", "top", "top right", "left", "centre", "right", "bottom left", "bottom", "bottom right",
)  # fmt: skip
PALETTE = np.array(
    [
        (0.90, 0.10, 0.10), (0.12, 0.75, 0.15), (0.12, 0.20, 0.90), (0.95, 0.87, 0.12),
        (0.98, 0.52, 0.08), (0.10, 0.78, 0.85), (0.85, 0.15, 0.82), (0.92, 0.92, 0.92),
    ],
    np.float32,
)  # fmt: skip
# Luma of red is .34: on "grey" a red object vanishes for whoever does not see hue (the isoluminance trap).
GROUNDS = {"dark": 0.08, "grey": 0.35}
QUERY_COLOURS, CANDIDATE_COLOURS = (0, 1), (2, 3)

RADIUS = (0.090, 0.120)  # share of the image side; the largest half extent is 1.07 radii
SHIFT = 0.038  # the centre's largest distance from the cell's centre, per axis: 1.07 * .120 + .038 < 1/6

Ground = Literal["dark", "grey"]
Floats = NDArray[np.floating]
Geometry = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True)
class Scenes:
    """N scenes of at most K objects; ``shape`` is -1 where a slot is empty.

    ``shape``, ``colour``, ``cell``: (N, K) int8; ``x``, ``y`` (centre) and ``radius``: (N, K) float32 as a
    share of the image side, y downwards; ``ground``: (N, 3) float32 in [0, 1].
    """

    shape: NDArray[np.int8]
    colour: NDArray[np.int8]
    cell: NDArray[np.int8]
    x: NDArray[np.float32]
    y: NDArray[np.float32]
    radius: NDArray[np.float32]
    ground: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.shape)

    def __getitem__(self, index: slice | Sequence[int] | NDArray[np.intp]) -> Scenes:
        return Scenes(**{field.name: getattr(self, field.name)[index] for field in fields(self)})

    @property
    def present(self) -> NDArray[np.bool_]:
        """(N, K): the slot holds an object."""
        return self.shape >= 0


def _boxed(u: Floats, v: Floats, width: float, height: float) -> Floats:
    return np.maximum(np.abs(u) - width, np.abs(v) - height)


def signed_distance(shape: str, u: Floats, v: Floats) -> Floats:
    """Signed distance to the outline in units of the radius, negative inside; u rightwards, v downwards.

    Every shape has area 2.0 (radius units squared) within 2 %.
    """
    match shape:
        case "disc":
            return np.hypot(u, v) - 0.80
        case "ring":
            return np.abs(np.hypot(u, v) - 0.69) - 0.23
        case "triangle":  # equilateral, inradius .62, centred on its bounding box
            w = v - 0.31
            return np.maximum(w, np.abs(u) * np.float32(3**0.5 / 2) - w / 2) - 0.62
        case "cross":
            return np.minimum(_boxed(u, v, 1.0, 0.293), _boxed(u, v, 0.293, 1.0))
        case "bar":
            return _boxed(u, v, 1.0, 0.5)
        case "pillar":
            return _boxed(u, v, 0.5, 1.0)
    raise InputError(f"unknown shape {shape!r}; the shapes are {', '.join(SHAPES)}")


def _cover(shape: NDArray[np.int8], u: Floats, v: Floats, softness: Floats) -> Floats:
    """Share of each pixel that the object covers, (M, h, w), for u (M, 1, w) and v (M, h, 1)."""
    cover = np.empty((len(shape), v.shape[1], u.shape[2]), np.float32)
    for index, name in enumerate(SHAPES):
        rows = np.flatnonzero(shape == index)
        if len(rows):
            cover[rows] = 0.5 - signed_distance(name, u[rows], v[rows]) * softness[rows]
    return np.clip(cover, 0.0, 1.0, out=cover)


def _paint(canvas: Floats, scenes: Scenes) -> None:
    """Draw the scenes into ``canvas`` (N, 3, H, W) slot by slot, each object in its own window only."""
    size = canvas.shape[-1]
    window = min(size, 2 * int(np.ceil(1.08 * scenes.radius.max() * size)) + 3)
    offset = np.arange(window)
    for slot in range(scenes.shape.shape[1]):
        rows = np.flatnonzero(scenes.present[:, slot])
        x, y, radius = (part[rows, slot, None] for part in (scenes.x, scenes.y, scenes.radius))
        left, top = (np.clip((c * size).astype(int) - window // 2, 0, size - window) + offset for c in (x, y))
        u = (((left + np.float32(0.5)) / size - x) / radius)[:, None, :]
        v = (((top + np.float32(0.5)) / size - y) / radius)[:, :, None]
        softness = (radius * size)[:, :, None]  # one pixel, in radii: the width of a soft edge
        cover = _cover(scenes.shape[rows, slot], u.astype(np.float32), v.astype(np.float32), softness)
        at = (rows[:, None, None], slice(None), top[:, :, None], left[:, None, :])
        behind = canvas[at]  # (M, h, w, 3): numpy moves the sliced axis last
        canvas[at] = behind + cover[..., None] * (PALETTE[scenes.colour[rows, slot]][:, None, None] - behind)


def render(scenes: Scenes, size: int = 64, *, chunk: int = 256) -> NDArray[np.float32]:
    """The images of the scenes, (N, 3, size, size) float32 in [0, 1].

    Raises
    ------
    InputError
        ``size`` below 8 pixels: a cell would be narrower than three pixels.
    """
    if size < 8:
        raise InputError(f"scenes need at least 8 pixels a side, got size={size}")
    images = np.empty((len(scenes), 3, size, size), np.float32)
    for start in range(0, len(scenes), chunk):
        part = slice(start, start + chunk)
        images[part] = scenes.ground[part, :, None, None]
        _paint(images[part], scenes[part])
    return images


def to_pil(images: Floats) -> list[Image.Image]:
    """(N, 3, H, W) in [0, 1] as PIL images."""
    bytes_ = np.round(np.asarray(images) * 255).clip(0, 255).astype(np.uint8).transpose(0, 2, 3, 1)
    return [Image.fromarray(image) for image in bytes_]


def cell_geometry(shape: tuple[int, ...], rng: np.random.Generator) -> Geometry:
    """x, y and radius of one object in each cell, inside its cell; arrays of ``shape + (9,)``."""
    column, row = np.arange(9) % 3, np.arange(9) // 3
    shift = rng.uniform(-SHIFT, SHIFT, (2, *shape, 9))
    x, y = (column + 0.5) / 3 + shift[0], (row + 0.5) / 3 + shift[1]
    radius = rng.uniform(*RADIUS, (*shape, 9))
    return x.astype(np.float32), y.astype(np.float32), radius.astype(np.float32)


def place(
    shape: NDArray[np.integer],
    colour: NDArray[np.integer],
    cell: NDArray[np.integer],
    geometry: Geometry,
    ground: Floats,
) -> Scenes:
    """Scenes from (N, K) shapes, colours and cells and the (N, 9) geometry of :func:`cell_geometry`."""
    where = np.maximum(cell, 0).astype(np.intp)
    x, y, radius = (np.take_along_axis(part, where, axis=1) for part in geometry)
    grounds = np.broadcast_to(np.asarray(ground, np.float32), (len(shape), 3))
    return Scenes(
        shape.astype(np.int8), colour.astype(np.int8), cell.astype(np.int8), x, y, radius, np.array(grounds)
    )


def training_scenes(
    n: int,
    *,
    seed: int,
    objects: tuple[int, int] = (1, 4),
    ground: Ground | Literal["tinted"] = "tinted",
) -> Scenes:
    """Scenes of ``objects[0]`` to ``objects[1]`` objects in distinct cells, shape and colour independent.

    "tinted" draws the ground's three channels in [.03, .5], so that no colour is invisible as a rule.

    Raises
    ------
    InputError
        The number of objects is not within 1 to 9, or the ground is unknown.
    """
    low, high = objects
    if not 1 <= low <= high <= 9:
        raise InputError(f"objects must satisfy 1 <= low <= high <= 9, got {objects}")
    rng = np.random.default_rng(seed)
    shape = rng.integers(len(SHAPES), size=(n, high))
    colour = rng.integers(len(COLOURS), size=(n, high))
    cell = rng.permuted(np.broadcast_to(np.arange(9), (n, 9)), axis=1)[:, :high]
    empty = np.arange(high) >= rng.integers(low, high + 1, size=(n, 1))
    shape[empty], cell[empty] = -1, -1
    grounds = (
        rng.uniform(0.03, 0.5, size=(n, 3)) if ground == "tinted" else np.full((n, 3), ground_level(ground))
    )
    return place(shape, colour, cell, cell_geometry((n,), rng), grounds)


def ground_level(ground: str) -> float:
    """Grey level of a named ground; raises InputError with the known names."""
    if ground not in GROUNDS:
        raise InputError(f"unknown ground {ground!r}; choose one of {', '.join(GROUNDS)}")
    return GROUNDS[ground]


def _indicator(values: NDArray[np.integer], present: NDArray[np.bool_], n_values: int) -> NDArray[np.float32]:
    """(N, n_values): 1 where one of the present objects has the value."""
    found = np.zeros((len(values), n_values), np.float32)
    rows, slots = np.nonzero(present)
    found[rows, values[rows, slots]] = 1
    return found


def presence(scenes: Scenes, factor: str) -> NDArray[np.float32]:
    """Which values of a factor occur in each scene, 0 or 1, float32.

    ``factor`` is "shape" (N, 6), "colour" (N, 8), "place" (N, 9) or "bound" (N, 54); bound marks
    shape * 9 + cell, the link of both.
    """
    present = scenes.present
    cell = scenes.cell.astype(np.intp)
    table: dict[str, tuple[NDArray[np.integer], int]] = {
        "shape": (scenes.shape, len(SHAPES)),
        "colour": (scenes.colour, len(COLOURS)),
        "place": (cell, len(CELLS)),
        "bound": (scenes.shape.astype(np.intp) * len(CELLS) + cell, len(SHAPES) * len(CELLS)),
    }
    if factor not in table:
        raise InputError(f"unknown factor {factor!r}; choose one of {', '.join(table)}")
    values, n_values = table[factor]
    return _indicator(values, present, n_values)


def bag_labels(scenes: Scenes) -> NDArray[np.float32]:
    """(N, 23): which shapes, colours and places occur, and nothing about which goes with which."""
    return np.hstack([presence(scenes, factor) for factor in ("shape", "colour", "place")])


def bound_labels(scenes: Scenes) -> NDArray[np.float32]:
    """(N, 54): which shape stands in which cell."""
    return presence(scenes, "bound")
