"""Pictures of the sphere in three dimensions, seen from far away: points, arcs, tangent arrows and sheets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bindery.sphere import exp, log, unit

Floats = NDArray[np.float64]


class Globe:
    """A unit sphere on a matplotlib axis, in parallel projection; what lies behind it is drawn faint.

    Parameters
    ----------
    axis : matplotlib Axes
    view : (3,) array
        Direction towards the reader.
    up : (3,) array
        Direction that points up on the page.
    """

    def __init__(self, axis: Any, view: ArrayLike = (1.0, -1.3, 0.75), up: ArrayLike = (0, 0, 1)) -> None:
        self.axis = axis
        depth = unit(np.asarray(view, dtype=float))
        right = unit(np.cross(np.asarray(up, dtype=float), depth))
        self.frame = np.stack([right, np.cross(depth, right), depth])
        axis.set_aspect("equal")
        axis.axis("off")
        angle = np.linspace(0, 2 * np.pi, 181)
        axis.fill(np.cos(angle), np.sin(angle), color="#F3F6F9", zorder=0)
        axis.plot(np.cos(angle), np.sin(angle), color="#9AA5B1", lw=1, zorder=1)
        for ring in self._graticule(angle):
            self.path(ring, color="#D3DAE1", lw=0.6, zorder=1)

    def path(self, points: ArrayLike, **style: Any) -> None:
        """A curve on the sphere, (N, 3); its hidden part is thin and dotted."""
        flat = np.asarray(points, dtype=float) @ self.frame.T
        style = {"color": "black", "lw": 1.6, "zorder": 3, **style}
        for visible, more in ((True, {}), (False, {"lw": 0.5 * style["lw"], "ls": ":", "label": None})):
            shown = np.where(((flat[:, 2] >= 0) == visible)[:, None], flat[:, :2], np.nan)
            self.axis.plot(*shown.T, **{**style, **more})

    def arc(self, start: ArrayLike, end: ArrayLike, **style: Any) -> None:
        """The geodesic between two points."""
        begin = np.asarray(start, dtype=float)
        self.path(exp(np.linspace(0, 1, 60)[:, None] * log(end, begin), begin), **style)

    def dots(self, points: ArrayLike, **style: Any) -> None:
        """Points on or off the sphere, (N, 3) or (3,)."""
        flat = np.atleast_2d(np.asarray(points, dtype=float)) @ self.frame.T
        self.axis.scatter(*flat[:, :2].T, **{"s": 28, "zorder": 5, "color": "black", **style})

    def label(self, point: ArrayLike, text: str, offset: tuple[float, float] = (5, 5), **style: Any) -> None:
        """Text beside a point; ``offset`` in typographic points."""
        place = self.frame[:2] @ np.asarray(point, dtype=float)
        self.axis.annotate(text, place, xytext=offset, textcoords="offset points", zorder=7, **style)

    def arrow(self, start: ArrayLike, vector: ArrayLike, color: str = "black", lw: float = 1.8) -> None:
        """A straight arrow in space."""
        begin = np.asarray(start, dtype=float)
        tail, head = (self.frame[:2] @ place for place in (begin, begin + np.asarray(vector, dtype=float)))
        style = {
            "arrowstyle": "-|>",
            "lw": lw,
            "color": color,
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 11,
        }
        self.axis.annotate("", xy=head, xytext=tail, arrowprops=style, zorder=6)

    def sheet(
        self, touch: ArrayLike, half_width: float = 1.0, turn: float = 0.6, color: str = "#56B4E9"
    ) -> Floats:
        """A square of the tangent plane at ``touch``, turned in it by ``turn``; returns its axes, (2, 3)."""
        point = unit(np.asarray(touch, dtype=float))
        across = self.frame[0] - (self.frame[0] @ point) * point
        level = np.stack([unit(across), np.cross(point, unit(across))])
        axes = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) @ level
        corners = point + half_width * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) @ axes
        flat = corners @ self.frame.T
        self.axis.fill(*flat[:, :2].T, facecolor=color, edgecolor=color, alpha=0.16, zorder=2, lw=1)
        return axes

    @staticmethod
    def _graticule(angle: Floats) -> list[Floats]:
        """Circles of latitude and longitude, 30 degrees apart."""
        rings = []
        for height in np.sin(np.radians([-60, -30, 0, 30, 60])):
            radius = np.sqrt(1 - height**2)
            rings.append(
                np.stack(
                    [radius * np.cos(angle), radius * np.sin(angle), np.full_like(angle, height)], axis=1
                )
            )
        for turn in np.radians(np.arange(0, 180, 30)):
            rings.append(
                np.stack([np.cos(turn) * np.cos(angle), np.sin(turn) * np.cos(angle), np.sin(angle)], axis=1)
            )
        return rings
