"""The command line as a reader meets it: one clear line for every mistake, and the documented exits."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

import toy_book
from bindery import __version__, cli


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = toy_book.make(tmp_path / "book")
    monkeypatch.setenv("BINDERY_ROOT", str(root))
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "200")
    return root


def bindery(*arguments: str) -> int:
    """Run the command in this process; returns the exit code."""
    old, sys.argv = sys.argv, ["bindery", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = old
    return 0


def test_version_and_usage(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bindery("--version") == 0 and capsys.readouterr().out == f"bindery {__version__}\n"
    assert bindery("build", "--nope") == 2
    assert bindery("build", "-j", "0") == 2
    assert bindery("bulid") == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["build", "--profile", "lpatop"], "unknown profile 'lpatop'; profiles: laptop, smoke"),
        (["build", "--only", "07"], "unknown chapter '07'; chapters: 01_one, 02_two, 03_three"),
        (
            ["run", "01", "-p", "n_sampels=3"],
            "unknown parameter 'n_sampels' of 01_one; did you mean 'n_samples'?",
        ),
        (["run", "01", "-p", "n_samples=abc"], "parameter n_samples must be int; got 'abc'"),
        (["run", "01", "-p", "mode=quiet"], "parameter mode must be one of plain, loud; got 'quiet'"),
        (["run", "01", "-p", "n_samples"], "-p takes name=value; got 'n_samples'"),
        (["run", "02"], "02_two needs the records of 01_one; run `bindery build` first"),
        (
            ["run", "01", "-o", "nowhere/out.ipynb"],
            "the folder of the output nowhere/out.ipynb does not exist",
        ),
        (["run", "01", "-o", "book/chapters/01_one.ipynb"], "book/chapters belongs to `bindery build`"),
        (["run", "01", "-o", "notebooks/01_one.py"], "must be a notebook's name that ends in .ipynb"),
        (["run", "01", "-o", "out.html", "--html"], "must be a notebook's name that ends in .ipynb"),
        (["run", "01", "-o", "."], "must be a notebook's name that ends in .ipynb"),
        (["run", "01", "-p", "scale=nan"], "parameter scale must be float; got 'nan'"),
        (["results", "import", "absent.json"], "absent.json"),
        (["results", "import", "notebooks"], "notebooks: is no file"),
    ],
)
def test_mistakes_are_one_line_on_standard_error(
    book: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert bindery(*arguments) == 1
    said = capsys.readouterr()
    assert said.err.startswith("error: ") and told in said.err and said.err.count("\n") == 1
    assert not (book / ".cache/work").exists(), "refused before anything runs"


def test_results_file_that_does_not_validate_is_refused(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (book / "records.json").write_text('{"records": 3}')
    assert bindery("results", "import", "records.json") == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert not (book / "results").exists()


def test_no_checkout_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BINDERY_ROOT", str(tmp_path))
    for command in (["list"], ["build"], ["run", "00"], ["build", "--dry-run"]):
        assert bindery(*command) == 1
        said = capsys.readouterr().err
        assert f"BINDERY_ROOT is {tmp_path}, where there is no" in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_no_chapters_is_one_line(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (book / "notebooks").glob("*.py"):
        path.unlink()
    assert bindery("list") == 1
    assert capsys.readouterr().err == "error: no chapters found; expected notebooks/NN_name.py\n"


def test_a_chapter_that_is_no_text_is_one_line(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (book / "notebooks/04_four.py").write_bytes(b"\xff")
    assert bindery("list") == 1
    said = capsys.readouterr().err
    assert said.startswith("error: notebooks/04_four.py cannot be read") and said.count("\n") == 1


def test_output_that_cannot_be_written_is_refused_before_anything_runs(
    book: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("bindery.runner.single.tempfile.TemporaryFile", refuse)
    assert bindery("run", "01", "-o", "out.ipynb") == 1
    said = capsys.readouterr().err
    assert "cannot write the output out.ipynb (Permission denied)" in said and said.count("\n") == 1


def test_a_terminated_run_stops_and_leaves_nothing(
    book: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (book / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(book / "tmp"))
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert bindery("run", "01", "-o", "out.ipynb") == 130
    assert "interrupted" in capsys.readouterr().err
    assert not (book / "out.ipynb").exists() and not list((book / "tmp").iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_checkout_is_one_line(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book.chmod(0o500)
    assert bindery("build") == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_cache_that_is_no_folder_is_one_line(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (book / ".cache").write_text("")
    assert bindery("build") == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_list_shows_types_defaults_help_and_cost(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bindery("list") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "01_one One 0.5 min n_samples int 4 how many" in said
    assert "mode one of plain, loud 'plain' how it prints" in said
    assert bindery("list", "--json") == 0
    told = json.loads(capsys.readouterr().out)["01_one"]["parameters"]["scale"]
    assert told == {"type": "float", "default": 1.0, "help": "factor"}


def test_dry_run_says_what_and_why_and_runs_nothing(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bindery("build", "--dry-run", "--only", "02") == 0
    assert capsys.readouterr().out.splitlines() == [
        "run    01_one  (it has not run yet)",
        "run    02_two  (it has not run yet)",
        "leave  03_three  (it has not run yet)",
    ]
    assert not (book / "book/chapters").exists()


def test_run_writes_everything_beside_the_output(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (book / "mine").mkdir()
    assert bindery("run", "1", "-p", "n_samples=3", "-p", "mode=loud", "-o", "mine/out.ipynb", "--html") == 0
    assert sorted(path.name for path in (book / "mine").iterdir()) == [
        "out.html", "out.ipynb", "out.records.json", "out_figures",
    ]  # fmt: skip
    record = json.loads((book / "mine/out.records.json").read_text())["measurements"][0]
    assert record["value"] == 18 and record["profile"] == "custom"
    assert record["parameters"] == {"n_samples": 3, "scale": 1.0, "mode": "loud"}
    assert (book / "mine/out_figures/total.txt").read_text() == "18 custom"
    assert not (book / "book/chapters").exists() and not (book / ".cache/executed").exists()
    assert "mine/out.html" in capsys.readouterr().out


def test_run_that_raises_tells_the_cell_and_keeps_the_notebook(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (book / "pack.txt").unlink()
    assert bindery("run", "01", "-o", "out.ipynb") == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "01_one failed in cell In [3] (total = n_samples" in error and "FileNotFoundError" in error
    assert not (book / "out.ipynb").exists()
    assert "FileNotFoundError" in (book / "out.failed.ipynb").read_text()


def test_paths_in_parameters_are_meant_from_where_the_reader_stands(
    book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bindery.runner.single import _from_here

    elsewhere = book.parent / "elsewhere"
    (elsewhere / "photos").mkdir(parents=True)
    (elsewhere / "mine.py").touch()
    monkeypatch.chdir(elsewhere)
    assert _from_here("photos/", book) == str(elsewhere / "photos")
    assert _from_here("mine.py:build", book) == f"{elsewhere / 'mine.py'}:build"
    for other in ("timm:resnet18", "open_clip:ViT-B-32/openai", "absent.py:f", 3):
        assert _from_here(other, book) == other
