"""Grades a class: one judge a submission, several at a time, what is done kept in a journal."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bindery.course import checking, plain
from bindery.course.grader.answers import clean
from bindery.course.grader.report import PartResult, Result
from bindery.course.grader.sandbox import Limits
from bindery.course.grader.submissions import Submission, read
from bindery.errors import BinderyError, DataError, InputError

_UNCHECKED = "This answer cannot be checked: the check did not end on it within its time and memory."
_MARGIN = 30.0


@dataclass(frozen=True)
class Settings:
    """How a class is graded: seed of the checks' inputs, teacher's own checks, limits, and the sandbox."""

    seed: int = 0
    private: Path | None = None
    limits: Limits = field(default_factory=Limits)
    isolated: bool = True
    hidden: tuple[Path, ...] = ()

    def known(self) -> list[str]:
        """Exercises that have a check.

        Raises InputError when ``private`` is no folder or holds no check.
        """
        public = {path.stem for path in checking.CHECKS.glob("[0-9]*.py")}
        if self.private is None:
            return sorted(public)
        if not self.private.is_dir():
            raise InputError(f"the private folder {self.private} does not exist; it holds checks, NN_name.py")
        own = {path.stem for path in self.private.glob("[0-9]*.py")}
        if not own:
            raise InputError(f"the private folder {self.private} holds no check; expected NN_name.py")
        return sorted(public | own)

    def fingerprint(self) -> str:
        """Hash of all that decides an outcome, other than the submission."""
        folders = [checking.CHECKS, Path(__file__).parent, self.private]
        files = [Path(checking.__file__), Path(plain.__file__)]
        files += [path for folder in folders if folder is not None for path in sorted(folder.glob("*.py"))]
        told = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
        own = len(list(self.private.glob("*.py"))) if self.private else 0
        return _hash([told, own, self.seed, asdict(self.limits), self.isolated])


class Journal:
    """Results that need not be computed again, one JSON line each; a damaged line counts as absent."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._kept: dict[str, Result] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    told = json.loads(line)
                    self._kept[told["key"]] = Result.from_json(told["result"])
                except (ValueError, TypeError, KeyError):
                    continue

    def find(self, key: str) -> Result | None:
        """The result kept under the key."""
        return self._kept.get(key)

    def keep(self, key: str, result: Result) -> None:
        """Append a result; from now on it survives an interruption."""
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            # A line of its own, even after one that was cut short.
            file.write("\n" + json.dumps({"key": key, "result": result.to_json()}) + "\n")


def grade(
    submissions: Sequence[Submission], settings: Settings, journal: Journal, *, jobs: int,
    done: Callable[[Result, bool], None],
) -> list[Result]:  # fmt: skip
    """Results in the order of the submissions; ``done(result, kept)`` is told each as it comes.

    Raises
    ------
    BinderyError
        The sandbox could not be built, or a check is damaged; what was graded is in the journal.
    """
    known, fingerprint = settings.known(), settings.fingerprint()
    stop, cores = threading.Event(), _Cores()

    def one(submission: Submission) -> Result:
        try:
            content = read(submission.path)
        except DataError as error:
            result, kept = Result(submission.name, "", problem=str(error)), False
        else:
            key = _hash([submission.name, hashlib.sha256(content).hexdigest(), fingerprint])
            kept = (found := journal.find(key)) is not None
            if found is None:
                found = _Judging(submission.name, content, settings, known, stop).run(cores.mine())
                journal.keep(key, found)
            result = found
        done(result, kept)
        return result

    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, submission) for submission in submissions]
        try:
            wait(futures)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    if failed := [error for future in futures if (error := future.exception()) is not None]:
        more = f" ({len(failed)} submissions met a failure)" if len(failed) > 1 else ""
        raise failed[0] if not isinstance(failed[0], BinderyError) else BinderyError(f"{failed[0]}{more}")
    return [future.result() for future in futures]


class _Cores:
    """A processor core for each thread that grades, as long as there are some."""

    def __init__(self) -> None:
        self._own, self._lock = threading.local(), threading.Lock()
        self._free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def mine(self) -> int | None:
        """The calling thread's core."""
        if not hasattr(self._own, "core"):
            with self._lock:
                self._own.core = self._free.pop() if self._free else None
        return self._own.core


class _Judging:
    """One submission before its judge, which is called again for the remaining parts if one part undoes it."""

    def __init__(
        self, name: str, content: bytes, settings: Settings, known: Sequence[str], stop: threading.Event
    ) -> None:
        self._name, self._content, self._stop = name, content, stop
        private = str(settings.private) if settings.private else None
        self._job = {
            "name": name, "known": list(known), "private": private, "seed": settings.seed,
            "limits": asdict(settings.limits), "isolated": settings.isolated,
            "hidden": [str(path) for path in settings.hidden],
        }  # fmt: skip
        self._deadline = time.monotonic() + settings.limits.whole + _MARGIN

    def run(self, core: int | None) -> Result:
        """The result, whatever the submission does; its code keeps to the processor core."""
        self._job["core"] = core
        head: dict[str, Any] = {}
        outcomes: list[tuple[float, str]] = []
        printed = ""
        while True:
            lines = self._ask_judge(len(outcomes)) or (self._ask_judge(0) if not head else [])
            head = head or next((line for line in lines if "parts" in line), {})
            outcomes += [(line["got"], clean(line["sentence"])) for line in lines if "got" in line]
            printed = printed or next((line["printed"] for line in lines if "printed" in line), "")
            if trouble := next((line["trouble"] for line in lines if "trouble" in line), ""):
                raise BinderyError(f"{self._name} could not be graded: {trouble}")
            if not head:
                return Result(self._name, "", problem="The file cannot be read within time and memory.")
            if head["problem"] or len(outcomes) >= len(head["parts"]):
                break
            outcomes.append((0.0, _UNCHECKED))
        if head["problem"]:
            outcomes = [(0.0, head["problem"])] * len(head["parts"])
        parts = tuple(
            PartResult(title, points, got, said)
            for (title, points), (got, said) in zip(head["parts"], outcomes, strict=False)
        )
        return Result(self._name, head["exercise"], parts, head["problem"], printed)

    def _ask_judge(self, start: int) -> list[dict[str, Any]]:
        """What a new judge says of the parts from ``start`` on, until it ends or its time does."""
        with tempfile.TemporaryDirectory(prefix="bindery-judge-", ignore_cleanup_errors=True) as folder:
            # -P: a submission called numpy.py in the current folder is no module of the judge's.
            command = [sys.executable, "-P", "-m", "bindery.course.grader.judge"]
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True, env=_environment(folder),
            ) as judge:  # fmt: skip
                watch = threading.Thread(target=self._watch, args=(judge,))
                watch.start()
                said, _ = judge.communicate(
                    json.dumps({**self._job, "start": start}).encode() + b"\n" + self._content
                )
                watch.join()
        if self._stop.is_set():
            raise BinderyError("stopped")
        return [json.loads(line) for line in said.splitlines() if line.endswith(b"}")]

    def _watch(self, judge: subprocess.Popen[bytes]) -> None:
        """Kill the judge at the deadline or when grading stops; the sandbox dies with it."""
        while judge.poll() is None:
            if self._stop.wait(0.1) or time.monotonic() > self._deadline:
                judge.kill()
                return


def _environment(folder: str) -> dict[str, str]:
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **one, "TMPDIR": folder, "PYTHONHASHSEED": "0"}


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
