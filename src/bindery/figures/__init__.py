"""One look for all figures, with alt text and provenance in every file; and how the book shows them.

Importing this package is cheap, since Sphinx does so for every build: matplotlib and docutils load on use.
"""

from __future__ import annotations

from bindery.figures.drawing import MIME, Rendered, finish, read_stamp, render, style
from bindery.figures.page import MimeRenderer
from bindery.figures.palette import ARMS, CYCLE, FAMILIES, VERDICTS, color_of, marker_of

__all__ = [
    "ARMS", "CYCLE", "FAMILIES", "MIME", "VERDICTS", "MimeRenderer", "Rendered", "color_of", "finish",
    "marker_of", "read_stamp", "render", "style",
]  # fmt: skip
