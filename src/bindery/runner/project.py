"""Where the runner reads and writes inside a checkout."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bindery.paths import project_root

DEFAULT_PROFILE = "laptop"


@dataclass(frozen=True)
class Project:
    """A checkout and the library its chapters import."""

    root: Path
    library: Path

    @classmethod
    def find(cls) -> Project:
        """The checkout at or above the current folder (or ``$BINDERY_ROOT``), with the installed library."""
        return cls(project_root().resolve(), Path(__file__).resolve().parents[1])

    @property
    def notebooks(self) -> Path:
        """The folder of chapters, profiles and exercises."""
        return self.root / "notebooks"

    @property
    def pages(self) -> Path:
        """Executed notebooks, ``records/``, ``figures/`` of the profile built last: what the book shows."""
        return self.root / "book" / "chapters"

    @property
    def cache(self) -> Path:
        """What builds remember; safe to delete."""
        return self.root / ".cache"

    def html(self, profile: str) -> Path:
        """The built pages; each profile has its own, so that a smoke book never replaces a laptop book."""
        build = self.root / "_build"
        return build / "html" if profile == DEFAULT_PROFILE else build / profile / "html"


def write_atomic(path: Path, data: bytes) -> bool:
    """Write to a temporary name, then replace; equal content is left alone. Returns whether it wrote."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    partial.write_bytes(data)
    partial.replace(path)
    return True
