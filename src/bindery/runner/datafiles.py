"""The files behind a data key that a chapter declares."""

from __future__ import annotations

from pathlib import Path

from bindery.paths import shared_data
from bindery.runner.project import Project


def data_files(project: Project, key: str) -> list[Path]:
    """Files and folders that the data of ``key`` comes from; empty when it is not on this machine."""
    if (own := project.root / key).exists():
        return [own]
    folder = shared_data(key)
    return [folder] if folder else []
