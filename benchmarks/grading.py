"""A class graded on two cores: honest answers, wrong ones, and all attacks on the grader. It is graded twice.

The honest and the wrong are those that the tests of the exercises keep; what stopped an attack is what the report says.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks import Row, _hostile, row
from bindery.course.exercises import exercises, submission
from bindery.paths import project_root

_ALLOWED = 600.0
_REPORTS = ("report.csv", "report-totals.csv")


def run() -> list[Row]:
    """One row: seconds for the class beside the ten minutes that it may take; prints what stopped each attack."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        expected, tries = generate(root)
        first, content = _graded(root, "first")
        second, again = _graded(root, "second")
        rows = list(csv.DictReader((root / "first/report.csv").open(encoding="utf-8")))
        changed = (root / "second/secret").exists()
    _show(rows, tries)
    got = {one["submission"]: 0.0 for one in rows}
    for one in rows:
        got[one["submission"]] += float(one["points"]) / max(float(one["possible"]), 1.0)
    wrong = sorted(name for name, right in expected.items() if (_full(rows, name) != right))
    note = (
        f"{len(expected)} submissions: {len(expected) - len(tries)} honest or wrong, {len(tries)} hostile; "
        f"reference: the ten minutes allowed; judged otherwise than they should be: {', '.join(wrong) or 'none'}; "
        f"graded again in {second:.0f} s, {'the same bytes' if content == again else 'DIFFERENT BYTES'}"
        f"{'; AN ATTACK LEFT A FILE' if changed else ''}"
    )
    return [row("grade a class", first, _ALLOWED, note)]


def generate(root: Path) -> tuple[dict[str, bool], dict[str, str]]:
    """Write the class and its private check; per submission, whether it deserves all points, and what attacks try."""
    for name in ("class", "private", "first", "second"):
        (root / name).mkdir()
    (root / f"private/{_hostile.EXERCISE}.py").write_text(_hostile.CHECK)
    expected = {}
    for name, exercise in exercises().items():
        folder = project_root() / "tests/exercises" / name
        for kind in ("right", "wrong"):
            code = sorted(folder.glob(f"{kind}_*.py"))[0]
            path = root / f"class/{kind}_{name}.ipynb"
            nbformat.write(submission(exercise, code.read_text(encoding="utf-8")), path)
            expected[path.name] = kind == "right"
    secret = root / f"private/{_hostile.EXERCISE}.py"
    other = root / f"class/{next(iter(expected))}"
    places = {
        "private": secret,
        "other": other,
        "report": root / "first/report.csv",
        "mark": root / "second/secret",
    }
    tries = _hostile.write_files(root / "class", secret)
    for attack in _hostile.ATTACKS:
        path = attack.write(root / "class", {key: str(place) for key, place in places.items()})
        tries[path.name] = attack.tries
        expected[path.name] = attack.name in _hostile.RIGHT_ALL_THE_SAME
    return {**dict.fromkeys(tries, False), **expected}, tries


def _graded(root: Path, name: str) -> tuple[float, list[bytes]]:
    """Seconds, and the bytes of the reports."""
    command = [sys.executable, "-m", "bindery.cli", "grade", "class", "--private", "private", "-j", "2"]
    started = time.perf_counter()
    subprocess.run([*command, "--out", f"{name}/report.csv"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started, [(root / name / report).read_bytes() for report in _REPORTS]


def _full(rows: list[dict[str, str]], name: str) -> bool:
    """Whether the submission got all points of an exercise."""
    mine = [one for one in rows if one["submission"].lstrip("'") == name]
    return any(float(one["possible"]) for one in mine) and all(
        one["points"] == one["possible"] for one in mine
    )


def _show(rows: list[dict[str, str]], tries: dict[str, str]) -> None:
    table = Table("attack", "points", "what stopped it", title="Hostile submissions")
    for one in rows:
        if told := tries.get(one["submission"].lstrip("'")):
            table.add_row(escape(told), f"{one['points']}/{one['possible']}", escape(one["feedback"][:120]))
    Console(width=200).print(table)


if __name__ == "__main__":
    for line in run():
        print(line)
