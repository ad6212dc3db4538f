"""What a loss asks of the embedding: its gradients at a frozen encoder, with heads fitted to it.

Heads are not kept with the weights, so they are fitted anew; the encoder does not move meanwhile. The gradient is
that of a shift common to all places of the last map, which for a loss on the pooled embedding z is dL/dz.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bindery.errors import InputError
from bindery.jacobian.ranks import effective_rank
from bindery.zoo.augment import condition
from bindery.zoo.backbone import Backbone
from bindery.zoo.objectives import Objective, build_objective
from bindery.zoo.train import Config, Pool, draw_batch, learning_rate

Floats = NDArray[np.float64]
FRESH = 1_000_000  # first step number of batches that no training draws


class _Watched(Backbone):
    """A frozen backbone that keeps its last map as a leaf of the graph."""

    def __init__(self, inner: Backbone) -> None:
        super().__init__()
        self.inner, self.dim, self.stride = inner, inner.dim, inner.stride
        self.maps: list[Tensor] = []

    def feature_map(self, images: Tensor) -> Tensor:
        with torch.no_grad():
            features = self.inner.feature_map(images)
        self.maps.append(features.requires_grad_(torch.is_grad_enabled()))
        return features


def fit_heads(backbone: Backbone, config: Config, pool: Pool, steps: int = 100) -> Objective:
    """The objective of ``config`` with heads trained for ``steps`` steps on the frozen ``backbone``.

    Batches, optimiser and schedule are those of the training; the same seed gives the same heads.
    """
    if steps < 1:
        raise InputError(f"heads are fitted in at least one step, not {steps}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        objective = build_objective(config.objective, backbone, **config.options)
    watched, short = _Watched(backbone).eval(), replace(config, images=steps * config.per_step)
    heads = [p for p in objective.parameters() if p.requires_grad]
    if not heads:
        return objective
    optimiser = torch.optim.AdamW(heads, lr=config.learning_rate, weight_decay=config.weight_decay)
    for step in range(steps):
        batch = draw_batch(pool, short, condition(config.condition), step, objective.views)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(short, step)
        optimiser.zero_grad(set_to_none=True)
        objective.loss(watched, batch).backward()
        optimiser.step()
        objective.after_step(backbone, (step + 1) / steps)
        watched.maps.clear()
    return objective


def loss_gradients(
    backbone: Backbone, objective: Objective, config: Config, pool: Pool, batches: int = 8
) -> Floats:
    """(batches * per_step, D) gradients of the loss by the embedding of each view, on fresh batches.

    In float32 throughout; each batch's loss is a mean over its images, so that rows are of order 1 / B.
    """
    watched = _Watched(backbone).eval()
    plain, rows = replace(config, bfloat16=False), []
    for number in range(batches):
        watched.maps.clear()
        batch = draw_batch(pool, plain, condition(config.condition), FRESH + number, objective.views)
        loss = objective.loss(watched, batch)
        (gradient,) = torch.autograd.grad(loss, watched.maps[:1])
        rows.append(gradient.sum((2, 3)).double().numpy())
    return np.concatenate(rows)


@dataclass(frozen=True, eq=False)
class Span:
    """Directions that gradients (N, D) use: singular values, largest first, and their directions (D, D)."""

    values: Floats
    directions: Floats

    @classmethod
    def of(cls, gradients: Floats) -> Span:
        """The right singular directions of the rows, not centred: a constant pull is a direction, too."""
        _, values, directions = np.linalg.svd(gradients, full_matrices=False)
        return cls(values, directions)

    @property
    def effective(self) -> float:
        """(sum s)^2 / sum s^2 over all D: Paper S's Eq. 1 without truncation."""
        return effective_rank(self.values)

    def count(self, share: float = 0.99) -> int:
        """How many directions hold ``share`` of the squared length of all gradients."""
        held = np.cumsum(self.values**2) / (self.values**2).sum()
        return int(np.searchsorted(held, share * (1 - 1e-12)) + 1)

    def seen(self, covariance: Floats, share: float = 0.99) -> float:
        """Share of the trace of ``covariance`` (D, D) that lies in those directions."""
        kept = self.directions[: self.count(share)]
        return float(np.trace(kept @ covariance @ kept.T) / np.trace(covariance))
