"""Finds what was handed in and reads it with care: no links, no surprises of size, names or form."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bindery.course.grader.answers import clean
from bindery.errors import DataError, InputError

LARGEST = 10 << 20
_MOST_CODE = 1 << 20
KINDS = (".ipynb", ".py")
_CELL = re.compile(r"^# (?:%%.*|In\[[ \d]*\]:)$", re.MULTILINE)  # jupytext's and nbconvert's marks


@dataclass(frozen=True)
class Submission:
    """One file: ``name`` is its path within the folder, as it can be printed."""

    name: str
    path: Path


def find(target: Path) -> list[Submission]:
    """The file, or every notebook and script in the folder and its sub-folders, sorted by name.

    Raises
    ------
    InputError
        There is no such file or folder, or nothing to grade in it.
    """
    if target.is_dir():
        found = []
        for folder, folders, files in os.walk(target):
            folders[:] = [name for name in folders if not name.startswith((".", "__"))]
            paths = [
                Path(folder, name) for name in files if name.endswith(KINDS) and not name.startswith(".")
            ]
            found += [Submission(_printable(path.relative_to(target).as_posix()), path) for path in paths]
        if not found:
            raise InputError(f"{target} holds no submission; expected notebooks (.ipynb) or scripts (.py)")
        return sorted(found, key=lambda one: (one.name, os.fsencode(one.path)))
    if not os.path.lexists(target):
        raise InputError(f"{target} does not exist; give a notebook, a script or a folder of them")
    if target.suffix not in KINDS:
        raise InputError(f"{target} is no submission; expected a notebook (.ipynb) or a script (.py)")
    return [Submission(_printable(target.name), target)]


def student(name: str, exercise: str) -> str:
    """Whose work it is: the folder it lies in, else the file's name without the exercise's."""
    folder, _, file = name.rpartition("/")
    if folder:
        return folder.split("/")[0]
    stem = file.rpartition(".")[0]
    return stem.replace(exercise, "").strip(" _-.") or stem if exercise else stem


def read(path: Path) -> bytes:
    """The file's bytes.

    Raises
    ------
    DataError
        It is a link, no ordinary file, unreadable, or larger than 10 MB.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        told = "it is a link" if path.is_symlink() else (error.strerror or "unknown reason")
        raise DataError(f"The file cannot be read: {told}.") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DataError("This is no ordinary file.")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DataError(f"The file is larger than {LARGEST >> 20} MB; hand it in without outputs.")
    return content


def parse(name: str, content: bytes, known: Collection[str]) -> tuple[str, list[tuple[int, str]], str]:
    """Exercise, numbered code cells, and what is wrong with the file (in a sentence, or empty).

    A notebook's metadata (``bindery.exercise``) names the exercise, else the file's name contains it; it is
    empty when neither names one of ``known``.
    """
    in_name = max((one for one in known if one in name.rpartition("/")[2]), key=len, default="")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return in_name, [], "The file is no text."
    if name.endswith(".py"):
        blocks = [block for block in _CELL.split(text) if block.strip()]
        return (in_name, *_numbered(blocks))
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        return in_name, [], "The file is no notebook: its JSON is damaged."
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        return in_name, [], "The file is no notebook of version 4: it has no list of cells."
    sources = [_source(cell) for cell in notebook["cells"]]
    told = _metadata(notebook)
    return (told if told in known else in_name, *_numbered([code for code in sources if code is not None]))


def _metadata(notebook: dict[str, Any]) -> str:
    place: Any = notebook
    for key in ("metadata", "bindery", "exercise"):
        place = place.get(key) if isinstance(place, dict) else None
    return place if isinstance(place, str) else ""


def _source(cell: Any) -> str | None:
    """A code cell's code; none for the notebook's own check and for what it shows after it."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    if isinstance(tags, list) and ("check" in tags or "demo" in tags):
        return ""
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return source if isinstance(source, str) else None


def _numbered(sources: list[str]) -> tuple[list[tuple[int, str]], str]:
    """Cells from 1, as text that can be sent, those in another language (``%%bash``) left out; what is wrong."""
    if sum(map(len, sources)) > _MOST_CODE:
        return [], f"There is more than {_MOST_CODE >> 20} MB of code."
    cells = [(number, code.encode("utf-8", "replace").decode()) for number, code in enumerate(sources, 1)]
    return [(number, code) for number, code in cells if not code.startswith("%%")], ""


def _printable(name: str) -> str:
    return clean(os.fsencode(name).decode("utf-8", "backslashreplace"))
