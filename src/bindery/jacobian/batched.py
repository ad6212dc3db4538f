"""The Jacobians of many small images at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def jacobians(module: nn.Module, images: Tensor) -> Tensor:
    """(N, D, M) Jacobians at images (N, C, H, W), one backward pass an output; images must not interact.

    Formed whole, which is cheap where D is small; see `DenseMap` for what can be done with each.
    """
    images = images.detach().requires_grad_(True)
    outputs = module(images)
    rows = [
        torch.autograd.grad(outputs[:, d].sum(), images, retain_graph=True)[0]
        for d in range(outputs.shape[1])
    ]
    return torch.stack(rows, dim=1).flatten(2)
