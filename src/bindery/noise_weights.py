"""How much each image of a combination counts: weights that sum to 1 within the combination."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit

from bindery.checks import row_list, same_length
from bindery.errors import InputError
from bindery.labels import Factors

Floats = NDArray[np.float64]
Weighting = Literal["pair", "image"]

#: The bias that SigLIP SO400M learned, as the published code keeps it.
SIGLIP_BIAS = -16.54513931274414


def noise_weights(
    pairs: Sequence[Hashable],
    kind: Literal["uniform", "given", "softmax", "sigmoid"] = "uniform",
    *,
    values: ArrayLike | None = None,
    temperature: float | None = None,
    bias: float = SIGLIP_BIAS,
) -> Floats:
    r"""Noise distribution p(e | z) of the images e of each combination z.

    ===========  ====================================================  =================================
    kind         weight is proportional to                             ``values``
    ===========  ====================================================  =================================
    "uniform"    1                                                     none
    "given"      the value                                             a weight >= 0 an image
    "softmax"    :math:`e^{s/t}`                                       s, cosine of image and pair's text
    "sigmoid"    :math:`\sigma(s/t + b)`                               s, cosine of image and pair's text
    ===========  ====================================================  =================================

    The last two are computed in logarithms with the largest taken out, so that no cosine and no
    temperature overflows or leaves a combination without weight.

    Parameters
    ----------
    pairs : sequence of N hashables
        The combination of each image, for instance ``dataset.pairs()``.
    kind : str
        See the table.
    values : (N,) array, optional
        See the table.
    temperature : float, optional
        t > 0, for "softmax" and "sigmoid".
    bias : float
        b of "sigmoid".

    Returns
    -------
    (N,) float64 array
        Weights >= 0 that sum to 1 within each combination.

    Raises
    ------
    InputError
        Values missing, not wanted, not finite or negative (rows told); a temperature that is not
        positive; a combination whose given weights are all zero (named).

    Source: Paper G, Sec. 3.3 (Prop. 2) and its code for SigLIP.
    """
    frame = pd.Series(list(pairs), dtype=object)
    groups, names = pd.factorize(frame)
    if kind == "uniform":
        if values is not None:
            raise InputError('kind="uniform" takes no values; did you mean "given" or "softmax"?')
        return 1.0 / np.bincount(groups)[groups]
    given = _values(values, len(groups), kind)
    if kind == "given":
        if len(wrong := np.flatnonzero(given < 0)):
            raise InputError(f"weights must not be negative; rows {row_list(wrong)} are")
        total = np.bincount(groups, given)
        if len(empty := np.flatnonzero(total <= 0)):
            raise InputError(f"the weights of {names[empty[0]]} are all zero; at least one must be positive")
        return given / total[groups]
    if temperature is None or not temperature > 0:
        raise InputError(f"temperature must be positive; got {temperature}")
    logits = given / temperature
    return _softmax_within(log_expit(logits + bias) if kind == "sigmoid" else logits, groups)


def pair_cosines(images: ArrayLike, texts: ArrayLike, text_of_image: ArrayLike) -> Floats:
    """Cosine of each image with the text of its own combination, (N,).

    Parameters
    ----------
    images : (N, D) array
        Unit image embeddings.
    texts : (Z, D) array
        Unit text embeddings.
    text_of_image : (N,) integer array
        Row of ``texts`` that belongs to each image.
    """
    rows, index = np.asarray(images), np.asarray(text_of_image)
    same_length(images=rows, text_of_image=index)
    return np.einsum("nd,nd->n", rows, np.asarray(texts)[index], dtype=np.float64)


def _values(values: ArrayLike | None, n_rows: int, kind: str) -> Floats:
    if kind not in ("given", "softmax", "sigmoid"):
        raise InputError(f"kind must be uniform, given, softmax or sigmoid; got {kind!r}")
    if values is None:
        wanted = "a weight" if kind == "given" else "its cosine with the text of its combination"
        raise InputError(f'kind="{kind}" needs values: for each image {wanted}')
    given = np.asarray(values, dtype=np.float64)
    same_length(pairs=range(n_rows), values=given)
    if len(wrong := np.flatnonzero(~np.isfinite(given))):
        raise InputError(f"values must be finite; rows {row_list(wrong)} are not")
    return given


def _softmax_within(logits: Floats, groups: NDArray[np.intp]) -> Floats:
    top = np.full(groups.max(initial=-1) + 1, -np.inf)
    np.maximum.at(top, groups, logits)
    raised = np.exp(logits - top[groups])
    return raised / np.bincount(groups, raised)[groups]


def image_shares(factors: Factors, weights: ArrayLike | None, weighting: Weighting) -> Floats:
    """(N,) shares that sum to 1: equal mass a combination ("pair"), or as the weights stand ("image")."""
    groups = factors.row_combination
    given = np.ones(len(groups)) if weights is None else np.asarray(weights, dtype=np.float64)
    same_length(labels=groups, weights=given)
    wrong = np.flatnonzero(~(np.isfinite(given) & (given >= 0)))
    if len(wrong):
        raise InputError(f"weights must be finite and not negative; rows {row_list(wrong)} are not")
    mass = np.bincount(groups, given)
    if len(empty := np.flatnonzero(mass <= 0)):
        raise InputError(
            f"combination {factors.names[empty[0]]} has images but no weight; drop them, or weigh"
        )
    return given / (mass[groups] * len(mass)) if weighting == "pair" else given / given.sum()
