"""The published cells, one row a number: ``book/reported/*.csv``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from bindery.errors import DataError, InputError
from bindery.ledger.claims import suggest
from bindery.paths import project_root

COLUMNS = (
    "id", "paper", "table", "data", "encoder", "method", "setting", "metric",
    "value", "low", "high", "unit", "mark", "note",
)  # fmt: skip
MARKS = ("printed", "approximate", "derived", "bound", "quoted", "unnumbered")


def reported_cells(folder: Path | None = None) -> pd.DataFrame:
    """All published cells, tidy: one row a number, indexed by ``id``.

    ``value`` is missing where only a bound (``low``, ``high``) or only words are known. ``mark`` tells how
    far to trust a number: printed; approximate; derived from others; a bound; quoted by the paper from
    somebody else; unnumbered (stated in words).

    Raises
    ------
    DataError
        No file, other columns, an id that is there twice, or an unknown mark.
    """
    return _read_cells(folder or project_root() / "book" / "reported").copy()


@cache
def _read_cells(folder: Path) -> pd.DataFrame:
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise DataError(f"no reported tables: {folder} holds no .csv file")
    parts = [_read_table(path) for path in paths]
    cells = pd.concat(parts, ignore_index=True)
    if twice := cells["id"][cells["id"].duplicated()].tolist():
        raise DataError(f"reported cells: the id {twice[0]} is there twice")
    return cells.set_index("id")


def _read_table(path: Path) -> pd.DataFrame:
    numbers = {"value": float, "low": float, "high": float}
    try:
        table = pd.read_csv(path, dtype={name: numbers.get(name, str) for name in COLUMNS}, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name}: {error}") from error
    if tuple(table.columns) != COLUMNS:
        raise DataError(f"{path.name}: columns must be {', '.join(COLUMNS)}; got {', '.join(table.columns)}")
    if unknown := sorted(set(table["mark"]) - set(MARKS)):
        raise DataError(f"{path.name}: unknown mark {unknown[0]!r}; choose from {', '.join(MARKS)}")
    text = [name for name in COLUMNS if name not in numbers]
    return table.assign(**{name: table[name].fillna("") for name in text})


def check_cell(cell: str) -> None:
    """Raise InputError, with the nearest id, when no published cell is called so."""
    known = reported_cells().index
    if cell not in known:
        raise InputError(f"unknown reported cell {cell!r}{suggest(cell, known)}")
