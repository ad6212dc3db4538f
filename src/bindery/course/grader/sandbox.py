"""One worker in its sandbox: what it may use, what it may see, and calls with a deadline."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bindery
from bindery.course import checking
from bindery.course.grader import codec
from bindery.course.grader.clock import Clock
from bindery.errors import BinderyError

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_SYSTEM = (
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/sbin",
    "/usr",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/fonts",
)
_PRINTED = 4096
_START = 60.0
_FOREVER = 1e6
_MB = 1 << 20


class WorkerError(BinderyError):
    """The worker gave no usable answer; the sentence says why, in words for the student."""


class LateError(WorkerError):
    """The worker gave no answer in time."""


class SandboxError(BinderyError):
    """The sandbox could not be built on this machine."""


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    ``call`` and ``load`` are seconds for one call and for running the notebook's cells (see `Clock`), ``whole`` for
    all of it (wall clock, and processor time of each worker); ``memory`` and ``disk`` are MB.
    """

    call: float = 10.0
    load: float = 30.0
    whole: float = 120.0
    memory: int = 2048
    disk: int = 64

    def resources(self) -> dict[str, int]:
        """As the limits of the operating system; address space leaves room for libraries and their files."""
        return {
            "RLIMIT_CPU": max(1, int(self.whole)), "RLIMIT_DATA": self.memory * _MB,
            "RLIMIT_AS": (self.memory + 4096) * _MB, "RLIMIT_FSIZE": self.disk * _MB // 2, "RLIMIT_NOFILE": 128,
            "RLIMIT_NPROC": 64, "RLIMIT_CORE": 0, "RLIMIT_MEMLOCK": 0, "RLIMIT_MSGQUEUE": 0,
        }  # fmt: skip


class Sandbox:
    """A started worker. Use it as a context manager: leaving it kills everything that ran inside.

    ``hidden`` are files and folders that must not be seen even where they lie among what Python needs; ``core`` is the
    processor core to keep to, so that a worker takes no time from another's.
    Raises SandboxError when it cannot be built.
    """

    def __init__(
        self, limits: Limits, *, isolated: bool, hidden: Sequence[Path] = (), core: int | None = None
    ) -> None:
        self.limits, self.printed, self._count = limits, b"", 0
        try:
            self._folder = tempfile.mkdtemp(prefix="bindery-")
            request, self._requests = os.pipe()
            self._replies, reply = os.pipe()
            config = {
                "parent": os.getpid(), "isolated": isolated, "core": core, "folder": self._folder,
                "pipes": [request, reply], "command": _command(request, reply, isolated),
                "visible": _visible(), "hidden": _inside(_visible(), [checking.CHECKS, *hidden]),
                "user": 30000 + os.getpid() % 30000, "disk": limits.disk * _MB, "seconds": int(limits.whole) + 5,
                "limits": _portable(limits, isolated), "environment": _environment(self._folder, isolated),
            }  # fmt: skip
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_SUPERVISOR), json.dumps(config)], pass_fds=(request, reply),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise SandboxError(f"no process or pipe: {error.strerror}") from error
        os.close(request)
        os.close(reply)
        os.set_blocking(self._requests, False)
        os.set_blocking(self._replies, False)
        self._drain = threading.Thread(target=self._collect, daemon=True)
        self._drain.start()
        self._await_start()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, cells: Sequence[tuple[int, str]], latest: float = _FOREVER) -> list[tuple[int, str]]:
        """Run the cells; the numbers of those that raised, and what they said.

        Raises WorkerError when the worker ended, took too long or answered nonsense. ``latest`` is in seconds from now.
        """
        reply = self._ask({"cells": [[number, code] for number, code in cells]}, self.limits.load, latest)
        errors = reply.get("errors")
        if not isinstance(errors, list) or any(
            not isinstance(entry, list) or [type(part) for part in entry] != [int, str] for entry in errors
        ):
            raise WorkerError("the notebook interfered with the grader's messages")
        return [(number, said) for number, said in errors]

    def call(
        self, name: str, args: list[Any], kwargs: dict[str, Any], latest: float = _FOREVER
    ) -> dict[str, Any]:
        """The worker's reply to a call; raises WorkerError when there is none."""
        return self._ask({"call": name, "args": args, "kwargs": kwargs}, self.limits.call, latest)

    def close(self) -> None:
        """Kill the worker and all it started, and remove its folder."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._drain.join(2)
        for descriptor in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._requests = self._replies = -1
        if self._process.stdout is not None and not self._drain.is_alive():
            self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _await_start(self) -> None:
        """The worker's greeting comes before any code of a student's: without it, the sandbox is at fault."""
        try:
            if self._reply(Clock(self._process.pid, _START, _START)) == {"id": 0}:
                return
        except (TimeoutError, EOFError, codec.GarbledError):
            pass
        self.close()
        said = self.printed.decode(errors="replace").strip().splitlines()
        raise SandboxError(said[-1] if said else "the worker does not start")

    def _ask(self, request: dict[str, Any], seconds: float, latest: float) -> dict[str, Any]:
        self._count += 1
        clock = Clock(self._process.pid, seconds, latest)
        what = "the notebook" if "cells" in request else str(request["call"])
        try:
            self._write(codec.encode({"id": self._count, **request}), clock)
            reply = self._reply(clock)
        except TimeoutError:
            raise LateError(f"{what} did not finish in time") from None
        except EOFError:
            raise WorkerError(f"{what} ended the process it ran in") from None
        except codec.GarbledError:
            raise WorkerError(f"{what} interfered with the grader's messages") from None
        if not isinstance(reply, dict) or reply.get("id") != self._count or type(reply["id"]) is not int:
            raise WorkerError(f"{what} interfered with the grader's messages")
        return reply

    def _reply(self, clock: Clock) -> Any:
        text, arrays = codec.sizes(self._read(codec.HEADER.size, clock))
        return codec.decode(self._read(text, clock), self._read(arrays, clock))

    def _write(self, message: bytes, clock: Clock) -> None:
        view = memoryview(message)
        while view:
            _wait([], [self._requests], clock)
            try:
                view = view[os.write(self._requests, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise EOFError from None

    def _read(self, length: int, clock: Clock) -> bytes:
        content = bytearray()
        while len(content) < length:
            _wait([self._replies], [], clock)
            try:
                chunk = os.read(self._replies, min(length - len(content), _MB))
            except BlockingIOError:
                continue
            if not chunk:
                raise EOFError
            content += chunk
        return bytes(content)

    def _collect(self) -> None:
        """Keep the beginning of what is printed and swallow the rest, so that nobody blocks."""
        stream = self._process.stdout
        assert stream is not None
        while chunk := os.read(stream.fileno(), 1 << 16):
            self.printed += chunk[: _PRINTED - len(self.printed)]


def _wait(readable: list[int], writable: list[int], clock: Clock) -> None:
    """Until a pipe is ready; raises TimeoutError when the clock runs out."""
    while not any(select.select(readable, writable, [], clock.wait())):
        pass


def _command(request: int, reply: int, isolated: bool) -> list[str]:
    mode = "isolated" if isolated else "open"
    return [sys.executable, "-s", "-P", "-m", "bindery.course.grader.worker", str(request), str(reply), mode]


def _portable(limits: Limits, isolated: bool) -> dict[str, int]:
    resources = limits.resources()
    if not isolated:  # the account's own processes count too: a limit would stop the honest
        del resources["RLIMIT_NPROC"]
    return resources


def _environment(folder: str, isolated: bool) -> dict[str, str]:
    home = "/tmp" if isolated else folder
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    source = Path(bindery.__file__).resolve().parent.parent
    return {
        **one, "PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
        **({} if source.name == "site-packages" else {"PYTHONPATH": str(source)}),
    }  # fmt: skip


def _visible() -> list[str]:
    """What Python, its packages and this one need; none inside another, and no folder that holds everything."""
    wanted = [Path(path) for path in _SYSTEM]
    wanted += [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent]
    wanted += [Path(path).resolve() for path in (sys.prefix, sys.base_prefix)]
    wanted += [Path(bindery.__file__).resolve().parent]
    wanted = [path for path in dict.fromkeys(wanted) if path.exists() and path != Path("/")]
    kept: list[Path] = []
    for path in sorted(wanted, key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(other) and not other.is_symlink() for other in kept):
            kept.append(path)
    return [str(path) for path in kept]


def _inside(visible: Sequence[str], hidden: Sequence[Path]) -> list[str]:
    """Those of ``hidden`` that would be seen; all else does not exist in the sandbox anyway."""
    real = [path.resolve() for path in hidden]
    return [
        str(path) for path in real if any(path.is_relative_to(tree) and str(path) != tree for tree in visible)
    ]
