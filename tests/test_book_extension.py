"""The book's own Sphinx extension: copies without solutions."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

from bindery.paths import project_root

EXTENSION = project_root() / "book/_ext/bindery_book.py"
SECRET = "the answer is forty-two"
IN_CODE, IN_LINE, IN_TALK = "secret_cell", "secret_line", "secret discussion"
WORDS = ("forty", IN_CODE, IN_LINE, IN_TALK)
PAGE = f"""# Page

:::{{exercise}}
:label: ex-one
What is it?
:::

:::{{solution}} ex-one
:class: dropdown
{SECRET}, since

$$ 6 \\cdot 7 = 42 $$

:::{{note}}
inside
:::
:::

After.
"""


@pytest.fixture(scope="module")
def extension() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bindery_book", EXTENSION)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def notebook(page: str) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_markdown_cell(page), nbformat.v4.new_code_cell(f"{IN_CODE} = 42")]
    cells[1].metadata["tags"] = ["solution"]
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )


@pytest.mark.parametrize("fence", [":::", "::::", "```"])
def test_solutions_leave_a_notebook_and_nothing_else_does(extension: ModuleType, fence: str) -> None:
    page = f"before\n\n{fence}{{solution}} ex-one\n{SECRET}\n{fence}\n\nafter"
    left = extension.without_solutions(notebook(page))
    assert [cell["source"] for cell in left["cells"]] == ["before\n\n\nafter\n"]


def exercise() -> nbformat.NotebookNode:
    """An executed exercise: gap, whole answer, check with output, discussion."""
    new = nbformat.v4
    cells = [
        new.new_markdown_cell("# Task\n\nWrite `f`."),
        new.new_markdown_cell("Think."),
        new.new_code_cell(
            f"def f():\n    # <solution>\n    {IN_LINE} = 1\n    return {IN_LINE}\n    # </solution>"
        ),
        new.new_code_cell(f"{IN_CODE} = f()", outputs=[new.new_output("stream", text=f"{IN_LINE}\n")]),
        new.new_code_cell("check()", outputs=[new.new_output("stream", text="1 of 1 points\n")]),
        new.new_markdown_cell(f"A {IN_TALK}."),
    ]
    for cell, tag in zip(cells[1:], ("hint", "", "solution", "check", "solution"), strict=True):
        cell.metadata["tags"] = [tag] if tag else []
    told = {"chapter": "02_the_sphere", "points": 1, "level": "short"}
    about = {"chapter": "01_task", "minutes": 5, "exercise": told}
    kernel = {"name": "python3", "display_name": "Python 3"}
    return new.new_notebook(cells=cells, metadata={"kernelspec": kernel, "bindery": about})


SOURCE = """\
# ---
# jupyter:
#   bindery:
#     title: Task
#     minutes: 5
#     exercise:
#       {chapter: 02_the_sphere, points: 1, level: short, prerequisites: [], defines: [f]}
# ---

# %% [markdown]
# # Task

# %%
def f():
    # <solution>
    secret_line = 1
    # </solution>
"""


@pytest.mark.slow
def test_a_book_without_solutions_holds_none_anywhere(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "notebooks" / "exercises").mkdir(parents=True)
    (source / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(EXTENSION.parent)!r})\n"
        "extensions = ['myst_nb', 'sphinx_exercise', 'bindery_book']\nhtml_copy_source = True\n"
        "html_sourcelink_suffix = ''\nnb_execution_mode = 'off'\n"
        "myst_enable_extensions = ['colon_fence', 'dollarmath']\n"
    )
    nbformat.write(notebook(PAGE.replace(":::{note}\ninside\n:::\n", "")), source / "index.ipynb")
    pages = source / "book" / "chapters"
    (pages / "exercises").mkdir(parents=True)
    nbformat.write(exercise(), pages / "exercises" / "01_task.ipynb")
    (pages / "02_the_sphere.md").write_text("# Sphere\n")
    (source / "book" / "syllabus.md").write_text("# Syllabus\n\n<!-- the table of exercises -->\n")
    (source / "notebooks" / "exercises" / "01_task.py").write_text(SOURCE)
    found = {}
    for hidden in ("0", "1"):
        out = tmp_path / f"html{hidden}"
        outcome = subprocess.run(
            [sys.executable, "-m", "sphinx", "-q", "-E", "-b", "html", str(source), str(out)],
            env={**os.environ, "BINDERY_NO_SOLUTIONS": hidden},
            capture_output=True,
            text=True,
        )
        assert outcome.returncode == 0, outcome.stderr
        kinds = {".html", ".ipynb", ".js", ".txt", ".inv"}
        files = [path for path in out.rglob("*") if path.suffix in kinds]
        assert sum(path.suffix == ".ipynb" for path in files) == 3, sorted(files)
        found[hidden] = {
            word: {
                path.relative_to(out).as_posix() for path in files if word in path.read_text(errors="ignore")
            }
            for word in WORDS
        }
        page = (out / "book/chapters/exercises/01_task.html").read_text()
        assert (
            "../../../exercises/01_task.ipynb" in page
            and "1 of 1 points" in page
            and "your code here" in page
        )
        assert "exercises/01_task.html" in (out / "book/syllabus.html").read_text()
    for word, files in found["0"].items():
        assert any(name.endswith(".html") for name in files) and any(
            name.endswith(".ipynb") for name in files
        ), word
        assert not [name for name in files if name.startswith("exercises/")], (
            "a student's notebook with the solution"
        )
    assert found["1"] == {word: set() for word in WORDS}
