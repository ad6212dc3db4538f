"""Images to embeddings, in batches, the next batch prepared while the network runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm.auto import tqdm

from bindery.encoders.encoder import Encoder
from bindery.encoders.preprocess import ImageLike
from bindery.errors import BinderyError, InputError


def embed(
    encoder: Encoder, images: Sequence[ImageLike] | Any, *, batch_size: int = 32, progress: bool = True
) -> NDArray[np.float32]:
    """Embeddings of images, one row each, not unit-normed.

    Parameters
    ----------
    encoder : Encoder
    images : sequence of PIL images or (H, W, 3) uint8 arrays, or a data set with ``.images``
        Read lazily, batch by batch.
    batch_size : int
        Speed and memory only: the rows agree to about 1e-6 of their size whatever it is.
    progress : bool
        Show a bar.

    Returns
    -------
    (N, D) float32 array, computed on the GPU when there is one.

    Raises
    ------
    InputError
        No images, an image of a wrong kind (its number told), or a non-finite embedding.
    """
    images = getattr(images, "images", images)
    if batch_size < 1:
        raise InputError(f"batch_size must be at least 1, not {batch_size}")
    if len(images) == 0:
        raise InputError("no images to embed")
    device = compute_device()
    home = next((p.device for p in encoder.module.parameters()), torch.device("cpu"))
    rows = np.empty((len(images), encoder.dim), np.float32)
    bar = tqdm(total=len(images), desc=encoder.name, unit="image", disable=not progress, leave=False)
    encoder.module.to(device)
    try:
        # no_grad, not inference_mode: tensors of the module stay usable for derivatives afterwards.
        with bar, torch.no_grad(), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            for start, batch in _prepared(encoder, images, batch_size):
                rows[start : start + len(batch)] = encoder.module(batch.to(device)).float().cpu().numpy()
                bar.update(len(batch))
    finally:
        encoder.module.to(home)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise InputError(
            f"{encoder.name} gives NaN or infinity for image {bad[0]} ({len(bad)} images in all)"
        )
    return rows


def compute_device() -> torch.device:
    """The GPU when there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _prepared(
    encoder: Encoder, images: Sequence[ImageLike], batch_size: int
) -> Iterator[tuple[int, torch.Tensor]]:
    """Preprocessed batches with the number of their first image, one ahead of the consumer."""

    def prepare(start: int) -> torch.Tensor:
        stop = min(start + batch_size, len(images))
        batch = torch.cat([_one(encoder, images, row) for row in range(start, stop)])
        encoder.check_input(batch)
        return batch

    with ThreadPoolExecutor(max_workers=1) as pool:
        ahead = pool.submit(prepare, 0)
        for start in range(0, len(images), batch_size):
            batch = ahead.result()
            if start + batch_size < len(images):
                ahead = pool.submit(prepare, start + batch_size)
            yield start, batch


def _one(encoder: Encoder, images: Sequence[ImageLike], row: int) -> torch.Tensor:
    try:
        return encoder.preprocess([images[row]])
    except (BinderyError, OSError) as error:  # OSError: PIL's word for a truncated file
        raise InputError(f"image {row}: {error}") from error
