"""Words about scenes: bag and phrase captions as tokens and text, and caption pairs in SugarCrepe's kinds.

A *phrase* caption links ("a red disc at the top left and a blue ring at the centre"); a *bag* caption lists
the same content words in a fixed order, without the link ("red blue disc ring top left centre"). Both are made
as token arrays for many scenes at once; text is what the tokens say.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bindery import scenes as sc
from bindery.errors import InputError

PAD, EMPTY = "<pad>", "empty"
_GLUE = ("a", "an", "and", "at", "the", "of", "image", "photo", "scene", "with")
WORDS = (PAD, EMPTY, *_GLUE, *sc.COLOURS, *sc.SHAPES, "top", "bottom", "left", "right", "centre")
INDEX = {word: i for i, word in enumerate(WORDS)}
PLACE_WORDS = [name.split() for name in sc.CELLS]
LENGTH = 36  # a prefix of four words and four phrases of eight
Style = Literal["bag", "phrase"]
Tokens = NDArray[np.int64]

_COLOUR = np.array([INDEX[word] for word in sc.COLOURS])
_SHAPE = np.array([INDEX[word] for word in sc.SHAPES])
_ARTICLE = np.array([INDEX["an" if word[0] in "aeiou" else "a"] for word in sc.COLOURS])
_PLACE = np.array([[INDEX[word] for word in [*words, PAD][:2]] for words in PLACE_WORDS])


def _left_packed(tokens: Tokens) -> Tokens:
    """The same tokens with the padding moved to the end of each row, cut or padded to ``LENGTH``."""
    order = np.argsort(tokens == INDEX[PAD], axis=1, kind="stable")
    packed = np.zeros((len(tokens), LENGTH), np.int64)
    width = min(LENGTH, tokens.shape[1])
    packed[:, :width] = np.take_along_axis(tokens, order, axis=1)[:, :width]
    return packed


def _phrase_tokens(scenes: sc.Scenes, rng: np.random.Generator | None) -> Tokens:
    n, slots = scenes.shape.shape
    shape, colour, cell = (part.astype(np.intp) for part in (scenes.shape, scenes.colour, scenes.cell))
    parts = np.zeros((n, slots, 8), np.int64)
    parts[..., 0] = INDEX["and"]
    parts[..., 1], parts[..., 2], parts[..., 3] = _ARTICLE[colour], _COLOUR[colour], _SHAPE[shape]
    parts[..., 4], parts[..., 5], parts[..., 6:] = INDEX["at"], INDEX["the"], _PLACE[cell]
    # Present objects first: in the scene's order, or in random order when a generator is given.
    rank = np.arange(slots) + np.zeros((n, 1)) if rng is None else rng.random((n, slots))
    order = np.argsort(np.where(scenes.present, rank, np.inf), axis=1)
    parts = np.take_along_axis(parts, order[..., None], axis=1)
    parts[~np.take_along_axis(scenes.present, order, axis=1)] = INDEX[PAD]
    parts[:, 0, 0] = INDEX[PAD]
    return parts.reshape(n, -1)


def _bag_tokens(scenes: sc.Scenes) -> Tokens:
    words = np.zeros((len(scenes), len(WORDS)), bool)
    for factor, table in (("colour", _COLOUR), ("shape", _SHAPE)):
        words[:, table] = sc.presence(scenes, factor) > 0
    place = sc.presence(scenes, "place") > 0
    for cell in range(len(sc.CELLS)):
        for word in set(_PLACE[cell]) - {INDEX[PAD]}:
            words[:, word] |= place[:, cell]
    return np.where(words, np.arange(len(WORDS)), INDEX[PAD])


def tokens(scenes: sc.Scenes, style: Style = "phrase", *, rng: np.random.Generator | None = None) -> Tokens:
    """Token numbers of one caption a scene, (N, 36) int64, padded with 0.

    With ``rng``, phrases come in random order and half of the captions begin with "an image of"; without,
    phrases keep the scene's order. A scene without objects is "empty".

    Raises
    ------
    InputError
        Unknown style, or scenes of more than four objects.
    """
    if scenes.shape.shape[1] > 4:
        raise InputError(f"captions name at most 4 objects; these scenes have {scenes.shape.shape[1]} slots")
    if style not in ("bag", "phrase"):
        raise InputError(f"unknown caption style {style!r}; choose bag or phrase")
    body = _phrase_tokens(scenes, rng) if style == "phrase" else _bag_tokens(scenes)
    body[~scenes.present.any(axis=1), 0] = INDEX[EMPTY]
    if rng is not None and style == "phrase":
        prefix = np.array([INDEX["an"], INDEX["image"], INDEX["of"]])
        told = rng.random((len(body), 1)) < 0.5
        body = np.hstack([np.where(told, prefix, INDEX[PAD]), body])
    return _left_packed(body)


def decode(rows: Tokens) -> list[str]:
    """Token rows as text."""
    return [" ".join(WORDS[token] for token in row if token != INDEX[PAD]) for row in np.asarray(rows)]


def encode(texts: list[str]) -> Tokens:
    """Text as token rows, (N, 36); commas and full stops are ignored.

    Raises
    ------
    InputError
        A word outside the vocabulary (told, with the vocabulary), or more than 36 words.
    """
    rows = np.zeros((len(texts), LENGTH), np.int64)
    for row, text in enumerate(texts):
        words = text.lower().replace(",", " ").replace(".", " ").split()
        if len(words) > LENGTH:
            raise InputError(f"a caption holds at most {LENGTH} words, got {len(words)}: {text[:60]!r}")
        for column, word in enumerate(words):
            if word not in INDEX or word == PAD:
                raise InputError(
                    f"the word {word!r} is not in the scenes' vocabulary: {', '.join(WORDS[1:])}"
                )
            rows[row, column] = INDEX[word]
    return rows


def captions(scenes: sc.Scenes, style: Style = "phrase") -> list[str]:
    """One caption a scene, phrases in the scene's order."""
    return decode(tokens(scenes, style))


PAIR_KINDS = (
    "swap_obj", "swap_att", "replace_obj", "replace_att", "replace_rel", "add_obj", "add_att",
)  # fmt: skip


def _other(value: int, n_values: int, taken: set[int], rng: np.random.Generator) -> int:
    return int(rng.choice([v for v in range(n_values) if v != value and v not in taken]))


def _phrase(item: list[int], extra: str = "") -> str:
    shape, colour, cell = item
    tint = f"{extra} and {sc.COLOURS[colour]}" if extra else sc.COLOURS[colour]
    return f"{'an' if tint[0] in 'aeiou' else 'a'} {tint} {sc.SHAPES[shape]} at the {sc.CELLS[cell]}"


def caption_pairs(scenes: sc.Scenes, kind: str, *, seed: int) -> tuple[list[str], list[str]]:
    """True and false captions of two-object scenes, in SugarCrepe's seven kinds.

    swap_obj and swap_att exchange the shapes or the colours of the two objects; replace_obj, replace_att and
    replace_rel change one shape, colour or place to one that the scene does not hold; add_obj names a third
    object and add_att a second colour that are not there.

    Raises
    ------
    InputError
        Unknown kind, scenes not of exactly two objects, or, for a swap, twins in the exchanged factor.

    Source: Hsieh et al., SugarCrepe (2023), kinds; the wording is this project's.
    """
    if kind not in PAIR_KINDS:
        raise InputError(f"unknown kind of caption pair {kind!r}; choose one of {', '.join(PAIR_KINDS)}")
    if not (scenes.present.sum(axis=1) == 2).all() or not scenes.present[:, :2].all():
        raise InputError(
            "caption pairs need scenes of exactly two objects: training_scenes(..., objects=(2, 2))"
        )
    swapped = {"swap_obj": scenes.shape, "swap_att": scenes.colour}.get(kind)
    if swapped is not None and (twins := np.flatnonzero(swapped[:, 0] == swapped[:, 1])).size:
        raise InputError(f"{kind} needs two objects that differ in that factor; {twins.size} scenes do not")
    rng = np.random.default_rng(seed)
    true, false = [], []
    for row in range(len(scenes)):
        pair = [
            [int(part[row, slot]) for part in (scenes.shape, scenes.colour, scenes.cell)] for slot in (0, 1)
        ]
        wrong, extra, third = [list(item) for item in pair], "", ""
        column = {"obj": 0, "att": 1, "rel": 2}[kind.split("_")[1]]
        size = (len(sc.SHAPES), len(sc.COLOURS), len(sc.CELLS))[column]
        which = int(rng.integers(2))
        taken = {item[column] for item in pair}
        if kind.startswith("swap"):
            wrong[0][column], wrong[1][column] = pair[1][column], pair[0][column]
        elif kind.startswith("replace"):
            wrong[which][column] = _other(pair[which][column], size, taken, rng)
        elif kind == "add_att":
            extra = sc.COLOURS[_other(pair[which][1], size, taken, rng)]
        else:
            cells = {item[2] for item in pair}
            colour, cell = int(rng.integers(len(sc.COLOURS))), _other(-1, len(sc.CELLS), cells, rng)
            third = " and " + _phrase([_other(-1, size, taken, rng), colour, cell])
        true.append(" and ".join(_phrase(item) for item in pair))
        false.append(
            " and ".join(_phrase(w, extra if i == which else "") for i, w in enumerate(wrong)) + third
        )
    return true, false
