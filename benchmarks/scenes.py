"""Rendering speed of the scenes, beside a plain drawing loop with PIL at four-fold resolution."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from benchmarks import Row, row
from bindery import scenes as sc

COUNT, SIZE = 1024, 64


def draw_plainly(scenes: sc.Scenes, size: int, oversample: int = 4) -> np.ndarray:
    """The same scenes object by object with PIL, smoothed by drawing large and shrinking."""
    large, images = size * oversample, []
    for n in range(len(scenes)):
        ground = tuple(int(255 * level) for level in scenes.ground[n])
        image = Image.new("RGB", (large, large), ground)
        pen = ImageDraw.Draw(image)
        for k in np.flatnonzero(scenes.present[n]):
            x, y, r = (float(part[n, k]) * large for part in (scenes.x, scenes.y, scenes.radius))
            tint = tuple(int(255 * level) for level in sc.PALETTE[scenes.colour[n, k]])
            _draw(pen, sc.SHAPES[scenes.shape[n, k]], x, y, r, tint, ground)
        images.append(np.asarray(image.resize((size, size), Image.Resampling.BOX)))
    return np.stack(images).transpose(0, 3, 1, 2) / np.float32(255)


def _draw(pen: Any, shape: str, x: float, y: float, r: float, tint: tuple, ground: tuple) -> None:
    def box(w: float, h: float, fill: tuple = tint) -> None:
        pen.rectangle((x - w * r, y - h * r, x + w * r, y + h * r), fill=fill)

    def disc(radius: float, fill: tuple = tint) -> None:
        pen.ellipse((x - radius * r, y - radius * r, x + radius * r, y + radius * r), fill=fill)

    match shape:
        case "disc":
            disc(0.8)
        case "ring":
            disc(0.92)
            disc(0.46, ground)
        case "triangle":
            corners = [(0, -0.93), (1.074, 0.93), (-1.074, 0.93)]
            pen.polygon([(x + u * r, y + v * r) for u, v in corners], fill=tint)
        case "cross":
            box(1.0, 0.293)
            box(0.293, 1.0)
        case "bar":
            box(1.0, 0.5)
        case "pillar":
            box(0.5, 1.0)


def run() -> list[Row]:
    """One row: seconds for 1,024 two-object images of 64 pixels."""
    scenes = sc.training_scenes(COUNT, seed=0, objects=(2, 2), ground="dark")
    sc.render(scenes[:64], SIZE)
    ours, plain, images = [], [], np.empty(0)
    for _ in range(3):
        started = time.perf_counter()
        images = sc.render(scenes, SIZE)
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        reference = draw_plainly(scenes, SIZE)
        plain.append(time.perf_counter() - started)
    gap = float(np.abs(images - reference).mean())
    best, slow = min(ours), min(plain)
    note = f"{COUNT / best:,.0f} images/s at {SIZE} px (at least 2,000 wanted); mean difference {gap:.4f}"
    return [row("render two-object scenes", best, slow, note)]
