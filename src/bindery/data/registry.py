"""Data sets by key: `load` finds the builder or reader, and refuses names and options that do not exist."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bindery.data import emoji
from bindery.data.composition import CompositionDataset
from bindery.data.cue_conflict import cue_conflict
from bindery.data.folder import read_folder
from bindery.data.group_sets import celeba, waterbirds
from bindery.data.natural_pairs import mit_states, ut_zappos
from bindery.data.scene_sets import scenes_colours, scenes_groups
from bindery.errors import DataError, InputError

LOADERS: dict[str, Callable[..., CompositionDataset]] = {
    "emoji-roles": emoji.emoji_roles,
    "emoji-colours": emoji.emoji_colours,
    "emoji-birds": emoji.emoji_birds,
    "emoji-duos": emoji.emoji_duos,
    "scenes-colours": scenes_colours,
    "scenes-groups": scenes_groups,
    "cue-conflict": cue_conflict,
    "ut-zappos": ut_zappos,
    "mit-states": mit_states,
    "waterbirds": waterbirds,
    "celeba": celeba,
}


def keys() -> list[str]:
    """The names that `load` knows."""
    return sorted(LOADERS)


def load(key: str | Path, **options: Any) -> CompositionDataset:
    """A labelled image set by name, or from a folder.

    Parameters
    ----------
    key : str or Path
        A name in `keys`, or the path of a folder with ``<attribute>_<object>/`` inside.
    options
        Passed to the builder or reader of that key, such as ``n``, ``size`` and ``seed`` of the emoji sets or
        ``root``, ``check_counts`` and ``bad`` of the readers.

    Raises
    ------
    InputError
        An unknown key or option; the nearest known one is suggested.
    DataError
        The data is missing, damaged or not complete; the message says what to do.
    """
    name = str(key)
    if name in LOADERS:
        loader, arguments = LOADERS[name], {}
    elif name and Path(name).is_dir():
        loader, arguments = read_folder, {"root": Path(name)}
    elif isinstance(key, Path) or "/" in name or "\\" in name:
        raise DataError(f"no folder {name}; give the path of a folder with <attribute>_<object>/ inside")
    else:
        raise InputError(f"no data set {name!r}; {_nearest(name, keys())}, or give the path of a folder")
    known = list(inspect.signature(loader).parameters)
    for option in options:
        if option not in known:
            raise InputError(f"{name} has no option {option!r}; {_nearest(option, known)}")
    return loader(**arguments, **options)


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.5)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
