"""Geometry of one set of embeddings: global, local, and on the sphere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.neighbors import NearestNeighbors

from bindery.checks import finite_rows
from bindery.errors import InputError
from bindery.geometry.covariance import ROUNDING, Floats, centred_gram, exp_entropy, largest_eigenvalue

Correction = Literal["none", "finite-sample"]
Formulation = Literal["isotropy", "participation_ratio", "effective_rank"]


def participation_ratio(embeddings: ArrayLike, *, correction: Correction = "none") -> float:
    r"""Effective number of directions that carry variance, as a share of D.

    .. math:: (\sum_i \lambda_i)^2 / (D \sum_i \lambda_i^2) = (\mathrm{tr}\,C)^2 / (D\,\mathrm{tr}\,C^2)

    Parameters
    ----------
    embeddings : (N, D) array
        One row an image, not unit-normed; centred here.
    correction : {"none", "finite-sample"}
        The plug-in value of isotropic data is about N / (N + D), not 1; "finite-sample" divides unbiased
        estimates of (tr C)² and tr C², whatever the distribution of the rows. Needs four rows.

    Returns
    -------
    float
        In (0, 1] without correction; the corrected value may exceed 1.

    Raises
    ------
    InputError
        Fewer than two rows (four with correction), a non-finite value (row numbers told), zero variance, or
        too few rows for a positive estimate of tr C².

    Source: Paper S, Sec. 3 (G.PR); Chun et al. 2026 for the correction; Himeno and Yamada 2014, whose
    estimators are the U-statistics over distinct rows in closed form.
    """
    if correction not in ("none", "finite-sample"):
        raise InputError(f"correction must be none or finite-sample; got {correction!r}")
    centred = centred_gram(embeddings, exact=False)
    trace, square, n = centred.trace, float(np.vdot(centred.gram, centred.gram)), centred.n
    if correction == "none":
        return trace**2 / (centred.dim * square)
    if n < 4:
        raise InputError(f"the finite-sample correction needs four rows; got {n}")
    trace, square = trace / (n - 1), square / (n - 1) ** 2
    spread = n * centred.fourth / (n - 1)
    numerator = 2 * square + (n**2 - 3 * n + 1) * trace**2 - spread
    denominator = (n - 1) * (n - 2) * square + trace**2 - spread
    if denominator <= 0:
        raise InputError(f"{n} rows are too few: the unbiased estimate of tr C² is not positive; add rows")
    return numerator / (centred.dim * denominator)


def isotropy(embeddings: ArrayLike) -> float:
    r"""Share of the variance outside the strongest direction, :math:`1 - \lambda_1 / \sum_i \lambda_i`.

    Parameters
    ----------
    embeddings : (N, D) array

    Returns
    -------
    float
        In [0, 1 − 1/D].

    Raises
    ------
    InputError
        As `participation_ratio`.

    Source: Paper S, Sec. 3 (G.Iso).
    """
    centred = centred_gram(embeddings, exact=False)
    return 1 - largest_eigenvalue(centred.gram) / centred.trace


def effective_rank(
    embeddings: ArrayLike, *, of: Literal["variances", "singular_values"] = "variances"
) -> float:
    r"""Exponential of the entropy of the spectrum, :math:`\exp(-\sum_i p_i \log p_i)`.

    Parameters
    ----------
    embeddings : (N, D) array
    of : {"variances", "singular_values"}
        :math:`p_i` proportional to λ_i, or to √λ_i (Roy and Vetterli; RankMe, which does not centre).

    Returns
    -------
    float
        In [1, min(N − 1, D)]; no constant is added inside the logarithm: 0 log 0 is 0, and eigenvalues
        that are zero up to rounding count as zero.

    Raises
    ------
    InputError
        As `participation_ratio`, or an unknown ``of``.

    Source: Roy and Vetterli 2007.
    """
    if of not in ("variances", "singular_values"):
        raise InputError(f"of must be variances or singular_values; got {of!r}")
    values: Floats = np.asarray(
        np.linalg.eigvalsh(centred_gram(embeddings, exact=True).gram), dtype=np.float64
    )
    weights = values if of == "variances" else np.sqrt(np.maximum(values, 0))
    return float(exp_entropy(weights, values))


def local_isotropy(
    embeddings: ArrayLike,
    k: int = 50,
    *,
    anchors: int = 1000,
    formulation: Formulation = "isotropy",
    seed: int = 0,
) -> float:
    r"""Mean isotropy of the neighbourhoods of sampled images.

    Parameters
    ----------
    embeddings : (N, D) array
    k : int
        Nearest neighbours (Euclidean, the anchor itself left out), at least 2; centred on their own mean.
    anchors : int
        Number of images sampled as anchors; all of them when N is smaller.
    formulation : {"isotropy", "participation_ratio", "effective_rank"}
        What is averaged. The latter two are divided by k − 1, the largest rank k points can have; so the
        values lie in (0, 1], those of "isotropy" in [0, 1 − 1/(k − 1)].
    seed : int
        Of the sampling.

    Raises
    ------
    InputError
        k < 2 or k ≥ N, a non-finite value, or k neighbours that all coincide (anchor told).

    Source: Paper S, Sec. 3 (L.Iso), which states neither k nor the functional; the choices are ours.
    """
    rows = finite_rows(embeddings, "embeddings")
    if not 2 <= k < len(rows):
        raise InputError(f"k must be at least 2 and below the number of rows {len(rows)}; got {k}")
    picked = np.random.default_rng(seed).permutation(len(rows))[:anchors]
    index = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(rows)
    total = 0.0
    for start in range(0, len(picked), 128):
        batch = picked[start : start + 128]
        near = _without_self(index.kneighbors(rows[batch], return_distance=False), batch)
        cloud = rows[near].astype(np.float64)
        cloud -= cloud.mean(axis=1, keepdims=True)
        spectra: Floats = np.asarray(np.linalg.eigvalsh(cloud @ cloud.transpose(0, 2, 1)), dtype=np.float64)
        largest = np.abs(rows[near]).max(axis=(1, 2)).astype(np.float64)
        flat = np.flatnonzero(spectra.sum(axis=1) <= cloud[0].size * (ROUNDING * largest) ** 2)
        if len(flat):
            raise InputError(f"the {k} nearest neighbours of row {batch[flat[0]]} coincide; raise k")
        total += float(_LOCAL[formulation](spectra).sum())
    return total / len(picked)


def uniformity(embeddings: ArrayLike, *, t: float = 2.0) -> float:
    r"""How evenly the directions cover the sphere, :math:`\log \mathrm{mean}_{i<j}\, e^{-t |u_i - u_j|^2}`.

    Rows are unit-normed here and not centred. 0 when all coincide, lower is more even. N² products in blocks.

    Raises
    ------
    InputError
        Fewer than two rows, a non-finite value or a zero row (told).

    Source: Wang and Isola 2020.
    """
    rows = finite_rows(embeddings, "embeddings").astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if len(rows) < 2 or not norms.all():
        raise InputError("uniformity needs two rows or more, none of them zero")
    rows /= norms
    parts = []
    for start in range(0, len(rows), 1024):
        products = rows[start : start + 1024] @ rows.T
        products[np.arange(len(products)), start + np.arange(len(products))] = -np.inf
        parts.append(logsumexp(2 * t * (products - 1)))
    return float(logsumexp(parts) - np.log(len(rows)) - np.log(len(rows) - 1))


def _without_self(index: NDArray[np.intp], anchors: NDArray[np.intp]) -> NDArray[np.intp]:
    """Drop the anchor from its k + 1 neighbours, or the farthest when equal points crowded it out."""
    keep = index != anchors[:, None]
    keep[keep.all(axis=1), -1] = False
    return index[keep].reshape(len(index), -1)


_LOCAL: Mapping[Formulation, Callable[[Floats], Floats]] = {
    "isotropy": lambda spectra: 1 - spectra.max(axis=1) / spectra.sum(axis=1),
    "participation_ratio": lambda spectra: (
        spectra.sum(axis=1) ** 2 / (spectra**2).sum(axis=1) / (spectra.shape[1] - 1)
    ),
    "effective_rank": lambda spectra: exp_entropy(spectra, spectra) / (spectra.shape[1] - 1),
}
