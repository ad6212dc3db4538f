"""The set-up holds together: lock, environment, Makefile, README, and the style asked of every module."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bindery.paths import project_root

ROOT = project_root()
LOCK = [line.strip() for line in (ROOT / "requirements.lock").read_text().splitlines() if line.strip()]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
SOURCES = [ROOT / name for name in TRACKED if name.startswith("src/bindery/") and name.endswith(".py")]


def locked() -> dict[str, str]:
    return {canonicalize_name(name): pin for name, pin in (line.split("==") for line in LOCK)}


def test_lock_is_plain_name_and_version() -> None:
    odd = [line for line in LOCK if not re.fullmatch(r"[A-Za-z0-9_.\-]+==[A-Za-z0-9_.\-+!]+", line)]
    assert not odd
    assert len(locked()) == len(LOCK), "a package is pinned twice"


def test_lock_leaves_out_what_torch_pins_itself() -> None:
    assert not [name for name in locked() if name.startswith(("nvidia-", "cuda-")) or name == "triton"]
    assert locked()["torch"] == "2.14.1" and locked()["torchvision"] == "0.29.1"


def test_lock_covers_every_dependency_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    missing = {Requirement(line).name for line in project["dependencies"]} - {
        name
        for name in (Requirement(line).name for line in project["dependencies"])
        if canonicalize_name(name) in locked()
    }
    assert not missing


def test_installed_packages_are_the_locked_ones() -> None:
    differing = {}
    for name, pin in locked().items():
        try:
            installed = version(name)
        except PackageNotFoundError:
            installed = "absent"
        if installed.split("+")[0] != pin:
            differing[name] = (pin, installed)
    assert not differing, "run `make test` (it updates .venv): " + str(differing)


def test_environment_reads_the_lock() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert any(entry.startswith("python=3.11") for entry in conda) and "pip" in conda
    assert pip == ["-r requirements.lock", "-e ."]


def test_makefile_has_four_targets_and_readme_names_two() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^\.PHONY: book test bench clean$", makefile, re.MULTILINE)
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert targets == {"book", "test", "bench", "clean"}
    readme = (ROOT / "README.md").read_text()
    assert "make book" in readme and "make test" in readme


def test_ci_runs_make_test_and_nothing_hidden() -> None:
    lines = [
        line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")
    ]
    assert lines == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "make test"]


def test_python_that_is_too_old_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    check = re.search(r"\$\(PYTHON\) -c '([^']+)'", (ROOT / "Makefile").read_text())
    assert check, "the Makefile checks the version before it makes .venv"
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))
    with pytest.raises(SystemExit, match=r"3\.11 or newer; this is 3\.9"):
        exec(check.group(1))
    monkeypatch.setattr(sys, "version_info", (3, 11, 0, "final", 0))
    with pytest.raises(SystemExit) as passed:
        exec(check.group(1))
    assert passed.value.code == 0


def test_devcontainer_uses_the_makefile() -> None:
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert container["postCreateCommand"] == "make .venv/.bindery-stamp"


def test_toc_lists_every_chapter_in_reading_order() -> None:
    toc = (ROOT / "_toc.yml").read_text()
    listed = re.findall(r"book/chapters/(\d\w+)", toc)
    chapters = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.py"))
    assert listed == chapters


def test_nothing_committed_is_too_large_or_generated() -> None:
    large = [name for name in TRACKED if (ROOT / name).is_file() and (ROOT / name).stat().st_size > 15e6]
    generated = [
        name for name in TRACKED if name.startswith(("book/chapters/", "_build/")) or name.endswith(".ipynb")
    ]
    assert not large and not generated


OVERRIDES = {"forward", "image", "content_key"}  # their base classes say what they do


def functions_of(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions and methods of a module."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bodies = [tree.body, *(node.body for node in classes)]
    return [node for body in bodies for node in body if isinstance(node, ast.FunctionDef)]


def test_public_functions_are_documented() -> None:
    """Nineteen of twenty at least."""
    public = [
        (path.stem, node.name, bool(ast.get_docstring(node)))
        for path in SOURCES
        for node in functions_of(ast.parse(path.read_text()))
        if not node.name.startswith("_") and len(node.body) > 1 and node.name not in OVERRIDES
    ]
    silent = [f"{module}.{name}" for module, name, documented in public if not documented]
    assert len(silent) <= 0.05 * len(public), silent


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "src/bindery").as_posix())
def test_modules_are_short_documented_and_annotated(path: Path) -> None:
    source = path.read_text()
    assert source.count("\n") <= 350, "split it: a module stays near 150 lines"
    tree = ast.parse(source)
    assert ast.get_docstring(tree), "a module says what it is for"
    functions = functions_of(tree)
    unannotated = [
        f"{node.name}({argument.arg})"
        for node in functions
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if argument.annotation is None and argument.arg not in ("self", "cls")
    ]
    assert not unannotated


def test_imports_go_one_way() -> None:
    """DESIGN's order: nothing imports upward."""
    order = """
        errors
        checks paths
        provenance parameters
        scenes
        data
        encoders prompts jacobian
        zoo
        store
        sphere noise_weights
        decomposition
        scores openworld groups probes decoder
        geometry binding readouts captions
        inference
        ledger
        figures
        chapter
        runner
        course coursework
        cli
    """.strip().splitlines()
    rank = {name: level for level, names in enumerate(order) for name in names.split()}
    package = ROOT / "src/bindery"
    upward = []
    for path in SOURCES:
        module = path.relative_to(package).parts[0].removesuffix(".py")
        if module == "__init__" or module not in rank:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("bindery"):
                parts = node.module.split(".")
                names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [
                    alias.name.split(".")[1] for alias in node.names if alias.name.startswith("bindery.")
                ]
            upward += [
                f"{path.relative_to(package)} imports {name}"
                for name in names
                if rank.get(name, -1) > rank[module]
            ]
    assert not upward, "\n".join(upward)
