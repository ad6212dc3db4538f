"""Book-wide touches: links to a chapter's source, Colab where published, and copies without solutions.

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

from sphinx.application import Sphinx
from sphinx.config import Config

_BRANCH_NOTEBOOKS = "executed"


def _add_links(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    repository = os.environ.get("BINDERY_REPOSITORY", "")
    if not repository or not pagename.startswith("book/chapters/"):
        return
    chapter = pagename.rsplit("/", 1)[-1]
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


def _hide(_app: Sphinx, config: Config) -> None:
    if os.environ.get("BINDERY_NO_SOLUTIONS") == "1":
        config["hide_solutions"] = True


def _strip_downloads(app: Sphinx, error: Exception | None) -> None:
    if error is None and os.environ.get("BINDERY_NO_SOLUTIONS") == "1":
        for path in Path(app.outdir).rglob("*.ipynb"):
            path.write_text(
                json.dumps(without_solutions(json.loads(path.read_text("utf-8"))), indent=1), "utf-8"
            )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hooks; the page's comes after the theme's own (priority 900)."""
    app.connect("config-inited", _hide)
    app.connect("build-finished", _strip_downloads)
    app.connect("html-page-context", _add_links, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
