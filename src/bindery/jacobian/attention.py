"""Softmax attention with both derivatives, folded for many directions at one image.

Vectorising the plain formula copies the attention weights once a direction. Here directions join the rows of
the matrix products instead, and only the small per-head queries, keys and values are copied.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """softmax(scale q k' + mask) v of (..., N, d), (..., Nk, d), (..., Nk, e); ``mask`` is a constant."""
    output: Tensor = _Attention.apply(query, key, value, mask, scale)[0]
    return output


class _Attention(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
        scores = (q * scale) @ k.transpose(-2, -1)
        weights = torch.softmax(scores if mask is None else scores + mask, -1)
        return weights @ v, weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        q, k, v, _, scale = inputs
        ctx.mark_non_differentiable(output[1])
        # The scale belongs to the scores; on the small query and key it costs least.
        saved = (q * scale, k * scale, v, output[1])
        ctx.save_for_forward(*saved)
        ctx.save_for_backward(*saved)

    @staticmethod
    def jvp(ctx: Any, dq: Tensor, dk: Tensor, dv: Tensor, *_: Any) -> tuple[Tensor, None]:
        return _Tangent.apply(*ctx.saved_tensors, dq, dk, dv), None

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor, None, None]:
        return *_Gradient.apply(*ctx.saved_tensors, gradient), None, None


class _Tangent(torch.autograd.Function):
    """dO = dW v + W dv, with dW = softmax'(dq k' + q dk')."""

    @staticmethod
    def forward(q: Tensor, k: Tensor, v: Tensor, w: Tensor, dq: Tensor, dk: Tensor, dv: Tensor) -> Tensor:
        scores = dq @ k.transpose(-2, -1) + q @ dk.transpose(-2, -1)
        return _softmax_derivative(scores, w) @ v + w @ dv

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Tensor, int]:
        q, k, v, w, *tangents = _batched(info.batch_size, in_dims, tensors)
        if not _foldable(in_dims):
            return _Tangent.forward(q, k, v, w, *tangents), 0
        (q, k, v, w), shape = _heads(q, k, v, w), tangents[0].shape
        dq, dk, dv = (_directions_second(tangent) for tangent in tangents)
        heads, count, rows = dq.shape[:3]
        scores = torch.bmm(dq.flatten(1, 2), k.transpose(1, 2)).view(heads * count, rows, -1)
        scores.baddbmm_(_repeat(q, count), dk.flatten(0, 1).transpose(1, 2))
        dw = _softmax_derivative(scores.view(heads, count, rows, -1), w[:, None])
        output = torch.bmm(dw.flatten(1, 2), v).view(heads, count, rows, -1)
        output += torch.bmm(w, dv.transpose(1, 2).flatten(2)).view(heads, rows, count, -1).transpose(1, 2)
        return _directions_first(output, shape[:-1]), 0


class _Gradient(torch.autograd.Function):
    """dS = softmax'(g v'), then dS k, dS' q and W' g."""

    @staticmethod
    def forward(q: Tensor, k: Tensor, v: Tensor, w: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        ds = _softmax_derivative(g @ v.transpose(-2, -1), w)
        return ds @ k, ds.transpose(-2, -1) @ q, w.transpose(-2, -1) @ g

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor
    ) -> tuple[Any, tuple[int, int, int]]:
        q, k, v, w, gradient = _batched(info.batch_size, in_dims, tensors)
        if not _foldable(in_dims):
            return _Gradient.forward(q, k, v, w, gradient), (0, 0, 0)
        leading = gradient.shape[:-2]
        (q, k, v, w), g = _heads(q, k, v, w), _directions_second(gradient)
        heads, count, rows = g.shape[:3]
        scores = torch.bmm(g.flatten(1, 2), v.transpose(1, 2)).view(heads, count, rows, -1)
        ds = _softmax_derivative(scores, w[:, None])
        dq = torch.bmm(ds.flatten(1, 2), k).view(heads, count, rows, -1)
        dk = torch.bmm(ds.flatten(0, 1).transpose(1, 2), _repeat(q, count)).view(heads, count, len(k[0]), -1)
        dv = torch.bmm(w.transpose(1, 2), g.transpose(1, 2).flatten(2)).view(heads, len(v[0]), count, -1)
        results = (
            _directions_first(part, (*leading, part.shape[2])) for part in (dq, dk, dv.transpose(1, 2))
        )
        return tuple(results), (0, 0, 0)


def _softmax_derivative(direction: Tensor, weights: Tensor) -> Tensor:
    # The Jacobian of softmax is symmetric: its backward kernel is its forward derivative.
    result: Tensor = torch.ops.aten._softmax_backward_data(
        direction, weights.expand_as(direction), -1, direction.dtype
    )
    return result


def _foldable(in_dims: tuple[int | None, ...]) -> bool:
    """Whether q, k, v and the weights are common to all directions, and every direction is its own."""
    return all(dim is None for dim in in_dims[:4]) and all(dim is not None for dim in in_dims[4:])


def _batched(count: int, in_dims: tuple[int | None, ...], tensors: tuple[Tensor, ...]) -> list[Tensor]:
    """Directions in front; a length of one where a tensor has none."""
    return [
        tensor.unsqueeze(0) if dim is None else tensor.movedim(dim, 0)
        for dim, tensor in zip(in_dims, tensors, strict=True)
    ]


def _heads(*tensors: Tensor) -> tuple[Tensor, ...]:
    """(1, ..., N, d) to (H, N, d)."""
    return tuple(tensor.reshape(-1, *tensor.shape[-2:]) for tensor in tensors)


def _directions_second(tensor: Tensor) -> Tensor:
    """(B, ..., N, d) to a contiguous (H, B, N, d)."""
    return tensor.flatten(1, -3).transpose(0, 1).contiguous()


def _directions_first(tensor: Tensor, leading: Any) -> Tensor:
    """(H, B, N, d) to (B, ..., N, d)."""
    return tensor.transpose(0, 1).reshape(*leading, tensor.shape[-1])


def _repeat(tensor: Tensor, count: int) -> Tensor:
    """(H, N, d) to (H B, N, d)."""
    return tensor[:, None].expand(-1, count, -1, -1).flatten(0, 1)
