"""The style, and a figure as bytes with alt text and provenance inside."""

from __future__ import annotations

import base64
import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bindery.errors import DataError, InputError
from bindery.figures.palette import CYCLE, GREY, plain_key

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bindery.provenance import Provenance

MIME = "application/vnd.bindery.figure+json"
STAMP = "bindery"
MIN_ALT = 20
PIXELS_PER_INCH = 160
CSS_PIXELS_PER_INCH = 104  # 7 in fill the book's column


def style() -> None:
    """Set matplotlib's defaults for the book: white ground, light grid, text readable at 7 inches width."""
    import matplotlib
    from cycler import cycler

    matplotlib.rcdefaults()  # all but the backend
    matplotlib.rcParams.update(
        {
            "figure.figsize": (7.0, 4.2),
            "figure.dpi": 100,
            "figure.constrained_layout.use": True,
            "figure.facecolor": "white",
            "savefig.facecolor": "white",
            "font.family": "DejaVu Sans",
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.titlelocation": "left",
            "axes.labelsize": 10,
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
            "legend.fontsize": 9,
            "legend.frameon": False,
            "axes.prop_cycle": cycler(color=CYCLE),
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#444444",
            "grid.color": "#E4E4E4",
            "grid.linewidth": 0.8,
            "lines.linewidth": 1.8,
            "lines.markersize": 6,
            "image.cmap": "cividis",
            "svg.hashsalt": STAMP,
            "svg.fonttype": "path",
        }
    )


@dataclass(frozen=True)
class Rendered:
    """A finished figure as bytes; equal inputs give equal bytes."""

    name: str
    alt: str
    caption: str
    png: bytes
    svg: bytes
    width: int
    """Width on a page, in CSS pixels."""

    def bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Data and metadata as Jupyter displays them: the picture, its words, and the book's figure."""
        data = {
            "image/png": base64.b64encode(self.png).decode(),
            MIME: {"name": self.name, "alt": self.alt, "caption": self.caption},
            "text/plain": f"Figure {self.name}: {self.alt}",
        }
        return data, {"image/png": {"width": self.width, "alt": self.alt}}


def finish(
    fig: Figure,
    name: str,
    alt: str,
    caption: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    footer: bool = False,
) -> None:
    """Stamp, save and show a figure, then close it.

    ``<name>.png`` and ``<name>.svg`` go to ``$BINDERY_FIGURES`` when it is set. In the book the figure is
    numbered, captioned and reachable as ``{numref}`fig-<name>```. Arguments as in :func:`render`.
    """
    import matplotlib.pyplot as plt

    rendered = render(fig, name, alt, caption, parameters=parameters, seed=seed, footer=footer)
    if folder := os.environ.get("BINDERY_FIGURES"):
        _save(rendered, Path(folder))
    plt.close(fig)
    _show(rendered)


def render(
    fig: Figure,
    name: str,
    alt: str,
    caption: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    footer: bool = False,
) -> Rendered:
    """A figure as PNG and SVG with its provenance inside, and no time, so that it can be compared by bytes.

    Parameters
    ----------
    fig : matplotlib Figure
    name : str
        Lower-case letters, digits and hyphens; unique in the book.
    alt : str
        What a reader who does not see it must know: kind of plot, axes, what stands out; 20 characters or
        more, and other words than the caption.
    caption : str
        MyST text: mathematics, citations and references work. Its first paragraph is the caption.
    parameters, seed : optional
        For the stamp; else the chapter's (``$BINDERY_PARAMETERS``).
    footer : bool
        Print chapter, commit and profile in small type below the figure.

    Raises
    ------
    InputError
        The name has other characters, the alt text is too short or repeats the caption, or no caption.
    """
    from bindery.provenance import Provenance

    _check_words(name, alt, caption)
    stamp = Provenance.current(parameters, seed)
    note = (
        fig.text(0.995, 0.0, _footer(stamp), fontsize=6, color=GREY, ha="right", va="bottom")
        if footer
        else None
    )
    try:
        png, svg = _bytes(fig, "png", stamp, name, alt), _bytes(fig, "svg", stamp, name, alt)
    finally:
        if note is not None:
            note.remove()
    return Rendered(name, alt, caption, png, svg, round(fig.get_figwidth() * CSS_PIXELS_PER_INCH))


def _check_words(name: str, alt: str, caption: str) -> None:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise InputError(f"figure name {name!r} must be lower-case letters, digits and single hyphens")
    if not caption.strip():
        raise InputError(f"figure {name}: caption is empty; say in a sentence what is shown")
    if len(alt.strip()) < MIN_ALT:
        raise InputError(
            f"figure {name}: alt needs {MIN_ALT} characters or more that say what there is to see"
        )
    if plain_key(alt) == plain_key(caption):
        raise InputError(f"figure {name}: alt repeats the caption; say what a reader would see instead")


def _footer(stamp: Provenance) -> str:
    return f"{stamp.chapter} · {stamp.commit} · {stamp.profile}"


def _bytes(fig: Figure, form: str, stamp: Provenance, name: str, alt: str) -> bytes:
    import matplotlib

    from bindery.provenance import canonical_json

    told = canonical_json(stamp)
    if form == "png":
        words: dict[str, Any] = {"Software": None, "Title": name, "Description": alt, STAMP: told}
    else:
        words = {"Creator": None, "Date": None, "Title": name, "Description": alt, "Source": told}
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": f"{STAMP}-{name}", "svg.fonttype": "path"}):
        fig.savefig(stream, format=form, dpi=PIXELS_PER_INCH, metadata=words)
    return stream.getvalue()


def _save(rendered: Rendered, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for form, content in (("png", rendered.png), ("svg", rendered.svg)):
            half = folder / f".{rendered.name}.{form}.tmp"
            half.write_bytes(content)
            half.replace(folder / f"{rendered.name}.{form}")
    except OSError as error:
        raise DataError(f"cannot save figure {rendered.name} to {folder}: {error.strerror}") from error


def _show(rendered: Rendered) -> None:
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is not None:
        data, metadata = rendered.bundle()
        display(data, raw=True, metadata=metadata)


def read_stamp(path: str | os.PathLike[str]) -> Provenance:
    """The provenance inside a PNG or SVG file.

    Raises
    ------
    DataError
        Not readable, neither PNG nor SVG, or without a stamp.
    """
    from bindery.provenance import Provenance

    path = Path(path)
    try:
        told = _svg_stamp(path) if path.suffix.lower() == ".svg" else _png_stamp(path)
    except (OSError, SyntaxError) as error:
        raise DataError(f"{path.name}: cannot be read as a figure: {error}") from error
    if not told:
        raise DataError(f"{path.name}: has no Bindery stamp")
    return Provenance.model_validate(json.loads(told))


def _png_stamp(path: Path) -> str | None:
    from PIL import Image

    with Image.open(path) as image:
        return image.info.get(STAMP)


def _svg_stamp(path: Path) -> str | None:
    from xml.etree import ElementTree

    source = ElementTree.parse(path).find(".//{http://purl.org/dc/elements/1.1/}source")
    return None if source is None else source.text
