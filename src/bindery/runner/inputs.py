"""Everything a chapter's result depends on, as named digests: equal digests, equal result."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bindery.errors import DataError
from bindery.paths import cache_dir, shared_data
from bindery.provenance import sha256_file, sha256_json
from bindery.runner.chapters import ChapterSource
from bindery.runner.imports import Library
from bindery.runner.project import Project, write_atomic

# Two writes within one tick of the file clock can leave size and time equal: do not trust what is this young.
_SETTLED_SECONDS = 2.0
# Of a folder with more files than this, names, sizes and times are hashed instead of content.
_CONTENT_LIMIT = 5000

# A chapter that records, or imports the ledger, shows what the claims say.
_RECORDS = re.compile(r"\.record\(|\bledger\b")

Inputs = dict[str, str]


class Hashes:
    """sha256 of files, remembered by path, size and modification time."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._known: dict[str, list[Any]] = {}
        self._changed = False
        try:
            self._known = dict(json.loads(memory.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            self._changed = True

    def file(self, path: Path) -> str:
        """Hex sha256 of a file, remembered by its size and time of change."""
        status = path.stat()
        seen = [status.st_size, status.st_mtime_ns]
        known = self._known.get(str(path))
        if isinstance(known, list) and len(known) == 3 and known[:2] == seen:
            return str(known[2])
        digest = sha256_file(path)
        if time.time() - status.st_mtime > _SETTLED_SECONDS:
            self._known[str(path)] = [*seen, digest]
            self._changed = True
        return digest

    def tree(self, folder: Path) -> str:
        """One digest of the files under a folder, hidden ones aside: their names and content."""
        files = sorted(p for p in folder.rglob("*") if p.is_file() and not _hidden(p.relative_to(folder)))
        by_content = len(files) <= _CONTENT_LIMIT
        return sha256_json(
            [[str(p.relative_to(folder)), self.file(p) if by_content else _status(p)] for p in files]
        )

    def path(self, path: Path) -> str:
        """Hex sha256 of a file or a folder."""
        return self.tree(path) if path.is_dir() else self.file(path)

    def save(self) -> None:
        """Keep what was learnt for the next build."""
        if self._changed:
            write_atomic(self._memory, json.dumps(self._known).encode())


def chapter_inputs(
    project: Project,
    chapter: ChapterSource,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
    hashes: Hashes,
    library: Library,
    records_of: Callable[[str], str],
) -> Inputs:
    """Name to digest; ``settings`` are the profile and switches that a chapter can see.

    Raises DataError when a declared result file is missing.
    """
    text = chapter.text.encode()
    inputs: Inputs = {
        "the source": hashlib.sha256(text).hexdigest(),
        "the parameters": sha256_json(dict(parameters)),
        "the settings": sha256_json({**settings, "python": platform.python_version_tuple()[:2]}),
    }
    if (lock := project.root / "requirements.lock").is_file():
        inputs["the lock"] = hashes.file(lock)
    if (claims := project.root / "book" / "claims.yml").is_file() and _RECORDS.search(chapter.text):
        inputs["the claims"] = hashes.file(claims)
    code = chapter.text
    if (check := project.library / "course" / "checks" / f"{chapter.id}.py").is_file():
        inputs["its check"] = hashes.file(check)
        code += "\n" + check.read_text(encoding="utf-8")
    for name, path in library.files(code).items():
        inputs[f"library {name}"] = hashes.file(path)
    for key in chapter.header.needs.data:
        inputs[f"data {key}"] = _data_digest(project, key, hashes)
    for pattern in chapter.header.needs.results:
        for path in result_files(project, pattern, chapter.id):
            inputs[f"result {path.relative_to(project.root)}"] = hashes.path(path)
    for name, value in parameters.items():
        if (named := _file_named_by(project, value)) is not None:
            inputs[f"the file that parameter {name} names"] = hashes.path(named)
    for name in chapter.depends:
        inputs[f"the records of {name}"] = records_of(name)
    return inputs


def inputs_key(inputs: Inputs) -> str:
    """One hash of all inputs of a chapter: equal keys, equal outputs."""
    return sha256_json(inputs)


def what_changed(old: Inputs, new: Inputs) -> str:
    """A few words for a person: which inputs differ."""
    changed = [f"{name} changed" for name in new if name in old and old[name] != new[name]]
    changed += [f"{name} is new" for name in new if name not in old]
    changed += [f"{name} is no longer used" for name in old if name not in new]
    return ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")


def result_files(project: Project, pattern: str, chapter: str) -> list[Path]:
    """Files under the checkout or its ``results/`` that a declared need names; a glob may match none."""
    for base in (project.root, project.root / "results"):
        if found := sorted(base.glob(pattern)):
            return found
    if any(sign in pattern for sign in "*?["):
        return []
    raise DataError(
        f"{chapter} needs the result file {pattern}, which is not in results/; restore it from git"
    )


def _data_digest(project: Project, key: str, hashes: Hashes) -> str:
    """Digest of the files behind a data key; what is rendered from a pack in the library has none."""
    own = project.root / key
    place = own if own.exists() else shared_data(key) or cache_dir("data") / key
    return hashes.path(place) if place.exists() else "not on this machine"


def _file_named_by(project: Project, value: Any) -> Path | None:
    """The file or folder in a value such as ``encoders/mine.py:build`` or ``photos/``, when it exists."""
    if not isinstance(value, str) or not value or not ("/" in value or ".py:" in value):
        return None
    path = project.root / value.partition(".py:")[0]
    path = path.with_name(f"{path.name}.py") if ".py:" in value else path
    return path if path.exists() else None


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def _status(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]
