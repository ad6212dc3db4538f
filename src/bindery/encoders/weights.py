"""Weight files: find them, check them against the lock, read tensors and nothing else."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pickle
import re
import sys
from pathlib import Path

import torch

from bindery.encoders import lock
from bindery.encoders.card import Card, Weights
from bindery.errors import DataError, InputError
from bindery.paths import cache_dir


def find(card: Card, download: bool = True) -> Path | None:
    """The weight file of a card, downloaded when needed; None when absent and ``download`` is off.

    Raises DataError when it cannot be had, saying where it should come from.
    """
    weights = pretrained(card)
    if weights.package:
        path = _in_package(weights)
        if path is None and download:
            package = weights.package.replace("_", "-")
            raise DataError(f"the weights of {card.name} are missing; install the package {package}")
        return path
    try:
        return _from_hub(card, weights, download) if weights.hub else _from_url(weights, download)
    except (OSError, ValueError) as error:  # both hub and HTTP failures derive from OSError
        reason = re.split(r"\n|\. ", str(error).strip())[0][:120] or type(error).__name__
        raise DataError(
            f"the weights of {card.name} are not on this machine and could not be downloaded from "
            f"{weights.place} ({reason}); connect once, or use weights='random'"
        ) from error


def checked(card: Card) -> tuple[Path, str]:
    """The weight file of a card and its sha256, in agreement with the lock."""
    path = find(card)
    assert path is not None
    weights = pretrained(card)
    # The hub's cache names a file's blob by the sha256 that the hub itself states.
    blob = path.resolve().name if weights.hub else ""
    stated = blob if len(blob) == 64 and set(blob) <= set("0123456789abcdef") else ""
    return path, lock.verify(card.name, path, weights.place, publisher_sha256=stated)


def read(path: Path) -> object:
    """The content of a .safetensors or torch file: tensors and plain containers, never code.

    Raises DataError for a damaged file and for a pickle that would run code.
    """
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return load_file(path)
        except (SafetensorError, OSError) as error:
            raise DataError(f"{path.name} is damaged: {error}; delete it and load again") from error
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{path.name} holds more than tensors (or is damaged) and is refused: reading it could run code"
        ) from error
    except Exception as error:  # bytes that are no pickle make the reader fail in any way, KeyError included
        first = f"{type(error).__name__}: {error}".splitlines()[0][:120]
        raise DataError(f"{path.name} is damaged: {first}; delete it and load again") from error


def pretrained(card: Card) -> Weights:
    """The card's weights; InputError when it has none."""
    if card.weights is None:
        raise InputError(f"{card.name} has no pretrained weights; use weights='random'")
    return card.weights


def _in_package(weights: Weights) -> Path | None:
    spec = importlib.util.find_spec(weights.package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / weights.file
    return path if path.is_file() else None


def _from_hub(card: Card, weights: Weights, download: bool) -> Path | None:
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    name = weights.file or (
        "open_clip_model.safetensors" if card.loader == "open_clip" else "model.safetensors"
    )
    cached = try_to_load_from_cache(weights.hub, name)
    if isinstance(cached, str):
        return Path(cached)
    return Path(hf_hub_download(weights.hub, name)) if download else None


def _from_url(weights: Weights, download: bool) -> Path | None:
    # Several publishers call their file resnet50.pth: the folder before it tells them apart.
    name = "-".join(weights.url.split("/")[-2:])
    path = cache_dir("weights") / name
    if not path.exists():
        if not download:
            return None
        partial = path.with_name(f"{name}.{os.getpid()}.partial")
        try:
            torch.hub.download_url_to_file(weights.url, str(partial), progress=sys.stderr.isatty())
            partial.replace(path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                partial.unlink()
    return path
