"""From an encoder, or any torch module or function, to the function whose Jacobian is meant."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from bindery.errors import InputError
from bindery.jacobian.blocks import Token, block_function
from bindery.jacobian.products import Linearization

Dtype = Literal["float32", "float64", "bfloat16"]
ImageInput = Any
"""A PIL image or uint8 array (needs the encoder's preprocess), or a (1, 3, H, W) normalised tensor."""

LARGEST_PIXEL = 32.0
LARGEST_CHUNK = 16
# Live tensors during a vectorised JVP, in units of the widest activation; measured 14 to 17 on ViT, ResNet.
LIVE_TENSORS = 16


@dataclass(frozen=True, eq=False)
class Target:
    """A function from (1, 3, H, W) to (1, D), and how an image becomes its input."""

    function: Callable[[Tensor], Tensor]
    module: nn.Module | None
    dtype: torch.dtype
    preprocess: Callable[[list[Any]], Tensor] | None
    check_input: Callable[[Tensor], None] | None
    chunk: int | None
    memory_mb: float
    rebuild: Callable[[torch.dtype], Callable[[Tensor], Tensor]]
    """The same function in another precision, on a copy of the network."""

    def point(self, image: ImageInput) -> Tensor:
        """``image`` as the (1, 3, H, W) input, checked.

        Raises InputError for raw pixels (0 to 255), a wrong size, NaN, or an image without a preprocess.
        """
        if not isinstance(image, Tensor):
            if self.preprocess is None:
                raise InputError(
                    f"a bare module or function reads a normalised (1, 3, H, W) tensor, not "
                    f"{type(image).__name__}; wrap it in an Encoder, or preprocess the image first"
                )
            image = self.preprocess([_image(image)])
        point = image.detach().unsqueeze(0) if image.ndim == 3 else image.detach()
        if self.check_input is not None:
            self.check_input(point)
        if not point.is_floating_point() or len(point) != 1:
            raise InputError(
                f"one normalised (1, ...) floating tensor is needed; got {point.dtype} of shape "
                f"{tuple(point.shape)}"
            )
        if not bool(point.abs().max() < LARGEST_PIXEL):
            raise InputError(
                "the input must be normalised and finite; its largest magnitude is "
                f"{float(point.abs().max()):g} (raw pixels? use the encoder's preprocess)"
            )
        return point.to(self.dtype)

    def linearize(self, image: ImageInput) -> Linearization:
        """The Jacobian at ``image``, as products; runs the network once to size the chunks."""
        point = self.point(image)
        output, widest = self._probe(point)
        bytes_each = LIVE_TENSORS * widest * point.element_size()
        fitting = int(self.memory_mb * 2**20 // max(1, bytes_each))
        chunk = self.chunk or min(LARGEST_CHUNK, max(1, fitting))
        return Linearization(self.function, point, output.shape[1], chunk)

    def _probe(self, point: Tensor) -> tuple[Tensor, int]:
        with torch.no_grad(), widest_activation(self.module) as widest:
            try:
                output = self.function(point)
            except (RuntimeError, AssertionError, ValueError) as error:
                if isinstance(error, InputError):
                    raise
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise InputError(
                    f"the network refuses an input of shape {tuple(point.shape)} ({reason}); "
                    "give the size it was built for"
                ) from error
        if not isinstance(output, Tensor) or output.ndim != 2 or len(output) != 1:
            got = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
            raise InputError(f"the output must be a (1, D) embedding; got {got} (choose a block, or pool it)")
        if not bool(torch.isfinite(output).all()):
            raise InputError("the output at this image is NaN or infinite")
        return output, max([output.numel(), point.numel(), *widest])


def make_target(
    encoder: Any,
    *,
    module: str | None = None,
    token: Token = "auto",
    unit: bool = False,
    dtype: Dtype | None = None,
    chunk: int | None = None,
    memory_mb: float = 400.0,
) -> Target:
    """What `singular_values` differentiates; the arguments are told there.

    Raises
    ------
    InputError
        Training mode, an unknown block name, or something that is no encoder, module or function.
    """
    if isinstance(encoder, Target):
        return encoder
    network = getattr(encoder, "module", None) if not isinstance(encoder, nn.Module) else encoder
    if not isinstance(network, nn.Module):
        if not callable(encoder):
            raise InputError(
                f"an encoder, a torch module or a function is needed; got {type(encoder).__name__}"
            )
        if module is not None:
            raise InputError("a block can only be named in a torch module, not in a plain function")
        network = None
    else:
        refuse_training(network)
    wanted = getattr(torch, dtype) if dtype else _dtype_of(network)

    def rebuild(precision: torch.dtype) -> Callable[[Tensor], Tensor]:
        if network is None:
            function = cast(Callable[[Tensor], Tensor], encoder)
        else:
            same = precision == _dtype_of(network)
            body = network if same else copy.deepcopy(network).to(precision).requires_grad_(False)
            function = block_function(body, module, token) if module is not None else body
        return _unit(function) if unit else function

    is_encoder = network is not None and network is not encoder
    return Target(
        function=rebuild(wanted),
        module=network,
        dtype=wanted,
        preprocess=getattr(encoder, "preprocess", None) if is_encoder else None,
        check_input=getattr(encoder, "check_input", None) if is_encoder else None,
        chunk=chunk,
        memory_mb=memory_mb,
        rebuild=rebuild,
    )


def refuse_training(network: nn.Module) -> None:
    """Raise InputError when any part of ``network`` is in training mode."""
    training = [name or "the network" for name, part in network.named_modules() if part.training]
    if training:
        raise InputError(
            f"{training[0]} is in training mode (dropout and batch statistics make the derivative random or "
            "depend on other images); call .eval() first"
        )


@contextmanager
def widest_activation(network: nn.Module | None) -> Iterator[list[int]]:
    """Collects the number of elements of every module's output during forward passes inside."""
    sizes: list[int] = []

    def note(_module: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            sizes.append(output.numel())

    parts = [] if network is None else list(network.modules())
    handles = [part.register_forward_hook(note) for part in parts]
    try:
        yield sizes
    finally:
        for handle in handles:
            handle.remove()


def _dtype_of(network: nn.Module | None) -> torch.dtype:
    tensors = [] if network is None else [*network.parameters(), *network.buffers()]
    return next((t.dtype for t in tensors if t.is_floating_point()), torch.float32)


def _image(image: Any) -> Any:
    if isinstance(image, Image.Image | np.ndarray):
        return image
    raise InputError(f"an image is a PIL image, a uint8 array or a tensor; got {type(image).__name__}")


def _unit(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def normalised(x: Tensor) -> Tensor:
        output = function(x)
        return output / output.norm(dim=-1, keepdim=True)

    return normalised
