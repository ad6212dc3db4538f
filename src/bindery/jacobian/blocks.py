"""The output of a named block as one vector: for sensitivity along the depth of a network."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Literal, get_args

from torch import Tensor, nn

from bindery.errors import InputError

Token = Literal["auto", "cls", "mean", "all"]


class _Reached(Exception):
    """Stops the forward pass at the block: what comes after it costs nothing."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output = output


def block_function(network: nn.Module, name: str, token: Token = "auto") -> Callable[[Tensor], Tensor]:
    """(1, 3, H, W) to the (1, C) output of the block ``name``, at the first time it is called.

    Parameters
    ----------
    network
        In eval mode.
    name
        As in ``network.named_modules()``.
    token
        For blocks that give tokens: "cls" the class token, "mean" the mean of the others (class and register
        tokens left out), "auto" the class token where there is one. Maps are averaged over places.

    Raises
    ------
    InputError
        Unknown name (the nearest told); a class token that does not exist.
    """
    parts = dict(network.named_modules())
    if name not in parts or name == "":
        near = difflib.get_close_matches(name, list(parts), n=3, cutoff=0.4)
        raise InputError(f"no block {name!r}; nearest: {', '.join(near) or 'none'}")
    if token not in get_args(Token):
        raise InputError(f"token must be one of {', '.join(get_args(Token))}, not {token!r}")
    block = parts[name]

    def stop(_module: nn.Module, _inputs: Any, output: Any) -> None:
        raise _Reached(output)

    def function(x: Tensor) -> Tensor:
        handle = block.register_forward_hook(stop)
        try:
            network(x)
        except _Reached as reached:
            return pool(network, reached.output, token)
        finally:
            handle.remove()
        raise InputError(f"the block {name!r} is not used in a forward pass")

    return function


def pool(network: nn.Module, output: Any, token: Token) -> Tensor:
    """A block's output for one image as a (1, C) tensor."""
    value = output[0] if isinstance(output, tuple | list) else output
    if not isinstance(value, Tensor):
        raise InputError(f"a block must give a tensor, not {type(value).__name__}")
    if value.ndim == 2:
        return value
    if token == "all":
        return value.reshape(1, -1)
    if value.ndim == 4:
        places = (1, 2) if _channels_last(network) else (2, 3)
        return value.mean(places)
    if value.ndim != 3:
        raise InputError(f"a block's output of shape {tuple(value.shape)} is neither tokens nor a map")
    tokens = value if value.shape[0] == 1 else value.transpose(0, 1)
    prefix = prefix_tokens(network)
    if token == "cls" and prefix == 0:
        raise InputError("this network has no class token; use token='mean'")
    if token == "mean" or prefix == 0:
        return tokens[:, prefix:].mean(1)
    return tokens[:, 0]


def prefix_tokens(network: nn.Module) -> int:
    """Tokens before the patches (class, registers); 0 without a class token."""
    for part in network.modules():
        has_class = any(getattr(part, name, None) is not None for name in ("cls_token", "class_embedding"))
        if has_class:
            return int(getattr(part, "num_prefix_tokens", 1))
    return 0


def _channels_last(network: nn.Module) -> bool:
    return any(getattr(part, "output_fmt", None) == "NHWC" for part in network.modules())
