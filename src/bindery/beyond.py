"""What chapter 16 measures of one encoder, as flat rows; the same calls run live and in ``tools/``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bindery import slot_codes, swap
from bindery.swap import Floats
from bindery.two_objects import TwoObjects

DRAWS = 1000
Row = dict[str, Any]


def two_objects_row(embeddings: ArrayLike, dataset: TwoObjects, *, draws: int = DRAWS, seed: int = 0) -> Row:
    """Sectors, noise floor, twin choices and the four codes of one encoder on one set.

    Shares are of the variance between scenes, in [0, 1] up to noise; ``*_low`` and ``*_high`` are 95 % intervals
    over contents.
    """
    rows = swap.tangents(embeddings, dataset.shape)
    divided = swap.shares(rows, flips=draws, seed=seed)
    row: Row = {"contents": len(rows), "renderings": rows.shape[2], "rendering": divided.rendering}
    row["floor_swap"] = divided.floor()

    def tell(key: str, numerator: Floats, denominator: Floats) -> None:
        low, high = swap.ratio_interval(numerator, denominator, draws=draws, seed=seed)
        value = float(numerator.sum() / denominator.sum())
        row.update({key: value, f"{key}_low": low, f"{key}_high": high})

    whole, one = divided.energy.sum(axis=0), np.ones(len(rows))
    for key, parts in _groups(divided.names).items():
        tell(f"share_{key}", divided.of(*parts), whole)
    if rows.shape[1] == 4:
        in_place = divided.of("attribute in place", "object in place")
        tell("place_less_pair", in_place - divided.of("attribute with object"), whole)
    found = {
        code: slot_codes.explain(code, rows, dataset.attribute, dataset.obj, seed=seed)
        for code in slot_codes.CODES
    }
    for code, fit in found.items():
        tell(f"explained_{_key(code)}", fit.total - fit.missed, fit.total)
    free, indexed = (found[code] for code in slot_codes.CODES[:2])
    tell("slots_gain", free.missed - indexed.missed, free.total)
    for factor in ("attribute", "object")[: rows.shape[1] // 2]:
        tell(f"twin_{factor}", swap.nearest_twin(rows, factor), one)
        for code, fit in found.items():
            tell(f"choice_{factor}_{_key(code)}", fit.choice(rows, factor), one)
    return row


def _groups(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Sectors told apart and together: all that changes sign, and what changes under the exchange of one factor."""
    groups = {_key(name): (name,) for name in names} | {"swap": names[1:]}
    for factor in ("attribute", "object"):
        if f"{factor} in place" in names:
            changing = (f"{factor} in place", "attribute with object")
            groups[f"{factor}_exchange"] = tuple(name for name in names if name in changing)
    return groups


def _key(name: str) -> str:
    return name.replace(",", "").replace("-", "_").replace(" ", "_")
