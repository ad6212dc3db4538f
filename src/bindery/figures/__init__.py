"""One look for all figures, with alt text and provenance in every file; and how the book shows them.

Importing this package is cheap, since Sphinx does so for every build: matplotlib and docutils load on use.
"""

from __future__ import annotations

from bindery.figures.drawing import MIME, Rendered, finish, read_stamp, render, style
from bindery.figures.objectives import LEVELS, level_lines, scatter_families
from bindery.figures.page import MimeRenderer
from bindery.figures.palette import ARMS, CYCLE, FAMILIES, VERDICTS, color_of, marker_of

__all__ = [
    "ARMS", "CYCLE", "FAMILIES", "LEVELS", "MIME", "VERDICTS", "MimeRenderer", "Rendered", "color_of",
    "finish", "level_lines", "marker_of", "read_stamp", "render", "scatter_families", "style",
]  # fmt: skip
