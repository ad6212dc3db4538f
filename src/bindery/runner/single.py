"""``bindery run``: one chapter with the reader's parameters; nothing of it enters the book."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from bindery.errors import BinderyError, InputError
from bindery.parameters import read_assignments, validate
from bindery.provenance import sha256_json
from bindery.runner.chapters import ChapterSource, read_chapters, select
from bindery.runner.execution import Execution, Job, terminable
from bindery.runner.outputs import FIGURES, NOTEBOOK, RECORDS, Failure
from bindery.runner.profiles import load_profile
from bindery.runner.project import Project, write_atomic


@dataclass(frozen=True)
class Written:
    """Where the result lies."""

    notebook: Path
    records: Path | None
    figures: Path | None
    html: Path | None


def run_chapter(
    project: Project,
    name: str,
    assignments: Iterable[str],
    output: Path | None,
    console: Console,
    *,
    profile: str | None = None,
    html: bool = False,
) -> Written:
    """Check the parameters, execute, and write the notebook with its records and figures beside it.

    Raises
    ------
    BinderyError
        Unknown chapter or parameter, wrong type or choice (nothing runs then), or the chapter failed.
    """
    chapters = read_chapters(project.notebooks)
    chapter = select(chapters, name)
    base = load_profile(project.notebooks, profile, chapters)[chapter.id] if profile else {}
    given = read_assignments(chapter.parameters, assignments, where=f" of {chapter.id}")
    given = {key: _from_here(value, project.root) for key, value in given.items()}
    values = validate(chapter.parameters, base | given)
    target = _target(output or Path(f"{chapter.id}_run.ipynb"), project)
    key = sha256_json([chapter.text, values])
    job = Job(project, chapter, values, profile or "custom", key, _records(project, chapter), {})
    with terminable():
        return _execute(job, target, console, html=html)


def _target(output: Path, project: Project) -> Path:
    """Where the notebook goes, once it is sure that it can: found out before anything runs, not after."""
    target = output.absolute()
    if output.suffix != ".ipynb" or target.is_dir():
        raise InputError(f"the output must be a notebook's name that ends in .ipynb; got {output}")
    if target.resolve().is_relative_to(project.pages):
        raise BinderyError("book/chapters belongs to `bindery build`; write the output elsewhere with -o")
    if not target.parent.is_dir():
        raise BinderyError(f"the folder of the output {output} does not exist; make it first")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise BinderyError(
            f"cannot write the output {output} ({error.strerror}); write it elsewhere with -o"
        ) from error
    return target


def _execute(job: Job, target: Path, console: Console, *, html: bool) -> Written:
    execution = Execution(job)
    try:
        with console.status(f"{job.chapter.id}: starting") as status:
            while execution.running:
                status.update(f"{job.chapter.id}: cell {execution.progress}, {execution.seconds:.0f} s")
                time.sleep(0.1)
        failure = execution.result()
        if failure is not None:
            raise BinderyError(_line(job.chapter.id, failure, execution.half_run, target))
        return _write(execution.made, target, html=html)
    finally:
        execution.stop()
        execution.clean()


def _line(name: str, failure: Failure, half_run: Path, target: Path) -> str:
    place = f" in cell In [{failure.cell}] ({failure.source})" if failure.cell is not None else ""
    line = f"{name} failed{place}: {failure.error}"
    if half_run.is_file():
        kept = target.with_name(f"{target.stem}.failed.ipynb")
        shutil.copyfile(half_run, kept)
        line += f"; the notebook with the traceback: {kept.name}"
    return line


def _write(made: Path, target: Path, *, html: bool) -> Written:
    write_atomic(target, (made / NOTEBOOK).read_bytes())
    records = figures = None
    if (made / RECORDS).is_file():
        records = target.with_name(f"{target.stem}.records.json")
        write_atomic(records, (made / RECORDS).read_bytes())
    if any((made / FIGURES).iterdir()):
        figures = target.with_name(f"{target.stem}_figures")
        shutil.copytree(made / FIGURES, figures, dirs_exist_ok=True)
    page = target.with_suffix(".html") if html else None
    if page is not None:
        write_atomic(page, _html(target).encode())
    return Written(target, records, figures, page)


def _html(notebook: Path) -> str:
    """One self-contained page; only the formulas are typeset by a script from the network."""
    from nbconvert import HTMLExporter

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # glued values are outputs without a picture, on purpose
        body, _ = HTMLExporter(require_js_url="", jquery_url="").from_filename(str(notebook))
    return str(body)


def _records(project: Project, chapter: ChapterSource) -> Mapping[str, Path]:
    """Records of the chapters it needs, from the book as built last."""
    paths = {name: project.pages / "records" / f"{name}.json" for name in chapter.depends}
    missing = [name for name in paths if not (project.pages / f"{name}.ipynb").is_file()]
    if missing:
        raise BinderyError(
            f"{chapter.id} needs the records of {', '.join(missing)}; run `bindery build` first"
        )
    return {name: path for name, path in paths.items() if path.is_file()}


def _from_here(value: Any, root: Path) -> Any:
    """A path typed in another folder than the checkout stays valid: chapters run in the checkout's root."""
    if not isinstance(value, str) or Path.cwd() == root or not ("/" in value or ".py:" in value):
        return value
    file, separator, function = value.partition(".py:")
    path = Path(f"{file}.py" if separator else file)
    return str(path.absolute()) + (f":{function}" if separator else "") if path.exists() else value


def describe(chapters: Mapping[str, ChapterSource]) -> str:
    """The chapters, their parameters, defaults, types and cost as JSON, for other tools."""
    return json.dumps(
        {
            chapter.id: {
                "title": chapter.header.title,
                "minutes": chapter.header.minutes,
                "parameters": {
                    p.name: {"type": str(p.type), "default": p.default, "help": p.help}
                    for p in chapter.parameters.values()
                },
            }
            for chapter in chapters.values()
        },
        indent=1,
    )
