"""A deadline for one answer that a busy machine does not move: it counts the time that the worker itself computed."""

from __future__ import annotations

import os
import time
from pathlib import Path

_PATIENCE = 3.0
_STEP = 0.2


class Clock:
    """Runs out when the worker has computed for ``seconds``, or when three times as long has passed.

    Without ``/proc``, when ``seconds`` have passed. Never later than ``latest`` seconds from now.
    """

    def __init__(self, supervisor: int, seconds: float, latest: float) -> None:
        self._supervisor, self._seconds = supervisor, seconds
        self._started, self._spent = time.monotonic(), self._processor()
        self._latest = min(latest, _PATIENCE * seconds)

    def wait(self) -> float:
        """How long to wait before asking again; raises TimeoutError when time has run out."""
        passed = time.monotonic() - self._started
        if passed < min(self._seconds, self._latest):
            return min(self._seconds, self._latest) - passed
        spent = self._processor()
        if (
            self._spent is None
            or spent is None
            or spent - self._spent >= self._seconds
            or passed >= self._latest
        ):
            raise TimeoutError
        return _STEP

    def _processor(self) -> float | None:
        """Processor seconds of the supervisor's only child; None where the system does not say."""
        try:
            child = Path(f"/proc/{self._supervisor}/task/{self._supervisor}/children").read_text().split()[0]
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        except (OSError, IndexError):
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
