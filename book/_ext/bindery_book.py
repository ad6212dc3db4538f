"""Book-wide touches: links to a chapter's source, Colab where published, exercises, and copies without solutions.

``BINDERY_REPOSITORY`` (``owner/name``) is set by the publishing workflow; without it no link is made,
so that a private build holds no link to a place that does not exist. ``BINDERY_NO_SOLUTIONS=1`` (``bindery build
--no-solutions``) leaves solutions out of the pages, and so of the search index, and of the notebooks for download.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from sphinx.application import Sphinx
from sphinx.config import Config

from bindery.course.exercises import exercises, student_notebook
from bindery.course.pages import download_of, exercise_page, is_exercise, student_download, syllabus

_BRANCH_NOTEBOOKS = "executed"
_TABLE = "<!-- the table of exercises -->"


def _add_links(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    repository = os.environ.get("BINDERY_REPOSITORY", "")
    if not repository or not pagename.startswith("book/chapters/"):
        return
    chapter = pagename.removeprefix("book/chapters/")
    if chapter.startswith("exercises/") and _no_solutions():
        return
    host = "https://github.com"
    buttons = [
        {
            "type": "link",
            "text": "Source",
            "tooltip": "The chapter's percent source",
            "url": f"{host}/{repository}/blob/main/notebooks/{chapter}.py",
            "icon": "fas fa-code",
            "label": "source",
        },
        {
            "type": "link",
            "text": "Colab",
            "tooltip": "Open the executed notebook in Colab",
            "url": f"https://colab.research.google.com/github/{repository}/blob/{_BRANCH_NOTEBOOKS}/{chapter}.ipynb",
            "icon": "fas fa-play",
            "label": "colab",
        },
    ]
    context.setdefault("header_buttons", [])[:0] = buttons


def without_solutions(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with every ``{solution}`` block of its Markdown cells, and every cell tagged so, removed."""
    cells = []
    for cell in notebook["cells"]:
        if "solution" in cell["metadata"].get("tags", []):
            continue
        if cell["cell_type"] == "markdown":
            text = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            text = re.sub(
                r"^(:{3,}|`{3,})\s*\{solution.*?^\1[ \t]*(?:\n|\Z)", "", text, flags=re.DOTALL | re.MULTILINE
            )
            if not text.strip():
                continue
            cell = {**cell, "source": text.rstrip() + "\n"}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _no_solutions() -> bool:
    return os.environ.get("BINDERY_NO_SOLUTIONS") == "1"


def _hide(_app: Sphinx, config: Config) -> None:
    if _no_solutions():
        config["hide_solutions"] = True


def _shape(app: Sphinx, docname: str, source: list[str]) -> None:
    """What a page shows of its notebook, before it is parsed: nothing that is left out can get anywhere."""
    if _TABLE in source[0]:
        folder = Path(app.srcdir) / "notebooks"
        titles = {path.stem: _title(path) for path in sorted(folder.glob("[0-9][0-9]_*.py"))}
        source[0] = source[0].replace(_TABLE, syllabus(exercises(folder / "exercises"), titles))
    if not str(app.env.doc2path(docname)).endswith(".ipynb"):
        return
    notebook = json.loads(source[0])
    if is_exercise(notebook):
        source[0] = exercise_page(source[0], solutions=not _no_solutions())
    elif _no_solutions():
        source[0] = json.dumps(without_solutions(notebook))


def _title(path: Path) -> str:
    return str(jupytext.read(path).metadata["bindery"]["title"])


def _write_downloads(app: Sphinx, error: Exception | None) -> None:
    """The students' notebooks; without solutions also every other notebook for download."""
    if error is not None:
        return
    out = Path(app.outdir)
    if _no_solutions():
        for path in out.rglob("*.ipynb"):
            text = path.read_text("utf-8")
            notebook = json.loads(text)
            left = student_download(text) if is_exercise(notebook) else None
            path.write_text(left or json.dumps(without_solutions(notebook), indent=1), "utf-8")
    for name, exercise in exercises(Path(app.srcdir) / "notebooks" / "exercises").items():
        place = out / download_of(name)
        place.parent.mkdir(exist_ok=True)
        nbformat.write(student_notebook(exercise), place)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hooks; the page's comes after the theme's own (priority 900)."""
    app.connect("config-inited", _hide)
    app.connect("source-read", _shape)
    app.connect("build-finished", _write_downloads)
    app.connect("html-page-context", _add_links, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
