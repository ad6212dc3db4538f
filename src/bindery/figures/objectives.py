"""The scatter that most chapters of Paper S draw: one mark an objective, told apart by family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bindery.errors import InputError
from bindery.figures.palette import color_of, marker_of

if TYPE_CHECKING:  # matplotlib and pandas load on use
    import pandas as pd
    from matplotlib.axes import Axes

LEVELS = {
    "chance": ":",
    "bag ceiling": "--",
    "grey pixels": "-.",
    "silhouettes": (0, (3, 1, 1, 1, 1, 1)),
}


def scatter_families(
    axis: Axes,
    panel: pd.DataFrame,
    x: str,
    y: str,
    *,
    controls: pd.DataFrame | None = None,
    untrained: pd.DataFrame | None = None,
    size: float = 6.5,
) -> None:
    """Column ``y`` against ``x``, a row a mark in the colour and form of its ``family``.

    Rows that enter no coefficient are drawn open: ``controls`` (trained on the answer) as stars,
    ``untrained`` networks as diamonds. Every group has a label for the legend.

    Parameters
    ----------
    axis : matplotlib axes
    panel, controls, untrained : tables that hold ``x`` and ``y``; the first also ``family``
    size : float
        Of the filled marks, in points.

    Raises
    ------
    InputError
        A column that is missing (told), or a family without a colour.
    """
    for table, wanted in ((panel, ("family", x, y)), (controls, (x, y)), (untrained, (x, y))):
        if table is not None and (missing := [name for name in wanted if name not in table]):
            raise InputError(f"the table has no column {missing[0]!r}; it has {', '.join(map(str, table))}")
    for family, part in panel.groupby("family", sort=False):
        name = str(family)
        axis.plot(part[x], part[y], marker_of(name), color=color_of(name), ms=size, label=name)
    for rows, label, marker, color, larger in (
        (controls, "trained on the answer", "*", color_of("control"), 2.5),
        (untrained, "untrained", "d", "0.5", -1.5),
    ):
        if rows is not None:
            axis.plot(rows[x], rows[y], marker, color=color, ms=size + larger, mfc="white", label=label)


def level_lines(axis: Axes, levels: Mapping[str, float]) -> None:
    """Grey horizontal lines at named levels, dashed the same way in every chapter.

    Parameters
    ----------
    axis : matplotlib axes
    levels : name to height; names of `LEVELS`: chance, bag ceiling, grey pixels, silhouettes

    Raises
    ------
    InputError
        A name that is none of these.
    """
    for name, height in levels.items():
        if name not in LEVELS:
            raise InputError(f"no line is agreed for {name!r}; known are {', '.join(LEVELS)}")
        axis.axhline(height, color="0.45", lw=0.9, ls=LEVELS[name])
