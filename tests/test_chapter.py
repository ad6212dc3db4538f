"""``chapter.start``: strict also when the notebook runs without Bindery's runner."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import numpy as np
import papermill
import pytest

import toy_book
from bindery.chapter import RefusedError, start

CELL = """\
from typing import Literal

n: int = 4  # how many
rate: float = 0.5
mode: Literal["a", "b"] = "a"
"""
CONTEXT = ("BINDERY_CHAPTER", "BINDERY_PROFILE", "BINDERY_PARAMETERS", "BINDERY_THREADS", "JPY_SESSION_NAME")
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in CONTEXT:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name in THREADS:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("BINDERY_RECORDS", str(tmp_path))
    filters = list(warnings.filters)
    yield
    warnings.filters[:] = filters


def session(**injected: Any) -> dict[str, Any]:
    """The namespace of a kernel after the parameters cell and papermill's injected cell, if any."""
    namespace: dict[str, Any] = {"__name__": "__main__", "Out": {}, "types": types, "exit": print}
    exec(CELL, namespace)
    cells = ["", CELL]
    if injected:
        cell = "# Parameters\n" + "\n".join(f"{name} = {value!r}" for name, value in injected.items())
        exec(cell, namespace)
        cells.append(cell)
    return namespace | {"In": [*cells, "chapter = start(globals())"]}


def test_values_reach_the_chapter_and_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINDERY_CHAPTER", "02_x")
    monkeypatch.setenv("BINDERY_PROFILE", "smoke")
    namespace = session(rate=2, mode="b")
    chapter = start(namespace)
    assert (chapter.id, chapter.profile) == ("02_x", "smoke")
    assert chapter.parameters == {"n": 4, "rate": 2.0, "mode": "b"}
    assert type(namespace["rate"]) is float
    item = chapter.measure("twice", 8)
    assert (item.chapter, item.profile, item.parameters) == ("02_x", "smoke", chapter.parameters)


def test_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(RefusedError, match="unknown parameter 'ratee'; did you mean 'rate'"):
        start(session(ratee=1.0))


@pytest.mark.parametrize(("name", "value"), [("n", "abc"), ("n", 1.5), ("mode", "c"), ("rate", None)])
def test_wrong_type_is_refused(name: str, value: object) -> None:
    with pytest.raises(RefusedError, match=f"parameter {name} must be"):
        start(session(**{name: value}))


def test_an_imported_constant_is_no_injected_name() -> None:
    namespace = session()
    cell = "from string import digits as CHARACTERS\nchapter = start(globals())"
    exec(cell.splitlines()[0], namespace)
    assert start(namespace | {"In": ["", CELL, cell]}).parameters["n"] == 4


def test_numpy_numbers_are_glued_as_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    glued: dict[str, Any] = {}
    monkeypatch.setattr("myst_nb.glue", lambda name, value, display: glued.__setitem__(name, value))
    chapter = start(session())
    for value in (np.float64(0.5), np.float32(2), np.int64(3), True, "text", 1.5):
        chapter.glue(type(value).__name__, value)
    assert {name: type(value) for name, value in glued.items()} == {
        "float64": float, "float32": float, "int64": int, "bool": bool, "str": str, "float": float,
    }  # fmt: skip


def test_starting_again_in_a_used_session_is_allowed() -> None:
    namespace = session()
    start(namespace)
    namespace["result"] = 3.0
    assert start(namespace).parameters["n"] == 4


def test_a_script_and_an_editor_tell_who_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "07_mine.py"
    script.write_text(f'# %% tags=["parameters"]\n{CELL}\n# %%\n')
    assert start({"__file__": str(script), "n": 6}).parameters == {"n": 6, "rate": 0.5, "mode": "a"}
    monkeypatch.delenv("BINDERY_CHAPTER")
    monkeypatch.setenv("JPY_SESSION_NAME", "/somewhere/03_other.ipynb")
    assert start(session()).id == "03_other"


def test_a_thread_count_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINDERY_THREADS", "many")
    with pytest.raises(ValueError, match="BINDERY_THREADS must be a whole number"):
        start(session())


def test_plain_papermill_refuses_an_unknown_name_and_a_wrong_type(tmp_path: Path) -> None:
    root = toy_book.make(tmp_path)
    notebook = jupytext.read(root / "notebooks/01_one.py")

    def run(**parameters: Any) -> Any:
        return papermill.execute_notebook(
            notebook, None, parameters, kernel_name="python3", cwd=root, progress_bar=False
        )

    with pytest.raises(Exception, match="unknown parameter 'n_sampels'") as refused:
        run(n_sampels=5)
    assert refused.value.traceback == ["InputError: unknown parameter 'n_sampels'; did you mean 'n_samples'?"]
    with pytest.raises(Exception, match="parameter mode must be one of plain, loud; got 'quiet'"):
        run(mode="quiet")
