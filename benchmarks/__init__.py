"""Side-by-side measurements: ratios of two ways to do the same work, timed in one run."""

from __future__ import annotations

from typing import TypedDict


class Row(TypedDict):
    """One line of the table of ``python -m benchmarks``; a figure that was not taken is None."""

    name: str
    ours_s: float | None
    reference_s: float | None
    ratio: float | None
    note: str


def row(
    name: str, ours: float | None, reference: float | None, note: str, *, ratio: float | None = None
) -> Row:
    """A row; unless told otherwise its ratio is how many times longer the reference takes."""
    if ratio is None and ours and reference:
        ratio = reference / ours
    return Row(name=name, ours_s=ours, reference_s=reference, ratio=ratio, note=note)
