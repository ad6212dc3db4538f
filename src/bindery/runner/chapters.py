"""The chapters as they stand in ``notebooks/``: header, parameters, and whose records they need.

The solved exercises in ``notebooks/exercises/`` are executed and shown like chapters, after them.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jupytext
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bindery.errors import BinderyError, InputError
from bindery.parameters import Parameter, nearest, parse

EVERY = "*"
EXERCISES = "exercises"


class Needs(BaseModel):
    """What a chapter reads besides its own source; each becomes an input of its key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    encoders: tuple[str, ...] = ()


class Header(BaseModel):
    """The ``jupyter: bindery:`` part of a chapter's YAML header."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    minutes: float = Field(ge=0)
    needs: Needs = Needs()
    exercise: dict[str, Any] | None = None
    """What an exercise says of itself; None for a chapter."""


@dataclass(frozen=True)
class ChapterSource:
    """One chapter's source; ``depends`` holds the ids of the chapters whose records it reads."""

    id: str
    path: Path
    text: str
    header: Header
    parameters: Mapping[str, Parameter]
    depends: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """Name of its page, without suffix, below the folder of the pages."""
        return f"{EXERCISES}/{self.id}" if self.header.exercise is not None else self.id


def read_chapters(notebooks: Path) -> dict[str, ChapterSource]:
    """Every ``NN_name.py``, in reading order, then the exercises, with dependencies resolved.

    Raises
    ------
    BinderyError
        None found, a header or parameters cell that does not validate, or chapters that need each other.
    """
    paths = sorted(notebooks.glob("[0-9][0-9]_*.py"))
    if not paths:
        raise BinderyError("no chapters found; expected notebooks/NN_name.py")
    paths += sorted((notebooks / EXERCISES).glob("[0-9][0-9]_*.py"))
    found: dict[str, ChapterSource] = {}
    for path in paths:
        if path.stem in found:
            raise InputError(f"two notebooks are called {path.name}; rename the exercise")
        found[path.stem] = _read(path)
    chapters = {name: replace(chapter, depends=_depends(chapter, found)) for name, chapter in found.items()}
    try:
        graphlib.TopologicalSorter({c.id: c.depends for c in chapters.values()}).prepare()
    except graphlib.CycleError as error:
        raise BinderyError(f"chapters need each other's records: {' -> '.join(error.args[1])}") from None
    return chapters


def select(chapters: Mapping[str, ChapterSource], name: str) -> ChapterSource:
    """The chapter of that id or number (``3``, ``03`` or ``03_decomposable_embeddings``)."""
    if name in chapters:
        return chapters[name]
    matches = [c for c in chapters.values() if name.isdigit() and c.id.startswith(f"{int(name):02d}_")]
    if not matches:
        raise InputError(f"unknown chapter {name!r}; {nearest(name, chapters, 'chapters')}")
    return matches[0]


def ancestors(chapters: Mapping[str, ChapterSource], names: Iterable[str]) -> set[str]:
    """The named chapters and all whose records they need, directly or not."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting.extend(chapters[name].depends)
    return found


def _read(path: Path) -> ChapterSource:
    try:
        text = path.read_text(encoding="utf-8")
        notebook = jupytext.reads(text, fmt="py:percent")
        header = Header.model_validate(notebook.metadata.get("bindery", {}))
        return ChapterSource(path.stem, path, text, header, parse(text))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"notebooks/{path.name}: header jupyter.bindery.{field}: {first['msg'].lower()}"
        ) from None
    except InputError as error:
        raise InputError(f"notebooks/{path.name}: {error}") from None
    except Exception as error:  # jupytext lets YAML and nbformat errors of many kinds through
        raise InputError(
            f"notebooks/{path.name} cannot be read as a percent notebook: {_line(error)}"
        ) from None


def _depends(chapter: ChapterSource, chapters: Mapping[str, ChapterSource]) -> tuple[str, ...]:
    """Ids for the declared records; ``*`` is every chapter, but no exercise, that does not itself ask for all."""
    found: dict[str, None] = {}
    for name in chapter.header.needs.records:
        if name == EVERY:
            others = [c for c in chapters.values() if c.header.exercise is None]
            names = [c.id for c in others if EVERY not in c.header.needs.records]
        else:
            try:
                names = [select(chapters, name).id]
            except InputError as error:
                raise InputError(f"notebooks/{chapter.path.name}: needs.records: {error}") from None
        found.update(dict.fromkeys(names))
    return tuple(found)


def _line(error: Any) -> str:
    return " ".join(str(error).split())[:200]
