"""Finding a data set on disk: the folder given, a known place, or one message that says how to get it."""

from __future__ import annotations

import os
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from bindery.errors import BinderyError, DataError
from bindery.paths import cache_dir, shared_data


@lru_cache(maxsize=1)
def sources() -> dict[str, dict[str, Any]]:
    """Credit, contents and origin of every real data set, from ``sources.toml``."""
    return tomllib.loads(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))


def credit(key: str) -> str:
    """Who made the data set ``key``, and its licence where one is stated."""
    return str(sources()[key]["credit"])


def rehearsing() -> bool:
    """Whether ``BINDERY_REHEARSE=1`` asks for tiny stand-ins in the true layout instead of the real data."""
    return os.environ.get("BINDERY_REHEARSE") == "1"


def find(key: str, root: str | Path | None = None) -> Path:
    """The folder of data set ``key``.

    In turn: ``root`` when given; a tiny true layout when rehearsing; ``$BINDERY_DATA/<key>`` or the shared
    folder beside the checkout; what `bindery.data.download` put into the cache.

    Raises
    ------
    DataError
        None of them is there; the message says what is expected, where to get it and where to put it.
    """
    if root is not None:
        folder = Path(root)
        if not folder.is_dir():
            raise DataError(f"{key}: no folder {folder}; expected {sources()[key]['contents']} inside")
        return folder
    if rehearsing():
        from bindery.data.layouts import true_layout

        return true_layout(key, cache_dir("rehearsal") / key)
    try:
        shared = shared_data(key)
    except BinderyError:  # no checkout: only the variable and the cache remain
        configured = os.environ.get("BINDERY_DATA")
        shared = Path(configured) / key if configured and (Path(configured) / key).is_dir() else None
    if shared is not None:
        return shared
    cached = cache_dir("data") / key
    if cached.is_dir():
        return cached
    raise DataError(missing(key))


def missing(key: str, what: str | None = None) -> str:
    """One line: what is missing, where to get it, where to put it."""
    entry = sources()[key]
    lacking = f"{key}: {what} is missing" if what else f"{key} is not on this machine"
    automatic = "base" in entry or "archives" in entry
    get = f' or call bindery.data.download("{key}")' if automatic else ""
    return (
        f"{lacking}; expected {entry['contents']}. Get it from {entry['where']}{get}; "
        f"put it into a folder {key} below the folder named by BINDERY_DATA, or give root="
    )


def require(key: str, folder: Path, *names: str) -> list[Path]:
    """The paths ``folder/name``; raises DataError naming those that do not exist."""
    paths = [folder / name for name in names]
    if absent := [path.name for path in paths if not path.exists()]:
        raise DataError(missing(key, f"{', '.join(absent)} in {folder}"))
    return paths


def check_count(key: str, what: str, found: int, expected: int) -> None:
    """Raises DataError when a count is not the published one."""
    if found != expected:
        raise DataError(
            f"{key}: {found:,} {what}, expected {expected:,}; unpack it again, "
            "or pass check_counts=False for a part of it"
        )
