"""``bindery grade`` and ``bindery hand-out``: what a teacher types."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bindery.errors import BinderyError, InputError

_INTERRUPTED = 130


def grade(
    submission: Annotated[Path, typer.Argument(help="A notebook, a script, or a folder of them.")],
    out: Annotated[Path, typer.Option(help="The report; totals and a journal are written beside it.")],
    private: Annotated[
        Path | None, typer.Option(help="Folder of your own checks, NN_name.py; they replace the public ones.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The class's seed: draws the inputs of the checks.")] = 0,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Grade even where students' code cannot be shut in.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Submissions at a time; default: cores.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Grade again what the journal holds.")] = False,
    call_seconds: Annotated[
        float, typer.Option(min=0.1, help="For one call of a student's function.")
    ] = 10.0,
    seconds: Annotated[float, typer.Option(min=1, help="For one submission as a whole.")] = 120.0,
    memory: Annotated[int, typer.Option(min=256, help="MB of memory for a student's code.")] = 2048,
) -> None:
    """Grade what students handed in; their code runs shut in, the checks run outside of it."""
    from bindery.course.grader import grade as grading
    from bindery.course.grader import isolation, report, submissions
    from bindery.course.grader.sandbox import Limits

    console, told = Console(), Console(stderr=True)
    found = submissions.find(submission)
    limits = Limits(call=call_seconds, load=min(30.0, seconds), whole=seconds, memory=memory)
    totals, place = out.with_name(f"{out.stem}-totals.csv"), out.with_name(f"{out.name}.journal")
    hidden = tuple(path.resolve() for path in (submission, out, totals, place, private) if path is not None)
    settings = grading.Settings(seed, private, limits, True, hidden)
    settings.known()
    if not out.resolve().parent.is_dir() or out.is_dir():
        raise InputError(f"the report {out} cannot be written: give a file's name in a folder that exists")
    told.print("a student's code here", highlight=False)
    shut = isolation.examine(limits, found[0].path.resolve())
    for line in shut.lines():
        told.print(f"  {line}", highlight=False, soft_wrap=True)
    if not (shut.isolated or unsafe):
        raise BinderyError(
            f"students' code cannot be shut in on this machine ({shut.reason}); "
            "grade on one where it can (Linux 5.12 or newer), or pass --unsafe if you trust every submission"
        )
    settings = grading.Settings(seed, private, limits, shut.isolated, hidden)
    if fresh:
        place.unlink(missing_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=told) as progress:
        task = progress.add_task("grading", total=len(found))
        try:
            results = grading.grade(
                found, settings, grading.Journal(place), jobs=jobs or os.cpu_count() or 1,
                done=lambda result, kept: progress.advance(task),
            )  # fmt: skip
        except KeyboardInterrupt:
            print(
                "interrupted; what was graded is kept, the same command goes on from there", file=sys.stderr
            )
            raise typer.Exit(_INTERRUPTED) from None
    if not submission.is_dir() and not results[0].exercise:
        raise InputError(f"{submission}: {results[0].problem}")
    report.write(out, report.report(results))
    report.write(totals, report.totals(results))
    report.show(results, console if console.is_terminal else Console(width=200))
    console.print(f"written: {out}, {totals}", highlight=False, soft_wrap=True)


def hand_out(
    folder: Annotated[Path, typer.Argument(help="Where the notebooks go; made if need be.")],
    only: Annotated[list[str] | None, typer.Option(help="Only this exercise. Repeatable.")] = None,
) -> None:
    """Write the students' notebooks: tasks, hints, gaps and checks, no solutions."""
    import nbformat

    from bindery.course.exercises import exercises, student_notebook

    known = exercises()
    chosen = only or list(known)
    if unknown := sorted(set(chosen) - set(known)):
        raise InputError(f"unknown exercise {', '.join(unknown)}; exercises: {', '.join(known)}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        path = folder / f"{name}.ipynb"
        if path.exists():
            raise InputError(f"{path} exists; it may hold a student's work, so it is not replaced")
        nbformat.write(student_notebook(known[name]), path)
        print(path)
