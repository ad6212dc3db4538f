"""Reader of the cue-conflict images: the shape of one photograph, the texture of another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from PIL import Image

from bindery.data import where
from bindery.data.composition import CompositionDataset
from bindery.data.downloads import read_checksums
from bindery.data.folder import from_files, images_in
from bindery.data.images import ImageSequence
from bindery.errors import DataError
from bindery.provenance import sha256_json

NAME = re.compile(r"(?P<shape>[a-z]+)(?P<content>\d+)-(?P<texture>[a-z]+)(?P<style>\d+)\.png")
N_IMAGES, N_CLASSES, PER_PAIR = 1280, 16, 5


def cue_conflict(
    root: str | Path | None = None, *, check_counts: bool = True, bad: str = "raise"
) -> CompositionDataset:
    """Cue conflict: attribute texture, object shape, 16 x 16 x 5 images of 224 pixels.

    Two kinds of source: the content image (10 a shape) and the texture image (3 a texture). A split by source
    deals both, so only images whose content and texture fall in the same part remain; ``val=0`` leaves two
    textures a class to train on instead of one.

    Source: Geirhos et al., ICLR 2019.

    Raises
    ------
    DataError
        Not found, a file name that does not fit, or counts other than published.
    """
    key = "cue-conflict"
    folder = where.find(key, root)
    subs = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    paths = [path for sub in [folder, *subs] for path in images_in(sub)]
    if not paths:
        raise DataError(where.missing(key, f"every image in {folder}"))
    labels, ids = read_names(paths)
    data = from_files(
        key, folder, paths, labels, bad=bad, pair=("texture", "shape"), sources=ids, credit=where.credit(key)
    )
    if check_counts and not where.rehearsing():
        where.check_count(key, "images", len(paths), N_IMAGES)
        for what in ("shape", "texture"):
            where.check_count(key, f"kinds of {what}", len(set(labels[what])), N_CLASSES)
        for pair, count in Counter(data.pairs()).items():
            where.check_count(key, f"images of texture {pair[0]} on shape {pair[1]}", count, PER_PAIR)
    return data


def cue_conflict_labels() -> CompositionDataset:
    """The same data set without its pixels: labels and sources by the published file list, in its order.

    For embeddings that are committed while the images may not be; touching an image raises DataError.
    """
    key = "cue-conflict"
    labels, ids = read_names([Path(name) for name in read_checksums("cue-conflict.sha256")])
    table, sources = (pd.DataFrame(columns, dtype=str) for columns in (labels, ids))
    images = Absent(key, N_IMAGES)
    return CompositionDataset(key, images, table, sources, "texture", "shape", where.credit(key))


def names_sha256() -> str:
    """Hash of the published file list, which names every image with its checksum."""
    return sha256_json(read_checksums("cue-conflict.sha256"))


def read_names(paths: Sequence[Path]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Labels (texture, shape) and source ids (content, texture) from names; an odd one raises DataError."""
    labels: dict[str, list[str]] = {"texture": [], "shape": []}
    ids: dict[str, list[str]] = {"content": [], "texture": []}
    for path in paths:
        match = NAME.fullmatch(path.name)
        if match is None:
            raise DataError(f"{path}: the name is not <shape><i>-<texture><j>.png; remove it from the folder")
        labels["texture"].append(match["texture"])
        labels["shape"].append(match["shape"])
        ids["content"].append(match["shape"] + match["content"])
        ids["texture"].append(match["texture"] + match["style"])
    return labels, ids


class Absent(ImageSequence):
    """A sequence of images that are not here; its length is known, its pixels raise DataError."""

    def __init__(self, key: str, n: int) -> None:
        self.key, self.n = key, n

    def __len__(self) -> int:
        return self.n

    def image(self, index: int) -> Image.Image:
        """Raises DataError: only labels were loaded."""
        raise DataError(where.missing(self.key))

    def content_key(self, index: int) -> str:
        """The published checksum of the image."""
        return list(read_checksums("cue-conflict.sha256").values())[index]
