"""Geometry against the number of images, and of several encoders on the same images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bindery.checks import finite_rows
from bindery.errors import InputError
from bindery.geometry.covariance import Array
from bindery.geometry.measures import effective_rank, isotropy, local_isotropy, participation_ratio


def value_against_n(
    embeddings: ArrayLike,
    metric: Callable[[Array], float] = participation_ratio,
    sizes: Sequence[int] = (),
    *,
    repeats: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """A metric on random subsets of the rows, without replacement: how much of its value is N.

    Parameters
    ----------
    embeddings : (N, D) array
    metric : (n, D) array -> float
    sizes : sequence of ints
        Subset sizes; by default N halved until fewer than 32 rows would remain.
    repeats, seed : int
        Subsets a size (one when it is N itself), and their seed.

    Returns
    -------
    DataFrame
        One row a size, ascending: ``n``, ``mean``, ``sd`` over the subsets (NaN for one), ``repeats``.

    Source: Chun et al. 2026 (bias of order PR/N).
    """
    rows = finite_rows(embeddings, "embeddings")
    chosen = sorted(set(sizes)) or sorted(len(rows) >> i for i in range(16) if i == 0 or len(rows) >> i >= 32)
    if chosen[0] < 2 or chosen[-1] > len(rows):
        raise InputError(f"sizes must lie between 2 and the number of rows {len(rows)}; got {chosen}")
    rng, records = np.random.default_rng(seed), []
    for size in chosen:
        draws = 1 if size == len(rows) else repeats
        values = [metric(rows[rng.permutation(len(rows))[:size]]) for _ in range(draws)]
        spread = float(np.std(values, ddof=1)) if draws > 1 else np.nan
        records.append({"n": size, "mean": float(np.mean(values)), "sd": spread, "repeats": draws})
    return pd.DataFrame(records)


def compare_geometry(
    embeddings: Mapping[str, ArrayLike],
    images: Mapping[str, Sequence[str]] | Sequence[str],
    *,
    metrics: Mapping[str, Callable[[Array], float]] | None = None,
    allow_different_images: bool = False,
) -> pd.DataFrame:
    """Geometry of several encoders, only if all saw the same images.

    Parameters
    ----------
    embeddings : mapping encoder -> (N, D) array
    images : N image ids for all encoders, or a mapping encoder -> its image ids
        Any stable ids, such as ``dataset.image_hashes()``.
    metrics : mapping column -> function, optional
        Default: participation ratio, the same corrected, isotropy, local isotropy and effective rank.
    allow_different_images : bool
        Compare although N or the images differ. The plug-in values then differ for that reason alone.

    Returns
    -------
    DataFrame
        One row an encoder: ``encoder``, ``n``, ``dim``, and a column a metric.

    Raises
    ------
    InputError
        An encoder without image ids or with another number of them than rows, or encoders that saw different
        images (both named).
    """
    per_encoder = images if isinstance(images, Mapping) else dict.fromkeys(embeddings, images)
    rows = {name: finite_rows(array, f"embeddings of {name}") for name, array in embeddings.items()}
    for name, array in rows.items():
        if name not in per_encoder or len(per_encoder[name]) != len(array):
            count = len(per_encoder[name]) if name in per_encoder else "no"
            raise InputError(f"{name} has {len(array)} rows and {count} image ids; give one id a row")
    if not allow_different_images:
        _same_images({name: per_encoder[name] for name in rows})
    chosen = DEFAULT_METRICS if metrics is None else metrics
    return pd.DataFrame(
        {"encoder": name, "n": array.shape[0], "dim": array.shape[1]}
        | {column: metric(array) for column, metric in chosen.items()}
        for name, array in rows.items()
    )


def _corrected(embeddings: ArrayLike) -> float:
    return participation_ratio(embeddings, correction="finite-sample")


DEFAULT_METRICS: Mapping[str, Callable[[Array], float]] = {
    "participation_ratio": participation_ratio,
    "participation_ratio_corrected": _corrected,
    "isotropy": isotropy,
    "local_isotropy": local_isotropy,
    "effective_rank": effective_rank,
}


def _same_images(images: Mapping[str, Sequence[str]]) -> None:
    names = list(images)
    for name in names[1:]:
        first, second = images[names[0]], images[name]
        if len(first) != len(second):
            told = f"{names[0]} has {len(first)} images, {name} has {len(second)}"
        elif sorted(first) != sorted(second):
            told = f"{names[0]} and {name} saw different images"
        else:
            continue
        raise InputError(
            f"geometry depends on the images and their number, but {told}; embed one list with all encoders, "
            "or pass allow_different_images=True and say so"
        )
