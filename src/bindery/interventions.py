"""Changes to a trained encoder that need no training, and what they do to JER and to binding.

Whitening, random projection and a small copy of the pixels are affine maps after the embedding, so that their
Jacobian is known: A J. The map before the last average is read as it is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bindery import binding
from bindery import scenes as sc
from bindery.errors import InputError
from bindery.jacobian import DenseMap, effective_rank, estimate, jacobians, singular_values
from bindery.protocol import Benchmark, embedder
from bindery.readouts import Whitening

Floats = NDArray[np.floating]
PROJECTIONS = (64, 32, 16)
PIXEL_SHARES = (0.3, 1.0)


@dataclass(frozen=True, eq=False)
class Change:
    """The map from an embedding z of an image x to A (z - m), with B x appended where B is given.

    ``matrix``: A, (m, D); ``mean``: m, (D,); ``pixels``: B, (p, M), or None.
    """

    matrix: Floats
    mean: Floats
    pixels: Floats | None = None

    def rows(self, embeddings: Floats, images: Floats) -> Floats:
        """Changed embeddings (N, m + p) of embeddings (N, D) of images (N, 3, H, W)."""
        changed = (embeddings - self.mean) @ self.matrix.T
        if self.pixels is None:
            return changed
        return np.hstack([changed, images.reshape(len(images), -1) @ self.pixels.T])

    def jacobian(self, matrix: Tensor) -> Tensor:
        """(m + p, M) from the embedding's Jacobian (D, M)."""
        changed = torch.from_numpy(self.matrix).to(matrix.dtype) @ matrix
        if self.pixels is None:
            return changed
        return torch.cat([changed, torch.from_numpy(self.pixels).to(matrix.dtype)])


def unchanged(dim: int) -> Change:
    """The identity on D = ``dim``."""
    return Change(np.eye(dim), np.zeros(dim))


def whitened(bank: Floats) -> Change:
    """Whitening by the mean and covariance of a bank (N, D) of held-out embeddings."""
    fitted = Whitening(bank)
    return Change(fitted.matrix.T, fitted.mean)


def projected(dim: int, to: int, seed: int = 0) -> Change:
    """A uniformly random projection to ``to`` of ``dim`` dimensions; raises InputError unless 0 < to <= dim."""
    if not 0 < to <= dim:
        raise InputError(f"a projection of {dim} dimensions keeps 1 to {dim} of them, not {to}")
    basis = np.linalg.qr(np.random.default_rng([seed, dim, to]).standard_normal((dim, to)))[0]
    return Change(basis.T, np.zeros(dim))


def with_pixels(bank: Floats, images: Floats, share: float, seed: int = 0) -> Change:
    """D random orthonormal linear features of the pixels appended, at ``share`` of the embedding's rms length.

    ``bank`` (N, D) are the embeddings of ``images`` (N, 3, H, W), by which the lengths are matched.
    """
    dim, flat = bank.shape[1], images.reshape(len(images), -1)
    basis = np.linalg.qr(np.random.default_rng([seed, dim]).standard_normal((flat.shape[1], dim)))[0].T
    length = np.sqrt((bank.astype(np.float64) ** 2).sum(1).mean() / ((flat @ basis.T) ** 2).sum(1).mean())
    return Change(np.eye(dim), np.zeros(dim), share * length * basis)


def jer_of(matrices: Tensor, change: Change, k: int = 32, seed: int = 0) -> float:
    """JER (Paper S, Eq. 1) of the changed encoder: mean over the Jacobians (N, D, M) of the embedding."""
    spectra = [
        estimate(DenseMap(change.jacobian(matrix)), k, "range_finder", 5, 0, (seed, index))
        for index, matrix in enumerate(matrices)
    ]
    return float(np.mean([effective_rank(values) for values in spectra]))


class _WholeMap(nn.Module):
    """The feature map as one long vector, not averaged over places."""

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone

    def forward(self, images: Tensor) -> Tensor:
        return self.backbone.feature_map(images).flatten(1)  # type: ignore[operator]


def apply(
    module: nn.Module, size: int, plan: Benchmark, *, trials: int | None = None, images: int = 8
) -> dict[str, dict[str, float]]:
    """Accuracy, swap choice and JER of an encoder under every change, by name.

    Parameters
    ----------
    module
        A backbone of the zoo: ``module(images)`` (N, D) and ``module.feature_map(images)``.
    trials, images
        Binding trials (jitter, dark; the plan's ``exact_trials`` by default) and images at which JER is taken
        (a quarter of them for the whole map), the same for every change.
    """
    task, images = (
        binding.trials(trials or plan.exact_trials, seed=plan.seed),
        min(images, plan.jacobian_images),
    )
    pixels = task.images(size)
    embed = embedder(module)
    rows = np.asarray(embed(pixels))
    bank_images = sc.render(sc.training_scenes(1000, seed=plan.seed + 9, objects=(2, 2), ground="dark"), size)
    bank = np.asarray(embed(bank_images))
    scenes = torch.from_numpy(sc.render(sc.training_scenes(images, seed=plan.seed + 30), size))
    matrices = jacobians(module, scenes)
    dim = rows.shape[1]
    changes = {"unchanged": unchanged(dim), "whitened": whitened(bank)}
    changes |= {f"projected-{to}": projected(dim, to, plan.seed) for to in PROJECTIONS if to < dim}
    changes |= {f"pixels-{s:g}": with_pixels(bank, bank_images, s, plan.seed) for s in PIXEL_SHARES}
    found = {}
    for name, change in changes.items():
        result = binding.evaluate(change.rows(rows, pixels), task)
        rank = jer_of(matrices, change, plan.k, plan.seed)
        found[name] = {"accuracy": result.accuracy, "swap": result.swap, "jer": rank}
    whole = _WholeMap(module).eval()
    result = binding.evaluate(embedder(whole)(pixels), task)
    ranks = [
        effective_rank(singular_values(whole, scene[None], plan.k, seed=(plan.seed, index), check=False))
        for index, scene in enumerate(scenes[: max(1, images // 4)])
    ]
    found["map"] = {"accuracy": result.accuracy, "swap": result.swap, "jer": float(np.mean(ranks))}
    return found


def row(module: nn.Module, size: int, plan: Benchmark) -> dict[str, float]:
    """`apply` as one flat row, with the CPU seconds it took."""
    started = time.process_time()
    found = apply(module, size, plan)
    flat = {f"{name}:{what}": value for name, told in found.items() for what, value in told.items()}
    return flat | {"interventions_cpu_s": time.process_time() - started}
