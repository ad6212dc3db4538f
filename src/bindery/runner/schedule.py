"""Runs the plan: chapters whose needs are met, in parallel processes, longest first, with progress told."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from bindery.errors import BinderyError
from bindery.runner.chapters import ChapterSource
from bindery.runner.execution import Execution, Job
from bindery.runner.outputs import RECORDS, Failure
from bindery.runner.plan import Decision, Plan

Status = Literal["fresh", "ran", "failed", "skipped", "stale", "missing"]
_TICK = 0.05


@dataclass(frozen=True)
class Outcome:
    """What became of one chapter."""

    status: Status
    seconds: float = 0.0
    why: str = ""
    failure: Failure | None = None
    notebook: Path | None = None

    @property
    def current(self) -> bool:
        """Whether its outputs are those of the present inputs."""
        return self.status in {"fresh", "ran"}

    @property
    def bad(self) -> bool:
        """Whether the build has to say that it failed."""
        return self.status in {"failed", "skipped"}


class Schedule:
    """One build's executions."""

    def __init__(self, plan: Plan, profile: str, environment: Mapping[str, str], console: Console) -> None:
        self.plan = plan
        self.profile = profile
        self.environment = environment
        self.console = console
        self.outcomes: dict[str, Outcome] = {}
        self._decisions: dict[str, Decision] = {}
        self._running: dict[Execution, tuple[Decision, TaskID]] = {}

    def run(self, jobs: int) -> dict[str, Outcome]:
        """Outcome of every chapter, in reading order; an interrupt ends those running and keeps the rest."""
        waiting = {chapter.id: chapter for chapter in self.plan.in_order()}
        with _progress(self.console) as bar:
            overall = bar.add_task("chapters", total=len(waiting), detail="")
            try:
                while waiting or self._running:
                    for chapter in list(waiting.values()):
                        if self._settled_without_running(chapter, bar):
                            del waiting[chapter.id]
                    for chapter in self._next(waiting, jobs - len(self._running)):
                        self._start(waiting.pop(chapter.id), bar)
                    self._collect(bar)
                    bar.update(overall, completed=len(self.outcomes))
                    if self._running:
                        time.sleep(_TICK)
            finally:
                for execution in self._running:
                    execution.stop()
                    execution.clean()
        return {name: self.outcomes[name] for name in self.plan.chapters}

    def _settled_without_running(self, chapter: ChapterSource, bar: Progress) -> bool:
        if chapter.id in self._decisions or any(name not in self.outcomes for name in chapter.depends):
            return False
        if broken := [name for name in chapter.depends if self.outcomes[name].bad]:
            self._close(chapter, Outcome("skipped", why=f"it needs the records of {', '.join(broken)}"), bar)
            return True
        try:
            decision = self.plan.decide(chapter)
        except BinderyError as error:
            self._close(chapter, Outcome("failed", why=str(error)), bar)
            return True
        if decision.action == "run":
            self._decisions[chapter.id] = decision
            return False
        self._close(
            chapter, Outcome("fresh") if decision.action == "fresh" else self._left(chapter, decision), bar
        )
        return True

    def _next(self, waiting: Mapping[str, ChapterSource], free: int) -> list[ChapterSource]:
        """The longest chapters that may start now, so that none of them is left for the end alone."""
        ready = [chapter for chapter in waiting.values() if chapter.id in self._decisions]
        return sorted(ready, key=self._length, reverse=True)[:free]

    def _length(self, chapter: ChapterSource) -> float:
        """Seconds it took last time, else what its header promises."""
        stamp = self.plan.outputs.stamp(chapter.id)
        return stamp.seconds if stamp else 60 * chapter.header.minutes

    def _left(self, chapter: ChapterSource, decision: Decision) -> Outcome:
        failure = self.plan.outputs.failure(chapter.id)
        if failure is not None and failure.key == decision.key:
            return Outcome("failed", why="it failed in an earlier build", failure=failure)
        return Outcome("stale" if self.plan.outputs.stamp(chapter.id) else "missing", why=decision.why)

    def _start(self, chapter: ChapterSource, bar: Progress) -> None:
        outputs, decision = self.plan.outputs, self._decisions[chapter.id]
        records = {name: outputs.path(name, RECORDS) for name in chapter.depends}
        job = Job(
            self.plan.project, chapter, self.plan.parameters[chapter.id], self.profile, decision.key,
            {name: path for name, path in records.items() if path.is_file()}, self.environment,
            self.plan.project.cache / "work",
        )  # fmt: skip
        self._running[Execution(job)] = (decision, bar.add_task(chapter.id, total=None, detail=decision.why))

    def _collect(self, bar: Progress) -> None:
        for execution, (decision, task) in list(self._running.items()):
            if execution.running:
                bar.update(task, detail=f"cell {execution.progress}" if execution.progress else decision.why)
                continue
            bar.remove_task(task)
            self._finish(execution, decision, bar)
            del self._running[execution]
            execution.clean()

    def _finish(self, execution: Execution, decision: Decision, bar: Progress) -> None:
        chapter, outputs = execution.job.chapter, self.plan.outputs
        failure = execution.result()
        if failure is None:
            outputs.keep(chapter.id, execution.made, decision.key, decision.inputs, execution.seconds)
            self._close(chapter, Outcome("ran", execution.seconds, decision.why), bar)
        else:
            notebook = outputs.keep_failure(chapter.id, failure, execution.half_run)
            self._close(chapter, Outcome("failed", execution.seconds, failure.error, failure, notebook), bar)

    def _close(self, chapter: ChapterSource, outcome: Outcome, bar: Progress) -> None:
        self.outcomes[chapter.id] = outcome
        if outcome.status == "ran":
            told = f"[green]done[/]     {chapter.id}  {outcome.seconds:.1f} s"
        elif outcome.status == "fresh":
            return
        else:
            told = f"[{'red' if outcome.bad else 'yellow'}]{outcome.status:8}[/] {chapter.id}"
        bar.console.print(f"{told}  [dim]({escape(outcome.why)})[/]", soft_wrap=True, highlight=False)


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20),
        TimeElapsedColumn(), TextColumn("[dim]{task.fields[detail]}"),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
