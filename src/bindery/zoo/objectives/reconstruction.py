"""Masked prediction and plain reconstruction of pixels."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bindery.zoo.backbone import MEAN, STD, Backbone
from bindery.zoo.objectives.base import Batch, Objective

PATCH = 4  # pixels a side


def draw_mask(n: int, size: int, ratio: float, generator: torch.Generator) -> Tensor:
    """(N, 1, size, size) bool, True where hidden: the same number of 4-pixel patches in every image."""
    grid = size // PATCH
    order = torch.rand(n, grid * grid, generator=generator).argsort(1).argsort(1)
    hidden = (order < round(ratio * grid * grid)).view(n, 1, grid, grid)
    return hidden.repeat_interleave(PATCH, 2).repeat_interleave(PATCH, 3)


def masked_loss(predicted: Tensor, images: Tensor, hidden: Tensor) -> Tensor:
    """Mean squared error over the hidden pixels, in units of the input scale: He et al. 2022, Sec. 3."""
    error = (predicted - (images - MEAN) / STD).square().mean(1, keepdim=True)
    return (error * hidden).sum() / hidden.sum()


class PixelDecoder(nn.Module):
    """A 3x3 convolution, a linear layer and a pixel shuffle from the feature map back to (B, 3, H, W)."""

    def __init__(self, dim: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(dim, 64, 3, 1, 1), nn.Conv2d(64, 3 * stride**2, 1)
        self.stride = stride

    def forward(self, features: Tensor) -> Tensor:
        return F.pixel_shuffle(self.conv2(F.gelu(self.conv1(features))), self.stride)


class MaskedAutoencoder(Objective):
    """Pixels of hidden patches from the visible ones.

    Hidden patches are filled with the mean level, since a convolution cannot drop tokens (as in SimMIM, Xie
    et al. 2022); the ViT is trained the same way, so that backbones stay comparable.
    """

    name, family = "mae", "masked"
    source = "He et al. 2022, arXiv:2111.06377; Xie et al. 2022, arXiv:2111.09886"

    def __init__(self, backbone: Backbone, ratio: float = 0.6) -> None:
        super().__init__()
        self.ratio = ratio
        self.decoder = PixelDecoder(backbone.dim, backbone.stride)

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        (images,) = batch.views
        hidden = draw_mask(len(images), images.shape[-1], self.ratio, batch.generator)
        shown = images.masked_fill(hidden, MEAN).contiguous(memory_format=torch.channels_last)
        with batch.mixed():
            predicted = self.decoder(backbone.feature_map(shown))
        return masked_loss(predicted.float(), images, hidden)


class Autoencoder(Objective):
    """All pixels from the embedding itself, through a decoder that has only these D numbers."""

    name, family = "autoencoder", "reconstruction"
    source = "Hinton and Salakhutdinov 2006"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.spread = nn.Linear(backbone.dim, 16 * 128)
        self.decoder = PixelDecoder(128, 8)

    def loss(self, backbone: Backbone, batch: Batch) -> Tensor:
        (images,) = batch.views
        (rows,) = batch.encode(backbone)
        with batch.mixed():
            predicted = self.decoder(self.spread(rows).view(-1, 128, 4, 4))
        predicted = F.interpolate(predicted.float(), size=images.shape[-2:])
        return F.mse_loss(predicted, (images - MEAN) / STD)
