"""Decides for each chapter whether it runs, and says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bindery.errors import BinderyError
from bindery.runner.chapters import ChapterSource, ancestors
from bindery.runner.imports import Library
from bindery.runner.inputs import Hashes, Inputs, chapter_inputs, inputs_key, what_changed
from bindery.runner.outputs import Outputs
from bindery.runner.project import Project

Action = Literal["fresh", "run", "leave"]


@dataclass(frozen=True)
class Decision:
    """``fresh``: the kept result stands; ``run``: execute; ``leave``: out of date, but not asked for."""

    action: Action
    why: str
    key: str
    inputs: Inputs


@dataclass
class Plan:
    """One build's chapters, their parameters, and what is already there."""

    project: Project
    chapters: dict[str, ChapterSource]
    parameters: dict[str, dict[str, Any]]
    settings: Mapping[str, Any]
    outputs: Outputs
    hashes: Hashes
    library: Library
    only: tuple[str, ...] = ()
    force: bool = False

    def __post_init__(self) -> None:
        self._wanted = ancestors(self.chapters, self.only) if self.only else set(self.chapters)

    def decide(self, chapter: ChapterSource) -> Decision:
        """What to do with the chapter, given the records its dependencies have *now*."""
        inputs = chapter_inputs(
            self.project, chapter, self.parameters[chapter.id], self.settings, self.hashes, self.library,
            self.outputs.records_digest,
        )  # fmt: skip
        key, stamp = inputs_key(inputs), self.outputs.stamp(chapter.id)
        failure = self.outputs.failure(chapter.id)
        why = "nothing changed"
        if failure is not None and failure.key == key:
            why = "it failed last time"
        elif stamp is None:
            why = "its kept result is damaged" if self.outputs.damaged(chapter.id) else "it has not run yet"
        elif stamp.key != key:
            why = what_changed(stamp.inputs, inputs)
        elif self.force and (not self.only or chapter.id in self.only):
            why = "forced"
        if why == "nothing changed":
            return Decision("fresh", why, key, inputs)
        return Decision("run" if chapter.id in self._wanted else "leave", why, key, inputs)

    def forecast(self) -> dict[str, Decision]:
        """What a build would do, without doing it: a dependant of what runs may run too."""
        told: dict[str, Decision] = {}
        for chapter in self.in_order():
            try:
                decision = self.decide(chapter)
            except BinderyError as error:
                decision = Decision("leave", f"it cannot run: {error}", "", {})
            running = [name for name in chapter.depends if told[name].action == "run"]
            if decision.action == "fresh" and running and chapter.id in self._wanted:
                why = f"if the records of {', '.join(running)} change"
                decision = Decision("run", why, decision.key, decision.inputs)
            told[chapter.id] = decision
        return {name: told[name] for name in self.chapters}

    def in_order(self) -> list[ChapterSource]:
        """Chapters so that each stands after those whose records it needs."""
        placed: dict[str, ChapterSource] = {}

        def place(chapter: ChapterSource) -> None:
            for name in chapter.depends:
                if name not in placed:
                    place(self.chapters[name])
            placed[chapter.id] = chapter

        for chapter in self.chapters.values():
            if chapter.id not in placed:
                place(chapter)
        return list(placed.values())
