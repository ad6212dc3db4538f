"""Products with a Jacobian and its transpose, without forming it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor
from torch.func import jvp, vmap

from bindery.errors import InputError
from bindery.jacobian.switches import differentiable

CUT = (
    "the output cannot be differentiated back to the image: something inside runs under no_grad, "
    "inference_mode or detach, or the output does not depend on its input; remove that"
)


@contextmanager
def _reasoned(mode: str) -> Iterator[None]:
    """What torch says when an operation has no derivative, or is random, as one line."""
    try:
        yield
    except (RuntimeError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{mode} mode cannot differentiate this network: {reason}") from error


class LinearMap(Protocol):
    """A D x M matrix that is known by its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """(D, M): outputs, inputs."""

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the products."""

    def jvp(self, directions: Tensor) -> Tensor:
        """(k, M) input directions to (k, D) responses, J v."""

    def vjp(self, weights: Tensor) -> Tensor:
        """(k, D) output directions to (k, M) gradients, J' u."""


class DenseMap:
    """A Jacobian at hand as a (D, M) matrix; also what `bindery.jacobian.full_jacobian` gives.

    >>> DenseMap(torch.eye(2, 3)).jvp(torch.ones(1, 3))
    tensor([[1., 1.]])
    """

    def __init__(self, matrix: Tensor) -> None:
        if matrix.ndim != 2 or not matrix.is_floating_point():
            raise InputError(f"a Jacobian is a floating (D, M) matrix; got {tuple(matrix.shape)}")
        self.matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        """(D, M)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """Of the matrix."""
        return self.matrix.dtype

    def jvp(self, directions: Tensor) -> Tensor:
        """(k, M) to (k, D)."""
        return directions.to(self.dtype) @ self.matrix.T

    def vjp(self, weights: Tensor) -> Tensor:
        """(k, D) to (k, M)."""
        return weights.to(self.dtype) @ self.matrix


class Linearization:
    """The Jacobian of ``function`` at ``point``.

    JVPs are forward mode, vectorised over ``chunk`` directions; VJPs share one recorded forward pass, kept
    until the object goes, and are vectorised likewise.

    Parameters
    ----------
    function
        (1, ...) tensor to (1, D) tensor; deterministic.
    point
        (1, ...) tensor: where the derivative is taken. M is its number of elements.
    outputs
        D.
    chunk
        Directions in one pass: memory grows with it, time falls until about 16.
    """

    def __init__(
        self, function: Callable[[Tensor], Tensor], point: Tensor, outputs: int, chunk: int = 8
    ) -> None:
        if chunk < 1:
            raise InputError(f"chunk must be at least 1, not {chunk}")
        self.function = function
        self.point = point.detach().clone()
        self.chunk = chunk
        self._outputs = outputs
        self._graph: tuple[Tensor, Tensor] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(D, M)."""
        return self._outputs, self.point.numel()

    @property
    def dtype(self) -> torch.dtype:
        """Of the point, hence of the network."""
        return self.point.dtype

    def jvp(self, directions: Tensor) -> Tensor:
        """(k, M) input directions to (k, D) responses."""

        def response(direction: Tensor) -> Tensor:
            return jvp(self.function, (self.point,), (direction,))[1].reshape(-1)

        with differentiable(), torch.no_grad(), _reasoned("forward"):
            return torch.cat(
                [
                    vmap(response)(rows.reshape(-1, *self.point.shape))
                    for rows in self._chunks(directions, self.shape[1])
                ]
            )

    def vjp(self, weights: Tensor) -> Tensor:
        """(k, D) output directions to (k, M) gradients.

        Raises InputError when the output is cut off from the input.
        """
        with differentiable(), torch.enable_grad(), _reasoned("backward"):
            point, output = self._record()
            return torch.cat(
                [
                    self._gradients(point, output, rows).reshape(len(rows), -1)
                    for rows in self._chunks(weights, self.shape[0])
                ]
            )

    @staticmethod
    def _gradients(point: Tensor, output: Tensor, weights: Tensor) -> Tensor:
        (gradients,) = torch.autograd.grad(
            output,
            point,
            weights.reshape(-1, *output.shape),
            retain_graph=True,
            is_grads_batched=True,
            allow_unused=True,
        )
        if gradients is None:
            raise InputError(CUT)
        return gradients

    def _record(self) -> tuple[Tensor, Tensor]:
        if self._graph is None:
            point = self.point.clone().requires_grad_(True)
            output = self.function(point)
            if not output.requires_grad:
                raise InputError(CUT)
            self._graph = point, output
        return self._graph

    def _chunks(self, rows: Tensor, length: int) -> Iterator[Tensor]:
        if rows.ndim != 2 or rows.shape[1] != length:
            raise InputError(f"directions must be rows of length {length}; got shape {tuple(rows.shape)}")
        yield from rows.to(self.dtype).split(self.chunk)
