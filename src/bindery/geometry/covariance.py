"""The centred Gram matrix that all global measures share, and what is read off a spectrum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import eigsh
from scipy.special import entr

from bindery.checks import finite_rows
from bindery.errors import InputError

Array = NDArray[np.floating]
Floats = NDArray[np.float64]

ROUNDING = 1e-14
_BLOCK = 8192


class Centred(NamedTuple):
    """The smaller Gram matrix of the centred rows (unnormalised), its trace, Σ|x_i − x̄|⁴, N and D."""

    gram: Floats
    trace: float
    fourth: float
    n: int
    dim: int


def centred_gram(embeddings: ArrayLike, *, exact: bool) -> Centred:
    """float32 rows are centred and multiplied in float32 unless ``exact`` or N < D; sums are float64."""
    rows = finite_rows(embeddings, "embeddings")
    n, dim = rows.shape
    if n < 2:
        raise InputError(f"a covariance needs two rows or more; got {n}")
    wide = n < dim
    mean = rows.mean(axis=0, dtype=np.float64)
    centre = mean.astype(np.float64 if exact or wide else np.promote_types(rows.dtype, np.float32))
    gram = np.zeros((min(n, dim),) * 2)
    power = np.empty(n)
    size = n if wide else min(n, _BLOCK)
    # One buffer for all blocks, since fresh pages for each are slow.
    buffer = np.empty((size, dim), centre.dtype)
    for start in range(0, n, size):
        taken = min(size, n - start)
        block = np.subtract(rows[start : start + taken], centre, out=buffer[:taken])
        power[start : start + taken] = np.einsum("nd,nd->n", block, block)
        gram += block @ block.T if wide else block.T @ block
    trace = float(power.sum())
    if not wide:  # a mean rounded to float32 leaves the same small offset in every row
        offset = mean - centre
        gram -= n * np.outer(offset, offset)
        trace -= n * float(offset @ offset)
    if trace <= ROUNDING**2 * n * float(mean @ mean):
        raise InputError("embeddings have zero variance: all rows are equal, so there is no geometry")
    return Centred(gram, trace, float(power @ power), n, dim)


def largest_eigenvalue(gram: Floats) -> float:
    """λ₁ of a symmetric matrix, by Lanczos from a fixed start when it is large."""
    if len(gram) < 200:
        return float(np.linalg.eigvalsh(gram)[-1])
    start = np.random.default_rng(0).standard_normal(len(gram))
    return float(eigsh(gram, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def exp_entropy(weights: Floats, eigenvalues: Floats) -> Floats:
    """exp of the entropy along the last axis; weights whose eigenvalue is zero up to rounding are dropped."""
    floor = eigenvalues.max(axis=-1, keepdims=True) * eigenvalues.shape[-1] * np.finfo(np.float64).eps
    kept = np.where(eigenvalues > floor, weights, 0.0)
    return np.exp(entr(kept / kept.sum(axis=-1, keepdims=True)).sum(axis=-1))
