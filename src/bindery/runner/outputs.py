"""What executed chapters left, one folder a chapter and profile: whole or absent, never half.

A folder holds ``notebook.ipynb``, ``records.json`` (when the chapter recorded something), ``figures/`` and
``stamp.json`` with the key, the inputs and the sha256 of each file. Failures are kept beside them, in
``failed/``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bindery.errors import BinderyError
from bindery.provenance import sha256_json
from bindery.runner.inputs import Hashes, Inputs
from bindery.runner.project import write_atomic

NOTEBOOK = "notebook.ipynb"
RECORDS = "records.json"
FIGURES = "figures"
_STAMP = "stamp.json"
# A record's provenance names the commit; a new commit with equal values is no new content.
_NOT_CONTENT = {"commit"}


@dataclass(frozen=True)
class Stamp:
    """Proof of a finished execution."""

    key: str
    inputs: Inputs
    files: dict[str, str]
    seconds: float


@dataclass(frozen=True)
class Failure:
    """Why a chapter failed: the cell (as ``In [n]``), the line that failed, and the traceback's last lines."""

    key: str
    error: str
    cell: int | None = None
    source: str = ""
    traceback: str = ""


class Outputs:
    """The executed chapters of one profile."""

    def __init__(self, folder: Path, hashes: Hashes) -> None:
        self.folder = folder
        self._hashes = hashes

    def path(self, chapter: str, name: str) -> Path:
        """Where the output ``name`` of a chapter lies, made or not."""
        return self.folder / chapter / name

    def stamp(self, chapter: str) -> Stamp | None:
        """The stamp, or None when the chapter has not run or a file is missing or damaged."""
        try:
            stamp = Stamp(**json.loads(self.path(chapter, _STAMP).read_text(encoding="utf-8")))
            whole = all(
                self._hashes.file(self.path(chapter, name)) == digest for name, digest in stamp.files.items()
            )
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        return stamp if whole and NOTEBOOK in stamp.files else None

    def damaged(self, chapter: str) -> bool:
        """Whether there is something of the chapter that cannot be used."""
        return (self.folder / chapter).is_dir() and self.stamp(chapter) is None

    def keep(self, chapter: str, made: Path, key: str, inputs: Inputs, seconds: float) -> None:
        """Put the folder ``made`` in place of the chapter's; a kill in between leaves the chapter absent."""
        files = {
            str(p.relative_to(made)): self._hashes.file(p) for p in sorted(made.rglob("*")) if p.is_file()
        }
        stamp = Stamp(key, inputs, files, round(seconds, 1))
        (made / _STAMP).write_text(json.dumps(asdict(stamp), indent=1), encoding="utf-8")
        self._swap(chapter, made)

    def keep_failure(self, chapter: str, failure: Failure, notebook: Path) -> Path | None:
        """Remember the failure and the half-run notebook; a result that claims the same inputs goes.

        Returns where the notebook lies, if the chapter got as far as that.
        """
        stamp = self.stamp(chapter)
        if stamp is not None and stamp.key == failure.key:
            shutil.rmtree(self.folder / chapter)
        told = self._failed(chapter)
        write_atomic(told, json.dumps(asdict(failure), indent=1).encode())
        if not notebook.is_file():
            return None
        write_atomic(told.with_suffix(".ipynb"), notebook.read_bytes())
        return told.with_suffix(".ipynb")

    def failure(self, chapter: str) -> Failure | None:
        """The failure of the last execution, if it failed."""
        try:
            return Failure(**json.loads(self._failed(chapter).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def records_digest(self, chapter: str) -> str:
        """Digest of what the chapter recorded, without what only says when it was made."""
        path = self.path(chapter, RECORDS)
        if not path.is_file():
            return "none"
        try:
            return sha256_json(_content(json.loads(path.read_text(encoding="utf-8"))))
        except ValueError:
            raise BinderyError(
                f"the records of {chapter} are no JSON; run: bindery build --only {chapter}"
            ) from None

    def _swap(self, chapter: str, made: Path) -> None:
        place, trash = self.folder / chapter, made.with_name(f"{made.name}.old")
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            place.rename(trash)
        made.rename(place)
        shutil.rmtree(trash, ignore_errors=True)
        for suffix in (".json", ".ipynb"):
            self._failed(chapter).with_suffix(suffix).unlink(missing_ok=True)

    def _failed(self, chapter: str) -> Path:
        return self.folder / "failed" / f"{chapter}.json"


def _content(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _content(entry) for name, entry in value.items() if name not in _NOT_CONTENT}
    return [_content(entry) for entry in value] if isinstance(value, list) else value
