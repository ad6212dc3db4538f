"""Embeddings back to small pictures: a decoder trained by regression in seconds, and what it is compared with.

It answers "what does this point of the space look like?" as the mean of the drawings that would lie there. It
blurs whatever the embedding does not tell; a generative model would invent it instead.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from tqdm.auto import tqdm

from bindery.checks import finite_rows, same_length
from bindery.errors import InputError

Pixels = NDArray[np.float32]


def canvas(drawing: Image.Image, size: int = 32) -> Pixels:
    """A drawing on a transparent square, centred, its longest side filling all but a pixel at each edge.

    Returns
    -------
    (4, size, size) float32 array
        RGB times alpha, and alpha, in [0, 1]: so that averages of drawings are averages of what one sees.
    """
    if size < 8:
        raise InputError(f"size must be at least 8 pixels; got {size}")
    ratio = (size - 2) / max(drawing.size)
    shape = max(1, round(drawing.width * ratio)), max(1, round(drawing.height * ratio))
    small = drawing.convert("RGBA").resize(shape, Image.Resampling.LANCZOS)
    square = Image.new("RGBA", (size, size))
    square.paste(small, ((size - shape[0]) // 2, (size - shape[1]) // 2))
    pixels: Pixels = np.asarray(square, dtype=np.float32).transpose(2, 0, 1) / np.float32(255)
    pixels[:3] *= pixels[3]
    return pixels


def thumbnails(images: Sequence[Image.Image], size: int = 32) -> Pixels:
    """Whole images as (N, 3, size, size) float32 in [0, 1]."""
    small = [image.convert("RGB").resize((size, size), Image.Resampling.LANCZOS) for image in images]
    return np.stack([np.asarray(image, dtype=np.float32).transpose(2, 0, 1) / 255 for image in small])


def on_ground(pixels: ArrayLike, ground: float = 1.0) -> Pixels:
    """(N, 3 or 4, S, S) pictures as (N, S, S, 3), transparent parts shown in a grey level in [0, 1]."""
    shown = np.asarray(pixels, dtype=np.float32)
    if shown.ndim != 4 or shown.shape[1] not in (3, 4):
        raise InputError(f"pictures must be (N, 3 or 4, S, S); got {shown.shape}")
    if shown.shape[1] == 4:
        shown = shown[:, :3] + ground * (1 - shown[:, 3:])
    return np.clip(shown.transpose(0, 2, 3, 1), 0, 1)


def pixel_error(pictures: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """(N,) root mean squared difference over the pixels and channels of each picture, in [0, 1]."""
    found, true = np.asarray(pictures, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if found.shape != true.shape:
        raise InputError(f"pictures and truth must have one shape; got {found.shape} and {true.shape}")
    error: NDArray[np.float64] = np.sqrt(((found - true) ** 2).reshape(len(found), -1).mean(axis=1))
    return error


class DrawingDecoder(BaseEstimator):
    """A small network from embeddings to pictures: two hidden layers, then all pixels at once.

    Trained by mean squared error, so that it predicts the mean picture given the embedding. With validation data the
    epoch with the smallest error there is kept, and training ends after ``patience`` epochs without a smaller one.
    The same seed and data give the same decoder on one machine.

    Parameters
    ----------
    hidden : int
        Units of the first hidden layer; the second has twice as many.
    epochs, patience, batch_size : int
    learning_rate, weight_decay : float
        Of AdamW.
    noise : float >= 0
        Standard deviation of Gaussian noise on the standardised embeddings in training. Composed points lie between
        images, where without noise the network has seen nothing.
    seed : int
    progress : bool
        Show a bar over the epochs.

    Attributes
    ----------
    history_ : DataFrame
        One row an epoch: ``epoch``, ``train``, ``validation`` (mean squared errors; NaN without validation data).
    best_epoch_ : int
    """

    def __init__(
        self,
        *,
        hidden: int = 256,
        epochs: int = 60,
        patience: int = 8,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-2,
        noise: float = 0.5,
        seed: int = 0,
        progress: bool = False,
    ) -> None:
        self.hidden = hidden
        self.epochs, self.patience, self.batch_size = epochs, patience, batch_size
        self.learning_rate, self.weight_decay, self.noise = learning_rate, weight_decay, noise
        self.seed, self.progress = seed, progress

    def fit(
        self,
        embeddings: ArrayLike,
        pictures: ArrayLike,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Train on (N, D) embeddings and their (N, C, S, S) pictures in [0, 1].

        Raises
        ------
        InputError
            Rows that are not finite, lengths that differ, pictures of another shape or range.
        """
        x, y = self._pair(embeddings, pictures)
        self.mean_, self.scale_ = x.mean(dim=0), x.std(dim=0).mean().clamp(min=1e-8)
        held = None if validation is None else self._pair(*validation)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.network_ = _network(x.shape[1], self.hidden, y.shape[1], y.shape[2])
            self._train(x, y, held)
        return self

    def predict(self, embeddings: ArrayLike) -> Pixels:
        """(N, C, S, S) pictures in [0, 1] of (N, D) embeddings."""
        check_is_fitted(self)
        rows = torch.from_numpy(finite_rows(embeddings, "embeddings").astype(np.float32))
        if rows.shape[1] != len(self.mean_):
            raise InputError(f"embeddings must have length {len(self.mean_)}; got {rows.shape[1]}")
        self.network_.eval()
        with torch.no_grad():
            parts = [self.network_(self._standard(block)) for block in rows.split(256)]
        pictures: Pixels = torch.cat(parts).numpy()
        return pictures

    def _pair(self, embeddings: ArrayLike, pictures: ArrayLike) -> tuple[Tensor, Tensor]:
        rows, pixels = finite_rows(embeddings, "embeddings"), np.asarray(pictures, dtype=np.float32)
        same_length(embeddings=rows, pictures=pixels)
        if pixels.ndim != 4 or pixels.shape[2] != pixels.shape[3]:
            raise InputError(f"pictures must be (N, C, S, S); got {pixels.shape}")
        if not (pixels.min() >= 0 and pixels.max() <= 1):
            raise InputError(f"pictures must lie in [0, 1]; got {pixels.min():g} to {pixels.max():g}")
        return torch.from_numpy(rows.astype(np.float32)), torch.from_numpy(pixels)

    def _standard(self, rows: Tensor) -> Tensor:
        return (rows - self.mean_) / self.scale_

    def _train(self, x: Tensor, y: Tensor, held: tuple[Tensor, Tensor] | None) -> None:
        network, steps = self.network_, -(-len(x) // self.batch_size)
        optimiser = torch.optim.AdamW(
            network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.epochs * steps)
        best, kept, history = float("inf"), copy.deepcopy(network.state_dict()), []
        self.best_epoch_ = 0
        for epoch in tqdm(range(self.epochs), desc="decoder", disable=not self.progress, leave=False):
            network.train()
            total = 0.0
            for rows in torch.randperm(len(x)).split(self.batch_size):
                inputs = self._standard(x[rows])
                found = network(inputs + self.noise * torch.randn_like(inputs))
                loss = (found - y[rows]).square().mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
                total += float(loss.detach()) * len(rows)
            error = float("nan") if held is None else self._error(*held)
            history.append({"epoch": epoch, "train": total / len(x), "validation": error})
            if held is None or error < best:
                best, kept, self.best_epoch_ = error, copy.deepcopy(network.state_dict()), epoch
            elif epoch - self.best_epoch_ >= self.patience:
                break
        network.load_state_dict(kept)
        self.history_ = pd.DataFrame(history)

    def _error(self, x: Tensor, y: Tensor) -> float:
        self.network_.eval()
        with torch.no_grad():
            return float((self.network_(self._standard(x)) - y).square().mean())


def _network(dim: int, hidden: int, channels: int, size: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(dim, hidden),
        nn.GELU(),
        nn.Linear(hidden, 2 * hidden),
        nn.GELU(),
        nn.Linear(2 * hidden, channels * size * size),
        nn.Unflatten(1, (channels, size, size)),
        nn.Sigmoid(),
    )
