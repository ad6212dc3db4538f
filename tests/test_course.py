"""Exercises: every check accepts the right answers and rejects the wrong ones; students' copies give nothing away."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from bindery.course import checking
from bindery.course.checking import CheckFailed, Outcome, check, load_checks, local_ask, run_checks
from bindery.course.exercises import (
    GAP,
    Exercise,
    derive_student,
    exercises,
    solution_notebook,
    solution_source,
    student_notebook,
    submission,
)
from bindery.course.pages import exercise_page, student_download, syllabus
from bindery.course.plain import plain
from bindery.errors import DataError, InputError
from bindery.paths import project_root
from bindery.provenance import sha256_file
from bindery.runner.chapters import read_chapters
from bindery.runner.imports import Library
from bindery.runner.inputs import Hashes, chapter_inputs
from bindery.runner.outputs import Outputs
from bindery.runner.pages import publish
from bindery.runner.project import Project
from bindery.runner.schedule import Outcome as Settled

ROOT = project_root()
EXERCISES = exercises()
ANSWERS = sorted((ROOT / "tests/exercises").glob("*/*.py"))
SEEDS = (0, 1, 20_261)
UNCHECKED = "This answer cannot be checked"
BOOK_ONLY = re.compile(
    r"\{(eq|numref|doc|cite|prf:ref|ref|glue)[:\w]*\}`|\\(Exp|Log|R|S|E|T|norm|tr|argm\w+)(?![a-zA-Z])"
)


@pytest.fixture(params=list(EXERCISES.values()), ids=list(EXERCISES))
def exercise(request: pytest.FixtureRequest) -> Exercise:
    return request.param


def namespace(notebook: Any) -> dict[str, Any]:
    """What the cells before the check define."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook.cells:
        if cell.cell_type == "code" and not {"check", "demo"} & set(cell.metadata.get("tags", [])):
            exec(compile(cell.source, "cell", "exec"), names)
    return names


@cache
def before_the_answer(name: str) -> dict[str, Any]:
    return namespace(student_notebook(EXERCISES[name]))


def outcomes(exercise: Exercise, names: dict[str, Any], seed: int) -> list[Outcome]:
    return run_checks(load_checks(exercise.id), local_ask(names), exercise=exercise.id, seed=seed)


# --- sources


def test_there_are_twelve_and_each_says_what_it_is() -> None:
    chapters = {path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.py")}
    assert len(EXERCISES) >= 12
    for name, one in EXERCISES.items():
        assert one.chapter in chapters
        assert set(one.prerequisites) <= chapters | set(EXERCISES), name
        assert one.prerequisites, name
        assert sum(part.points for part in load_checks(name)) == one.points, name
        defined = namespace(solution_notebook(one))
        assert all(callable(defined.get(function)) for function in one.defines), name
        assert len(list((ROOT / "tests/exercises" / name).glob("wrong_*.py"))) >= 3, name
        assert len(list((ROOT / "tests/exercises" / name).glob("right_*.py"))) >= 2, name


def test_a_header_that_lacks_something_is_told(tmp_path: Path) -> None:
    source = EXERCISES["02_exp_log"].path.read_text()
    (tmp_path / "02_bad.py").write_text(source.replace("points: 5", "point: 5"))
    with pytest.raises(InputError, match=r"02_bad\.py.*points"):
        exercises(tmp_path)
    (tmp_path / "02_bad.py").write_text(source.replace("title: Exp", "title: [Exp"))
    with pytest.raises(InputError, match=r"02_bad\.py cannot be read"):
        exercises(tmp_path)


# --- checks


@pytest.mark.parametrize("path", ANSWERS, ids=[f"{path.parent.name}/{path.stem}" for path in ANSWERS])
def test_answers_are_judged_rightly_for_every_seed(path: Path) -> None:
    exercise, code = EXERCISES[path.parent.name], path.read_text()
    assert code.startswith("# "), "the first line says what is right or wrong"
    heavy = exercise.id.startswith("12_")
    for seed in SEEDS[: 1 if heavy else None]:
        names = dict(before_the_answer(exercise.id))
        exec(compile(code, path.name, "exec"), names)
        told = outcomes(exercise, names, seed)
        failed = [outcome.sentence for outcome in told if outcome.sentence]
        assert not [sentence for sentence in failed if sentence.startswith(UNCHECKED)], failed
        assert bool(failed) == path.stem.startswith("wrong"), failed
        assert all(10 < len(sentence) < 300 and "\n" not in sentence for sentence in failed)


def test_the_shipped_solution_is_accepted_and_its_tasks_names_suffice(exercise: Exercise) -> None:
    assert not [o for o in outcomes(exercise, namespace(solution_notebook(exercise)), 7) if o.sentence]
    names = namespace(submission(exercise, solution_source(exercise)))
    assert set(exercise.defines) <= set(names)


def test_inputs_are_fresh_for_each_seed_and_equal_for_equal_ones(exercise: Exercise) -> None:
    def asked(seed: int) -> list[Any]:
        told: list[Any] = []

        def ask(name: str, /, *args: Any, **kwargs: Any) -> Any:
            told.append([name, *args, kwargs])
            raise CheckFailed("stop")

        run_checks(load_checks(exercise.id), ask, exercise=exercise.id, seed=seed)
        return [
            [value.tolist() if isinstance(value, np.ndarray) else value for value in call] for call in told
        ]

    first, again, other = asked(0), asked(0), asked(1)
    assert json.dumps(first) == json.dumps(again)
    assert sum(a != b for a, b in zip(first, other, strict=True)) >= len(first) / 2


def test_an_exception_in_the_check_is_told_without_its_source() -> None:
    @checking.part(2, "broken")
    def broken(ask: checking.Ask, rng: np.random.Generator) -> None:
        secret = np.zeros(3)
        secret[7] = 1

    (outcome,) = run_checks([broken], local_ask({}), exercise="x", seed=0)
    assert outcome.got == 0 and outcome.sentence is not None and outcome.sentence.startswith(UNCHECKED)
    assert "secret" not in outcome.sentence and "IndexError" in outcome.sentence


def test_parts_do_not_disturb_each_other(exercise: Exercise) -> None:
    parts, names = load_checks(exercise.id), before_the_answer(exercise.id)
    together = run_checks(parts, local_ask(names), exercise=exercise.id, seed=3)
    assert all(outcome.got == 0 and outcome.sentence for outcome in together)


def test_a_function_that_changes_its_arguments_or_raises_hurts_nobody() -> None:
    def spoil(x: np.ndarray) -> None:
        x[:] = 0

    mine = np.ones(3)
    ask = local_ask({"spoil": spoil, "fail": lambda: 1 / 0, "odd": lambda: {1, 2}})
    assert ask("spoil", mine) is None and mine.sum() == 3
    for name, told in {
        "fail": "fail raises ZeroDivision",
        "odd": "a set is no plain data",
        "absent": "no function",
    }.items():
        with pytest.raises(CheckFailed, match=told):
            ask(name)


def test_a_private_check_stands_in_for_the_public_one(tmp_path: Path) -> None:
    text = "from bindery.course.checking import part\n\n\n@part(9, 'mine')\ndef mine(ask, rng):\n    ask('exp')\n"
    (tmp_path / "02_exp_log.py").write_text(text)
    assert [(p.points, p.title) for p in load_checks("02_exp_log", tmp_path)] == [(9, "mine")]
    assert sum(p.points for p in load_checks("03_lemma_1", tmp_path)) == EXERCISES["03_lemma_1"].points
    (tmp_path / "02_exp_log.py").write_text("1 / 0")
    with pytest.raises(DataError, match="ZeroDivisionError"):
        load_checks("02_exp_log", tmp_path)
    (tmp_path / "02_exp_log.py").write_text("")
    with pytest.raises(DataError, match="no part"):
        load_checks("02_exp_log", tmp_path)
    for name in ("02_exp", "../checking", "__init__"):
        with pytest.raises(InputError, match="no check"):
            load_checks(name, tmp_path)


# --- plain data


def test_plain_data_is_copied_and_told_by_exact_type() -> None:
    torch = pytest.importorskip("torch")
    array = np.arange(3.0)
    value = plain({"a": (1, np.float32(0.5), None), "b": array, "t": torch.ones(2, requires_grad=True)})
    array[0] = 9
    assert value["a"] == [1, 0.5, None] and type(value["a"][1]) is float
    assert (
        value["b"].tolist() == [0, 1, 2] and value["t"].tolist() == [1, 1] and type(value["t"]) is np.ndarray
    )
    assert plain(np.longdouble(0.25)) == 0.25 and plain(np.arange(2, dtype=">i4")).dtype == np.int32
    assert type(plain(np.True_)) is bool


class Liar(np.ndarray):
    """Says that it equals everything."""

    def __eq__(self, other: object) -> Any:
        return True


class Sly(dict[str, int]):
    """A dictionary that is not one."""


@pytest.mark.parametrize(
    "value",
    [
        np.ones(2).view(Liar),
        Sly(a=1),
        type("Big", (float,), {})(1.0),
        type("Text", (str,), {})("x"),
        {1: 2},
        object(),
        lambda: 1,
        np.array([object()]),
        np.array(["text"]),
        np.zeros(2, dtype=[("x", float)]),
        {1, 2},
        b"bytes",
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"plain data|must be strings"):
        plain([value])


def test_endless_nesting_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InputError, match="16 deep"):
        plain(endless)


# --- what students get


def answer_lines(exercise: Exercise) -> set[str]:
    """Lines of the answer that stand nowhere else, and sentences of the discussion."""
    notebook = solution_notebook(exercise)
    lines: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            blocks = re.findall(r"# <solution>\n(.*?)# </solution>", cell.source, re.DOTALL)
            lines |= {line.strip() for block in blocks for line in block.splitlines()}
        elif "solution" in cell.metadata.get("tags", []):
            lines |= {line.strip() for line in cell.source.splitlines()}
    given = "\n".join(
        c.source for c in notebook.cells if {"demo", "check", "hint"} & set(c.metadata.get("tags", []))
    )
    return {line for line in lines if len(line) > 14 and line not in given}


def test_students_copies_hold_no_solution(exercise: Exercise) -> None:
    notebook = student_notebook(exercise)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells)
    held = [line for line in answer_lines(exercise) if line in text]
    assert not held, held
    assert text.count(GAP) == solution_notebook_gaps(exercise) and "solution>" not in text
    assert notebook.metadata["bindery"] == {"exercise": exercise.id}
    assert not BOOK_ONLY.search(text), "a role or macro that only the book understands"
    assert text.count("<details>") == 1, "one folded hint"
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])]
    assert tags.count("check") == 1 and "solution" not in tags


def solution_notebook_gaps(exercise: Exercise) -> int:
    return exercise.path.read_text().count("# <solution>\n")


def test_an_unanswered_copy_is_told_in_sentences(
    exercise: Exercise, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CheckFailed, match=f"0 of {exercise.points:g} points"):
        check(exercise.id, before_the_answer(exercise.id), seed=1)
    told = capsys.readouterr().out
    assert (
        "Traceback" not in told and UNCHECKED not in told and told.count("✗") == len(load_checks(exercise.id))
    )


def test_an_answer_in_place_of_the_gap_passes(capsys: pytest.CaptureFixture[str]) -> None:
    one = EXERCISES["03_incomplete_grid"]
    code = (ROOT / "tests/exercises/03_incomplete_grid/right_sweeps.py").read_text()
    check(one.id, namespace(submission(one, code)), seed=4)
    assert f"{one.points:g} of {one.points:g} points" in capsys.readouterr().out


def test_a_students_notebook_runs_on_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that is no checkout; the check's failure is one line."""
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = student_notebook(EXERCISES["06_two_averages"])
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    with pytest.raises(CellExecutionError, match="0 of 4 points"):
        client.execute()
    (cell,) = [c for c in notebook.cells if "check" in c.metadata.get("tags", [])]
    error = next(output for output in cell.outputs if output.output_type == "error")
    assert error.traceback == ["CheckFailed: 0 of 4 points; 4 of 4 checks say what is missing"]


# --- pages


def executed(exercise: Exercise) -> str:
    """The solved notebook as the runner leaves it, without outputs."""
    notebook = solution_notebook(exercise)
    about = {"title": exercise.title, "minutes": exercise.minutes, "chapter": exercise.id}
    told = {"chapter": exercise.chapter, "points": exercise.points, "level": exercise.level}
    notebook.metadata["bindery"] = about | {"exercise": told}
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    return nbformat.writes(notebook)


def test_pages_fold_what_helps_and_leave_out_what_is_asked(exercise: Exercise) -> None:
    shown = nbformat.reads(exercise_page(executed(exercise), solutions=True), as_version=4)
    text = "\n".join(cell.source for cell in shown.cells)
    assert f"exercises/{exercise.id}.ipynb" in text and GAP in text
    for title in ("Hint", "Discussion"):
        assert text.count(f"{{admonition}} {title}\n") == 1
    prompts = [c.metadata["mystnb"]["code_prompt_show"] for c in shown.cells if "mystnb" in c.metadata]
    assert "Show a solution" in prompts
    assert "solution>" not in text
    left = exercise_page(executed(exercise), solutions=False)
    held = [line for line in answer_lines(exercise) if json.dumps(line)[1:-1] in left]
    assert not held and "Discussion" not in left


def test_the_download_without_solutions_is_the_students_copy(exercise: Exercise) -> None:
    assert nbformat.reads(student_download(executed(exercise)), as_version=4) == student_notebook(exercise)
    assert derive_student(solution_notebook(exercise), exercise.id) == student_notebook(exercise)


def test_syllabus_lists_every_exercise_once() -> None:
    table = syllabus(EXERCISES, {path.stem: "T" for path in (ROOT / "notebooks").glob("[0-9]*.py")})
    rows = table.splitlines()[2:-1]
    assert len(rows) == len(EXERCISES)
    for row, one in zip(rows, EXERCISES.values(), strict=True):
        assert f"<chapters/exercises/{one.id}>" in row and f"<chapters/{one.chapter}>" in row
        assert f"| {one.minutes:g} | {one.points:g} | {one.level} |" in row
    assert (ROOT / "book/syllabus.md").read_text().count("<!-- the table of exercises -->") == 1


def test_the_runner_takes_exercises_after_the_chapters_and_apart_from_them() -> None:
    chapters = read_chapters(ROOT / "notebooks")
    kinds = [one.header.exercise is not None for one in chapters.values()]
    assert kinds == sorted(kinds) and sum(kinds) == len(EXERCISES)
    assert (
        chapters["02_exp_log"].page == "exercises/02_exp_log"
        and chapters["02_the_sphere"].page == "02_the_sphere"
    )
    assert not set(chapters["18_scoreboard"].depends) & set(EXERCISES)


def test_a_changed_check_runs_its_exercise_again(tmp_path: Path) -> None:
    project, chapters = Project.find(), read_chapters(ROOT / "notebooks")
    library, hashes = Library(project.library), Hashes(tmp_path / "hashes.json")

    def inputs(name: str) -> dict[str, str]:
        return chapter_inputs(project, chapters[name], {}, {}, hashes, library, lambda _: "none")

    told = inputs("02_exp_log")
    assert told["its check"] == sha256_file(checking.CHECKS / "02_exp_log.py")
    assert "library bindery.sphere" in inputs("02_intrinsic_mean"), "what the check imports"
    assert "its check" not in inputs("00_primer")


def test_pages_of_exercises_have_their_folder_and_go_with_their_source(tmp_path: Path) -> None:
    chapters = {
        name: one
        for name, one in read_chapters(ROOT / "notebooks").items()
        if name in ("13_ties", "00_primer")
    }
    missing = {name: Settled("missing", why="it has not run yet") for name in chapters}
    outputs = Outputs(tmp_path / "executed", Hashes(tmp_path / "hashes.json"))
    pages = tmp_path / "pages"
    publish(pages, chapters, missing, outputs)
    assert "bindery build --only 13_ties" in (pages / "exercises/13_ties.ipynb").read_text()
    (pages / "exercises/99_old.ipynb").write_text("{}")
    publish(pages, {"00_primer": chapters["00_primer"]}, missing, outputs)
    assert sorted(path.name for path in pages.rglob("*.ipynb")) == ["00_primer.ipynb"]
