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

CPU_PIECE = 8
"""Images that a CPU embeds at once, whatever the batch: with 32 the activations of a convolutional network leave
the caches and every layer asks the system for pages anew (measured: 1.4 times the time of 8 for EfficientNet-Lite0)."""


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
    images = image_list(images)
    bar = tqdm(total=len(images), desc=encoder.name, unit="image", disable=not progress, leave=False)
    with bar:
        blocks = []
        for block in stream(encoder, images, batch_size):
            blocks.append(block)
            bar.update(len(block))
    return np.concatenate(blocks)


def image_list(images: Any) -> Any:
    """The images of a data set, or the sequence itself; raises InputError for what is neither, such as one image."""
    images = getattr(images, "images", images)
    if not (hasattr(images, "__len__") and hasattr(images, "__getitem__")):
        raise InputError(
            f"expected a sequence of images or a data set, not one {type(images).__name__}; "
            "a single image goes in a list"
        )
    return images


def stream(
    encoder: Encoder, images: Sequence[ImageLike], batch_size: int, rows: Sequence[int] | None = None
) -> Iterator[NDArray[np.float32]]:
    """The rows of `embed` (those listed, or all), a (B, D) block a batch, as they are ready."""
    if batch_size < 1:
        raise InputError(f"batch_size must be at least 1, not {batch_size}")
    rows = range(len(images)) if rows is None else rows
    if len(rows) == 0:
        raise InputError("no images to embed")
    batches = [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]
    device = compute_device()
    home = next((p.device for p in encoder.module.parameters()), torch.device("cpu"))
    encoder.module.to(device)
    try:
        for numbers, batch in _prepared(encoder, images, batches):
            yield _forward(encoder, batch.to(device), numbers)
    finally:
        encoder.module.to(home)


def _forward(encoder: Encoder, batch: torch.Tensor, numbers: Sequence[int]) -> NDArray[np.float32]:
    # no_grad, not inference_mode: the module's tensors stay usable for derivatives afterwards.
    with torch.no_grad(), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        pieces = batch.split(CPU_PIECE) if batch.device.type == "cpu" else (batch,)
        rows = torch.cat([encoder.module(piece).float() for piece in pieces]).cpu().numpy()
    if rows.shape != (len(batch), encoder.dim):
        raise InputError(
            f"{encoder.name} gave {rows.shape} for {len(batch)} images, not ({len(batch)}, {encoder.dim})"
        )
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise InputError(f"{encoder.name} gives NaN or infinity for image {numbers[bad[0]]}")
    return rows


def compute_device() -> torch.device:
    """The GPU when there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _prepared(
    encoder: Encoder, images: Sequence[ImageLike], batches: list[Sequence[int]]
) -> Iterator[tuple[Sequence[int], torch.Tensor]]:
    """Each batch's image numbers and preprocessed tensor, one batch ahead of the consumer."""

    def prepare(numbers: Sequence[int]) -> torch.Tensor:
        batch = torch.cat([_one(encoder, images, number) for number in numbers])
        encoder.check_input(batch)
        return batch

    with ThreadPoolExecutor(max_workers=1) as pool:
        ahead = pool.submit(prepare, batches[0])
        for index, numbers in enumerate(batches):
            batch = ahead.result()
            if index + 1 < len(batches):
                ahead = pool.submit(prepare, batches[index + 1])
            yield numbers, batch


def _one(encoder: Encoder, images: Sequence[ImageLike], number: int) -> torch.Tensor:
    try:
        return encoder.preprocess([images[number]])
    except (BinderyError, OSError) as error:  # OSError: PIL's word for a truncated file
        raise InputError(f"image {number}: {error}") from error
