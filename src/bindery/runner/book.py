"""Builds the Jupyter Book in a staging folder and swaps the pages in, unless nothing it reads changed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bindery.errors import BinderyError
from bindery.provenance import sha256_json
from bindery.runner.imports import Library
from bindery.runner.inputs import Hashes
from bindery.runner.project import Project, write_atomic

_STAMP = "book.json"
_ROOT_FILES = ("*.md", "*.yml", "*.toml", "*.lock", "*.cff")
_FOLDERS = ("book", "notebooks", "results")
_RENDERER = "import bindery.figures\n"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_EXCEPTION = re.compile(r"[\w.]*(Error|Exception)\b.*: .")
_COMMAND = "from jupyter_book.cli.main import main; main()"


@dataclass(frozen=True)
class Book:
    """A built book: its first page, whether it had to be built, and the warnings that make it fail."""

    index: Path
    built: bool
    problems: tuple[str, ...] = ()


def book_key(project: Project, hashes: Hashes, library: Library, settings: Mapping[str, object]) -> str:
    """Digest of all the book may read: pages, configuration, results, executed chapters, the renderer."""
    told: list[object] = [dict(settings)]
    files = [path for pattern in _ROOT_FILES for path in sorted(project.root.glob(pattern))]
    extensions = sorted((project.root / "book").glob("_ext/**/*.py"))
    code = _RENDERER + "\n".join(path.read_text(encoding="utf-8") for path in extensions)
    files += [path for _, path in sorted(library.files(code).items())]
    told += [[path.name, hashes.file(path)] for path in files]
    told += [[name, hashes.tree(project.root / name)] for name in _FOLDERS if (project.root / name).is_dir()]
    return sha256_json(told)


def build_book(
    project: Project, profile: str, key: str, environment: Mapping[str, str], *, strict: bool
) -> Book:
    """Build with every warning an error, unless ``strict`` is off because a chapter is only a notice.

    The key is stamped after success only: a book that failed is built again, and fails again, until mended.
    """
    html = project.html(profile)
    stamp = html.with_name(_STAMP)
    if strict and _stamped(stamp) == key and (html / "index.html").is_file():
        return Book(html / "index.html", built=False)
    staging = project.cache / "book" / profile
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    command = [
        sys.executable,
        "-c",
        _COMMAND,
        "build",
        str(project.root),
        "--path-output",
        str(staging),
        "--all",
    ]
    if strict:
        command += ["-W", "-n", "--keep-going"]
    code = _run(command, staging / "log", project.root, environment)
    log = _COLOUR.sub("", (staging / "log").read_text(encoding="utf-8", errors="replace")).splitlines()
    made = staging / "_build" / "html"
    if not (made / "index.html").is_file():
        raise BinderyError(
            f"Jupyter Book made no pages: {_cause(log)} (log: {_relative(staging / 'log', project)})"
        )
    stamp.unlink(missing_ok=True)
    _swap(made, html)
    if code == 0 and strict:
        write_atomic(stamp, json.dumps({"key": key}).encode())
    problems = tuple(line for line in log if "WARNING" in line or "ERROR" in line) if strict and code else ()
    if code and strict and not problems:
        problems = (_cause(log),)
    return Book(html / "index.html", built=True, problems=problems)


def _run(command: list[str], log: Path, cwd: Path, environment: Mapping[str, str]) -> int:
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, cwd=cwd, start_new_session=True,
            env={**os.environ, "PYTHONHASHSEED": "0", **environment},
        )  # fmt: skip
        try:
            return process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise


def _swap(made: Path, place: Path) -> None:
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(old)
    made.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _stamped(stamp: Path) -> str | None:
    try:
        return str(json.loads(stamp.read_text(encoding="utf-8"))["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _cause(log: list[str]) -> str:
    """The line that tells most: a Python exception, else the last line that is not decoration."""
    exceptions = [line for line in log if _EXCEPTION.match(line)]
    told = [line.strip() for line in log if line.strip(" =-")]
    return next(iter(exceptions), told[-1] if told else "no output")


def _relative(path: Path, project: Project) -> str:
    return str(path.relative_to(project.root))
