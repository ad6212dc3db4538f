"""Reader of a plain folder ``<attribute>_<object>/``, and what all readers share."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bindery.data.composition import CompositionDataset
from bindery.data.images import SUFFIXES, Files, usable
from bindery.errors import DataError

# Files that systems leave in folders without being asked.
CLUTTER = ("thumbs.db", "desktop.ini", "sha256sums", "license", "readme", "readme.md", "readme.txt")


def read_folder(root: str | Path, *, bad: str = "raise") -> CompositionDataset:
    """Images in sub-folders ``<attribute>_<object>/``, the name parted at its first underscore.

    Parameters
    ----------
    root : path
        The folder; nothing in it is changed. An ``images/`` folder inside is entered when it is the only one.
    bad : {"raise", "skip"}
        A damaged image: "raise" when it is first read, or "skip" it now, names told in a warning.

    Raises
    ------
    DataError
        No such folder, no images, or sub-folders whose names have no underscore.
    """
    folder = Path(root)
    if not folder.is_dir():
        raise DataError(f"no folder {folder}; give the path of a folder with <attribute>_<object>/ inside")
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if [path.name for path in inside] == ["images"]:
        return read_folder(inside[0], bad=bad)
    paths, attributes, objects = [], [], []
    for sub in inside:
        found = images_in(sub)
        attribute, underscore, thing = sub.name.partition("_")
        if found and not (attribute and underscore and thing):
            raise DataError(
                f"the folder {sub.name!r} in {folder} is not called <attribute>_<object>; "
                "rename it, like red_apple"
            )
        paths += found
        attributes += [attribute] * len(found)
        objects += [thing] * len(found)
    if not paths:
        raise DataError(
            f"no images in {folder}; "
            f"expected sub-folders <attribute>_<object>/ with {', '.join(SUFFIXES)} files"
        )
    return from_files(
        folder.resolve().name, folder, paths, {"attribute": attributes, "object": objects}, bad=bad
    )


def images_in(folder: Path) -> list[Path]:
    """Image files directly in a folder, sorted; other files are told in a warning."""
    entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    # A link that leads nowhere counts as a file: reading it tells that the image is missing.
    files = [path for path in entries if path.is_file() or (path.is_symlink() and not path.exists())]
    images = [path for path in files if path.suffix.lower() in SUFFIXES]
    others = [path.name for path in files if path.suffix.lower() not in SUFFIXES]
    if told := [name for name in others if name.lower() not in CLUTTER]:
        warnings.warn(
            f"{len(told)} files in {folder} are not images and are left out: {', '.join(told[:5])}",
            UserWarning,
            stacklevel=3,
        )
    return images


def from_files(
    name: str,
    root: Path,
    paths: Sequence[Path],
    labels: Mapping[str, Sequence[str]],
    *,
    bad: str = "raise",
    pair: tuple[str, str] = ("attribute", "object"),
    sources: Mapping[str, Sequence[str]] | None = None,
    official: Sequence[str] | None = None,
    credit: str = "",
) -> CompositionDataset:
    """A data set of image files; a source is the file itself (its path below ``root``) when none is given."""
    rows = usable(paths, bad)
    if not len(rows):
        raise DataError(f"{name}: no image in {root} can be read")
    frame = pd.DataFrame({column: list(values) for column, values in labels.items()}, dtype=str)
    ids = sources or {"file": [path.relative_to(root).as_posix() for path in paths]}
    kinds = pd.DataFrame({column: list(values) for column, values in ids.items()}, dtype=str)
    return CompositionDataset(
        name,
        Files([paths[i] for i in rows]),
        frame.iloc[rows].reset_index(drop=True),
        kinds.iloc[rows].reset_index(drop=True),
        *pair,
        credit,
        None if official is None else np.array(list(official))[rows],
    )
