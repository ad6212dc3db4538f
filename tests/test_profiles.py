"""Profiles: what a rehearsal changes, and that it is checked as strictly as the rest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bindery.errors import InputError
from bindery.paths import project_root
from bindery.runner.chapters import read_chapters
from bindery.runner.profiles import load_profile

PRIMER = "00_primer"


@pytest.fixture
def notebooks(tmp_path: Path) -> Path:
    (tmp_path / "profiles").mkdir()
    shutil.copy(project_root() / "notebooks" / f"{PRIMER}.py", tmp_path)
    return tmp_path


def write(notebooks: Path, text: str) -> None:
    (notebooks / "profiles/paper.yml").write_text(text)


def test_a_rehearsal_overrides_the_chapters_values(notebooks: Path) -> None:
    write(
        notebooks,
        f"chapters:\n  {PRIMER}: {{n_points: 900, seed: 3}}\nrehearse:\n  {PRIMER}: {{n_points: 9}}\n",
    )
    chapters = read_chapters(notebooks)
    full = load_profile(notebooks, "paper", chapters)[PRIMER]
    short = load_profile(notebooks, "paper", chapters, rehearse=True)[PRIMER]
    assert (full["n_points"], short["n_points"], short["seed"]) == (900, 9, 3)


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("{n_pionts: 9}", "n_points"),
        ("{n_points: many}", "whole number|int"),
    ],
)
def test_a_wrong_rehearsal_is_refused_before_it_is_needed(notebooks: Path, block: str, told: str) -> None:
    write(notebooks, f"rehearse:\n  {PRIMER}: {block}\n")
    with pytest.raises(InputError, match=told):
        load_profile(notebooks, "paper", read_chapters(notebooks))


def test_an_unknown_chapter_to_rehearse_is_refused(notebooks: Path) -> None:
    write(notebooks, "rehearse:\n  00_prime: {}\n")
    with pytest.raises(InputError, match=PRIMER):
        load_profile(notebooks, "paper", read_chapters(notebooks))
