"""The trap gallery names, for each trap, a public report and a test here that exists."""

from __future__ import annotations

import ast
import re

import pytest

from bindery.paths import project_root

SOURCE = (project_root() / "notebooks/17_trap_gallery.py").read_text("utf-8")
GUARDS = re.findall(r'guard="(tests/test_\w+\.py)::(test_\w+)"', SOURCE)
SECTIONS = [part for part in re.split(r"^# ## ", SOURCE, flags=re.MULTILINE)[1:] if "guard=" in part]


def test_every_trap_has_a_guard_and_there_are_at_least_six() -> None:
    code = ast.parse(SOURCE)
    calls = [n for n in ast.walk(code) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "sprung"]
    assert len(calls) == len(GUARDS) >= 6
    assert len(SECTIONS) == len(calls)


@pytest.mark.parametrize(("file", "name"), GUARDS)
def test_the_guard_is_a_test_of_this_project(file: str, name: str) -> None:
    assert re.search(rf"^\s*def {name}\(", (project_root() / file).read_text("utf-8"), re.MULTILINE)


def test_every_trap_tells_where_it_was_reported() -> None:
    for section in SECTIONS:
        assert "https://github.com/" in section or "no public report" in section
