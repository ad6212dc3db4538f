"""The ``bindery`` command. Every failure is one line on standard error and exit code 1; wrong usage is 2."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bindery import __version__
from bindery.coursework import grade, hand_out
from bindery.errors import BinderyError
from bindery.zoo.cli import app as zoo

app = typer.Typer(
    help="Executes the chapters of Bindery and builds the book.", add_completion=False, no_args_is_help=True,
    pretty_exceptions_enable=False,
)  # fmt: skip
results = typer.Typer(help="Records of measurements made elsewhere.", no_args_is_help=True)
app.add_typer(results, name="results")
app.add_typer(zoo, name="zoo")
app.command("grade")(grade)
app.command("hand-out")(hand_out)

_INTERRUPTED = 130
Parameters = Annotated[
    list[str] | None, typer.Option("-p", "--parameter", metavar="NAME=VALUE", help="Repeatable.")
]


def main() -> None:
    """Entry point: run, and turn a failure into one line."""
    try:
        app()
    except BinderyError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or 'file'}: {error.strerror or error}")


def _fail(message: str) -> None:
    print("error:", " ".join(message.split()), file=sys.stderr)
    sys.exit(1)


def _console() -> Console:
    """For tables: as wide as the terminal, and never folded for a pipe."""
    console = Console()
    return console if console.is_terminal else Console(width=200)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"bindery {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    pass


@app.command()
def build(
    profile: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "laptop",
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Chapters at a time; default: cores.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this chapter and what it needs. Repeatable.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Execute even what did not change.")] = False,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Random weights, true layouts; keeps nothing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run and why, and stop.")] = False,
    solutions: Annotated[
        bool, typer.Option("--solutions/--no-solutions", help="Show solutions in the book.")
    ] = True,
    book: Annotated[bool, typer.Option("--book/--no-book", help="Build the book after the chapters.")] = True,
) -> None:
    """Execute every chapter that changed, in parallel, and build the book."""
    from bindery.runner import build as runner
    from bindery.runner.project import Project

    options = runner.Options(profile, jobs, tuple(only or ()), force, rehearse, solutions, book)
    if dry_run:
        runner.dry_run(Project.find(), options, Console())
        return
    try:
        runner.build(Project.find(), options, Console(), Console(stderr=True))
    except KeyboardInterrupt:
        print("interrupted; finished chapters are kept, the next build goes on from there", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED) from None


@app.command()
def run(
    chapter: Annotated[str, typer.Argument(help="Number or id, such as 03.")],
    parameter: Parameters = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The executed notebook.")] = None,
    html: Annotated[bool, typer.Option("--html", help="Write a web page beside it.")] = False,
    profile: Annotated[
        str | None, typer.Option(help="Start from this profile's values, not the defaults.")
    ] = None,
) -> None:
    """Execute one chapter with your own parameters; records and figures go beside the output."""
    from bindery.runner.project import Project
    from bindery.runner.single import run_chapter

    console = Console()
    try:
        written = run_chapter(
            Project.find(), chapter, parameter or [], output, console, profile=profile, html=html
        )  # fmt: skip
    except KeyboardInterrupt:
        print("interrupted; no notebook was written", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED) from None
    for what in ("notebook", "records", "figures", "html"):
        if (path := getattr(written, what)) is not None:
            console.print(f"{what:9} {path}", soft_wrap=True, highlight=False)


@app.command("list")
def list_chapters(
    as_json: Annotated[bool, typer.Option("--json", help="For other tools.")] = False,
) -> None:
    """Show chapters, their parameters with types and defaults, and what they cost."""
    from bindery.runner.chapters import read_chapters
    from bindery.runner.project import Project
    from bindery.runner.single import describe

    chapters = read_chapters(Project.find().notebooks)
    if as_json:
        print(describe(chapters))
        return
    console = _console()
    for chapter in chapters.values():
        console.print(
            f"[bold]{chapter.id}[/]  {escape(chapter.header.title)}  [dim]{chapter.header.minutes:g} min[/]"
        )
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
        for p in chapter.parameters.values():
            table.add_row(
                f"  {p.name}", escape(str(p.type)), escape(repr(p.default)), f"[dim]{escape(p.help)}[/]"
            )
        if chapter.parameters:
            console.print(table)


@results.command("import")
def import_results(
    file: Annotated[Path, typer.Argument(help="A record file from someone else's run.")],
    contributor: Annotated[
        str | None, typer.Option(help="Whose run it is, as the scoreboard shows it.")
    ] = None,
) -> None:
    """Validate a record file and add it to the scoreboard, stamped as contributed."""
    from bindery import ledger

    print(f"taken in: {ledger.import_records(file, contributor)}; the next build shows it")


@app.command("check-encoders")
def check_encoders() -> None:
    """Say which encoders' weights are on this machine, and whether they are what the lock says."""
    from bindery import encoders

    table = Table(box=None, pad_edge=False)
    for heading in ("encoder", "family", "here", "hash from", "verified", "size"):
        table.add_column(heading, no_wrap=True)
    table.add_column("where, or what is wrong", overflow="fold")
    states = encoders.check_encoders()
    for state in states:
        verified = {True: "yes", False: "NO", None: "-"}[state.verified]
        size = f"{state.size / 1e6:.0f} MB" if state.size is not None else "-"
        here = "yes" if state.present else "no"
        note = state.note if state.present else state.place
        table.add_row(state.name, state.family, here, state.lock, verified, size, escape(note))
    _console().print(table)
    if damaged := [state.name for state in states if state.verified is False]:
        raise BinderyError(f"weights differ from the lock: {', '.join(damaged)}; delete or reinstall them")


if __name__ == "__main__":
    main()
