"""A chapter being executed: its work folder, its environment, its process, and what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from bindery.provenance import commit
from bindery.runner.chapters import ChapterSource
from bindery.runner.outputs import FIGURES, RECORDS, Failure
from bindery.runner.project import Project

_QUIET = {
    "JUPYTER_PREFER_ENV_PATH": "1",
    "JUPYTER_PLATFORM_DIRS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONHASHSEED": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
}
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """One execution: which chapter, with which values, seeing which records."""

    project: Project
    chapter: ChapterSource
    parameters: Mapping[str, Any]
    profile: str
    key: str
    records: Mapping[str, Path]
    environment: Mapping[str, str]
    scratch: Path | None = None
    """Where the work folder is made; None: the system's place for temporary files."""


class Execution:
    """A running job. Nothing outside its work folder is touched until somebody keeps the result."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.started = time.monotonic()
        if job.scratch is not None:
            job.scratch.mkdir(parents=True, exist_ok=True)
        self.work = Path(tempfile.mkdtemp(prefix=f"{job.chapter.id}-", dir=job.scratch))
        self._prepare()
        with (self.work / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bindery.runner.worker", str(self.work)],
                stdin=subprocess.PIPE, stdout=log, stderr=log, env=self._environment(), cwd=job.project.root,
                start_new_session=True,
            )  # fmt: skip

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.monotonic() - self.started

    @property
    def progress(self) -> str:
        """``"3/12"`` cells, as the worker told last."""
        try:
            return (self.work / "progress").read_text()
        except OSError:
            return ""

    @property
    def running(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

    def result(self) -> Failure | None:
        """None when the chapter ran to its end (``made`` then holds the result), else why not."""
        self._close()
        if self._process.returncode == 0:
            records = self.work / "records" / f"{self.job.chapter.id}.json"
            if records.is_file():
                records.replace(self.made / RECORDS)
            return None
        try:
            told = json.loads((self.work / "failure.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            log = (self.work / "log").read_text(encoding="utf-8", errors="replace").splitlines()
            told = {"error": log[-1] if log else f"the process ended with {self._process.returncode}"}
            told["traceback"] = "\n".join(log[-12:])
        return Failure(key=self.job.key, **told)

    @property
    def made(self) -> Path:
        """Folder of the result."""
        return self.work / "out"

    @property
    def half_run(self) -> Path:
        """The notebook as far as it got."""
        return self.work / "executed.ipynb"

    def stop(self) -> None:
        """End the process and its kernel now, if they still run."""
        if not self.running:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            family = psutil.Process(self._process.pid).children(recursive=True)
            for process in [*family, self._process]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self._process.wait()
        self._close()

    def clean(self) -> None:
        """Remove the working folder; what was published stays."""
        shutil.rmtree(self.work, ignore_errors=True)

    def _close(self) -> None:
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _prepare(self) -> None:
        job = self.job
        (self.made / FIGURES).mkdir(parents=True)
        (self.work / "records").mkdir()
        for name, path in job.records.items():
            shutil.copyfile(path, self.work / "records" / f"{name}.json")
        declared = job.chapter.parameters
        # Only what differs from the notebook's own defaults is injected: the page shows what was changed.
        changed = {name: value for name, value in job.parameters.items() if value != declared[name].default}
        header = job.chapter.header.model_dump(mode="json")
        told = {
            "source": str(job.chapter.path),
            "work": str(self.work),
            "root": str(job.project.root),
            "parameters": changed,
            "metadata": {**header, "chapter": job.chapter.id, "profile": job.profile, "key": job.key},
        }
        (self.work / "job.json").write_text(json.dumps(told), encoding="utf-8")

    def _environment(self) -> dict[str, str]:
        job = self.job
        threads = os.environ.get("BINDERY_THREADS", "1")
        return {
            **os.environ,
            **_QUIET,
            **dict.fromkeys(_THREADS, threads),
            "BINDERY_THREADS": threads,
            "BINDERY_ROOT": str(job.project.root),
            "BINDERY_CHAPTER": job.chapter.id,
            "BINDERY_PROFILE": job.profile,
            "BINDERY_PARAMETERS": json.dumps(dict(job.parameters), sort_keys=True),
            "BINDERY_RECORDS": str(self.work / "records"),
            "BINDERY_FIGURES": str(self.made / FIGURES),
            "BINDERY_COMMIT": commit(),
            # A reader's own IPython start-up files and a read-only home must not matter.
            "IPYTHONDIR": str(self.work / "ipython"),
            "JUPYTER_RUNTIME_DIR": str(self.work / "runtime"),
            **job.environment,
        }


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM end what runs the way Ctrl-C does: running chapters are stopped, finished ones kept."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
