"""Vision-language: CLIP with bag or phrase captions, and SigLIP."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bindery.scene_text import Style, tokens
from bindery.zoo.backbone import Backbone
from bindery.zoo.objectives.base import Batch, Objective
from bindery.zoo.text import TextTower

JOINT = 128  # dimension of the space that images and captions share


def clip_loss(image: Tensor, text: Tensor, scale: Tensor) -> Tensor:
    """Symmetric cross-entropy over the batch's pairs: Radford et al. 2021, Fig. 3."""
    logits = scale * F.normalize(image, dim=1) @ F.normalize(text, dim=1).T
    own = torch.arange(len(logits))
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2


def siglip_loss(image: Tensor, text: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """Every pair judged by itself, own or not, summed per image: Zhai et al. 2023, Alg. 1."""
    logits = scale * F.normalize(image, dim=1) @ F.normalize(text, dim=1).T + bias
    sign = 2 * torch.eye(len(logits)) - 1
    return -F.logsigmoid(sign * logits).sum() / len(logits)


class LanguageObjective(Objective):
    """An image projection and a text tower into the joint space; captions tell what the view shows."""

    family = "vision-language"
    style: ClassVar[Style]
    log_scale: nn.Parameter

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.project = nn.Linear(backbone.dim, JOINT, bias=False)
        self.text = TextTower(JOINT)

    def logits(self) -> tuple[Tensor, Tensor]:
        """Logarithm of the logits' scale, and their bias, (1,) each."""
        bias = getattr(self, "bias", torch.zeros(1))
        return self.log_scale.detach().reshape(1), bias.detach().reshape(1)

    def pairs(self, backbone: Backbone, batch: Batch) -> tuple[Tensor, Tensor]:
        """Joint embeddings of images and of their captions, (B, 128) each."""
        captions = torch.from_numpy(tokens(batch.scenes[0], self.style, rng=batch.rng))
        with batch.mixed():
            told = self.text(captions)
        return self.project(batch.encode(backbone)[0]), told.float()


class CLIP(LanguageObjective):
    """CLIP on phrase captions, which say which shape stands where."""

    name = "clip-phrase"
    style: ClassVar[Style] = "phrase"
    source = "Radford et al. 2021, arXiv:2103.00020"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.log_scale = nn.Parameter(torch.tensor(1 / 0.07).log())

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        image, text = self.pairs(backbone, batch)
        return clip_loss(image, text, self.log_scale.exp().clamp(max=100))


class BagCLIP(CLIP):
    """CLIP on bag captions: the same words in a fixed order, without their link."""

    name, style = "clip-bag", "bag"


class SigLIP(LanguageObjective):
    """The sigmoid loss on phrase captions; scale and bias are learnt."""

    name, style = "siglip", "phrase"
    source = "Zhai et al. 2023, arXiv:2303.15343"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.log_scale = nn.Parameter(torch.tensor(10.0).log())
        self.bias = nn.Parameter(torch.tensor(-10.0))

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        image, text = self.pairs(backbone, batch)
        return siglip_loss(image, text, self.log_scale.exp().clamp(max=100), self.bias)
