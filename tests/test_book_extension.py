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
    cells = [nbformat.v4.new_markdown_cell(page), nbformat.v4.new_code_cell("secret = 42")]
    cells[1].metadata["tags"] = ["solution"]
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )


@pytest.mark.parametrize("fence", [":::", "::::", "```"])
def test_solutions_leave_a_notebook_and_nothing_else_does(extension: ModuleType, fence: str) -> None:
    page = f"before\n\n{fence}{{solution}} ex-one\n{SECRET}\n{fence}\n\nafter"
    left = extension.without_solutions(notebook(page))
    assert [cell["source"] for cell in left["cells"]] == ["before\n\n\nafter\n"]


@pytest.mark.slow
def test_a_book_without_solutions_holds_none_anywhere(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(EXTENSION.parent)!r})\n"
        "extensions = ['myst_nb', 'sphinx_exercise', 'bindery_book']\nhtml_copy_source = True\n"
        "html_sourcelink_suffix = ''\nnb_execution_mode = 'off'\n"
        "myst_enable_extensions = ['colon_fence', 'dollarmath']\n"
    )
    nbformat.write(notebook(PAGE.replace(":::{note}\ninside\n:::\n", "")), tmp_path / "index.ipynb")
    found = {}
    for hidden in ("0", "1"):
        out = tmp_path / f"html{hidden}"
        outcome = subprocess.run(
            [sys.executable, "-m", "sphinx", "-q", "-E", "-b", "html", str(tmp_path), str(out)],
            env={**os.environ, "BINDERY_NO_SOLUTIONS": hidden},
            capture_output=True,
            text=True,
        )
        assert outcome.returncode == 0, outcome.stderr
        files = [path for path in out.rglob("*") if path.suffix in {".html", ".ipynb", ".js", ".txt"}]
        assert any(path.suffix == ".ipynb" for path in files), "the notebook can be downloaded"
        found[hidden] = [p.name for p in files if "forty" in p.read_text(errors="ignore")]
    assert "index.html" in found["0"] and "index.ipynb" in found["0"]
    assert found["1"] == []
