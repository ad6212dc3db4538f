"""Embeddings of image sets that may not be shipped, measured once and committed under ``results/embeddings``.

A file holds float16 rows in the order of the data set's published checksum list, and says which weights made
them and who made the images.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from bindery.errors import DataError
from bindery.paths import results_dir

_ABOUT = ("data", "encoder", "weights_sha256", "names_sha256", "credit", "commit")


def path_of(data: str, encoder: str) -> Path:
    """Where the embeddings of ``data`` by ``encoder`` stand, whether or not they are there."""
    return results_dir() / "embeddings" / f"{data}.{encoder}.safetensors"


def write(path: Path, embeddings: NDArray[np.floating], about: dict[str, str]) -> None:
    """Write (N, D) embeddings as float16 with everything that `read` will check."""
    if missing := sorted(set(_ABOUT) - set(about)):
        raise DataError(f"committed embeddings must say {', '.join(missing)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({"embeddings": embeddings.astype(np.float16)}, path, metadata=about)


def about(data: str, encoder: str) -> dict[str, str]:
    """What the file says of itself."""
    with _open(data, encoder) as file:
        return dict(file.metadata() or {})


def read(
    data: str, encoder: str, names_sha256: str, weights_sha256: str | None = None
) -> NDArray[np.float32]:
    """(N, D) float32 embeddings, rounded to float16 when they were committed; not unit-normed.

    Parameters
    ----------
    names_sha256 : str
        Hash of the image list they are wanted for; embeddings of another list are refused.
    weights_sha256 : str, optional
        Hash of the weights at hand; embeddings by other weights are refused.

    Raises
    ------
    DataError
        Not committed, unreadable, or of other images or weights.
    """
    with _open(data, encoder) as file:
        told = file.metadata() or {}
        for key, wanted in (("names_sha256", names_sha256), ("weights_sha256", weights_sha256)):
            if wanted is not None and told.get(key) != wanted:
                what = "images" if key.startswith("names") else "weights"
                raise DataError(
                    f"{path_of(data, encoder).name} was made from other {what}; make it again with "
                    "python tools/embed_cue_conflict.py"
                )
        return np.asarray(file.get_tensor("embeddings"), dtype=np.float32)


def available(data: str) -> list[str]:
    """Encoders whose embeddings of ``data`` are committed."""
    files = (results_dir() / "embeddings").glob(f"{data}.*.safetensors")
    return sorted(file.name.split(".")[1] for file in files)


def _open(data: str, encoder: str) -> safe_open:
    path = path_of(data, encoder)
    if not path.exists():
        have = ", ".join(available(data)) or "none"
        raise DataError(
            f"no committed embeddings of {data} by {encoder} (there are: {have}); take one of those"
        )
    try:
        return safe_open(path, framework="numpy")
    except Exception as error:
        raise DataError(f"{path.name} is damaged ({error}); restore it with git checkout") from error
