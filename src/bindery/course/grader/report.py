"""What a grading says: rows and totals as CSV, the same bytes for the same outcomes, and a table to look at."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bindery.course.grader.answers import clean
from bindery.course.grader.submissions import student

COLUMNS = ("submission", "exercise", "part", "points", "possible", "feedback")
_SHOWN = 100
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class PartResult:
    """One part of one submission."""

    title: str
    possible: float
    points: float = 0.0
    feedback: str = ""


@dataclass(frozen=True)
class Result:
    """One submission; ``problem`` is set when there was nothing to check, ``printed`` is what its code printed."""

    submission: str
    exercise: str
    parts: tuple[PartResult, ...] = ()
    problem: str = ""
    printed: str = field(default="", compare=False)

    @property
    def points(self) -> float:
        """Of all parts."""
        return sum(part.points for part in self.parts)

    @property
    def possible(self) -> float:
        """Of all parts."""
        return sum(part.possible for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """As the journal keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Result:
        """From the journal; raises TypeError or KeyError when it is none."""
        return cls(**{**told, "parts": tuple(PartResult(**part) for part in told["parts"])})


def report(results: Iterable[Result]) -> str:
    """One row a part, in the order of the submissions' names."""
    rows = []
    for one in _sorted(results):
        for number, part in enumerate(one.parts, 1):
            rows.append((one.submission, one.exercise, f"{number}. {part.title}", part.points, part.possible,
                         part.feedback or one.problem))  # fmt: skip
        if not one.parts:
            rows.append((one.submission, one.exercise, "", 0.0, 0.0, one.problem))
    return _csv(COLUMNS, rows)


def totals(results: Sequence[Result]) -> str:
    """One row a student: the points of each exercise (the best of several attempts), their sum, what was possible.

    An exercise that any student handed in counts as possible for all.
    """
    possible: dict[str, float] = {}
    best: dict[str, dict[str, float]] = defaultdict(dict)
    for one in _sorted(results):
        mine = best[student(one.submission, one.exercise)]
        if one.parts:
            possible[one.exercise] = one.possible
            mine[one.exercise] = max(one.points, mine.get(one.exercise, 0.0))
    names = sorted(possible)
    rows = [
        (who, *(points.get(name, 0.0) for name in names), sum(points.values()), sum(possible.values()))
        for who, points in sorted(best.items())
    ]
    return _csv(("student", *names, "points", "possible"), rows)


def _sorted(results: Iterable[Result]) -> list[Result]:
    return sorted(results, key=lambda one: (one.submission, one.exercise))


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> str:
    """A number, or a text that no spreadsheet takes for a formula."""
    if isinstance(value, float):
        return f"{value:g}"
    text = clean(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def write(path: Path, text: str) -> None:
    """Replace the file as a whole: an interruption leaves the old one or the new one."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def show(results: Sequence[Result], console: Console) -> None:
    """A line a submission: points, and the first thing that was wrong."""
    table = Table(box=None, pad_edge=False)
    for heading in ("submission", "exercise", "points"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "points" else "left")
    table.add_column("first lost for", overflow="ellipsis", no_wrap=True)
    for one in _sorted(results):
        lost = one.problem or next((part.feedback for part in one.parts if part.feedback), "")
        points = f"{one.points:g}/{one.possible:g}"
        table.add_row(escape(one.submission), escape(one.exercise or "?"), points, escape(lost[:_SHOWN]))
    console.print(table)
