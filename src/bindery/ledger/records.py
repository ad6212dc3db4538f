"""What was measured: records for claims, plain named measurements, and the file a chapter writes.

One file a chapter, ``<chapter>.json`` in ``$BINDERY_RECORDS`` (else ``./records``), replaced atomically and
ordered by name, so that the same run writes the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictFloat, StrictInt, ValidationError, model_validator

from bindery.errors import DataError
from bindery.ledger.claims import Interval, Strict, Text, first_error, load_claims, suggest
from bindery.provenance import Provenance

SCHEMA: Literal["bindery-records/1"] = "bindery-records/1"
MAX_BYTES = 20_000_000
CHAPTER_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
# A whole number beyond these is not exact as a float, and one of 400 digits is no float at all.
_EXACT = 2**53
Number = Annotated[StrictInt, Field(ge=-_EXACT, le=_EXACT)] | StrictFloat


def is_trial(profile: str) -> bool:
    """Whether a profile only shows that the code runs: smoke, or a rehearsal."""
    return profile == "smoke" or "rehears" in profile


class Measured(Strict):
    """What a record and a measurement share: the number, and what it was measured on."""

    variant: str = ""
    """Tells several records of one claim or name apart, e.g. ``"open world"``."""
    value: Number
    ci: Interval | None = None
    """95 % interval; (value, value) for a quantity without sampling error."""
    n: Annotated[int, Field(gt=0, le=_EXACT)] | None = None
    p: Annotated[float, Field(ge=0, le=1)] | None = None
    encoders: list[Text] = Field(default_factory=list)
    data: list[Text] = Field(default_factory=list)
    protocol: str = ""
    cell: str | None = None
    """Id of the published cell in ``book/reported`` that this number stands beside."""
    chapter: Annotated[str, Field(pattern=CHAPTER_PATTERN)]
    measured_in: Annotated[int, Field(gt=0)] | None = None
    """n of the chapter's cell ``In [n]`` that measured it."""
    profile: Text
    parameters: dict[str, Any] = Field(default_factory=dict)
    provenance: Provenance
    contributed: bool = False
    contributor: str | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.ci is not None and self.ci[0] > self.ci[1]:
            raise ValueError(f"ci must be (low, high); got ({self.ci[0]:g}, {self.ci[1]:g})")
        return self

    @property
    def trial(self) -> bool:
        """Whether the run only shows that the code runs."""
        return is_trial(self.profile)


class Record(Measured):
    """A measured value for a claim; verdict and class follow from it."""

    claim_id: Text
    headline: bool = True
    """Whether the claim's overall verdict counts it; False for a control shown beside."""
    encoders: Annotated[list[Text], Field(min_length=1)]
    data: Annotated[list[Text], Field(min_length=1)]

    @model_validator(mode="after")
    def _known(self) -> Self:
        claims = load_claims()
        if self.claim_id not in claims:
            raise ValueError(f"unknown claim {self.claim_id!r}{suggest(self.claim_id, claims)}")
        return self

    def _repr_html_(self) -> str:
        from bindery.ledger.cards import card

        return card(self)


class Measurement(Measured):
    """A named number that is no claim: for prose, for tables, for other chapters."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_./-]*$")]
    unit: str = ""

    def _repr_markdown_(self) -> str:
        from bindery.ledger.cards import with_interval

        return f"`{self.name}` {with_interval(self.value, self.ci)} {self.unit}".rstrip() + (
            f", n = {self.n}" if self.n else ""
        )


class RecordFile(Strict):
    """All that one chapter measured."""

    schema_: Literal["bindery-records/1"] = Field(default=SCHEMA, alias="schema")
    chapter: Annotated[str, Field(pattern=CHAPTER_PATTERN)]
    records: list[Record] = Field(default_factory=list)
    measurements: list[Measurement] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_chapter(self) -> Self:
        for kind, items in (("records", self.records), ("measurements", self.measurements)):
            for position, item in enumerate(items):
                if item.chapter != self.chapter:
                    raise ValueError(
                        f"{kind}[{position}].chapter is {item.chapter!r}, the file's {self.chapter!r}"
                    )
        return self

    def with_item(self, item: Record | Measurement) -> RecordFile:
        """A copy in which ``item`` replaces the one with the same name and variant, or is added."""
        field = "records" if isinstance(item, Record) else "measurements"
        kept = [other for other in getattr(self, field) if _key(other) != _key(item)]
        return self.model_copy(update={field: sorted([*kept, item], key=_key)})

    def to_json(self) -> str:
        """Readable JSON, the same text for the same content; fields at their default are left out."""
        content = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        content = {"schema": SCHEMA, **content}
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _key(item: Record | Measurement) -> tuple[str, str]:
    return item.claim_id if isinstance(item, Record) else item.name, item.variant


def records_folder() -> Path:
    """``$BINDERY_RECORDS``, else ``records`` in the current folder."""
    return Path(os.environ.get("BINDERY_RECORDS") or "records")


def read_file(path: Path) -> RecordFile:
    """A validated record file.

    Raises
    ------
    DataError
        Not readable, too large, no JSON, another schema version, or a field that does not validate: one
        line that names the file and the field.
    """
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"{path.name}: is no file; give the record file itself")
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"{path.name}: larger than {MAX_BYTES // 1_000_000} MB; this is no record file")
        content = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_refuse_constant)
    except OSError as error:
        raise DataError(f"{path.name}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name}: is no JSON record file: {error}") from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        given = content.get("schema") if isinstance(content, dict) else type(content).__name__
        raise DataError(f"{path.name}: schema: expected {SCHEMA!r}, got {given!r}")
    try:
        return RecordFile.model_validate(content)
    except ValidationError as error:
        raise DataError(f"{path.name}: {first_error(error)}") from error


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no number a record may hold")


def write_file(content: RecordFile, path: Path) -> None:
    """Write next to ``path``, then replace: whoever reads sees the old file or the new one, never a half."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp", delete=False
        ) as stream:
            stream.write(content.to_json())
        Path(stream.name).chmod(0o644)
        Path(stream.name).replace(path)
    except OSError as error:
        raise DataError(f"cannot write the record file {path}: {error.strerror}") from error


def slug(text: str) -> str:
    """Letters and digits of ``text``, of any script, joined by hyphens: for a file name or an anchor."""
    return re.sub(r"[\W_]+", "-", text).strip("-").lower()
