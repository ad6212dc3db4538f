"""Painted backgrounds: plain, gradient, texture and stripes as nuisance; land and water scenes as a place.

All lengths are relative to the image, so one seed gives the same picture at every size.
"""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageDraw

NUISANCE = ("plain", "gradient", "texture", "stripes")
PLACES = ("land", "water")
SKIES = (
    ((96, 160, 226), (200, 226, 245)),
    ((150, 162, 178), (212, 216, 222)),
    ((108, 130, 190), (250, 206, 160)),
)
Colour = NDArray[np.float32]


def paint(kind: str, size: int, rng: Generator) -> Image.Image:
    """A ``size`` x ``size`` RGB background of one of the kinds in ``NUISANCE`` or ``PLACES``."""
    return PAINTERS[kind](size, rng)


def muted(rng: Generator) -> Colour:
    """A colour of middle lightness, on which both black and white drawings stand out."""
    return _hsv(rng.uniform(), rng.uniform(0.1, 0.5), rng.uniform(0.5, 0.85))


def _hsv(hue: float, saturation: float, value: float) -> Colour:
    return 255 * np.array(colorsys.hsv_to_rgb(hue % 1, saturation, value), dtype=np.float32)


def _jitter(base: tuple[int, int, int], rng: Generator, amount: float = 14) -> tuple[int, int, int]:
    red, green, blue = np.clip(np.array(base) + rng.normal(0, amount, 3), 0, 255).astype(int).tolist()
    return red, green, blue


@lru_cache(maxsize=8)
def _grid(size: int) -> tuple[Colour, Colour]:
    """x and y of the pixel centres, in -0.5..0.5."""
    line = ((np.arange(size) + 0.5) / size - 0.5).astype(np.float32)
    return line[None, :], line[:, None]


def _blend(weight: Colour, one: Colour, other: Colour) -> Image.Image:
    mixed = one + weight[..., None] * (other - one)
    return Image.fromarray(mixed.astype(np.uint8))


def _plain(size: int, rng: Generator) -> Image.Image:
    return Image.new("RGB", (size, size), tuple(muted(rng).astype(int).tolist()))


def _gradient(size: int, rng: Generator) -> Image.Image:
    x, y = _grid(size)
    angle = rng.uniform(0, 2 * np.pi)
    along = np.float32(np.cos(angle)) * x + np.float32(np.sin(angle)) * y
    return _blend(np.clip(along + np.float32(0.5), 0, 1), muted(rng), muted(rng))


def _texture(size: int, rng: Generator) -> Image.Image:
    """Two octaves of smooth noise around one colour."""
    base = muted(rng)
    cells = int(rng.integers(4, 9))
    coarse = base + rng.normal(0, 16, (cells, cells, 1)) + rng.normal(0, 10, (cells, cells, 3))
    fine = rng.normal(128, 14, (4 * cells, 4 * cells, 1)).repeat(3, axis=2)
    layers = []
    for layer in (coarse, fine):
        small = Image.fromarray(np.clip(layer, 0, 255).astype(np.uint8))
        layers.append(np.asarray(small.resize((size, size), Image.Resampling.BICUBIC), dtype=np.int16))
    return Image.fromarray(np.clip(layers[0] + layers[1] - 128, 0, 255).astype(np.uint8))


def _stripes(size: int, rng: Generator) -> Image.Image:
    x, y = _grid(size)
    angle, periods, phase = rng.uniform(0, np.pi), rng.uniform(3, 10), rng.uniform(0, 2 * np.pi)
    along = np.float32(np.cos(angle)) * x + np.float32(np.sin(angle)) * y
    wave = np.sin(np.float32(2 * np.pi * periods) * along + np.float32(phase))
    first = muted(rng)
    second = np.clip(first + rng.uniform(-40, 40, 3).astype(np.float32), 60, 230)
    # A steep sigmoid of the wave: stripes with soft edges.
    return _blend(np.clip(np.float32(0.5) + 3 * wave, 0, 1), first, second)


def _sky(size: int, rng: Generator) -> Image.Image:
    """A vertical gradient between two sky colours: blue, grey or evening."""
    palettes = (
        ((96, 160, 226), (200, 226, 245)),
        ((150, 162, 178), (212, 216, 222)),
        ((108, 130, 190), (250, 206, 160)),
    )
    top, bottom = palettes[int(rng.choice(3, p=[0.6, 0.25, 0.15]))]
    one, other = (np.array(_jitter(colour, rng, 8), dtype=np.float32) for colour in (top, bottom))
    column = (_grid(size)[1] + np.float32(0.5)).astype(np.float32)
    return _blend(np.broadcast_to(column, (size, size)), one, other)


def _ridge(side: int, level: float, height: float, rng: Generator, n: int = 24) -> list[tuple[float, float]]:
    """Points of a smooth line across the image, then the two lower corners."""
    at = np.linspace(0, 1, n)
    draws = rng.uniform((0.3, 0.4, 0), (1, 1.6, 1), (3, 3))
    waves = sum(share * np.sin(2 * np.pi * (periods * at + phase)) for share, periods, phase in draws)
    line = level + height * np.asarray(waves) / 2
    points = [(float(x) * side, float(y) * side) for x, y in zip(at, line, strict=True)]
    return [*points, (side, side), (0, side)]


def _tree(draw: ImageDraw.ImageDraw, x: float, foot: float, height: float, rng: Generator) -> None:
    trunk, leaf = _jitter((104, 74, 48), rng), _jitter((44, 104, 48), rng, 16)
    width = 0.1 * height
    draw.rectangle((x - width / 2, foot - 0.45 * height, x + width / 2, foot), fill=trunk)
    if rng.uniform() < 0.5:  # a fir
        for low, high, half in ((0.25, 0.7, 0.34), (0.5, 1.0, 0.25)):
            peak, base = foot - high * height, foot - low * height
            draw.polygon([(x, peak), (x - half * height, base), (x + half * height, base)], fill=leaf)
    else:
        for dx, dy, radius in ((-0.18, 0.55, 0.22), (0.18, 0.57, 0.22), (0.0, 0.75, 0.27)):
            cx, cy, r = x + dx * height, foot - dy * height, radius * height
            draw.ellipse((cx - r, cy - r, cx + r, cy + r), fill=leaf)


def _land(size: int, rng: Generator) -> Image.Image:
    """Sky, hills, trees and a meadow."""
    side = 2 * size
    image = _sky(side, rng)
    draw = ImageDraw.Draw(image)
    horizon = rng.uniform(0.34, 0.48)
    draw.polygon(_ridge(side, horizon, 0.12, rng), fill=_jitter((122, 156, 118), rng))
    draw.polygon(_ridge(side, horizon + 0.1, 0.08, rng), fill=_jitter((92, 142, 74), rng))
    for x in np.sort(rng.uniform(0, 1, int(rng.integers(4, 9)))):
        _tree(draw, x * side, (horizon + rng.uniform(0.14, 0.24)) * side, rng.uniform(0.18, 0.34) * side, rng)
    draw.polygon(_ridge(side, horizon + 0.22, 0.04, rng), fill=_jitter((110, 164, 70), rng))
    for x, y in rng.uniform((0, horizon + 0.28), (1, 1), (40, 2)) * side:
        draw.line((x, y, x + 0.006 * side, y - 0.03 * side), fill=(78, 132, 52), width=max(1, side // 180))
    return image.reduce(2)


def _water(size: int, rng: Generator) -> Image.Image:
    """Sky, sea with waves, and often a strip of sand."""
    side = 2 * size
    image = _sky(side, rng)
    draw = ImageDraw.Draw(image)
    horizon = rng.uniform(0.3, 0.44)
    far, near = (np.array(_jitter(c, rng, 10)) for c in ((70, 132, 178), (38, 96, 160)))
    steps = 24
    for i in range(steps):
        top = side * (horizon + (1 - horizon) * i / steps)
        colour = tuple((far + (near - far) * i / steps).astype(int).tolist())
        draw.rectangle((0, top, side, side), fill=colour)
    for depth, x in rng.uniform(0, 1, (46, 2)):
        y, length = (
            side * (horizon + (1 - horizon) * depth),
            side * (0.04 + 0.14 * depth) * rng.uniform(0.6, 1.2),
        )
        box = (x * side - length / 2, y - 0.1 * length, x * side + length / 2, y + 0.1 * length)
        tint = _jitter((168, 206, 230), rng, 12)
        draw.arc(box, 200, 340, fill=tint, width=max(2, round(0.008 * side * (0.4 + depth))))
    if rng.uniform() < 0.6:
        shore = rng.uniform(0.84, 0.93)
        edge = _ridge(side, shore, 0.05, rng)
        draw.polygon(edge, fill=_jitter((226, 204, 152), rng, 10))
        draw.line(edge[:-2], fill=(236, 244, 248), width=max(2, side // 70))
    return image.reduce(2)


PAINTERS: dict[str, Callable[[int, Generator], Image.Image]] = {
    "plain": _plain,
    "gradient": _gradient,
    "texture": _texture,
    "stripes": _stripes,
    "land": _land,
    "water": _water,
}
