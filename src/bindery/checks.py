"""Input checks shared by the numerical modules; every message tells the rows."""

from __future__ import annotations

from collections.abc import Sized

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bindery.errors import InputError


def row_list(rows: NDArray[np.intp] | list[int], limit: int = 5) -> str:
    """Row numbers as text, at most ``limit`` of them: ``"3, 7, 12 and 40 more"``."""
    shown = ", ".join(str(int(row)) for row in rows[:limit])
    return shown if len(rows) <= limit else f"{shown} and {len(rows) - limit} more"


def real(array: ArrayLike, name: str) -> NDArray[np.floating]:
    """``array`` with a floating dtype; raises InputError when it holds anything but real numbers."""
    try:
        values = np.asarray(array)
        if np.issubdtype(values.dtype, np.floating):
            return values
        if values.dtype.kind in "biuO" and values.ndim:
            return values.astype(np.float64)
        told = f"dtype {values.dtype}"
    except (ValueError, TypeError):
        told = "rows of different lengths, or something that is no number"
    raise InputError(f"{name} must be an array of real numbers; got {told}")


def finite_rows(array: ArrayLike, name: str) -> NDArray[np.floating]:
    """``array`` as a floating (N, D) array; float32 and float64 are kept.

    Raises
    ------
    InputError
        Not two-dimensional, or a row holds NaN or infinity (row numbers told).
    """
    rows = real(array, name)
    if rows.ndim != 2:
        raise InputError(f"{name} must be an (N, D) array, one row a point; got shape {rows.shape}")
    # A sum over a row is finite exactly when no entry is NaN or infinite, up to overflow: cheap first pass.
    with np.errstate(all="ignore"):
        suspicious = ~np.isfinite(rows.sum(axis=1, dtype=np.float64))
    if suspicious.any():
        candidates = np.flatnonzero(suspicious)
        bad = candidates[~np.isfinite(rows[candidates]).all(axis=1)]
        if len(bad):
            raise InputError(f"{name} must be finite; rows {row_list(bad)} hold NaN or infinity")
    return rows


def same_length(**named: Sized) -> int:
    """The common length of all arguments; raises InputError with each length otherwise."""
    lengths = {name: len(value) for name, value in named.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"lengths must agree, but {told}")
    return next(iter(lengths.values()), 0)
