"""``record`` and ``measure`` put a chapter's numbers into the ledger; ``value_of`` gets one out."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from bindery.errors import DataError, InputError
from bindery.ledger.claims import claim, first_error, suggest
from bindery.ledger.records import (
    Measured,
    Measurement,
    Number,
    Record,
    RecordFile,
    read_file,
    records_folder,
    write_file,
)
from bindery.ledger.reported import check_cell
from bindery.provenance import Provenance, environment_parameters


class Named(Protocol):
    """An encoder or data set: something with a name."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


Names = str | Named | Sequence[str | Named]
Item = TypeVar("Item", Record, Measurement)


def record(
    claim_id: str,
    value: Number,
    *,
    encoders: Names,
    data: Names,
    protocol: str,
    ci: Sequence[float] | None = None,
    n: int | None = None,
    p: float | None = None,
    variant: str = "",
    headline: bool = True,
    cell: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Record:
    """Record a measured value for a claim in the running chapter's file; shows itself with its verdict.

    Parameters
    ----------
    claim_id : str
        An id of ``book/claims.yml``; ``value`` is the claim's ``quantity``, sign and unit included.
    value : float
    encoders, data : name, encoder or data set, or a sequence of these
        What was used; it decides *replication* or *analogue*. Hand in the encoders themselves: random or
        rehearsal weights are then told in the name (``"clip-rn50#random"``).
    protocol : str
        What a reader must know to compare: split, world, mode, number of images.
    ci : (low, high), optional
        95 % interval of ``value``; (value, value) when it has no sampling error.
    n : int, optional
        Number of units behind the value: encoders for a correlation, images for an accuracy.
    variant : str
        Tells several records of one claim apart; the same claim and variant again replaces the first.
    headline : bool
        False for a control that is shown but does not count in the claim's overall verdict.
    cell : str, optional
        Id of the published cell (``book/reported``) that this number stands beside.
    parameters : mapping, optional
        Else the chapter's (``$BINDERY_PARAMETERS``).

    Raises
    ------
    InputError
        Unknown claim (the nearest is suggested), a value or interval that is not finite, no encoder or data.
    """
    claim(claim_id)
    return _store(
        Record, f"record of {claim_id}", parameters, claim_id=claim_id, value=value, ci=ci, n=n, p=p,
        encoders=encoders, data=data, protocol=protocol, variant=variant, headline=headline, cell=cell,
    )  # fmt: skip


def measure(
    name: str,
    value: Number,
    *,
    unit: str = "",
    ci: Sequence[float] | None = None,
    n: int | None = None,
    p: float | None = None,
    encoders: Names = (),
    data: Names = (),
    protocol: str = "",
    variant: str = "",
    cell: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Measurement:
    """Store a named number that is no claim; arguments as in :func:`record`.

    ``name`` holds letters, digits and ``_ . / -``. Other chapters read it by :func:`value_of`.
    """
    return _store(
        Measurement, f"measurement {name!r}", parameters, name=name, value=value, unit=unit, ci=ci, n=n, p=p,
        encoders=encoders, data=data, protocol=protocol, variant=variant, cell=cell,
    )  # fmt: skip


def value_of(chapter: str, name: str, variant: str = "") -> Number:
    """The value that ``chapter`` measured under ``name``: a measurement's name or a claim's id.

    ``chapter`` is the full id or its number (``"05"``); the caller declares it in ``needs: records``.

    Raises
    ------
    DataError
        The chapter has no record file here, or nothing of that name (the nearest is suggested).
    """
    return measured(chapter, name, variant).value


def measured(chapter: str, name: str, variant: str = "") -> Measured:
    """As :func:`value_of`, with interval, n and all else."""
    folder = records_folder()
    matches = sorted(folder.glob(f"{chapter}.json")) or sorted(folder.glob(f"{chapter}_*.json"))
    if not matches:
        raise DataError(
            f"chapter {chapter} has no record file in {folder}; run: bindery build --only {chapter[:2]}"
        )
    content = read_file(matches[0])
    items: dict[tuple[str, str], Measured] = {(m.name, m.variant): m for m in content.measurements}
    items.update({(r.claim_id, r.variant): r for r in content.records})
    if (name, variant) in items:
        return items[name, variant]
    if variants := [other for known, other in items if known == name]:
        raise DataError(f"{content.chapter}: {name} has no variant {variant!r}{suggest(variant, variants)}")
    raise DataError(
        f"{content.chapter} measured nothing named {name!r}{suggest(name, [key for key, _ in items])}"
    )


def begin(chapter: str | None = None) -> None:
    """Forget what an earlier run of this chapter recorded; called once when a chapter starts."""
    path = records_folder() / f"{chapter or _chapter()}.json"
    path.unlink(missing_ok=True)


def _chapter() -> str:
    return os.environ.get("BINDERY_CHAPTER") or "notebook"


def _plain(number: Any) -> Any:
    """NumPy scalars and 0-d arrays as Python numbers; everything else as it is, for the model to judge."""
    return number.item() if hasattr(number, "item") and getattr(number, "ndim", 0) == 0 else number


def _names(names: Names) -> list[str]:
    several = names if isinstance(names, Sequence) and not isinstance(names, str) else [names]
    return sorted({_label(each) for each in several})


def _label(named: Any) -> str:
    """A name as it is; that of an encoder with ``#random`` or ``#rehearsal`` unless its weights are real."""
    name = named if isinstance(named, str) else getattr(named, "name", None)
    if not isinstance(name, str):
        raise InputError(f"encoders and data are names, encoders or data sets; got {type(named).__name__}")
    weights = getattr(named, "weights", "")
    return f"{name}#{weights}" if weights in ("random", "rehearsal") else name


def _store(
    model: type[Item], what: str, parameters: Mapping[str, Any] | None, *, ci: Any, **fields: Any
) -> Item:
    given = environment_parameters() if parameters is None else dict(parameters)
    provenance = Provenance.current(given)
    content: dict[str, Any] = {
        key: _names(value) if key in ("encoders", "data") else _plain(value) for key, value in fields.items()
    }
    content |= {
        "ci": None if ci is None else tuple(_plain(bound) for bound in ci),
        "chapter": _chapter(),
        "measured_in": _cell_number(),
        "profile": provenance.profile,
        "parameters": given,
        "provenance": provenance,
    }
    try:
        item = model.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{what}: {first_error(error)}") from error
    if item.cell is not None:
        check_cell(item.cell)
    path = records_folder() / f"{item.chapter}.json"
    so_far = read_file(path) if path.exists() else RecordFile(chapter=item.chapter)
    write_file(so_far.with_item(item), path)
    return item


def _cell_number() -> int | None:
    """n of the notebook cell ``In [n]`` that runs now; None outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    # The last input is the cell that runs; the shell's own counter may already be at the next one.
    inputs = [] if shell is None else shell.user_ns.get("In", [])
    return len(inputs) - 1 if len(inputs) > 1 else None
