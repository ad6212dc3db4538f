"""Readers of sets without an attribute-object pair: ImageNet validation, SugarCrepe captions, COCO images."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import default_rng

from bindery.data import where
from bindery.data.images import SUFFIXES, Files, usable
from bindery.errors import DataError, InputError

IMAGENET_VAL = 50_000
SUGAR_CREPE = {
    "add_att": 692,
    "add_obj": 2062,
    "replace_att": 788,
    "replace_obj": 1652,
    "replace_rel": 1406,
    "swap_att": 666,
    "swap_obj": 245,
}


def imagenet_val(
    n: int | None = None,
    *,
    seed: int = 0,
    root: str | Path | None = None,
    check_counts: bool = True,
    bad: str = "raise",
) -> Files:
    """ImageNet validation images, flat or in one folder a class; ``n`` random ones when given.

    Raises
    ------
    DataError
        Not found, or not 50,000 images.
    """
    folder = where.find("imagenet-val", root)
    paths = sorted((p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES), key=lambda p: p.name)
    if not paths:
        raise DataError(where.missing("imagenet-val", f"every image in {folder}"))
    if check_counts and not where.rehearsing():
        where.check_count("imagenet-val", "images", len(paths), IMAGENET_VAL)
    if n is not None:
        if n < 1:
            raise InputError(f"n must be at least 1, not {n}")
        rows = default_rng(seed).choice(len(paths), min(n, len(paths)), replace=False)
        paths = [paths[i] for i in np.sort(rows)]
    return Files([paths[i] for i in usable(paths, bad)])


def sugar_crepe(root: str | Path | None = None, *, check_counts: bool = True) -> pd.DataFrame:
    """SugarCrepe's caption pairs, one a row: category, id, filename, caption, negative_caption.

    Parameters
    ----------
    root : path, optional
        Folder with the seven ``<category>.json`` files, or with a ``data/`` that has them.

    Raises
    ------
    DataError
        A file is missing, is not in the published form, or has the wrong number of pairs.
    """
    key = "sugar-crepe"
    folder = where.find(key, root)
    folder = folder / "data" if (folder / "data").is_dir() else folder
    files = where.require(key, folder, *(f"{category}.json" for category in SUGAR_CREPE))
    tables = []
    for path, (category, expected) in zip(files, SUGAR_CREPE.items(), strict=True):
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
            rows = [
                (category, str(number), e["filename"], e["caption"], e["negative_caption"])
                for number, e in entries.items()
            ]
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise DataError(f"{path} is not a SugarCrepe file ({error}); get it again") from error
        if check_counts and not where.rehearsing():
            where.check_count(key, f"pairs of {category}", len(rows), expected)
        tables.append(
            pd.DataFrame(rows, columns=["category", "id", "filename", "caption", "negative_caption"])
        )
    return pd.concat(tables, ignore_index=True)


def coco_images(filenames: Sequence[str], root: str | Path | None = None) -> Files:
    """The COCO val2017 images with these file names, in this order, from the user's folder.

    Raises
    ------
    DataError
        The folder or some images are missing (number and first name told).
    """
    folder = where.find("coco", root)
    folder = folder / "val2017" if (folder / "val2017").is_dir() else folder
    present = {path.name for path in folder.iterdir()}
    if lost := [name for name in filenames if name not in present]:
        raise DataError(where.missing("coco", f"{len(lost):,} images (such as {lost[0]}) in {folder}"))
    return Files([folder / name for name in filenames])
