"""Sets of two-object images closed under exchange: rendered scenes, and emoji of two people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bindery import scenes as sc
from bindery.binding import SceneImages
from bindery.data.compositor import Composed, Recipe
from bindery.data.pack import emoji_pack
from bindery.errors import InputError

Codes = NDArray[np.intp]
#: Without orange and white, which lie near others; without ring and pillar, which resemble disc and bar.
COLOURS = ("red", "green", "blue", "yellow", "cyan", "magenta")
SHAPES = ("disc", "triangle", "cross", "bar")
DUOS = (
    "handshake", "men-holding-hands", "people-holding-hands", "woman-and-man-holding-hands", "women-holding-hands",
)  # fmt: skip
STYLES = ("noto", "openmoji", "twemoji")


@dataclass(frozen=True)
class TwoObjects:
    """O contents in G arrangements, R renderings each; images content by content, then arrangement, then rendering.

    ``attribute`` and ``obj`` (O, G, 2): values of the left and of the right object, as codes. Arrangement 0 is
    the content as drawn, 1 has the attributes exchanged, 2 the objects, 3 both (G = 4), or 0 and 1 only (G = 2).
    """

    name: str
    images: Any
    attribute: Codes
    obj: Codes
    renderings: int
    scenes: sc.Scenes | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(O, G, R)."""
        return len(self.attribute), self.attribute.shape[1], self.renderings


def arranged(first: Codes, second: Codes) -> tuple[Codes, Codes]:
    """Attributes and objects (O, 4, 2) of the four arrangements from those of the content, (O, 2) each."""
    attribute = np.stack([first, first[:, ::-1], first, first[:, ::-1]], axis=1)
    obj = np.stack([second, second, second[:, ::-1], second[:, ::-1]], axis=1)
    return attribute, obj


def scene_set(
    renderings: int = 8,
    *,
    seed: int,
    size: int = 32,
    colours: Sequence[str] = COLOURS,
    shapes: Sequence[str] = SHAPES,
    cells: tuple[str, str] = ("left", "right"),
    ground: sc.Ground = "dark",
) -> TwoObjects:
    """Two coloured shapes in two cells: every pair of colours with every pair of shapes, in four arrangements.

    Position within the cell and size are drawn for each rendering and shared by its four arrangements, so that
    an exchange exchanges colours or shapes and nothing else.

    Parameters
    ----------
    renderings : int
        At least 2.
    size : int
        Side in pixels.
    colours, shapes : names of `bindery.scenes`
        At least two of each: the attributes and the objects.
    cells : two names of cells of `bindery.scenes`
        Where the first and the second object stand ("left" and "right" in the names of this module).
    """
    asked = (("colours", colours, sc.COLOURS), ("shapes", shapes, sc.SHAPES), ("cells", cells, sc.CELLS))
    for kind, names, known in asked:
        if len(set(names)) < 2 or set(names) - set(known):
            raise InputError(f"{kind} must be at least two of {', '.join(known)}; got {', '.join(names)}")
    _enough(renderings)
    rng = np.random.default_rng(seed)
    contents = [(a, o) for a in combinations(colours, 2) for o in combinations(shapes, 2)]
    colour = np.array([[sc.COLOURS.index(name) for name in pair] for pair, _ in contents])
    shape = np.array([[sc.SHAPES.index(name) for name in pair] for _, pair in contents])
    colour, shape = rng.permuted(colour, axis=1), rng.permuted(shape, axis=1)  # which is left is drawn
    attribute, obj = arranged(colour, shape)
    n = len(contents)
    geometry = sc.cell_geometry((n, 1, renderings), rng)
    x, y, radius = (np.broadcast_to(part, (n, 4, renderings, 9)).reshape(-1, 9) for part in geometry)
    rows = [np.repeat(part.reshape(-1, 2), renderings, axis=0) for part in (obj, attribute)]
    where = np.broadcast_to([sc.CELLS.index(cell) for cell in cells], (len(rows[0]), 2))
    scenes = sc.place(rows[0], rows[1], where, (x, y, radius), np.full(3, sc.ground_level(ground)))
    name = "scenes" if cells == ("left", "right") else f"scenes: {cells[0]}, {cells[1]}"
    return TwoObjects(name, SceneImages(scenes, size), attribute, obj, renderings, scenes)


def duo_set(
    renderings: int = 8,
    *,
    seed: int,
    size: int = 224,
    duos: Sequence[str] = DUOS,
    styles: Sequence[str] = STYLES,
) -> TwoObjects:
    """Emoji of two people: every drawing with every two skin tones, and the same with the tones exchanged.

    Colour of the ground, place, scale and rotation are drawn for each rendering of a content and shared by the
    twins. What is drawn is the object of both people, so that only the exchange of tones acts (G = 2).

    Parameters
    ----------
    renderings : int
        At least 2.
    size : int
        Side in pixels.
    duos, styles : names of the emoji pack
        Kinds of two people, and who drew them.

    Raises
    ------
    InputError
        Fewer than two renderings, or fewer than two contents of these names.
    """
    _enough(renderings)
    known = {(d.style, d.base, d.factors["left"], d.factors["right"]): d.id for d in emoji_pack().select("duos")
             if d.factors["duo"] in duos and d.style in styles}  # fmt: skip
    drawings = sorted({key[:2] for key in known})
    tones = sorted({key[2] for key in known})
    recipes, attribute, obj = [], [], []
    for number, drawing in enumerate(drawings):
        for first, second in combinations(range(len(tones)), 2):
            twins = [(*drawing, tones[a], tones[b]) for a, b in ((first, second), (second, first))]
            if not all(twin in known for twin in twins):
                continue
            attribute.append([[first, second], [second, first]])
            obj.append([[number] * 2] * 2)
            for twin in twins:
                key = "/".join((*drawing, tones[first], tones[second]))
                recipes += [Recipe(known[twin], "plain", key, turn, seed) for turn in range(renderings)]
    if len(attribute) < 2:
        raise InputError(f"no two contents with styles {', '.join(styles)} and duos {', '.join(duos)}")
    return TwoObjects("emoji-duos", Composed(recipes, size), np.array(attribute), np.array(obj), renderings)


def _enough(renderings: int) -> None:
    if renderings < 2:
        raise InputError(f"the noise floor needs at least two renderings; got {renderings}")
