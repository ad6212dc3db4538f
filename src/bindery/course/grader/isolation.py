"""What the sandbox holds on this machine, found by trying to get out of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bindery.course.grader.sandbox import Limits, Sandbox, SandboxError, WorkerError
from bindery.errors import BinderyError

_ATTEMPTS = """
import os, socket

def succeeds(attempt):
    try:
        attempt()
    except (OSError, MemoryError):
        return False
    return True

def fork():
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)

def connect():
    socket.create_server(("127.0.0.1", 0)).close()

def fill():
    for number in range(3):
        with open(f"{os.environ['HOME']}/{number}", "wb") as file:
            file.write(bytes(LARGEST_MB << 20))

def attempts(mark, outside):
    others = [name for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []
    return {
        "files": succeeds(lambda: open(mark).close()) or succeeds(lambda: open(outside, "w").close()),
        "network": succeeds(connect),
        "processes": succeeds(fork) or len(others) > 1,
        "memory": succeeds(lambda: bytearray(MEMORY_MB << 20)),
        "disk": succeeds(fill),
    }
"""
_WALLS = {
    "files": "sees no submission, check or report and writes only into a folder that is thrown away",
    "network": "has no network",
    "processes": "sees no other process and starts none",
    "memory": "has limited memory",
    "disk": "has limited room on disk",
}


@dataclass(frozen=True)
class Isolation:
    """Which walls hold (a name of ``_WALLS`` each); ``reason`` says why there is no sandbox, if there is none."""

    walls: dict[str, bool]
    reason: str = ""

    @property
    def isolated(self) -> bool:
        """Whether all walls hold."""
        return all(self.walls.values()) and not self.reason

    def lines(self) -> list[str]:
        """For the console: what a student's code cannot do here, and what it can."""
        lines = [f"{'yes' if holds else 'NO '} {_WALLS[wall]}" for wall, holds in self.walls.items()]
        return [*lines, "yes is stopped after its time"]


def examine(limits: Limits, mark: Path) -> Isolation:
    """Try the sandbox; where it cannot be built or leaks, try what holds without it.

    ``mark`` is a file of this account's that the sandbox must not show.
    """
    try:
        found = Isolation(_try(limits, mark, isolated=True))
        reason = "" if found.isolated else "the sandbox leaks"
    except (SandboxError, WorkerError) as error:
        reason = str(error)
    if not reason:
        return found
    try:
        return Isolation(_try(limits, mark, isolated=False), reason)
    except (SandboxError, WorkerError) as error:
        raise BinderyError(f"the student's process does not run on this machine: {error}") from error


def _try(limits: Limits, mark: Path, *, isolated: bool) -> dict[str, bool]:
    code = _ATTEMPTS.replace("LARGEST_MB", str(limits.disk // 2)).replace(
        "MEMORY_MB", str(limits.memory + 64)
    )
    with Sandbox(limits, isolated=isolated, hidden=[mark]) as sandbox:
        sandbox.load([(1, code)])
        reply = sandbox.call("attempts", [str(mark), str(mark) + ".new"], {})
    came = reply.get("answer")
    if not isinstance(came, dict):
        raise WorkerError(f"the trial of the sandbox failed: {reply}")
    return {wall: came.get(wall) is False for wall in _WALLS}
