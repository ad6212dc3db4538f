"""The table that every correlation starts from: one row an encoder, and what must not get in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bindery.errors import InputError

Floats = NDArray[np.float64]
Missing = Literal["raise", "drop"]

KEYS = ("encoder", "family", "trained")
FEWEST = 4


class Panel(NamedTuple):
    """Checked columns (n, m) of n encoders, their families (n,), and who was dropped for missing values."""

    values: Floats
    families: NDArray[np.str_]
    encoders: list[str]
    dropped: list[str]


def check_panel(
    table: pd.DataFrame, columns: Sequence[str], *, missing: Missing = "raise", fewest: int = FEWEST
) -> Panel:
    """The ``columns`` of a table, if a coefficient may be computed from them.

    Parameters
    ----------
    table : DataFrame
        One row an encoder: columns ``encoder`` (unique), ``family``, ``trained`` (bool) and metrics.
    columns : names of metrics
    missing : {"raise", "drop"}
        What to do with encoders that lack a value: refuse, or leave them out and name them in the result.
    fewest : int
        Smallest number of encoders.

    Raises
    ------
    InputError
        A column is absent; an encoder occurs twice (seeds are averaged, not counted: `average_seeds`);
        trained and untrained encoders are mixed; values are missing or infinite (encoders named); a metric
        is constant; fewer than ``fewest`` encoders.
    """
    if absent := [name for name in (*KEYS, *columns) if name not in table]:
        raise InputError(f"the table has no column {absent[0]!r}; it needs {', '.join((*KEYS, *columns))}")
    encoders = table["encoder"].astype(str)
    if len(repeated := sorted(set(encoders[encoders.duplicated()]))):
        raise InputError(
            f"encoder {repeated[0]} has several rows; a seed is not an encoder: use average_seeds first"
        )
    if table["trained"].nunique(dropna=False) > 1:
        raise InputError(
            "trained and untrained encoders are mixed; a coefficient is computed from one kind only"
        )
    values = table[list(columns)].to_numpy(dtype=np.float64)
    whole = np.isfinite(values).all(axis=1)
    dropped = encoders[~whole].tolist()
    if dropped and missing == "raise":
        raise InputError(
            f"{', '.join(columns)}: missing or infinite for {', '.join(dropped)}; fill them, or pass "
            'missing="drop" and report who is left out'
        )
    values = values[whole]
    if len(values) < fewest:
        raise InputError(f"{len(values)} encoders are too few for a coefficient; it needs {fewest}")
    for name, column in zip(columns, values.T, strict=True):
        if is_constant(column):
            raise InputError(f"{name} is constant over the encoders, so nothing correlates with it")
    kept = encoders[whole].tolist()
    return Panel(values, table["family"].astype(str).to_numpy(dtype=str)[whole], kept, dropped)


def average_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """One row an encoder: numeric columns averaged over its seeds, ``n_seeds`` added, ``seed`` dropped.

    Raises
    ------
    InputError
        Rows of one encoder disagree about its family or about being trained.
    """
    if absent := [name for name in KEYS if name not in table]:
        raise InputError(f"the table has no column {absent[0]!r}; it needs {', '.join(KEYS)}")
    groups = table.groupby("encoder", sort=False)
    for key in KEYS[1:]:
        if len(mixed := groups[key].nunique(dropna=False).loc[lambda count: count > 1]):
            raise InputError(f"rows of encoder {mixed.index[0]} disagree about {key}")
    metrics = [
        name for name in table.select_dtypes("number").columns if name not in (*KEYS, "seed", "n_seeds")
    ]
    averaged = groups[list(KEYS[1:])].first().join(groups[metrics].mean())
    return averaged.assign(n_seeds=groups.size()).reset_index()


def is_constant(column: Floats) -> bool:
    """Whether a column's values agree up to rounding."""
    return bool(np.ptp(column) <= 1e-12 * np.abs(column).max())
