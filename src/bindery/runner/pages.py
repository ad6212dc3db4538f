"""Puts one profile's executed chapters where the book looks for them; what did not run says so."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from bindery.runner.chapters import EXERCISES, ChapterSource
from bindery.runner.outputs import FIGURES, NOTEBOOK, RECORDS, Outputs
from bindery.runner.project import write_atomic
from bindery.runner.schedule import Outcome

_OURS = re.compile(r"\d\d_")


def publish(
    pages: Path, chapters: Mapping[str, ChapterSource], outcomes: Mapping[str, Outcome], outputs: Outputs
) -> None:
    """Write ``book/chapters``: ``NN_name.ipynb``, ``exercises/NN_name.ipynb``, ``records/``, ``figures/``.

    A failed, skipped or never executed chapter becomes a page that says so, without its old results; one
    that is out of date but was not asked for keeps them under a warning.
    """
    pages.mkdir(parents=True, exist_ok=True)
    wanted: set[Path] = set()
    for name, chapter in chapters.items():
        outcome = outcomes[name]
        page = pages / f"{chapter.page}.ipynb"
        wanted.add(page)
        if outcome.status in {"failed", "skipped", "missing"}:
            write_atomic(page, _json(_stub(chapter, outcome)))
            continue
        records = outputs.path(name, RECORDS)
        write_atomic(page, _page(outputs.path(name, NOTEBOOK), outcome, _measuring(records)))
        if records.is_file():
            wanted.add(pages / "records" / f"{name}.json")
            write_atomic(pages / "records" / f"{name}.json", records.read_bytes())
        folder = outputs.path(name, FIGURES)
        for figure in (path for path in sorted(folder.rglob("*")) if path.is_file()):
            place = pages / FIGURES / name / figure.relative_to(folder)
            wanted.add(place)
            write_atomic(place, figure.read_bytes())
    _remove_old(pages, wanted)


def _page(notebook: Path, outcome: Outcome, measuring: set[int]) -> bytes:
    """The executed notebook, with an anchor ``in-n`` before every cell that measured a claim."""
    page = nbformat.read(notebook, as_version=4)
    cells = []
    for cell in page.cells:
        if cell.get("execution_count") in measuring:
            anchor = f"in-{cell['execution_count']}"
            cells.append(_markdown(f'<div class="measured-here" id="{anchor}"></div>', anchor))
        cells.append(cell)
    if outcome.status == "stale":
        note = f"Since it was executed: {outcome.why}."
        told = _admonition("warning", "This page is older than its inputs", note)
        cells.insert(1, _markdown(told, "out-of-date"))
    page.cells = cells
    return _json(page)


def _measuring(records: Path) -> set[int]:
    """Numbers of the cells that recorded something for the scoreboard: a claim, or a published cell's twin."""
    if not records.is_file():
        return set()
    file = json.loads(records.read_text("utf-8"))
    shown = file.get("records", []) + [item for item in file.get("measurements", []) if item.get("cell")]
    return {item["measured_in"] for item in shown if item.get("measured_in")}


def _stub(chapter: ChapterSource, outcome: Outcome) -> Any:
    told = {
        "failed": "This chapter failed in the last build",
        "skipped": "This chapter was skipped in the last build",
        "missing": "This chapter has not been executed yet",
    }[outcome.status]
    failure = outcome.failure
    body = [f"{outcome.why}." if failure is None else failure.error]
    if failure is not None and failure.cell is not None:
        body.insert(0, f"In cell {failure.cell}:")
    lines = "\n".join(body)
    text = _admonition(
        "error", told, f"```text\n{lines}\n```\n\nTo try again: `bindery build --only {chapter.id}`"
    )
    page = nbformat.v4.new_notebook(cells=[_markdown(f"# {chapter.header.title}\n\n{text}", "cell-0")])
    page.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    page.metadata["bindery"] = {"chapter": chapter.id, "status": outcome.status}
    return page


def _admonition(kind: str, title: str, body: str) -> str:
    return f":::{{admonition}} {title}\n:class: {kind}\n\n{body}\n:::"


def _markdown(source: str, name: str) -> Any:
    cell = nbformat.v4.new_markdown_cell(source)
    cell["id"] = name
    return cell


def _json(notebook: Any) -> bytes:
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _remove_old(pages: Path, wanted: set[Path]) -> None:
    """Remove pages, records and figures of chapters that are gone; leave alone what is not the runner's."""
    mine = ("*.ipynb", f"{EXERCISES}/*.ipynb", "records/*.json", f"{FIGURES}/*/**/*")
    for path in (path for pattern in mine for path in pages.glob(pattern)):
        parts = path.relative_to(pages).parts
        ours = parts[min(1, len(parts) - 1)]
        if path.is_file() and path not in wanted and _OURS.match(ours):
            path.unlink()
    for partial in pages.rglob(".*.part"):  # left by a build that was killed
        partial.unlink()
    for folder in pages.glob(f"{FIGURES}/*"):
        if folder.is_dir() and not any(path.is_file() for path in folder.rglob("*")):
            shutil.rmtree(folder)
