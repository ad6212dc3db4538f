"""Plain formulas for operations whose own derivative formulas are slow or missing in forward mode.

The Jacobian of layer norm without its weights is symmetric, so that the fused backward kernel is the forward
derivative too. Frozen batch norm is a scale and a shift; torch's formula allows for statistics that move. For a
linear layer torch adds the product with the derivative of the weights, which is zero here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bindery.jacobian.attention import attention


class PlainFormulas(TorchFunctionMode):
    """Replaces the functional forms inside a ``with`` block; the network itself is not touched."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return _REPLACED.get(func, func)(*args, **(kwargs or {}))


class _Normalise(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, shape: list[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
        return torch.native_layer_norm(x, shape, None, None, eps)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
        x, ctx.shape, _ = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_forward(x, *output[1:])
        ctx.save_for_backward(x, *output[1:])

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: Any) -> tuple[Tensor, None, None]:
        return _Normalise.backward(ctx, tangent)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Tensor, None, None]:
        x, mean, inverse = ctx.saved_tensors
        result = torch.ops.aten.native_layer_norm_backward(
            gradient, x, ctx.shape, mean, inverse, None, None, [True, False, False]
        )
        return result[0], None, None


class _Linear(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_forward(inputs[1])
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: Any) -> Tensor:
        return tangent @ ctx.saved_tensors[0].T

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient @ ctx.saved_tensors[0], None, None


def _layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    output: Tensor = _Normalise.apply(input, list(normalized_shape), eps)[0]
    if weight is not None:
        output = output * weight
    return output if bias is None else output + bias


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    if dropout_p or is_causal or enable_gqa or not _bias(attn_mask):
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    return attention(query, key, value, attn_mask, query.shape[-1] ** -0.5 if scale is None else scale)


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    # The backward formula is good as it is; only forward mode wraps the input.
    if not (_wrapped(input) and _constant(weight) and (bias is None or _constant(bias))):
        return F.linear(input, weight, bias)
    output: Tensor = _Linear.apply(input, weight, bias)
    return output


def _wrapped(tensor: Tensor) -> bool:
    result: bool = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return result


def _constant(tensor: Tensor) -> bool:
    """Whether ``tensor`` does not depend on the image: a parameter, or something without derivative."""
    return isinstance(tensor, nn.Parameter) or not (tensor.requires_grad or _wrapped(tensor))


def _bias(mask: Tensor | None) -> bool:
    """No mask, or a floating one that does not depend on the image."""
    return mask is None or (mask.is_floating_point() and _constant(mask))


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


_REPLACED: dict[Any, Callable[..., Tensor]] = {
    F.layer_norm: _layer_norm,
    F.scaled_dot_product_attention: _attention,
    F.batch_norm: _batch_norm,
    F.linear: _linear,
}
