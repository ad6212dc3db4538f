"""Supervised: a bag of labels, and the bound labels of the positive control."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bindery.scenes import bag_labels, bound_labels
from bindery.zoo.backbone import Backbone
from bindery.zoo.objectives.base import Batch, Objective


class Supervised(Objective):
    """Which shapes, colours and places are in sight: 23 yes/no labels, the content of a bag caption."""

    name, family = "supervised", "supervised"
    source = "multi-label binary cross-entropy"
    labels = staticmethod(bag_labels)
    n_labels = 23

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.head = nn.Linear(backbone.dim, self.n_labels)

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        truth = torch.from_numpy(self.labels(batch.scenes[0]))
        return F.binary_cross_entropy_with_logits(self.head(batch.encode(backbone)[0]), truth)


class BoundLabels(Supervised):
    """Positive control: which shape stands in which cell, 54 yes/no labels; told the link outright."""

    name, family = "bound", "control"
    labels = staticmethod(bound_labels)
    n_labels = 54
