"""The same exchange in words: how far two swapped words move a caption, and whether images follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from bindery import sphere, swap
from bindery.captions import CaptionItems, score
from bindery.encoders import Encoder

Row = dict[str, Any]


def captions_row(encoder: Encoder, items: CaptionItems, *, draws: int = 1000, seed: int = 0) -> Row:
    """How far the exchange of two words moves a caption, and whether images follow.

    Returns
    -------
    dict
        ``text_share``: energy of half the difference of the Logs of the true and the exchanged caption, as a share
        of the variance of all captions, with ``_low`` and ``_high`` over questions; ``choice``: share of images
        nearer to the true caption, ties one half, interval over clusters; ``n``.

    Raises
    ------
    InputError
        An encoder without a text side.
    """
    both = encoder.encode_text([*items.true, *items.false])
    points = sphere.unit(np.asarray(both, np.float64))
    base = sphere.frechet_mean(points, tol=1e-9, on_fail="warn").point
    rows = np.asarray(sphere.log(points, base)).reshape(2, len(items), -1)
    odd, even = (rows[0] - rows[1]) / 2, (rows[0] + rows[1]) / 2
    energy = (odd**2).sum(axis=1)
    whole = energy + ((even - even.mean(axis=0)) ** 2).sum(axis=1)
    low, high = swap.ratio_interval(energy, whole, draws=draws, seed=seed)
    answers = score(encoder, items, progress=False)
    row = {"text_share": float(energy.sum() / whole.sum()), "text_share_low": low, "text_share_high": high}
    return row | {
        "choice": answers.accuracy,
        "choice_low": answers.interval[0],
        "choice_high": answers.interval[1],
        "n": len(items),
    }
