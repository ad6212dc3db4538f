"""Book-wide touches: source links that point at the chapter's percent source, and Colab where published.

``BINDERY_REPOSITORY`` (``owner/name``) is set by the publishing workflow; without it no link is made,
so that a private build holds no link to a place that does not exist.
"""

from __future__ import annotations

import os
from typing import Any

from sphinx.application import Sphinx

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


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the page hook; after the theme's own (priority 900)."""
    app.connect("html-page-context", _add_links, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
