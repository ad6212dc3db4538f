"""The student's side of a check: calls that go to the worker, which is started again when it died."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bindery.course.checking import CheckFailed
from bindery.course.grader.sandbox import LateError, Limits, Sandbox, SandboxError, WorkerError
from bindery.course.plain import Plain, plain

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
_LONGEST = 400


def clean(text: str) -> str:
    """A student's text fit for one cell of a table: one line, no control characters, not endless."""
    return " ".join(_UNPRINTABLE.sub(" ", text).split())[:_LONGEST]


class Answers:
    """An ``ask`` for checks (see `bindery.course.checking`) over one submission's cells.

    A worker that hangs or ends costs the call it happened in; the next call finds a new one. When the cells
    themselves do not come to an end, every call says so.

    Attributes
    ----------
    printed : str
        The beginning of what the code printed.
    trouble : str
        Why no sandbox could be built: then no answer counts. Empty otherwise.
    """

    def __init__(
        self, cells: Sequence[tuple[int, str]], limits: Limits, *, isolated: bool, hidden: Sequence[Path] = (),
        core: int | None = None,
    ) -> None:  # fmt: skip
        self._cells, self._limits = cells, limits
        self._sandboxed: dict[str, Any] = {"isolated": isolated, "hidden": hidden, "core": core}
        self._deadline = time.monotonic() + limits.whole
        self._sandbox: Sandbox | None = None
        self._lost = ""
        self._errors: list[tuple[int, str]] = []
        self.printed = ""
        self.trouble = ""

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def __call__(self, name: str, /, *args: Any, **kwargs: Any) -> Plain:
        """The function's answer; raises CheckFailed with a sentence for the student when there is none."""
        sandbox = self._started()
        given = plain(list(args)), plain(kwargs)
        try:
            reply = sandbox.call(name, *given, self._left())
        except WorkerError as error:
            self._stop()
            raise CheckFailed(self._told(error, self._limits.call)) from None
        if "answer" in reply:
            return reply["answer"]
        raise CheckFailed(self._sentence(name, reply))

    def _sentence(self, name: str, reply: dict[str, Any]) -> str:
        if isinstance(said := reply.get("raised"), str):
            return f"{name} raises {clean(said)}"
        if isinstance(said := reply.get("unclear"), str):
            return f"{name} returns something that cannot be checked: {clean(said)}."
        crash = "".join(f" Code cell {number} raises {clean(said)}" for number, said in self._errors[:1])
        return f"There is no function {name}; keep the name that the task gives.{crash}"

    def _started(self) -> Sandbox:
        if self._lost:
            raise CheckFailed(self._lost)
        left = self._left()
        if self._sandbox is None:
            try:
                self._sandbox = Sandbox(self._limits, **self._sandboxed)
            except SandboxError as error:
                self.trouble = str(error)
                raise
            try:
                self._errors = self._sandbox.load(self._cells, left)
            except WorkerError as error:
                self._stop()
                self._lost = f"Before anything was asked: {self._told(error, self._limits.load)}"
                raise CheckFailed(self._lost) from None
        return self._sandbox

    def _told(self, error: WorkerError, seconds: float) -> str:
        """The sentence, the same however much of the time was left."""
        if isinstance(error, LateError):
            seconds = min(seconds, self._limits.whole)
            return f"{clean(str(error))}; {seconds:g} seconds are allowed."
        return f"{clean(str(error))}."

    def _left(self) -> float:
        """Seconds left for this submission; raises CheckFailed when there are none."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise CheckFailed(f"The {self._limits.whole:g} seconds for this exercise were used up.")
        return left

    def _stop(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self.printed = self.printed or self._sandbox.printed.decode(errors="replace")
            self._sandbox = None
