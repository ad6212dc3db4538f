"""Self-distillation: BYOL and DINO."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bindery.zoo.backbone import Backbone
from bindery.zoo.objectives.base import Batch, Objective, Teacher, mlp


def byol_loss(predicted: Tensor, target: Tensor) -> Tensor:
    """2 - 2 cos, averaged over the batch: Grill et al. 2020, Eq. 2."""
    return 2 - 2 * F.cosine_similarity(predicted, target, dim=1).mean()


def dino_loss(
    student: Tensor, teacher: Tensor, centre: Tensor, warm: float = 0.1, cold: float = 0.04
) -> Tensor:
    """Cross-entropy of the student with the centred, sharpened teacher: Caron et al. 2021, Eqs. 1 to 3."""
    target = ((teacher - centre) / cold).softmax(1)
    return -(target * (student / warm).log_softmax(1)).sum(1).mean()


class BYOL(Objective):
    """A predictor of one view's projection regresses the moving average's projection of the other."""

    name, family, views = "byol", "self-distillation", 2
    source = "Grill et al. 2020, arXiv:2006.07733"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.projector, self.predictor = mlp(backbone.dim, 256, 128), mlp(128, 256, 128)
        self.teacher = Teacher(backbone, self.projector)

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        a, b = (self.predictor(self.projector(z)) for z in batch.encode(backbone))
        target_a, target_b = self.teacher(batch)
        return byol_loss(a, target_b) + byol_loss(b, target_a)

    def after_step(self, backbone: Backbone, progress: float) -> None:
        self.teacher.update(backbone, self.projector, progress)


class PrototypeHead(nn.Module):
    """A projector to the unit sphere and cosine similarities with prototypes of unit length."""

    def __init__(self, dim: int, prototypes: int) -> None:
        super().__init__()
        self.projector = mlp(dim, 256, 128)
        self.prototypes = nn.Parameter(torch.randn(prototypes, 128))

    def forward(self, rows: Tensor) -> Tensor:
        return F.normalize(self.projector(rows), dim=1) @ F.normalize(self.prototypes, dim=1).T


class DINO(Objective):
    """Self-distillation over prototypes with centring and sharpening; two views, no local crops."""

    name, family, views = "dino", "self-distillation", 2
    source = "Caron et al. 2021, arXiv:2104.14294"
    centre: Tensor

    def __init__(self, backbone: Backbone, prototypes: int = 256) -> None:
        super().__init__()
        self.head = PrototypeHead(backbone.dim, prototypes)
        self.teacher = Teacher(backbone, self.head)
        self.register_buffer("centre", torch.zeros(prototypes))

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        a, b = (self.head(z) for z in batch.encode(backbone))
        target_a, target_b = self.teacher(batch)
        centre = self.centre.clone()
        self.centre.lerp_(torch.cat([target_a, target_b]).mean(0), 0.1)
        return (dino_loss(a, target_b, centre) + dino_loss(b, target_a, centre)) / 2

    def after_step(self, backbone: Backbone, progress: float) -> None:
        self.teacher.update(backbone, self.head, progress)
