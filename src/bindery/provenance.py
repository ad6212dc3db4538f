"""Where a number or a figure comes from: chapter, profile, parameters, commit, versions, seed.

Nothing here holds a clock, a path or a user name, so that equal inputs give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from bindery.errors import BinderyError, InputError
from bindery.paths import project_root

PACKAGES = (
    "bindery", "matplotlib", "numpy", "open_clip_torch", "pandas", "pillow", "pingouin",
    "scikit-learn", "scipy", "timm", "torch", "torchvision",
)  # fmt: skip
HASH_LENGTH = 16
UNKNOWN = "unknown"


def sha256_file(path: str | os.PathLike[str]) -> str:
    """Hex sha256 of a file, read in blocks."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def canonical_json(value: Any) -> str:
    """``value`` as JSON with sorted keys and no white space: one text for equal values.

    NumPy scalars and arrays, tuples and pydantic models are accepted.

    Raises
    ------
    InputError
        A value that JSON cannot hold, or NaN or infinity.
    """
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot be written as canonical JSON: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON value; give numbers, text, lists or mappings")


def sha256_json(value: Any) -> str:
    """Hex sha256 of the canonical JSON of ``value``; the order of mapping keys does not matter."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Installed versions, sorted by package; what is not installed is left out."""
    found: dict[str, str] = {}
    for package in sorted(packages):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """``"9a845bc210"``, ``"9a845bc210-dirty"`` with uncommitted changes, or ``"unknown"`` outside git.

    ``$BINDERY_COMMIT``, which the runner sets once a build, has precedence.
    """
    if told := os.environ.get("BINDERY_COMMIT"):
        return told
    try:
        return _commit_of(project_root())
    except BinderyError:
        return UNKNOWN


@cache
def _commit_of(root: Path) -> str:
    # A checkout unpacked inside somebody else's repository must not be stamped with that one's commit.
    answer = _git(root, "rev-parse", "--show-toplevel", "--short=10", "HEAD")
    if answer is None:
        return UNKNOWN
    top, sha = answer.splitlines()[:2]
    if Path(top).resolve() != root.resolve():
        return UNKNOWN
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return f"{sha}-dirty" if changed else sha


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


class Provenance(BaseModel):
    """What was run to get a result; compared and stored as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chapter: str
    profile: str
    parameters: str
    """First 16 hex digits of the sha256 of the parameters' canonical JSON."""
    commit: str
    versions: dict[str, str]
    seed: int | None = None

    @classmethod
    def current(cls, parameters: Mapping[str, Any] | None = None, seed: int | None = None) -> Provenance:
        """The provenance of this process, from ``$BINDERY_*`` and what is handed in.

        Parameters
        ----------
        parameters : mapping, optional
            The chapter's parameters; else ``$BINDERY_PARAMETERS`` (their JSON), else none.
        seed : int, optional
            Else the parameter named ``seed`` when there is one.
        """
        given = environment_parameters() if parameters is None else dict(parameters)
        if seed is None and isinstance(given.get("seed"), int):
            seed = given["seed"]
        return cls(
            chapter=os.environ.get("BINDERY_CHAPTER") or "notebook",
            profile=os.environ.get("BINDERY_PROFILE") or "interactive",
            parameters=sha256_json(given)[:HASH_LENGTH],
            commit=commit(),
            versions=versions(),
            seed=seed,
        )


def environment_parameters() -> dict[str, Any]:
    """``$BINDERY_PARAMETERS`` as a mapping; empty when it is not set.

    Raises
    ------
    InputError
        The variable is set but is no JSON object.
    """
    text = os.environ.get("BINDERY_PARAMETERS")
    if not text:
        return {}
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"BINDERY_PARAMETERS must be a JSON object; {error}") from error
    if not isinstance(given, dict):
        raise InputError(f"BINDERY_PARAMETERS must be a JSON object; got {text[:60]}")
    return given
