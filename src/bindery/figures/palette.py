"""Colours and markers that mean the same in every chapter."""

from __future__ import annotations

import difflib
import re

from bindery.errors import InputError

# Okabe and Ito (2008), apart for dichromats too. Their yellow is too pale on white: lime stands in for it.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
LIME, BLUE, VERMILION, PURPLE = "#96C850", "#0072B2", "#D55E00", "#CC79A7"
GREY, LIGHT_GREY, BROWN, VIOLET = "#6E6E6E", "#B4B4B4", "#8C5A2B", "#5B3A8C"
CYCLE = (BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE, LIME, BLACK)

FAMILIES = {
    "variance-decorrelation": (BLUE, "o"),
    "contrastive": (SKY, "s"),
    "clustering": (GREEN, "^"),
    "self-distillation": (ORANGE, "D"),
    "masked": (PURPLE, "v"),
    "vision-language": (VERMILION, "P"),
    "supervised": (GREY, "X"),
    "reconstruction": (LIME, "<"),
    "control": (BROWN, "*"),
    "random": (LIGHT_GREY, "d"),
    "pixels": (VIOLET, "h"),
    "yours": (BLACK, "p"),
}
ARMS = {
    "zero-shot": (GREY, "X"),
    "LDE raw": (ORANGE, "s"),
    "LDE unit": (VERMILION, "D"),
    "LDE unit least squares": (BROWN, "P"),
    "GDE": (SKY, "o"),
    "GDE least squares": (BLUE, "^"),
    "LDE text": (LIME, "v"),
    "GDE text": (GREEN, "<"),
    "ERM": (PURPLE, "*"),
    "DFR": (VIOLET, "h"),
    "chance": (LIGHT_GREY, "d"),
}
VERDICTS = {
    "supports": (BLUE, "o"),
    "reproduced": (SKY, "o"),
    "mixed": (PURPLE, "s"),
    "inconclusive": (GREY, "d"),
    "not comparable": (BROWN, "d"),
    "differs": (ORANGE, "X"),
    "contradicts": (VERMILION, "X"),
    "not run": (LIGHT_GREY, "."),
}
ALIASES = {
    "barlow": "variance-decorrelation",
    "barlow twins": "variance-decorrelation",
    "vicreg": "variance-decorrelation",
    "simclr": "contrastive",
    "moco": "contrastive",
    "moco v3": "contrastive",
    "swav": "clustering",
    "byol": "self-distillation",
    "dino": "self-distillation",
    "mae": "masked",
    "clip": "vision-language",
    "siglip": "vision-language",
    "autoencoder": "reconstruction",
    "random init": "random",
}


def plain_key(name: str) -> str:
    """``name`` without what does not matter: capitals, hyphens, underscores, repeated spaces."""
    return re.sub(r"[\s_–-]+", " ", name).strip().casefold()


_LOOKS = {plain_key(name): look for group in (FAMILIES, ARMS, VERDICTS) for name, look in group.items()}
_LOOKS |= {plain_key(name): FAMILIES[family] for name, family in ALIASES.items()}


def color_of(name: str, default: str | None = None) -> str:
    """The colour (hex) of a family, objective, arm or verdict: the same in every chapter.

    Capitals, spaces, hyphens and underscores do not matter. An unknown name gives ``default``; without
    one it raises InputError with the nearest known name.
    """
    return _look(name, default, 0)


def marker_of(name: str, default: str | None = None) -> str:
    """The matplotlib marker that goes with :func:`color_of`, so that no figure relies on colour alone."""
    return _look(name, default, 1)


def _look(name: str, default: str | None, part: int) -> str:
    if (key := plain_key(name)) in _LOOKS:
        return _LOOKS[key][part]
    if default is not None:
        return default
    near = difflib.get_close_matches(key, _LOOKS, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join([*FAMILIES, *ARMS])}"
    raise InputError(f"no colour for {name!r}{hint}")
