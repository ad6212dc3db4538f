"""The one interface of all objectives: a loss of a batch, given the backbone that is being trained."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from bindery.errors import InputError
from bindery.scenes import Scenes
from bindery.zoo.backbone import Backbone


@dataclass(frozen=True)
class Batch:
    """Augmented views, (B, 3, H, W) in [0, 1] each, the scene in sight in each, and the step's randomness."""

    views: list[Tensor]
    scenes: list[Scenes]
    generator: torch.Generator
    rng: np.random.Generator
    bfloat16: bool = False

    @contextmanager
    def mixed(self) -> Iterator[None]:
        """Run the network in bfloat16 where asked for; losses are computed in float32 outside."""
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bfloat16):
            yield

    def encode(self, backbone: Backbone) -> list[Tensor]:
        """Embeddings of each view, from one forward pass over all views."""
        with self.mixed():
            rows = backbone(torch.cat(self.views).contiguous(memory_format=torch.channels_last))
        return list(rows.float().chunk(len(self.views)))


class Objective(nn.Module):
    """Base of all objectives; its parameters are the heads, trained with the backbone and then dropped.

    ``views`` of each scene are drawn a step; ``family`` is one of Paper S's seven, "reconstruction" or
    "control".
    """

    name: ClassVar[str]
    family: ClassVar[str]
    source: ClassVar[str]
    views: ClassVar[int] = 1

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        """The scalar to be minimised, float32."""
        raise InputError(f"the objective {type(self).__name__} defines no loss")

    def after_step(self, backbone: Backbone, progress: float) -> None:
        """Called after every optimiser step with the share of the budget used."""


def mlp(width_in: int, hidden: int, width_out: int) -> nn.Sequential:
    """Two layers with batch norm and ReLU between: projector and predictor of the label-free objectives."""
    return nn.Sequential(
        nn.Linear(width_in, hidden, bias=False),
        nn.BatchNorm1d(hidden),
        nn.ReLU(),
        nn.Linear(hidden, width_out, bias=False),
    )


class Teacher(nn.Module):
    """An exponential moving average of a backbone and its projector, never trained by gradient."""

    def __init__(self, backbone: Backbone, projector: nn.Module, momentum: float = 0.96) -> None:
        super().__init__()
        self.momentum = momentum
        self.backbone, self.projector = copy.deepcopy(backbone), copy.deepcopy(projector)
        self.requires_grad_(False)

    @torch.no_grad()
    def update(self, backbone: Backbone, projector: nn.Module, progress: float) -> None:
        """Momentum rises from its base to 1 along a cosine (Grill et al. 2020)."""
        keep = 1 - (1 - self.momentum) * (np.cos(np.pi * progress) + 1) / 2
        for own, trained in ((self.backbone, backbone), (self.projector, projector)):
            for mine, theirs in zip(own.parameters(), trained.parameters(), strict=True):
                mine.lerp_(theirs, 1 - keep)

    @torch.no_grad()
    def forward(self, batch: Batch) -> list[Tensor]:
        """Projections of each view."""
        rows = batch.encode(self.backbone)
        return list(self.projector(torch.cat(rows)).chunk(len(rows)))


Options = dict[str, Any]
