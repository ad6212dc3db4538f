"""Variance-decorrelation: Barlow Twins and VICReg."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from bindery.zoo.backbone import Backbone
from bindery.zoo.objectives.base import Batch, Objective, mlp


def _off_diagonal(matrix: Tensor) -> Tensor:
    return matrix - torch.diag(matrix.diagonal())


def barlow_loss(a: Tensor, b: Tensor, weight: float) -> Tensor:
    """Cross-correlation of two views' projections (B, D) towards the identity: Zbontar et al. 2021, Eq. 1."""
    a, b = ((z - z.mean(0)) / (z.std(0, correction=0) + 1e-5) for z in (a, b))
    correlation = a.T @ b / len(a)
    return (correlation.diagonal() - 1).square().sum() + weight * _off_diagonal(correlation).square().sum()


def vicreg_loss(
    a: Tensor, b: Tensor, invariance: float = 25.0, variance: float = 25.0, covariance: float = 1.0
) -> Tensor:
    """Invariance, variance hinge at 1 and covariance penalty: Bardes et al. 2022, Eqs. 1 to 6."""
    alike = F.mse_loss(a, b)
    spread = sum(F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean() for z in (a, b))
    linked = sum(_off_diagonal(torch.cov(z.T)).square().sum() / z.shape[1] for z in (a, b))
    return invariance * alike + variance * spread / 2 + covariance * linked


class BarlowTwins(Objective):
    """Redundancy reduction between two views."""

    name, family, views = "barlow", "variance-decorrelation", 2
    source = "Zbontar et al. 2021, arXiv:2103.03230"

    def __init__(self, backbone: Backbone, weight: float = 0.01) -> None:
        super().__init__()
        self.weight = weight
        self.projector = mlp(backbone.dim, 256, 256)

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        a, b = (self.projector(z) for z in batch.encode(backbone))
        return barlow_loss(a, b, self.weight)


class VICReg(Objective):
    """Variance, invariance, covariance; ``covariance`` is the weight that chapter 14 intervenes on."""

    name, family, views = "vicreg", "variance-decorrelation", 2
    source = "Bardes et al. 2022, arXiv:2105.04906"

    def __init__(self, backbone: Backbone, covariance: float = 1.0) -> None:
        super().__init__()
        self.covariance = covariance
        self.projector = mlp(backbone.dim, 256, 256)

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        a, b = (self.projector(z) for z in batch.encode(backbone))
        return vicreg_loss(a, b, covariance=self.covariance)
