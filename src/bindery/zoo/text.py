"""The text tower of the vision-language objectives: two small transformer blocks over the scenes' words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bindery.scene_text import INDEX, LENGTH, PAD, WORDS
from bindery.zoo.backbone import TransformerBlock


class TextTower(nn.Module):
    """Token rows (B, 36) int64, padded with 0, to text embeddings (B, ``dim``), un-normalised."""

    def __init__(self, dim: int = 128, width: int = 48, depth: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.word = nn.Embedding(len(WORDS), width)
        self.position = nn.Parameter(0.02 * torch.randn(LENGTH, width))
        self.blocks = nn.ModuleList(TransformerBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, dim, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        told = tokens != INDEX[PAD]
        length = max(1, int(told.sum(1).max()))  # padding stands at the end
        tokens, told = tokens[:, :length], told[:, :length]
        x = self.word(tokens) + self.position[:length]
        bias = -1e4 * (~told[:, None, None]).float()
        for block in self.blocks:
            x = block(x, bias)
        weight = told.unsqueeze(-1).float()
        return self.project(self.norm((x * weight).sum(1) / weight.sum(1).clamp(min=1)))
