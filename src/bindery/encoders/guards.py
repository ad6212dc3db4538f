"""An encoder's input and output are what they must be, or a reason is given."""

from __future__ import annotations

import torch
from torch import nn

from bindery.errors import InputError


def check_input(name: str, side: int, images: torch.Tensor) -> None:
    """Raise InputError unless ``images`` is a (B, 3, S, S) normalised float tensor of side S."""
    if images.ndim != 4 or images.shape[1:] != (3, side, side):
        raise InputError(f"{name} reads (B, 3, {side}, {side}); got {tuple(images.shape)}")
    if not images.is_floating_point():
        raise InputError(f"{name} reads normalised floats; got {images.dtype} (use the encoder's preprocess)")
    largest = float(images.abs().max())
    if not largest < 32:  # also true for NaN; normalised pixels stay below 3, Gaussian noise below 7
        raise InputError(f"{name} reads normalised pixels; the largest magnitude here is {largest:g}")


@torch.no_grad()
def check_output(name: str, module: nn.Module, side: int, dim: int, seed: int = 0) -> int:
    """Length D of the embeddings, after running two noise images through the encoder.

    Raises
    ------
    InputError
        The output is no finite float32 (2, D) tensor, differs from ``dim`` (when not 0), does not depend on
        the input, or the module is in training mode.
    """
    if module.training:
        raise InputError(f"{name} is in training mode; call .eval() first")
    device = next((p.device for p in module.parameters()), torch.device("cpu"))
    noise = torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(seed)).to(device)
    try:
        output = module(noise)
    except Exception as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise InputError(f"{name} cannot run on a {tuple(noise.shape)} float32 batch: {reason}") from error
    if not isinstance(output, torch.Tensor) or output.ndim != 2 or len(output) != 2 or not output.numel():
        got = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise InputError(f"{name} must map (2, 3, {side}, {side}) to (2, D); got {got}")
    if output.dtype != torch.float32:
        raise InputError(f"{name} must give float32 embeddings; got {output.dtype}")
    if not torch.isfinite(output).all():
        raise InputError(f"{name} gives NaN or infinity for noise images")
    if float((output[0] - output[1]).abs().max()) <= 1e-7 * float(output.abs().max()):
        raise InputError(f"the output of {name} does not depend on its input")
    if dim and output.shape[1] != dim:
        raise InputError(f"{name} gives embeddings of length {output.shape[1]}, its card says {dim}")
    return int(output.shape[1])
