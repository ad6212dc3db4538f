"""Switches under which every supported network can be differentiated forward and backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode


@contextmanager
def differentiable() -> Iterator[None]:
    """Attention by its plain formula, the multi-head fast path off, batch norm as a scale and a shift.

    The fused attention kernels and the fast path have no forward-mode derivative. Everything is put back on
    leaving, also after an error. Works inside ``torch.inference_mode`` and ``torch.no_grad`` too.
    """
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with (
            torch.inference_mode(False),
            sdpa_kernel(SDPBackend.MATH),
            _AffineBatchNorm(),
            warnings.catch_warnings(),
        ):
            # A view without a batching rule in torch's pooling; its cost is not noticeable.
            warnings.filterwarnings("ignore", message="There is a performance drop")
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)


class _AffineBatchNorm(TorchFunctionMode):
    # The derivative formula of the fused kernel allows for statistics that move; frozen ones leave a scale
    # and a shift, which saves about a third of the time of a residual network's JVP.
    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is F.batch_norm:
            return _batch_norm(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if training or running_mean is None or running_var is None:
        return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    scale = torch.rsqrt(running_var + eps)
    if weight is not None:
        scale = scale * weight
    shift = -running_mean * scale
    if bias is not None:
        shift = shift + bias
    channel = (1, -1, *(1,) * (input.ndim - 2))
    return input * scale.view(channel) + shift.view(channel)
