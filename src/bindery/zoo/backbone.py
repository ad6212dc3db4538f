"""The zoo's networks: a tiny ResNet (the default) and a tiny ViT of eight blocks for questions about depth.

Both offer ``feature_map`` (B, C, h, w), of which ``forward`` is the spatial mean: the embedding (B, D).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bindery.errors import InputError

MEAN, STD = 0.35, 0.25  # pixels are centred and scaled with these before the first layer


class Backbone(nn.Module):
    """An encoder of images in [0, 1], (B, 3, H, W), to embeddings (B, ``dim``)."""

    dim: int
    stride: int  # pixels per side of one position of the feature map

    def feature_map(self, images: Tensor) -> Tensor:
        """(B, dim, H / stride, W / stride)."""
        raise InputError(f"{type(self).__name__} defines no feature map")

    def forward(self, images: Tensor) -> Tensor:
        return self.feature_map(images).mean((2, 3))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with batch norm and a shortcut (He et al. 2016)."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or width_in != width:
            conv = nn.Conv2d(width_in, width, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class TinyResNet(Backbone):
    """A stem of stride 2, residual blocks of widths w, 4w, 8w: 0.28 M parameters and D = 128 at w = 16."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.dim, self.stride = 8 * width, 8
        self.stem = nn.Conv2d(3, width, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.blocks = nn.ModuleList(
            [
                ResidualBlock(width, width, 1),
                ResidualBlock(width, 4 * width, 2),
                ResidualBlock(4 * width, 8 * width, 2),
            ]
        )

    def feature_map(self, images: Tensor) -> Tensor:
        x = F.relu(self.bn(self.stem((images - MEAN) / STD)))
        for block in self.blocks:
            x = block(x)
        return x


class TransformerBlock(nn.Module):
    """Pre-norm attention and MLP."""

    def __init__(self, width: int, heads: int, ratio: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, ratio * width), nn.GELU(), nn.Linear(ratio * width, width))

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """Tokens (B, T, W); ``bias`` (B, 1, 1, T) is added to the attention scores, e.g. -1e4 on padding."""
        batch, tokens, width = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = heads[0], heads[1], heads[2]
        # Written out: at this size it is faster than the fused kernel, and forward-mode derivatives work.
        scores = query @ key.transpose(-2, -1) * (width // self.heads) ** -0.5
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        attended = scores.softmax(-1) @ value
        x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mlp(self.norm2(x))


class TinyViT(Backbone):
    """Patches of 4 pixels, width 64, eight blocks, mean-pooled tokens: 0.27 M parameters, D = 64."""

    def __init__(self, width: int = 64, depth: int = 8, heads: int = 4, grid: int = 8) -> None:
        super().__init__()
        self.dim, self.stride = width, 4
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.position = nn.Parameter(0.02 * torch.randn(1, width, grid, grid))
        self.blocks = nn.ModuleList(TransformerBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def feature_map(self, images: Tensor) -> Tensor:
        x = self.patch((images - MEAN) / STD)
        position: Tensor = self.position
        if x.shape[-2:] != position.shape[-2:]:
            position = F.interpolate(position, size=x.shape[-2:], mode="bilinear", align_corners=False)
        tokens = (x + position).flatten(2).transpose(1, 2)
        for block in self.blocks:
            tokens = block(tokens)
        return self.norm(tokens).transpose(1, 2).unflatten(2, x.shape[-2:])


BACKBONES = {"resnet": TinyResNet, "vit": TinyViT}


def build_backbone(name: str, width: int | None = None) -> Backbone:
    """A fresh backbone, drawn from torch's current random state.

    Raises
    ------
    InputError
        Unknown name (choices listed), or a width that does not suit it.
    """
    if name not in BACKBONES:
        raise InputError(f"unknown backbone {name!r}; choose one of {', '.join(BACKBONES)}")
    if width is not None and (width < 4 or width % 4):
        raise InputError(f"the width must be a positive multiple of 4, got {width}")
    return BACKBONES[name](**({} if width is None else {"width": width}))
