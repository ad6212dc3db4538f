"""Complete attribute-object grids inside labelled data where most pairs are missing or have few images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bindery.errors import InputError

Pair = tuple[str, str]


def complete_grid(
    pairs: Sequence[Pair],
    per_pair: int,
    *,
    least: Sequence[int] = (1,),
    n_objects: int | None = None,
    seed: int = 0,
) -> NDArray[np.intp]:
    """Rows of a complete grid: every attribute with every object, at most ``per_pair`` images of each pair.

    Attributes and objects are dropped one at a time, the one with the largest share of wanting pairs first, until no
    pair wants. On complete data nothing is dropped.

    Parameters
    ----------
    pairs : sequence of N (attribute, object)
    per_pair : int
        Images of a pair at most, drawn at random.
    least : sequence of int
        Images a pair must have; the first number for which two attributes and two objects remain is taken.
    n_objects : int, optional
        So many objects of the grid at most, drawn at random.
    seed : int

    Returns
    -------
    (M,) int array, ascending

    Raises
    ------
    InputError
        No grid of two attributes and two objects exists, or a number is below 1.
    """
    if per_pair < 1 or (n_objects is not None and n_objects < 1) or min(least, default=0) < 1:
        raise InputError("per_pair, n_objects and least must be at least 1")
    frame = pd.DataFrame(list(pairs), columns=["attribute", "object"])
    counts = pd.crosstab(frame["attribute"], frame["object"])
    for number in least:
        grid = _thin_out(counts >= number)
        if min(grid.shape) >= 2:
            break
    else:
        raise InputError(
            f"no two attributes and two objects have {min(least)} image(s) of each pair; the data holds "
            f"{len(frame.drop_duplicates())} pairs of {counts.shape[0]} attributes and {counts.shape[1]} objects"
        )
    rng = np.random.default_rng(seed)
    objects = sorted(rng.permutation(sorted(grid.columns))[:n_objects])
    inside = frame[frame["attribute"].isin(grid.index) & frame["object"].isin(objects)]
    kept = [
        rng.permutation(rows)[:per_pair]
        for _, rows in sorted(inside.groupby(["attribute", "object"]).groups.items())
    ]
    return np.sort(np.concatenate(kept)).astype(np.intp)


def _thin_out(enough: pd.DataFrame) -> pd.DataFrame:
    """Drop rows and columns until all that remains is true."""
    while enough.size and not enough.to_numpy().all():
        rows, columns = 1 - enough.mean(axis=1), 1 - enough.mean(axis=0)
        if rows.max() >= columns.max():
            enough = enough.drop(index=rows.idxmax())
        else:
            enough = enough.drop(columns=columns.idxmax())
    return enough
