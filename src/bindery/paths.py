"""Where things live: the project, the cache, and the optional data beside the checkout."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import platformdirs

from bindery.errors import BinderyError


def project_root() -> Path:
    """The checkout: ``$BINDERY_ROOT``, or the nearest folder at or above here that holds ``_toc.yml``."""
    if configured := os.environ.get("BINDERY_ROOT"):
        if not _is_checkout(Path(configured)):
            raise BinderyError(
                f"BINDERY_ROOT is {configured}, where there is no Bindery checkout (_toc.yml and notebooks/); "
                "set it to one, or unset it and cd into one"
            )
        return Path(configured)
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            if _is_checkout(folder):
                return folder
    raise BinderyError("no Bindery checkout at or above this folder; cd into it, or set BINDERY_ROOT")


def _is_checkout(folder: Path) -> bool:
    return (folder / "_toc.yml").exists() and (folder / "notebooks").is_dir()


def results_dir() -> Path:
    """Committed measurement records (``results/`` of the checkout)."""
    return project_root() / "results"


def cache_dir(*parts: str) -> Path:
    """A writable cache folder, made on demand: ``$BINDERY_CACHE`` or the user's cache directory.

    Raises BinderyError when it cannot be written, naming the folder and the variable that moves it.
    """
    base = Path(os.environ.get("BINDERY_CACHE") or platformdirs.user_cache_dir("bindery"))
    folder = base.joinpath(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BinderyError(
            f"cannot write the cache folder {folder} ({error.strerror}); "
            "make it writable, or set BINDERY_CACHE to a folder that is"
        ) from error
    return folder


def shared_data(name: str) -> Path | None:
    """``<checkout>/../shared/data/<name>`` or ``$BINDERY_DATA/<name>`` when present, else None."""
    candidates = [project_root().parent / "shared" / "data" / name]
    if configured := os.environ.get("BINDERY_DATA"):
        candidates.insert(0, Path(configured) / name)
    return next((path for path in candidates if path.is_dir()), None)
