"""The chapters' sources: one form for all, and nothing promised that is not there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jupytext
import pytest

from bindery import data
from bindery.ledger import load_claims
from bindery.parameters import parse
from bindery.paths import project_root
from bindery.runner.chapters import read_chapters
from bindery.runner.profiles import load_profile

ROOT = project_root()
CHAPTERS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.py"))
KEPT = {"photographs", "sugar-crepe", "imagenet-val", "coco"}  # read by functions of their own, not by `load`


def notebook(path: Path) -> Any:
    return jupytext.read(path)


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_header_says_what_the_chapter_needs(chapter: Path) -> None:
    about = notebook(chapter).metadata["bindery"]
    assert about["title"] and 1 <= about["minutes"] <= 60
    needs = about["needs"]
    assert set(needs) <= {"data", "results", "records", "encoders"}
    unknown = set(needs.get("data") or []) - set(data.keys()) - KEPT
    assert not unknown, f"no such data set: {unknown}"
    stems = {path.stem for path in CHAPTERS} | {"*"}
    assert set(needs.get("records") or []) <= stems
    for name in needs.get("results") or []:
        found = [*ROOT.glob(name), *(ROOT / "results").glob(name)]
        assert found or "*" in name, f"{name} is not committed"


def test_one_parameters_cell_and_a_start_after_it(chapter: Path) -> None:
    cells = [cell for cell in notebook(chapter).cells if cell.cell_type == "code"]
    tagged = [i for i, cell in enumerate(cells) if "parameters" in cell.metadata.get("tags", [])]
    assert tagged == [0], "the parameters cell is the first code cell, and the only one"
    assert "start(globals())" in cells[1].source and "remove-cell" in cells[1].metadata["tags"]


def test_every_parameter_says_what_it_is(chapter: Path) -> None:
    silent = [name for name, parameter in parse(chapter).items() if not parameter.help]
    assert not silent, f"no comment beside: {silent}"


def test_page_opens_with_title_and_box_and_ends_with_exercises(chapter: Path) -> None:
    text = chapter.read_text()
    first = next(cell for cell in notebook(chapter).cells if cell.cell_type == "markdown").source
    assert first.startswith("# ")
    if not chapter.stem.startswith("18"):
        assert "{admonition}" in first
        for word in ("You need", "You will be able to", "minutes"):
            assert word in first, f"the opening box does not say: {word}"
        assert "{exercise}" in text
        assert re.search(r"^# ## What did(n't| not) (hold|fit)", text, re.MULTILINE), (
            "closes with what did not hold"
        )


def test_solutions_fold_and_belong_to_an_exercise(chapter: Path) -> None:
    text = chapter.read_text()
    exercises = set(re.findall(r":label: (ex-[\w-]+)", text))
    for label, body in re.findall(r"\{solution\} (ex-[\w-]+)\n(.*)", text):
        assert label in exercises and "dropdown" in body


def test_claims_recorded_exist_and_name_this_chapter(chapter: Path) -> None:
    claims = load_claims()
    source = chapter.read_text()
    used = set(re.findall(r"\"((?:gde|jer|own)\.[a-z0-9-]+)\"", source))
    assert used <= set(claims), used - set(claims)
    elsewhere = {name for name in used if claims[name].chapter != chapter.stem}
    assert chapter.stem.startswith("18") or not elsewhere, f"claims of other chapters: {elsewhere}"


def test_figures_have_alt_text_that_is_not_the_caption(chapter: Path) -> None:
    source = chapter.read_text()
    calls = source.count("chapter.figure(")
    assert source.count("alt=") >= calls, "a figure without alt text"


@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
def test_profiles_fit_the_chapters(profile: str) -> None:
    load_profile(ROOT / "notebooks", profile, read_chapters(ROOT / "notebooks"))


def test_no_registry_host_and_no_absolute_path_in_the_sources() -> None:
    pattern = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|deb\.debian|/home/\w|/root/|/Users/\w")
    files = [
        path
        for folder in ("src", "notebooks", "book", "tools", "benchmarks")
        for path in (ROOT / folder).rglob("*")
    ]
    bad = [
        f"{path.relative_to(ROOT)}: {match.group(0)}"
        for path in files
        if path.suffix in {".py", ".md", ".yml", ".toml", ".csv"} and "chapters" not in path.parts[-3:-1]
        if (match := pattern.search(path.read_text(errors="ignore")))
    ]
    assert not bad
