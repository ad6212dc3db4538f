"""Contrastive: SimCLR and MoCo v3."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from bindery.zoo.backbone import Backbone
from bindery.zoo.objectives.base import Batch, Objective, Teacher, mlp


def nt_xent(a: Tensor, b: Tensor, temperature: float) -> Tensor:
    """Each view against its partner and the 2 B - 2 others: Chen et al. 2020, Eq. 1."""
    rows = F.normalize(torch.cat([a, b]), dim=1)
    logits = rows @ rows.T / temperature
    logits.fill_diagonal_(-torch.inf)
    n = len(a)
    partner = torch.arange(2 * n).roll(n)
    return F.cross_entropy(logits, partner)


def info_nce(query: Tensor, key: Tensor, temperature: float) -> Tensor:
    """Each query against the keys of the batch, scaled by 2 t: Chen, Xie and He 2021, Alg. 1."""
    logits = F.normalize(query, dim=1) @ F.normalize(key, dim=1).T / temperature
    return 2 * temperature * F.cross_entropy(logits, torch.arange(len(query)))


class SimCLR(Objective):
    """Two views of one scene attract, views of other scenes repel."""

    name, family, views = "simclr", "contrastive", 2
    source = "Chen et al. 2020, arXiv:2002.05709"

    def __init__(self, backbone: Backbone, temperature: float = 0.2) -> None:
        super().__init__()
        self.temperature = temperature
        self.projector = mlp(backbone.dim, 256, 128)

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        a, b = (self.projector(z) for z in batch.encode(backbone))
        return nt_xent(a, b, self.temperature)


class MoCoV3(Objective):
    """InfoNCE between a predictor's queries and a momentum encoder's keys, symmetrised, without a queue."""

    name, family, views = "moco", "contrastive", 2
    source = "Chen, Xie and He 2021, arXiv:2104.02057"

    def __init__(self, backbone: Backbone, temperature: float = 0.2) -> None:
        super().__init__()
        self.temperature = temperature
        self.projector, self.predictor = mlp(backbone.dim, 256, 128), mlp(128, 256, 128)
        self.teacher = Teacher(backbone, self.projector)

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        queries = [self.predictor(self.projector(z)) for z in batch.encode(backbone)]
        keys = self.teacher(batch)
        pairs = ((queries[0], keys[1]), (queries[1], keys[0]))
        return torch.stack([info_nce(q, k, self.temperature) for q, k in pairs]).sum()

    def after_step(self, backbone: Backbone, progress: float) -> None:
        self.teacher.update(backbone, self.projector, progress)
