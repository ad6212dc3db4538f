"""``python -m benchmarks [NAME …]``: run the benchmarks of this folder and print a table of ratios."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benchmarks


def available() -> list[str]:
    """Names of the benchmark modules, those with a ``run()``."""
    return [
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    ]


def main(names: list[str]) -> int:
    """Run the named benchmarks (all by default); returns the exit status."""
    console = Console()
    known = available()
    if unknown := sorted(set(names) - set(known)):
        console.print(f"unknown benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
        return 2
    rows: list[dict[str, object]] = []
    for name in names or known:
        console.rule(name)
        rows += [{"benchmark": name, **row} for row in importlib.import_module(f"benchmarks.{name}").run()]
    table = Table(
        "benchmark", "what", "ours s", "reference s", "ratio", "note", title="Both sides in one run, medians"
    )
    for row in rows:
        numbers = [
            f"{row[key]:.3g}" if row.get(key) is not None else ""
            for key in ("ours_s", "reference_s", "ratio")
        ]
        table.add_row(str(row["benchmark"]), str(row["name"]), *numbers, str(row.get("note", "")))
    console.print(table)
    output = Path("_build/benchmarks.json")
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(rows, indent=1))
    console.print(f"written to {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
