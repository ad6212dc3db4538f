"""The page "Teach with it" is followed to the letter, on a small copy of the project."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from bindery.course.exercises import exercises, submission
from bindery.course.grader import isolation
from bindery.course.grader.sandbox import Limits
from bindery.paths import project_root

ROOT = project_root()
PAGE = (ROOT / "book/teach.md").read_text()
BASH = [block for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) if "bindery build" not in block]
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one exercise: its code without weights, and what the tests of exercises need."""
    root = tmp_path_factory.mktemp("copy") / "project"
    large = shutil.ignore_patterns("*.safetensors", "*.zip", "__pycache__", "*.egg-info", "[0-9][0-9]_*.py")
    shutil.copytree(ROOT / "src", root / "src", ignore=large)
    for name in ("_toc.yml", "pyproject.toml", "tests/test_course.py"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "notebooks/exercises").mkdir(parents=True)
    for folder in ("notebooks/exercises", "src/bindery/course/checks"):
        shutil.copy(ROOT / folder / "02_exp_log.py", root / folder)
    shutil.copytree(ROOT / "tests/exercises/02_exp_log", root / "tests/exercises/02_exp_log")
    exercise = exercises()["02_exp_log"]
    for student, answer in (("ann", "right_library"), ("bob", "wrong_numpy_sinc")):
        (root / "submissions" / student).mkdir(parents=True)
        code = (ROOT / f"tests/exercises/02_exp_log/{answer}.py").read_text()
        nbformat.write(submission(exercise, code), root / "submissions" / student / "02_exp_log.ipynb")
    (root / "submissions/cy_02_exp_log.py").write_text("raise SystemExit")
    return root


def follow(block: str, root: Path) -> str:
    """Run the commands of a block, as they stand, in the copy; what they print."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "BINDERY_ROOT": str(root)}
    environment["PATH"] = f"{BIN}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", block], cwd=root, env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def block_with(text: str) -> str:
    (found,) = [block for block in BASH if text in block]
    return found


@pytest.fixture(scope="module")
def walls(tmp_path_factory: pytest.TempPathFactory) -> None:
    mark = tmp_path_factory.mktemp("mark") / "mark"
    mark.touch()
    found = isolation.examine(Limits(), mark)
    if not found.isolated:
        pytest.skip(f"students' code cannot be shut in on this machine: {found.reason}")


def points(root: Path) -> dict[str, tuple[float, float]]:
    table = csv.DictReader((root / "report-totals.csv").open())
    return {row["student"]: (float(row["points"]), float(row["possible"])) for row in table}


def test_every_command_of_the_page_is_followed_here() -> None:
    followed = ("hand-out handouts\n", "--seed 7\n", "mkdir private", "pytest")
    assert all(any(text in block for text in followed) for block in BASH) and len(BASH) == 4


@pytest.mark.slow
def test_hand_out_grade_and_change_points(walls: None, copy: Path) -> None:
    follow(block_with("hand-out handouts\n"), copy)
    (notebook,) = (copy / "handouts").iterdir()
    assert "your code here" in notebook.read_text() and "arctan2(" not in notebook.read_text()
    (grade,) = [block for block in BASH if block.startswith("bindery grade")]
    assert "yes has no network" in follow(grade, copy)
    first = points(copy)
    assert first["ann"] == (5, 5) and first["bob"][0] < 5 and first["cy"] == (0, 5)
    before = (copy / "report.csv").read_bytes()
    follow(grade.strip() + " --fresh", copy)
    assert (copy / "report.csv").read_bytes() == before
    follow(block_with("mkdir private"), copy)
    assert points(copy)["ann"] == (7, 7)


@pytest.mark.slow
def test_an_exercise_is_added_as_the_page_says(copy: Path) -> None:
    section = PAGE.split("(teach-add)=")[1].split("## What to ask")[0]
    named = re.findall(
        r"`((?:[\w/]+/)?\w+\.py)`[^`]*(?:`[^`\n]+`[^`]*)*?```python\n(.*?)```", section, re.DOTALL
    )
    assert len(named) == 7
    for name, code in named:
        path = copy / (name if "/" in name else f"tests/exercises/02_midpoint/{name}")
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
    said = follow(block_with("pytest").replace("pytest tests", "pytest -p no:cacheprovider -rA tests"), copy)
    passed = re.findall(r"PASSED .*midpoint", said)
    assert len(passed) >= 5 + 2 and "FAILED" not in said
    assert (copy / "handouts/02_midpoint.ipynb").exists()
    assert shlex.split(block_with("pytest"))[-1] == "02_midpoint"
