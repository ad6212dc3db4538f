"""Rows of unit vectors, checked once and walked in blocks that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bindery.checks import finite_rows, real, row_list
from bindery.errors import InputError

Array = NDArray[np.floating]

#: How far from 1 a norm may lie: float32 rounding is far inside, a forgotten normalisation far outside.
UNIT_TOLERANCE = 1e-4
#: Entries a block: 1 MiB in float32, so that the second use of a block does not read memory again.
_BLOCK_ENTRIES = 1 << 18


def blocks(n_rows: int, dim: int) -> Iterator[slice]:
    """Slices that cover ``n_rows`` rows of ``dim`` entries, each about 1 MiB of float32."""
    size = max(1, _BLOCK_ENTRIES // max(1, dim))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def as_rows(array: ArrayLike, name: str) -> tuple[Array, bool]:
    """``array`` as (N, D) float32 or float64, and whether it was a single (D,) vector."""
    rows = real(array, name)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float32 if rows.dtype == np.float16 else np.float64)
    if rows.ndim not in (1, 2) or rows.shape[-1] < 1:
        raise InputError(f"{name} must be (N, D), one row a point, or one (D,) vector; got {rows.shape}")
    return np.atleast_2d(rows), rows.ndim == 1


def row_norms(rows: Array) -> NDArray[np.float64]:
    """Euclidean norm of each row, (N,); NaN or infinite exactly where a row is not finite (or overflows)."""
    norms = np.empty(len(rows))
    with np.errstate(all="ignore"):
        for block in blocks(*rows.shape):
            norms[block] = np.sqrt(np.einsum("ij,ij->i", rows[block], rows[block]))
    return norms


def unit_rows(array: ArrayLike, name: str) -> tuple[Array, bool, NDArray[np.float64]]:
    """Check that every row is finite and of unit norm; return (rows, was a single vector, norms).

    Raises
    ------
    InputError
        A row that is not finite or whose norm is not 1 within ``UNIT_TOLERANCE``; the rows are told.
    """
    rows, single = as_rows(array, name)
    norms = row_norms(rows)
    wrong = np.flatnonzero(~(np.abs(norms - 1) <= UNIT_TOLERANCE))
    if len(wrong):
        finite_rows(rows, name)
        raise InputError(
            f"{name} must have unit norm; row {row_list(wrong)} of {len(rows)} "
            f"{'has' if len(wrong) == 1 else 'have'} norm {norms[wrong[0]]:.4g}"
            f"{'' if len(wrong) == 1 else ' (the first)'}; divide by it, or call bindery.sphere.unit"
        )
    return rows, single, norms


def unit64(rows: Array) -> NDArray[np.float64]:
    """Rows in float64, brought to unit norm; rows already there keep every digit."""
    wide = rows.astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return wide / np.where(np.abs(norms - 1) <= 1e-15, 1.0, norms)[:, None]


def map_rows(kernel: Callable[..., Array], out: Array, *arrays: Array) -> Array:
    """Fill ``out`` block by block with ``kernel(*blocks)``; a single row is handed to every block.

    A kernel that takes ``first_row`` is told where its block starts, so that it can name rows.
    """
    for rows in blocks(len(out), arrays[0].shape[1]):
        out[rows] = kernel(*(array if len(array) == 1 else array[rows] for array in arrays), rows.start)
    return out


def common_rows(**arrays: Array) -> int:
    """The common number of rows; an array with one row goes with any number."""
    counts = {name: len(array) for name, array in arrays.items()}
    dims = {name: array.shape[1] for name, array in arrays.items()}
    longest = max(counts.values())
    if len(set(dims.values())) > 1 or any(count not in (1, longest) for count in counts.values()):
        told = ", ".join(f"{name} is {array.shape}" for name, array in arrays.items())
        raise InputError(f"rows and columns must agree, but {told}")
    return longest


def add_weighted(
    sums: NDArray[np.float64], block: Array, weights: NDArray[np.float64], groups: NDArray[np.intp] | None
) -> None:
    """Add the weighted rows of a block to the sums of their groups, in the block's dtype within the block."""
    narrow = weights.astype(block.dtype)
    if groups is None:
        sums[0] += narrow @ block
        return
    present, column = np.unique(groups, return_inverse=True)
    picker = sparse.csr_array((narrow, (column, np.arange(len(block)))), shape=(len(present), len(block)))
    sums[present] += picker @ block
