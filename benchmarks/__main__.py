"""``python -m benchmarks [NAME …]``: run the benchmarks of this folder and print a table of ratios."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks import Row


def available() -> list[str]:
    """Names of the benchmark modules, those with a ``run()``."""
    return [
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    ]


def main(names: list[str]) -> int:
    """Run the named benchmarks (all by default); returns the exit status."""
    console = Console() if sys.stdout.isatty() else Console(width=160)
    known = available()
    if unknown := sorted(set(names) - set(known)):
        console.print(f"unknown benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
        return 2
    rows: list[dict[str, object]] = []
    output = Path("_build/benchmarks.json")
    output.parent.mkdir(exist_ok=True)
    for name in names or known:
        console.rule(name)
        new = named(name, importlib.import_module(f"benchmarks.{name}").run())
        rows += new
        console.print(table(new))
        output.write_text(json.dumps(rows, indent=1))  # at once: a later benchmark may fail
    console.rule("all")
    console.print(table(rows))
    console.print(f"written to {output}")
    return 0


def named(name: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows with the benchmark's name; raises ValueError when one has other keys than a `Row`."""
    if odd := [row for row in rows if set(row) != set(Row.__annotations__)]:
        raise ValueError(f"benchmark {name}: a row must be made by benchmarks.row; got {odd[0]}")
    return [{"benchmark": name, **row} for row in rows]


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows as a table; a figure that a row has not is left empty."""
    shown = Table(
        "benchmark", "what", "ours s", "reference s", "ratio", "note", title="Both sides in one run, medians"
    )
    for row in rows:
        figures = [
            f"{row[key]:.3g}" if row[key] is not None else "" for key in ("ours_s", "reference_s", "ratio")
        ]
        shown.add_row(row["benchmark"], row["name"], *figures, row["note"])
    return shown


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
