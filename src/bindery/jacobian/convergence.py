"""How the estimates depend on k and on the rounds, against the exact singular values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bindery.errors import InputError
from bindery.jacobian.estimators import (
    EXACT_LIMIT,
    directions,
    full_jacobian,
    orthonormal_rows,
    row_singular_values,
)
from bindery.jacobian.products import DenseMap, LinearMap
from bindery.jacobian.ranks import KINDS, effective_rank, rank_free_of_k
from bindery.jacobian.seeds import Seed


def dense(linear: LinearMap, limit: int = EXACT_LIMIT) -> DenseMap:
    """``linear`` as a matrix, so that every further product is cheap; a `DenseMap` is kept as it is."""
    return linear if isinstance(linear, DenseMap) else full_jacobian(linear, limit)


def rounds_curve(linear: LinearMap, k: int = 32, rounds: int = 8, seed: Seed = 0) -> pd.DataFrame:
    """The range finder after 0, 1, ..., ``rounds`` power rounds, beside the sketch and the exact values.

    Returns
    -------
    DataFrame
        Columns ``method`` ("sketch", "range_finder", "exact"), ``rounds``, one effective rank a kind,
        ``error_pr`` (relative, against the exact top k) and ``worst_value`` (largest relative error of a
        singular value; NaN for the sketch, which does not estimate them).
    """
    matrix = dense(linear)
    kept = min(k, *matrix.shape)
    exact = row_singular_values(matrix.matrix)[:kept]
    found = _by_rounds(matrix, kept, rounds, seed)
    sketch = row_singular_values(matrix.jvp(directions(matrix.shape[1], kept, seed)))
    spectra = [("sketch", 0, sketch), *(("range_finder", q, s) for q, s in enumerate(found))]
    rows = []
    for method, done, values in [*spectra, ("exact", rounds, exact)]:
        row: dict[str, str | float] = {"method": method, "rounds": done}
        row |= {kind: effective_rank(values, kind) for kind in KINDS}
        row["error_pr"] = effective_rank(values) / effective_rank(exact) - 1
        row["worst_value"] = np.nan if method == "sketch" else float(_relative(values, exact).max())
        rows.append(row)
    return pd.DataFrame(rows)


def value_errors(
    linear: LinearMap, k: int = 32, rounds: Sequence[int] = (0, 1, 2, 5), seed: Seed = 0
) -> pd.DataFrame:
    """Relative error of each singular value: index 1..k, a column for each number of rounds, ``exact``."""
    if not rounds or min(rounds) < 0:
        raise InputError(f"rounds must be numbers from 0 on; got {list(rounds)}")
    matrix = dense(linear)
    kept = min(k, *matrix.shape)
    exact = row_singular_values(matrix.matrix)[:kept]
    found = _by_rounds(matrix, kept, max(rounds), seed)
    table = pd.DataFrame({"exact": exact}, index=pd.RangeIndex(1, kept + 1, name="index"))
    for q in rounds:
        table[f"rounds {q}"] = _relative(found[q], exact)
    return table


def k_curve(
    linear: LinearMap, ks: Sequence[int] = (4, 8, 16, 32, 64, 128, 256), seed: Seed = 0
) -> pd.DataFrame:
    """Effective ranks against k: the truncation is part of the definition, and it saturates.

    Returns
    -------
    DataFrame
        Columns ``k``; ``top_*`` of the exact top k, for each kind; ``sketch_*`` of k random directions;
        ``saturation`` = top_pr / k; ``r_hat`` from the sketch, which should not move with k.
    """
    matrix = dense(linear)
    largest = min(matrix.shape)
    kept = sorted({min(int(k), largest) for k in ks})
    if not kept or kept[0] < 1:
        raise InputError(f"ks must be numbers of at least 1; got {list(ks)}")
    exact = row_singular_values(matrix.matrix)
    # Rows of one orthonormal draw are again orthonormal: nested sketches, one draw.
    response = matrix.jvp(directions(matrix.shape[1], kept[-1], seed))
    rows = []
    for k in kept:
        sketch = row_singular_values(response[:k])
        row: dict[str, float] = {"k": k}
        row |= {f"top_{kind}": effective_rank(exact[:k], kind) for kind in KINDS}
        row |= {f"sketch_{kind}": effective_rank(sketch, kind) for kind in KINDS}
        row["saturation"] = row["top_pr"] / k
        row["r_hat"] = rank_free_of_k(row["sketch_pr_variance"], k) if k > 1 else float("nan")
        rows.append(row)
    return pd.DataFrame(rows)


def _by_rounds(matrix: DenseMap, k: int, rounds: int, seed: Seed) -> list[NDArray[np.float64]]:
    """Singular values of the range finder after each of 0..rounds, from one run."""
    response = matrix.jvp(directions(matrix.shape[1], k, seed))
    found = []
    for _ in range(rounds + 1):
        gradients = matrix.vjp(orthonormal_rows(response))
        found.append(row_singular_values(gradients))
        response = matrix.jvp(orthonormal_rows(gradients))
    return found


def _relative(values: NDArray[np.float64], exact: NDArray[np.float64]) -> NDArray[np.float64]:
    """Error of each value in units of itself; values that are zero up to rounding are left out as 0."""
    floor = max(float(exact[0]) * 1e-7, np.finfo(np.float64).tiny)
    return np.where(exact > floor, np.abs(values - exact) / np.maximum(exact, floor), 0.0)
