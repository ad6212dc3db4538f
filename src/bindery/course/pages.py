"""An exercise as a page of the book: task, folded hint, gap, folded solution, check, picture, discussion."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import nbformat

from bindery.course.exercises import Exercise, derive_student, is_answer, with_gap, without_marks

_ANSWER = {"code_prompt_show": "Show a solution", "code_prompt_hide": "Hide the solution"}
_PICTURE = {"code_prompt_show": "Show the code of the picture", "code_prompt_hide": "Hide the code"}
_DOWNLOADS = "exercises"


def is_exercise(notebook: Mapping[str, Any]) -> bool:
    """Whether the executed notebook is that of an exercise."""
    return isinstance(notebook["metadata"].get("bindery", {}).get("exercise"), dict)


def exercise_page(text: str, *, solutions: bool) -> str:
    """The executed notebook of an exercise, as JSON text, in the form that the book shows."""
    notebook = nbformat.reads(text, as_version=4)
    cells = list(_cells(notebook, solutions=solutions))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    notebook.cells = cells
    return json.dumps(notebook)


def student_download(text: str) -> str:
    """The executed notebook of an exercise, as JSON text, brought back to what students get."""
    notebook = nbformat.reads(text, as_version=4)
    return nbformat.writes(derive_student(notebook, notebook.metadata["bindery"]["chapter"]))


def download_of(name: str) -> str:
    """Where the student's notebook lies in the built book, from its root."""
    return f"{_DOWNLOADS}/{name}.ipynb"


def syllabus(exercises: Mapping[str, Exercise], titles: Mapping[str, str]) -> str:
    """The table of all exercises as Markdown; ``titles`` are those of the chapters, by id."""
    lines = ["| exercise | after chapter | it needs | minutes | points | kind |", "|---|---|---|--:|--:|---|"]
    known = {name: one.title for name, one in exercises.items()}
    for one in exercises.values():
        needs = ", ".join(_link(name, titles, known) for name in one.prerequisites if name != one.chapter)
        lines.append(
            f"| {_link(one.id, titles, known)} | {_link(one.chapter, titles, known)} | {needs} "
            f"| {one.minutes:g} | {one.points:g} | {one.level} |"
        )
    minutes, points = sum(e.minutes for e in exercises.values()), sum(e.points for e in exercises.values())
    lines.append(f"| **{len(exercises)} exercises** | | | **{minutes:g}** | **{points:g}** | |")
    return "\n".join(lines)


def _link(name: str, chapters: Mapping[str, str], exercises: Mapping[str, str]) -> str:
    """A link to a chapter or an exercise; any other prerequisite stands as it is."""
    if name in exercises:
        return f"{{doc}}`{exercises[name]} <chapters/exercises/{name}>`"
    return f"{{doc}}`{chapters[name]} <chapters/{name}>`" if name in chapters else name


def _cells(notebook: Any, *, solutions: bool) -> Iterator[Any]:
    for number, cell in enumerate(notebook.cells):
        tags = cell.metadata.get("tags", [])
        if number == 0:
            title, _, task = cell.source.partition("\n")
            cell.source = f"{title}\n\n{_box(notebook.metadata['bindery'])}\n{task}"
            yield cell
        elif cell.cell_type == "code" and is_answer(cell):
            yield from _answer(cell, solutions=solutions)
        elif cell.cell_type == "markdown" and "solution" in tags:
            if solutions:
                yield _folded(cell, "Discussion", "seealso")
        elif cell.cell_type == "markdown" and "hint" in tags:
            yield _folded(cell, "Hint", "tip")
        else:
            if "demo" in tags:
                _fold_code(cell, _PICTURE)
            yield cell


def _answer(cell: Any, *, solutions: bool) -> Iterator[Any]:
    """The gap to be filled and, folded, what was executed."""
    gap = with_gap(cell)
    if not solutions:
        cell.source, cell.outputs, cell.execution_count = gap, [], None
        cell.metadata.tags = [tag for tag in cell.metadata.get("tags", []) if tag != "solution"]
        yield cell
        return
    yield nbformat.v4.new_markdown_cell(f"```python\n{gap}\n```")
    cell.source = without_marks(cell.source)
    _fold_code(cell, _ANSWER)
    yield cell


def _fold_code(cell: Any, prompts: Mapping[str, str]) -> None:
    cell.metadata.tags = [*cell.metadata.get("tags", []), "hide-input"]
    cell.metadata.mystnb = dict(prompts)


def _folded(cell: Any, title: str, kind: str) -> Any:
    cell.source = f"::::{{admonition}} {title}\n:class: {kind} dropdown\n\n{cell.source.strip()}\n::::"
    return cell


def _box(about: Mapping[str, Any]) -> str:
    told, name = about["exercise"], about["chapter"]
    return (
        f":::{{admonition}} Exercise\n:class: note\n**After** {{doc}}`../{told['chapter']}` · "
        f"**about** {about['minutes']:g} minutes · **{told['points']:g} points** · {told['level']}.\n"
        f'<a href="../../../{download_of(name)}" download>Download the notebook without the solution</a>; '
        "it runs wherever Bindery is installed, and its last cell checks the answer.\n:::\n"
    )
