"""The exercises in ``notebooks/exercises/``, and what is derived from each: a student's copy, a submission.

A source is a percent notebook that is solved. Tags say what a cell is: ``hint`` and ``solution`` (Markdown),
``solution`` (the whole cell is the answer), ``check``, ``demo`` (shown after the check). In other cells the
lines between ``# <solution>`` and ``# </solution>`` are the answer.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import jupytext
import nbformat
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bindery.errors import InputError
from bindery.paths import project_root

GAP = "...  # your code here"
_BLOCK = re.compile(r"^([ \t]*)# <solution>[ \t]*\n.*?^[ \t]*# </solution>[ \t]*$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"^[ \t]*# </?solution>[ \t]*\n?", re.MULTILINE)
_KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


class Exercise(BaseModel):
    """What an exercise's header says of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    title: str
    chapter: str
    minutes: float = Field(gt=0)
    points: float = Field(gt=0)
    level: Literal["one-liner", "short", "mini-project"]
    prerequisites: tuple[str, ...]
    defines: tuple[str, ...] = Field(min_length=1)
    path: Path


def exercises(folder: Path | None = None) -> dict[str, Exercise]:
    """Every ``NN_slug.py`` in the folder (``notebooks/exercises`` of the checkout), by its name.

    Raises
    ------
    InputError
        A header lacks something or holds something unknown.
    """
    place = folder or project_root() / "notebooks" / "exercises"
    return {path.stem: _read(path) for path in sorted(place.glob("[0-9][0-9]_*.py"))}


def _read(path: Path) -> Exercise:
    try:
        about = jupytext.read(path).metadata.get("bindery", {})
    except Exception as error:  # jupytext lets YAML and nbformat errors of many kinds through
        told = " ".join(str(error).split())[:200]
        raise InputError(
            f"notebooks/exercises/{path.name} cannot be read as a percent notebook: {told}"
        ) from None
    name = {"title": about.get("title"), "minutes": about.get("minutes"), "id": path.stem, "path": path}
    try:
        return Exercise(**dict(about.get("exercise") or {}), **name)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(entry) for entry in first["loc"])
        raise InputError(
            f"notebooks/exercises/{path.name}: header jupyter.bindery.exercise.{field}: {first['msg'].lower()}"
        ) from None


def solution_notebook(exercise: Exercise) -> Any:
    """The solved notebook, as the teacher wrote it, without outputs."""
    return jupytext.read(exercise.path)


def student_notebook(exercise: Exercise) -> Any:
    """The notebook that students get: gaps for answers, hints folded, no discussion; named in its metadata."""
    return derive_student(solution_notebook(exercise), exercise.id)


def submission(exercise: Exercise, code: str) -> Any:
    """A student's notebook with ``code`` as the answer, in place of the first gap; the others go."""
    notebook = student_notebook(exercise)
    holes = [cell for cell in notebook.cells if cell.cell_type == "code" and GAP in cell.source]
    notebook.cells = [cell for cell in notebook.cells if not any(cell is hole for hole in holes[1:])]
    holes[0].source = code
    return notebook


def solution_source(exercise: Exercise) -> str:
    """The code of the answer cells, whole: what stands in place of the gaps."""
    cells = [cell for cell in solution_notebook(exercise).cells if is_answer(cell)]
    return "\n\n\n".join(without_marks(cell.source) for cell in cells) + "\n"


def is_answer(cell: Any) -> bool:
    """Whether the code cell holds an answer, whole or between marks."""
    return cell.cell_type == "code" and (
        "solution" in cell.metadata.get("tags", []) or _BLOCK.search(cell.source) is not None
    )


def with_gap(cell: Any) -> str:
    """The source of an answer cell with its answer taken out."""
    return GAP if "solution" in cell.metadata.get("tags", []) else _BLOCK.sub(rf"\1{GAP}", cell.source)


def without_marks(code: str) -> str:
    """The code without the lines that only mark the answer."""
    return _MARK.sub("", code).rstrip()


def derive_student(notebook: Any, name: str) -> Any:
    """The student's copy of a solved notebook, executed or not: equal bytes from either."""
    cells = list(_student_cells(notebook))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    metadata = {"kernelspec": dict(_KERNEL), "bindery": {"exercise": name}}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def _student_cells(notebook: Any) -> Iterator[Any]:
    for original in notebook.cells:
        tags = original.metadata.get("tags", [])
        if original.cell_type == "markdown" and "solution" in tags:
            continue
        cell = copy.deepcopy(original)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            if is_answer(original):
                cell.source = with_gap(original)
                cell.metadata.tags = [tag for tag in tags if tag != "solution"]
        elif "hint" in tags:
            cell.source = f"<details><summary>Hint</summary>\n\n{cell.source.strip()}\n\n</details>"
        kept = [tag for tag in cell.metadata.get("tags", []) if not tag.startswith(("hide-", "remove-"))]
        cell.metadata = nbformat.NotebookNode(tags=kept) if kept else nbformat.NotebookNode()
        yield cell
