"""The lock: the sha256 every weight file must have before it is read.

``encoders.lock`` (committed) holds what a publisher or a package fixes. For the rest the hash is recorded at
first use in ``encoders.lock.json`` of the cache folder, and the same file is demanded from then on.
"""

from __future__ import annotations

import json
import logging
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field

from bindery.errors import DataError
from bindery.paths import cache_dir
from bindery.provenance import sha256_file

log = logging.getLogger(__name__)


class Entry(BaseModel):
    """What is known of one weight file; ``origin`` says who stated the hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    size: int = Field(gt=0)
    """Bytes; what the file had when the hash was taken."""
    source: str
    origin: str


@cache
def committed() -> dict[str, Entry]:
    """The entries of ``encoders.lock`` by card name."""
    text = (resources.files("bindery.encoders") / "encoders.lock").read_text(encoding="utf-8")
    return {name: Entry.model_validate(fields) for name, fields in tomllib.loads(text).items()}


def recorded() -> dict[str, Entry]:
    """The entries recorded at first use on this machine."""
    path = _user_file()
    if not path.exists():
        return {}
    try:
        return {name: Entry.model_validate(fields) for name, fields in json.loads(path.read_text()).items()}
    except (ValueError, AttributeError, OSError) as error:
        raise DataError(f"{path} is damaged; delete it to record the hashes again") from error


def expected(name: str) -> Entry | None:
    """What the weights of ``name`` must be, committed before recorded; None when never seen."""
    return committed().get(name) or recorded().get(name)


def verify(name: str, path: Path, source: str, publisher_sha256: str = "") -> str:
    """The sha256 of ``path`` once it agrees with the lock; the first sight of a file is recorded.

    Raises
    ------
    DataError
        The file differs from the lock or from the hash its publisher states.
    """
    digest, size = sha256_file(path), path.stat().st_size
    entry = expected(name)
    wanted = entry.sha256 if entry else publisher_sha256
    if wanted and digest != wanted:
        raise DataError(
            f"the weights of {name} are not the locked ones: {path.name} has {size} bytes and sha256 "
            f"{digest[:12]}…, expected {f'{entry.size} bytes and ' if entry else ''}{wanted[:12]}…; "
            "delete or reinstall the file and load it again"
        )
    if entry is None:
        origin = "publisher" if publisher_sha256 else "recorded at first use"
        _record(name, Entry(sha256=digest, size=size, source=source, origin=origin))
        log.warning("%s: sha256 %s… (%s) now locked in %s", name, digest[:12], origin, _user_file())
    return digest


def _user_file() -> Path:
    return cache_dir() / "encoders.lock.json"


def _record(name: str, entry: Entry) -> None:
    path = _user_file()
    with FileLock(f"{path}.lock"):
        entries = {key: value.model_dump() for key, value in recorded().items()}
        entries[name] = entry.model_dump()
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(entries, indent=1, sort_keys=True))
        partial.replace(path)
