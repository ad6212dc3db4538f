"""The statements of the two papers, and this book's own questions: ``book/claims.yml`` as checked models."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bindery.errors import DataError, InputError
from bindery.paths import project_root

Kind = Literal["order", "null", "value"]
Text = Annotated[str, Field(min_length=1)]
Interval = tuple[float, float]
NULL_HALF_WIDTH = 0.3
Paper = Literal["G", "S", "B"]
SOURCES: dict[str, tuple[str, str]] = {
    "G": ("gde.", "Paper G"),
    "S": ("jer.", "Paper S"),
    "B": ("own.", "this book"),
}
"""What a claim's ``paper`` stands for: how its ids start, and its name. "B" is a question of this book's own."""


class Strict(BaseModel):
    """Frozen, refuses unknown fields and NaN: a misspelt key in a file is an error, not a silence."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, str_strip_whitespace=True)


class Reported(Strict):
    """What the paper prints."""

    value: float | None = None
    unit: str = ""
    n: Annotated[int, Field(gt=0)] | None = None
    p: Annotated[float, Field(ge=0, le=1)] | None = None
    interval: Interval | None = None
    text: Text
    """The report in words, as shown beside what came out here."""


class Rule(Strict):
    """How a measured value decides: a side of a threshold, a band around zero, or a tolerance."""

    direction: Literal["above", "below"] | None = None
    threshold: float = 0.0
    tolerance: Annotated[float, Field(gt=0)] | None = None


class Comparable(Strict):
    """Which run is a replication. An empty list says that it is not known, so none can be."""

    encoders: list[Text]
    data: list[Text]
    protocol: Text


class Claim(Strict):
    """One statement of a paper, or an expectation of this book, with the rule that decides it."""

    id: Annotated[str, Field(pattern=r"^(gde|jer|own)\.[a-z0-9]+(-[a-z0-9]+)*$")]
    group: Text
    paper: Paper
    where: Text
    statement: Text
    reported: Reported
    kind: Kind
    quantity: Text
    """What a recorded ``value`` is, with its unit and sign."""
    rule: Rule = Rule()
    comparable: Comparable
    chapter: Annotated[str, Field(pattern=r"^\d\d_[a-z0-9_]+$")]
    analogue: Text | None = None
    no_analogue: Text | None = None

    @property
    def source(self) -> str:
        """Where it stands, in words: "Paper G, Table 1"."""
        return f"{SOURCES[self.paper][1]}, {self.where}"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        prefix, name = SOURCES[self.paper]
        if not self.id.startswith(prefix):
            raise ValueError(f"a claim of {name} has an id that starts with {prefix!r}")
        if (self.kind == "order") != (self.rule.direction is not None):
            raise ValueError("kind order, and only it, needs rule.direction (above or below)")
        if self.kind == "value" and self.reported.value is None:
            raise ValueError("kind value needs reported.value")
        if self.kind != "value" and self.rule.tolerance is not None:
            raise ValueError("rule.tolerance belongs to kind value only")
        if self.analogue and self.no_analogue:
            raise ValueError("give analogue or no_analogue, not both")
        if self.paper != "B" and self.kind != "value" and not (self.analogue or self.no_analogue):
            raise ValueError(f"kind {self.kind} needs analogue, or no_analogue with the reason")
        if self.paper == "B" and (self.comparable.encoders or self.comparable.data):
            raise ValueError(
                "a question of this book has no published encoders or data to be comparable with"
            )
        return self


def load_claims(path: Path | None = None) -> dict[str, Claim]:
    """All claims by id, in the order of the file (default ``book/claims.yml`` of the checkout).

    Raises
    ------
    DataError
        Not there, no YAML list, a claim that does not validate (claim and field told), or an id twice.
    """
    return dict(_read_claims(path or project_root() / "book" / "claims.yml"))


@cache
def _read_claims(path: Path) -> dict[str, Claim]:
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read {path.name}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise DataError(f"{path.name} is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(entries, list):
        raise DataError(f"{path.name} must be a list of claims")
    claims: dict[str, Claim] = {}
    for position, entry in enumerate(entries):
        name = entry.get("id", f"entry {position}") if isinstance(entry, dict) else f"entry {position}"
        try:
            claim = Claim.model_validate(entry)
        except ValidationError as error:
            raise DataError(f"{path.name}, {name}: {first_error(error)}") from error
        if claim.id in claims:
            raise DataError(f"{path.name}: the id {claim.id} is there twice")
        claims[claim.id] = claim
    return claims


def claim(claim_id: str) -> Claim:
    """The claim with this id; an unknown one raises InputError with the nearest."""
    claims = load_claims()
    if claim_id not in claims:
        raise InputError(f"unknown claim {claim_id!r}{suggest(claim_id, claims)}")
    return claims[claim_id]


def suggest(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` when something is near, else the first few that exist."""
    known = list(known)
    if near := difflib.get_close_matches(name, known, n=1, cutoff=0.5):
        return f"; did you mean {near[0]!r}?"
    return (
        f"; known are {', '.join(known[:6])}{', …' if len(known) > 6 else ''}" if known else "; none is known"
    )


def first_error(error: ValidationError) -> str:
    """The first finding of pydantic as one line, ``records[2].ci: …``, and how many more there are."""
    details = error.errors(include_url=False, include_input=False)
    field = ""
    for part in details[0]["loc"]:
        field += f"[{part}]" if isinstance(part, int) else f"{'.' if field else ''}{part}"
    message = details[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    return f"{field or 'as a whole'}: {message}{more}"
