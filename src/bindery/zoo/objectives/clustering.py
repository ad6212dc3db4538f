"""Clustering: SwAV."""

from __future__ import annotations

import torch
from torch import Tensor

from bindery.zoo.backbone import Backbone
from bindery.zoo.objectives.base import Batch, Objective
from bindery.zoo.objectives.distillation import PrototypeHead


@torch.no_grad()
def sinkhorn(scores: Tensor, epsilon: float = 0.05, rounds: int = 3) -> Tensor:
    """Soft assignments (B, K), rows sum to 1, columns about equal: Caron et al. 2020, Eqs. 3 to 5."""
    plan = ((scores - scores.max()) / epsilon).exp()
    for _ in range(rounds):
        plan = plan / plan.sum(0, keepdim=True).clamp(min=1e-12)
        plan = plan / plan.sum(1, keepdim=True).clamp(min=1e-12)
    return plan


def swav_loss(a: Tensor, b: Tensor, temperature: float = 0.1) -> Tensor:
    """Each view predicts the other's balanced assignment: Caron et al. 2020, Eq. 1 and 2, scores (B, K)."""
    losses = [
        -(sinkhorn(target) * (scores / temperature).log_softmax(1)).sum(1).mean()
        for scores, target in ((a, b), (b, a))
    ]
    return (losses[0] + losses[1]) / 2


class SwAV(Objective):
    """Swapped prediction of balanced cluster assignments; two views, no queue, no multi-crop."""

    name, family, views = "swav", "clustering", 2
    source = "Caron et al. 2020, arXiv:2006.09882"

    def __init__(self, backbone: Backbone, prototypes: int = 64) -> None:
        super().__init__()
        self.head = PrototypeHead(backbone.dim, prototypes)

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        a, b = (self.head(z) for z in batch.encode(backbone))
        return swav_loss(a, b)
