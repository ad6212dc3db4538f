"""Benchmarks: every row has the same keys, nothing that was measured is lost. No timing here."""

from __future__ import annotations

import ast
import json
import sys
import types
from pathlib import Path

import benchmarks
import pytest
from benchmarks import __main__ as bench
from benchmarks import fit

from bindery.paths import project_root


def test_rows_are_made_in_one_place_only() -> None:
    """A benchmark that builds its own dictionaries would have other keys than the table reads."""
    for path in (project_root() / "benchmarks").glob("[!_]*.py"):
        keys = {
            key.value
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Dict)
            for key in node.keys
            if isinstance(key, ast.Constant)
        }
        assert not keys & {"name", "ours_s", "reference_s", "ratio", "what", "seconds"}, path.name


def test_ratio_is_how_much_longer_the_reference_takes() -> None:
    assert benchmarks.row("a", 2.0, 6.0, "")["ratio"] == 3.0
    assert benchmarks.row("a", 2.0, 6.0, "", ratio=0.5)["ratio"] == 0.5
    assert benchmarks.row("a", 2.0, None, "")["ratio"] is None


def test_a_real_benchmark_gives_such_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "GROUPS", {("a", "c"): 40, ("a", "d"): 30, ("b", "c"): 30, ("b", "d"): 9})
    rows = bench.named("fit", fit.run(dim=16, repeats=1, slice_rows=50))
    assert len(rows) == 3 and bench.table(rows).row_count == 3


def test_what_was_measured_survives_a_benchmark_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise RuntimeError("no")

    good, bad, odd = (types.ModuleType(f"benchmarks.{name}") for name in ("good", "bad", "odd"))
    good.run = lambda: [benchmarks.row("first", 1.0, 2.0, "kept")]
    bad.run, odd.run = fail, lambda: [{"what": "first", "seconds": 1.0}]
    for module in (good, bad, odd):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(bench, "available", lambda: ["good", "bad", "odd"])
    monkeypatch.chdir(tmp_path)
    for name, error in (("bad", RuntimeError), ("odd", ValueError)):
        with pytest.raises(error):
            bench.main(["good", name])
        assert "kept" in capsys.readouterr().out
        (row,) = json.loads((tmp_path / "_build/benchmarks.json").read_text())
        assert row["benchmark"] == "good" and row["ratio"] == 2.0
