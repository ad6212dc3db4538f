"""``bindery build``: execute what changed, publish the pages, build the book, and tell how it went."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console
from rich.markup import escape

from bindery.errors import BinderyError
from bindery.runner.book import Book, book_key, build_book
from bindery.runner.chapters import read_chapters, select
from bindery.runner.execution import terminable
from bindery.runner.imports import Library
from bindery.runner.inputs import Hashes
from bindery.runner.outputs import Outputs
from bindery.runner.pages import publish
from bindery.runner.plan import Plan
from bindery.runner.profiles import load_profile
from bindery.runner.project import DEFAULT_PROFILE, Project
from bindery.runner.schedule import Outcome, Schedule


@dataclass(frozen=True)
class Options:
    """The switches of ``bindery build``."""

    profile: str = DEFAULT_PROFILE
    jobs: int | None = None
    only: tuple[str, ...] = ()
    force: bool = False
    rehearse: bool = False
    solutions: bool = True
    book: bool = True

    @property
    def for_chapters(self) -> dict[str, str]:
        """What chapters are told about the switches; part of their keys."""
        rehearsal = {"BINDERY_PROFILE": f"{self.profile}-rehearsal", "BINDERY_REHEARSE": "1"}
        return rehearsal if self.rehearse else {"BINDERY_PROFILE": self.profile}

    @property
    def for_book(self) -> dict[str, str]:
        """What the book's extensions are told; part of the book's key, so that no chapter runs for it."""
        return self.for_chapters | ({} if self.solutions else {"BINDERY_NO_SOLUTIONS": "1"})


def make_plan(project: Project, options: Options, results: Path | None = None) -> Plan:
    """Read chapters and profile, strictly, and set up the plan; nothing runs."""
    chapters = read_chapters(project.notebooks)
    parameters = load_profile(project.notebooks, options.profile, chapters, rehearse=options.rehearse)
    only = tuple(select(chapters, name).id for name in options.only)
    if options.rehearse and not only:  # exercises are the same in every profile
        only = tuple(name for name, chapter in chapters.items() if chapter.header.exercise is None)
    hashes = Hashes(project.cache / "hashes.json")
    outputs = Outputs(results or project.cache / "executed" / options.profile, hashes)
    library = Library(project.library)
    return Plan(
        project,
        chapters,
        parameters,
        options.for_chapters,
        outputs,
        hashes,
        library,
        only=only,
        force=options.force,
    )


def dry_run(project: Project, options: Options, console: Console) -> None:
    """Print what a build would run, and why."""
    forecast = make_plan(project, options).forecast()
    for name, decision in forecast.items():
        action = {"run": "run  ", "fresh": "fresh", "leave": "leave"}[decision.action]
        console.print(f"{action}  {name}  ({escape(decision.why)})", soft_wrap=True, highlight=False)


def build(project: Project, options: Options, console: Console, errors: Console) -> None:
    """Run the whole build.

    Raises
    ------
    BinderyError
        A chapter failed or was skipped, or the book has warnings; everything that could be done was done.
    """
    began = time.monotonic()
    with _alone(project, console), terminable():
        if options.rehearse:
            outcomes = _rehearse(project, options, console, errors)
            book = None
        else:
            outcomes, book = _execute_and_publish(project, options, console, errors)
    console.print(f"whole build  {time.monotonic() - began:.1f} s", highlight=False)
    if book is not None:
        console.print(f"book: {book.index}", soft_wrap=True, highlight=False)
    _judge(outcomes, book)


def _execute_and_publish(
    project: Project, options: Options, console: Console, errors: Console
) -> tuple[dict[str, Outcome], Book | None]:
    plan = make_plan(project, options)
    with _step(console, "chapters"):
        outcomes = _execute(plan, options, console, errors)
    publish(project.pages, plan.chapters, outcomes, plan.outputs)
    book = None
    if options.book:
        with _step(console, "book"):
            strict = all(outcome.current for outcome in outcomes.values())
            key = book_key(project, plan.hashes, plan.library, options.for_book)
            with console.status("Jupyter Book"):
                book = build_book(project, options.profile, key, options.for_book, strict=strict)
            for problem in book.problems:
                errors.print(
                    escape(problem.replace(f"{project.root}{os.sep}", "")), soft_wrap=True, highlight=False
                )
    plan.hashes.save()
    return outcomes, book


def _execute(
    plan: Plan,
    options: Options,
    console: Console,
    errors: Console,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Outcome]:
    jobs = options.jobs or _cores()
    schedule = Schedule(plan, options.profile, options.for_chapters | dict(environment or {}), console)
    try:
        outcomes = schedule.run(jobs)
    finally:
        plan.hashes.save()
    fresh = sum(outcome.status == "fresh" for outcome in outcomes.values())
    ran = sum(outcome.status == "ran" for outcome in outcomes.values())
    console.print(f"{len(outcomes)} chapters: {ran} executed, {fresh} unchanged", highlight=False)
    for name, outcome in outcomes.items():
        if outcome.failure is not None:
            _tell_failure(name, outcome, plan.project.root, errors)
    return outcomes


def _cores() -> int:
    """Cores this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _rehearse(project: Project, options: Options, console: Console, errors: Console) -> dict[str, Outcome]:
    """Every chapter in a throw-away folder with a throw-away cache; nothing is published.

    What a failed chapter left stays until the next build, for a look at it.
    """
    project.cache.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="rehearse-", dir=project.cache))
    left = folder
    try:
        plan = make_plan(project, options, folder / "executed")
        with _step(console, "rehearsal"):
            outcomes = _execute(plan, options, console, errors, {"BINDERY_CACHE": str(folder / "cache")})
        if any(outcome.failure for outcome in outcomes.values()):
            left = folder / "cache"
        return outcomes
    finally:
        shutil.rmtree(left, ignore_errors=True)


def _tell_failure(name: str, outcome: Outcome, root: Path, errors: Console) -> None:
    failure = outcome.failure
    assert failure is not None
    place = f", cell In [{failure.cell}]: {failure.source}" if failure.cell is not None else ""
    lines = [f"{name} failed{place}", *(f"    {line}" for line in failure.traceback.splitlines())]
    if failure.error.splitlines()[0] not in failure.traceback:
        lines.append(f"    {failure.error}")
    if outcome.notebook is not None:
        lines.append(f"    as far as it got: {outcome.notebook.relative_to(root)}")
    errors.print(escape("\n".join(lines)), soft_wrap=True, highlight=False)


def _judge(outcomes: Mapping[str, Outcome], book: Book | None) -> None:
    problems = []
    for status in ("failed", "skipped"):
        if names := [name for name, outcome in outcomes.items() if outcome.status == status]:
            problems.append(f"{len(names)} of {len(outcomes)} chapters {status}: {', '.join(names)}")
    if book is not None and book.problems:
        problems.append(f"the book has {len(book.problems)} warnings, told above")
    if problems:
        raise BinderyError("; ".join(problems))


@contextmanager
def _step(console: Console, name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    console.print(f"{name:11}  {time.monotonic() - began:.1f} s", highlight=False)


@contextmanager
def _alone(project: Project, console: Console) -> Iterator[None]:
    """One build a checkout at a time; what an earlier, killed one left in its work folder goes."""
    project.cache.mkdir(parents=True, exist_ok=True)
    lock = FileLock(project.cache / "build.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        console.print("waiting for another build of this checkout to end")
        lock.acquire()
    try:
        for left in [project.cache / "work", *project.cache.glob("rehearse-*")]:
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        lock.release()
