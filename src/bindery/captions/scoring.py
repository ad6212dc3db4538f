"""Similarities of images and captions, each distinct one encoded once, in a stated precision."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from bindery.captions.choice import Choice
from bindery.captions.items import CaptionItems, numbered
from bindery.checks import finite_rows, same_length
from bindery.encoders import Encoder, embed
from bindery.errors import InputError

Precision = Literal["float32", "float16", "bfloat16"]
_TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def pair_scores(
    images: ArrayLike, true: ArrayLike, false: ArrayLike, *, precision: Precision = "float32"
) -> NDArray[np.float64]:
    """Cosines of each image with its two captions.

    Parameters
    ----------
    images, true, false : (N, D) arrays
        Embeddings of one encoder, row by row; none needs unit norm.
    precision : {"float32", "float16", "bfloat16"}
        Of normalising, multiplying and of the result. Public scripts that run under automatic mixed precision
        compare scores in half precision, where near scores become equal.

    Returns
    -------
    (N, 2) array
        Cosine with the true and with the false caption.

    Raises
    ------
    InputError
        Shapes differ, a row is zero or not finite, or an unknown precision.
    """
    if precision not in _TYPES:
        raise InputError(f"precision must be one of {', '.join(_TYPES)}; got {precision!r}")
    named = {"images": images, "true": true, "false": false}
    rows = {name: finite_rows(part, name) for name, part in named.items()}
    same_length(**rows)
    if len({part.shape[1] for part in rows.values()}) > 1:
        raise InputError(
            "images and captions must come from one encoder; their embeddings have lengths "
            + ", ".join(f"{part.shape[1]} ({name})" for name, part in rows.items())
        )
    for name, part in rows.items():
        if len(zero := np.flatnonzero(~part.any(axis=1))):
            raise InputError(f"{name}: row {zero[0]} is zero and has no direction")
    image, right, wrong = (
        torch.nn.functional.normalize(
            torch.as_tensor(np.ascontiguousarray(part)).to(_TYPES[precision]), dim=1
        )
        for part in rows.values()
    )
    scores = torch.stack([(image * right).sum(1), (image * wrong).sum(1)], dim=1)
    return scores.double().numpy()


def score(
    encoder: Encoder,
    items: CaptionItems,
    *,
    precision: Precision = "float32",
    batch_size: int = 32,
    progress: bool = True,
) -> Choice:
    """Answers of an encoder with a text side; every distinct image and caption is encoded once, in float32.

    Parameters
    ----------
    encoder : Encoder
        Its ``encode_text`` must give embeddings in the images' space.
    items : CaptionItems
    precision
        Of the comparison, see `pair_scores`.

    Returns
    -------
    Choice
        In the order of ``items``, clustered as they are.

    Raises
    ------
    InputError
        An encoder without text.
    DataError
        ``items`` holds captions only.
    """
    pictures = items.pictures()
    captions = [*items.true, *items.false]
    number, first = numbered(captions)
    texts = encoder.encode_text([captions[row] for row in first], batch_size=batch_size)[number]
    rows = embed(encoder, pictures, batch_size=batch_size, progress=progress)[items.image]
    scores = pair_scores(rows, texts[: len(items)], texts[len(items) :], precision=precision)
    return Choice(scores[:, 0], scores[:, 1], items.cluster)
