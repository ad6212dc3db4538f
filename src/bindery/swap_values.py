"""Intervals for contents that share their values: few colours, shapes or drawings make many contents.

Ninety contents of six colours and four shapes are not ninety independent draws. Here the *values* are drawn with
replacement, and a content weighs the product of the times its values were drawn (a bootstrap of crossed factors).
An interval over contents (`bindery.swap.ratio_interval`) is one for these values; this one is for others like them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bindery.errors import InputError
from bindery.swap import Floats
from bindery.two_objects import Codes, TwoObjects


def factors(dataset: TwoObjects) -> tuple[Codes, ...]:
    """Codes of what the contents share, (O, 2) each; (O, 1) for an object that is the same in both places."""
    attribute, obj = dataset.attribute[:, 0], dataset.obj[:, 0]
    alike = bool((obj[:, 0] == obj[:, 1]).all())
    return attribute, obj[:, :1] if alike else obj


def crossed_interval(
    numerator: Floats,
    denominator: Floats | float,
    factors: Sequence[ArrayLike],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """95 % percentile interval of a ratio of sums over contents (O,), values of each factor drawn with replacement.

    Parameters
    ----------
    factors : sequence of (O,) or (O, K) integer arrays
        The values of each content, by factor. A draw in which no content has any weight is left out.

    Raises
    ------
    InputError
        No factor; another number of contents; or no draw with a content left.

    Notes
    -----
    Source: A. Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1 (2007), 386-411;
    a content with two values of a factor weighs the product of both counts.
    """
    n, rng = len(numerator), np.random.default_rng(seed)
    weight = np.ones((draws, n))
    if not factors:
        raise InputError("give the values of at least one factor")
    for codes in factors:
        values = np.asarray(codes).reshape(len(np.asarray(codes)), -1)
        if len(values) != n:
            raise InputError(f"a factor needs one row for each of {n} contents; got {len(values)}")
        found, where = np.unique(values, return_inverse=True)
        counts = rng.multinomial(len(found), np.full(len(found), 1 / len(found)), size=draws)
        weight *= counts[:, where.reshape(values.shape)].prod(axis=-1)
    weight = weight[weight.any(axis=1)]
    if not len(weight):
        raise InputError("no draw has a content left; the factors need more values")
    ratio = weight @ numerator / (weight @ np.broadcast_to(denominator, n))
    low, high = np.quantile(ratio, [0.025, 0.975])
    return float(low), float(high)
