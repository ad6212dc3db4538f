"""A table of small pictures on one pair of axes: drawn many times faster than one pair of axes a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bindery.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 0.1
TITLE = 0.16
"""Height of one line of a title, in pictures."""


def mosaic(
    lines: Sequence[Sequence[Any]],
    *,
    left: Sequence[str] = (),
    titles: Sequence[str] | Sequence[Sequence[str]] = (),
    frames: Sequence[Sequence[tuple[str, str] | None]] | None = None,
    axis: Axes | None = None,
    width: float = 7.0,
    fontsize: float = 7.5,
) -> Figure:
    """Pictures in lines, with words left of the lines and above the pictures.

    Parameters
    ----------
    lines : sequence of sequences
        PIL images or (H, W, 3) arrays, of any size; None leaves a gap.
    left : sequence of str, optional
        One text a line.
    titles : sequence, optional
        One text a column, above the first line; or for every line one text a picture.
    frames : sequence of sequences, optional
        For every picture a colour and a line style, or None.
    axis : Axes, optional
        Where to draw; else a figure is made, ``width`` inches wide.

    Raises
    ------
    InputError
        No picture, or words or frames that do not fit the lines.
    """
    import matplotlib.pyplot as plt

    columns = max((len(line) for line in lines), default=0)
    if columns == 0:
        raise InputError("a mosaic needs at least one picture")
    every: list[Sequence[str]] = [[] for _ in lines]
    if titles and isinstance(titles[0], str):
        every[0] = [str(title) for title in titles]
    elif titles:
        every = [list(words) for words in titles]
    if (
        (left and len(left) != len(lines))
        or len(every) != len(lines)
        or (frames and len(frames) != len(lines))
    ):
        raise InputError(f"{len(lines)} lines of pictures need as many texts and frames")
    heads = [TITLE * max((1 + word.count("\n") for word in words), default=0) for words in every]
    tops = np.cumsum(heads) + np.arange(len(lines))
    height = float(tops[-1]) + 1
    if axis is None:
        share = 0.86 if left else 1.0  # the words on the left take the rest
        _, axis = plt.subplots(figsize=(width, max(0.8, share * width / columns * height)))
    for y, line, words in zip(tops, lines, every, strict=True):
        for x, picture in enumerate(line):
            if picture is not None:
                axis.imshow(np.asarray(picture), extent=(x, x + 1 - GAP, y + 1 - GAP, y))
        for x, word in enumerate(words):
            axis.text(
                x + (1 - GAP) / 2, y - 0.03, word, fontsize=fontsize, ha="center", va="bottom", linespacing=1
            )
    _frame(axis, tops, frames or ())
    for y, word in zip(tops, left, strict=False):
        axis.text(-0.08, y + (1 - GAP) / 2, word, fontsize=fontsize + 0.5, ha="right", va="center")
    axis.set(xlim=(-0.03, columns - GAP + 0.03), ylim=(height - GAP + 0.03, -0.03), aspect="equal")
    axis.set_anchor("E" if left else "C")
    axis.axis("off")
    return axis.get_figure(root=True)  # type: ignore[return-value]


def _frame(axis: Axes, tops: np.ndarray, frames: Sequence[Sequence[tuple[str, str] | None]]) -> None:
    from matplotlib.patches import Rectangle

    for y, line in zip(tops, frames, strict=False):
        for x, look in enumerate(line):
            if look is not None:
                box = Rectangle(
                    (x, y), 1 - GAP, 1 - GAP, fill=False, ec=look[0], ls=look[1], lw=2, clip_on=False
                )
                axis.add_patch(box)
