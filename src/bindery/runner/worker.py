"""One chapter in one process: percent source to executed notebook. Started by the runner with a job file.

It lives no longer than the runner: the runner holds the other end of its standard input.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill
import psutil
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

EXECUTED = "executed.ipynb"
CLEAN = "notebook.ipynb"
FAILURE = "failure.json"
PROGRESS = "progress"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ARROW = re.compile(r"-+> *\d+ +(.*?) *$")
_TAIL = 12


class QuietKernelManager(AsyncKernelManager):
    """Kernels that encrypt where they can, instead of warning at each start that they do not."""

    transport_encryption = AsyncKernelManager.transport_encryption.__class__(
        ["disabled", "auto", "required"], default_value="auto"
    )


def main(work: Path) -> int:
    """Execute the job in ``work``; leaves ``out/notebook.ipynb``, or ``failure.json`` and how far it got."""
    threading.Thread(target=_die_with_the_runner, daemon=True).start()
    job = json.loads((work / "job.json").read_text(encoding="utf-8"))
    os.chdir(work)  # papermill formats its output path with the parameters: keep it a plain name
    try:
        executed = _execute(job)
    except PapermillExecutionError as error:
        cause = f"{error.ename}: {error.evalue}" if error.evalue else str(error.ename)
        _fail(work, cause, error.exec_count, error.source, error.traceback)
        return 1
    except DeadKernelError:
        _fail(work, "the kernel died (out of memory?)")
        return 1
    except Exception as error:
        _fail(work, f"{type(error).__name__}: {error}")
        return 1
    if (skipped := _first_not_run(executed)) is not None:
        _fail(work, "the chapter stopped early: a later cell was not run", None, skipped)
        return 1
    tidy(executed, job["metadata"])
    nbformat.write(executed, work / "out" / CLEAN)
    return 0


def tidy(notebook: Any, metadata: Mapping[str, Any]) -> None:
    """Drop clocks, random ids and standard error, so that equal results are equal bytes."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata["bindery"] = dict(metadata)
    notebook.metadata.setdefault(
        "kernelspec", {"name": "python3", "display_name": "Python 3", "language": "python"}
    )
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]


def _execute(job: Mapping[str, Any]) -> Any:
    notebook = jupytext.read(job["source"], fmt="py:percent")
    total = sum(cell.cell_type == "code" for cell in notebook.cells)
    started = 0

    def tell(cell: Any, cell_index: int) -> None:
        nonlocal started
        started += cell.cell_type == "code"
        Path(job["work"], PROGRESS).write_text(f"{min(started, total)}/{total}")

    return papermill.execute_notebook(
        notebook, EXECUTED, parameters=job["parameters"], kernel_name="python3",
        language="python", cwd=job["root"],
        progress_bar=False, start_timeout=300, kernel_manager_class=QuietKernelManager, on_cell_start=tell,
    )  # fmt: skip


def _first_not_run(notebook: Any) -> str | None:
    """Source of the first code cell without a count: ``sys.exit()`` ends papermill without an error."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip())
    return next((cell.source for cell in cells if cell.execution_count is None), None)


def _fail(
    work: Path, error: str, cell: int | None = None, source: str = "", traceback: list[str] | None = None
) -> None:
    lines = _COLOUR.sub("", "\n".join(traceback or [])).splitlines()
    told = {
        "error": _COLOUR.sub("", error),
        "cell": cell,
        "source": _line_told(source, lines),
        "traceback": "\n".join(lines[-_TAIL:]),
    }
    (work / FAILURE).write_text(json.dumps(told), encoding="utf-8")


def _line_told(source: str, traceback: list[str]) -> str:
    """The cell's line that failed, as the traceback's first arrow points at it; else its first line of code."""
    arrow = next((found for line in traceback if (found := _ARROW.match(line))), None)
    code = [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if arrow is not None and any(line.strip() == arrow[1] for line in code):
        return arrow[1]
    return code[0] if code else ""


def _die_with_the_runner() -> None:
    """Standard input ends when the runner does, however it ended; the kernel must not outlive it."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    for child in psutil.Process().children(recursive=True):
        child.kill()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
