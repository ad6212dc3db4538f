"""Offline compositional sets from the emoji pack; every image is rendered on load from a seed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.random import default_rng

from bindery.data.backgrounds import NUISANCE, PLACES
from bindery.data.composition import CompositionDataset
from bindery.data.compositor import Composed, Recipe
from bindery.data.pack import Drawing, emoji_pack
from bindery.data.splits import deal
from bindery.errors import InputError

Names = Sequence[str] | None
Row = dict[str, str]
KINDS = ("landbird", "waterbird")


def emoji_roles(
    n: int = 10,
    *,
    size: int = 224,
    seed: int = 0,
    styles: Names = None,
    roles: int | Names = None,
    tones: Names = None,
    genders: Names = None,
) -> CompositionDataset:
    """People in a role: attribute tone, object role; gender and style of drawing vary.

    ``with_pair("tone", "person")`` makes role and gender together the object. A source is a drawing whatever
    its tone (style, gender, role), so a recoloured drawing never stands in both training and test.

    Parameters
    ----------
    n : int
        Images a (tone, role) pair, taking turns over its drawings (10: five styles, woman and man); smaller n
        gives a part of what larger n gives.
    size : int
        Side in pixels.
    styles, tones, genders : list of str, optional
        Only these.
    roles : int or list of str, optional
        Only these, or that many (chosen by ``seed``).

    Raises
    ------
    InputError
        An unknown style, role, tone or gender (the nearest is suggested), or n < 1.
    """
    drawings = emoji_pack().select("roles")
    drawings = _keep(drawings, style=styles, tone=tones, gender=genders)
    known = sorted({drawing.factors["role"] for drawing in drawings})
    if isinstance(roles, int):
        if not 0 < roles <= len(known):
            raise InputError(f"roles must lie in 1..{len(known)}, not {roles}")
        roles = sorted(default_rng([seed, crc32(b"roles")]).choice(known, roles, replace=False).tolist())
    drawings = _keep(drawings, role=roles)

    def row(drawing: Drawing) -> tuple[Row, Row]:
        factors = drawing.factors
        person = f"{factors['gender']}-{factors['role']}"
        labels = {"tone": factors["tone"], "role": factors["role"], "gender": factors["gender"]}
        return {**labels, "person": person}, {"drawing": f"{drawing.style}/{person}"}

    return _grid("emoji-roles", drawings, ("tone", "role"), row, n, size, seed)


def emoji_colours(
    n: int = 30,
    *,
    size: int = 224,
    seed: int = 0,
    styles: Names = None,
    colours: Names = None,
    shapes: Names = None,
) -> CompositionDataset:
    """Coloured shapes: attribute colour (9), object shape (circle, square, heart); style of drawing varies.

    Parameters as in `emoji_roles`. A source is a style's shape whatever its colour.
    """
    drawings = _keep(emoji_pack().select("colours"), style=styles, colour=colours, shape=shapes)

    def row(drawing: Drawing) -> tuple[Row, Row]:
        return dict(drawing.factors), {"drawing": f"{drawing.style}/{drawing.factors['shape']}"}

    return _grid("emoji-colours", drawings, ("colour", "shape"), row, n, size, seed)


def emoji_duos(
    n: int = 10,
    *,
    size: int = 224,
    seed: int = 0,
    styles: Names = None,
    duos: Names = None,
    equal: bool = True,
) -> CompositionDataset:
    """Two people: attribute tone of the left one, object tone of the right one.

    The label ``twin`` is shared by an image and its twin, which has the two tones swapped and everything
    else alike: type, style, background, place, scale and rotation. With ``equal`` the pairs of equal tones
    are there as well (each is its own twin), so that the grid is complete.

    Parameters as in `emoji_roles`; only Twemoji, Noto and OpenMoji draw two tones. A source is a style's
    drawing of one type, whatever the tones.
    """
    drawings = _keep(emoji_pack().select("duos"), style=styles, duo=duos)
    drawings = [d for d in drawings if equal or d.factors["left"] != d.factors["right"]]

    def row(drawing: Drawing) -> tuple[Row, Row]:
        return dict(drawing.factors), {"drawing": f"{drawing.style}/{drawing.base}"}

    return _grid("emoji-duos", drawings, ("left", "right"), row, n, size, seed, twins=True)


def emoji_birds(
    n: int = 12, *, size: int = 224, seed: int = 0, styles: Names = None, spurious: float = 0.95
) -> CompositionDataset:
    """Land and water birds in land and water scenes: attribute place, object kind.

    In training a share ``spurious`` of each kind is shown in its own place, exactly up to rounding;
    validation and test show every drawing equally often in both. The species (5 water, 14 land) are divided
    among the parts by ``seed``; use ``split(by="official")``.

    Parameters
    ----------
    n : int
        Images a drawing (species and style).
    spurious : float in [0, 1]
    """
    if n < 1 or not 0 <= spurious <= 1:
        raise InputError(f"n must be at least 1 and spurious lie in [0, 1]; got {n} and {spurious}")
    drawings = _keep(emoji_pack().select("birds"), style=styles)
    rng = default_rng([seed, crc32(b"birds")])
    species = {
        kind: sorted({d.factors["species"] for d in drawings if d.factors["kind"] == kind}) for kind in KINDS
    }
    part = {name: home for kind in KINDS for name, home in deal(species[kind], 0.2, 0.3, rng).items()}
    rows = [(drawing, j) for drawing in drawings for j in range(n)]
    kinds = np.array([drawing.factors["kind"] for drawing, _ in rows])
    training = np.array([part[drawing.factors["species"]] == "train" for drawing, _ in rows])
    own = np.array([j % 2 == 0 for _, j in rows])
    for kind in KINDS:
        where = np.flatnonzero(training & (kinds == kind))
        own[where] = np.arange(len(where)) < round(spurious * len(where))
        own[where] = rng.permutation(own[where])
    recipes, labels = [], []
    for (drawing, j), at_home in zip(rows, own, strict=True):
        home = PLACES[KINDS.index(drawing.factors["kind"])]
        place = home if at_home else PLACES[1 - PLACES.index(home)]
        variant = j if part[drawing.factors["species"]] == "train" else j // 2
        recipes.append(Recipe(drawing.id, place, drawing.id, variant, seed))
        labels.append({"place": place, **drawing.factors, "style": drawing.style})
    frame = pd.DataFrame(labels)
    official = np.array([part[name] for name in frame["species"]])
    return CompositionDataset(
        "emoji-birds", Composed(recipes, size), frame, frame[["species"]].copy(), "place", "kind",
        emoji_pack().credits, official,
    )  # fmt: skip


def _keep(drawings: list[Drawing], **wanted: Names) -> list[Drawing]:
    """The drawings whose style or factor is among the wanted names; unknown names raise."""
    for factor, names in wanted.items():
        if names is None:
            continue
        values = [d.style if factor == "style" else d.factors[factor] for d in drawings]
        known = sorted(set(values))
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
                raise InputError(f"no {factor} {name!r} in the emoji pack{hint}")
        drawings = [d for d, value in zip(drawings, values, strict=True) if value in set(names)]
    if not drawings:
        raise InputError("no drawing is left; ask for at least one of each factor")
    return drawings


def _grid(
    name: str,
    drawings: list[Drawing],
    pair: tuple[str, str],
    row: Callable[[Drawing], tuple[Row, Row]],
    n: int,
    size: int,
    seed: int,
    twins: bool = False,
) -> CompositionDataset:
    """``n`` images for every cell of the attribute-object grid, its drawings taking turns."""
    if n < 1:
        raise InputError(f"n must be at least 1 image a pair, not {n}")
    cells: dict[tuple[str, str], list[Drawing]] = {}
    for drawing in drawings:
        cells.setdefault((drawing.factors[pair[0]], drawing.factors[pair[1]]), []).append(drawing)
    recipes, labels, sources = [], [], []
    for values, members in sorted(cells.items(), key=lambda item: item[0][::-1]):
        told = sorted(values) if twins else list(values)  # a cell and its twin cell take the same turns
        members = sorted(members, key=lambda drawing: (drawing.style, drawing.base, drawing.id))
        order = default_rng([seed, crc32("|".join(told).encode())]).permutation(len(members))
        for turn in range(n):
            drawing, variant = members[order[turn % len(members)]], turn // len(members)
            key = f"{drawing.style}/{drawing.base}/{'+'.join(told)}" if twins else drawing.id
            pick = default_rng([seed, crc32(key.encode()), variant, 1]).integers(len(NUISANCE))
            recipes.append(Recipe(drawing.id, NUISANCE[int(pick)], key, variant, seed))
            factors, source = row(drawing)
            factors |= {"style": drawing.style, "background": NUISANCE[int(pick)]}
            labels.append(factors | ({"twin": f"{key}/{variant}"} if twins else {}))
            sources.append(source)
    return CompositionDataset(
        name,
        Composed(recipes, size),
        pd.DataFrame(labels),
        pd.DataFrame(sources),
        *pair,
        emoji_pack().credits,
    )
