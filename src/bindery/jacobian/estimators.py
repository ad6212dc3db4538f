"""Singular values of a Jacobian: a random sketch, a randomised range finder, and the exact ones.

Source: Paper S, Sec. 4.1 and App. D, F; Halko, Martinsson and Tropp 2011, Alg. 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from bindery.errors import InputError
from bindery.jacobian.products import DenseMap, LinearMap
from bindery.jacobian.seeds import Seed, generator

Method = Literal["range_finder", "sketch", "exact"]
METHODS: tuple[Method, ...] = get_args(Method)
EXACT_LIMIT = 1024


@dataclass(frozen=True, eq=False)
class SingularValues:
    """Singular values with the protocol they were got by; ``np.asarray`` gives the values."""

    values: NDArray[np.float64]
    """(k,) largest first."""
    method: Method
    k: int
    """How many there are: ``requested``, or fewer when the Jacobian has fewer."""
    requested: int
    shape: tuple[int, int]
    """(D, M)."""
    dtype: str
    """Of the network."""
    rounds: int = 0
    oversample: int = 0
    seed: Seed = 0
    sketch: NDArray[np.float64] | None = None
    """(k,) of J V for the same k directions, which the range finder computes on its way."""
    products: tuple[int, int] = (0, 0)
    """Forward and backward products used."""

    @property
    def clipped(self) -> bool:
        """Whether k had to be lowered to min(D, M)."""
        return self.k < self.requested

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float64]:
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)


def directions(inputs: int, k: int, seed: Seed = 0) -> Tensor:
    """(k, M) float64 orthonormal rows, uniformly distributed, the same for the same (M, k, seed)."""
    if not 1 <= k <= inputs:
        raise InputError(f"k must lie in 1..{inputs}, not {k}")
    normal = torch.from_numpy(generator("directions", seed).standard_normal((k, inputs)))
    if 4 * k > inputs:
        return orthonormal_rows(normal)
    # Long Gaussian rows are nearly orthogonal, so Cholesky is as accurate as QR, and six times faster.
    return torch.linalg.solve_triangular(torch.linalg.cholesky(normal @ normal.T), normal, upper=False)


def orthonormal_rows(rows: Tensor) -> Tensor:
    """(k, n) rows, k <= n, replaced by an orthonormal basis of their span, in float64.

    Dependent rows are completed by arbitrary directions orthogonal to the rest.
    """
    return torch.linalg.qr(rows.double().T)[0].T


def row_singular_values(rows: Tensor) -> NDArray[np.float64]:
    """Singular values of a (k, n) matrix, largest first, in float64: QR first, as k is far below n or D."""
    tall = rows.double() if rows.shape[0] > rows.shape[1] else rows.double().T
    values: NDArray[np.float64] = torch.linalg.svdvals(torch.linalg.qr(tall, mode="r")[1]).numpy()
    return values


def estimate(
    linear: LinearMap,
    k: int = 32,
    method: Method = "range_finder",
    rounds: int = 5,
    oversample: int = 0,
    seed: Seed = 0,
    exact_limit: int = EXACT_LIMIT,
) -> SingularValues:
    """The k largest singular values of a linear map, by ``method``.

    See `singular_values`, which does this for an encoder and an image.
    """
    if k < 1 or rounds < 0 or oversample < 0:
        raise InputError(f"k >= 1, rounds >= 0, oversample >= 0 are needed; got {k}, {rounds}, {oversample}")
    limit = min(linear.shape)
    kept, width = min(k, limit), min(k + oversample, limit)
    sketch, products = None, (width, 0)
    if method == "sketch":
        # The singular values of J V depend on the number of directions, so oversampling has no meaning here.
        values = row_singular_values(linear.jvp(directions(linear.shape[1], kept, seed)))
        products = (kept, 0)
    elif method == "range_finder":
        values, sketch = range_finder(linear, kept, width, rounds, seed)
        products = (width * (rounds + 1), width * (rounds + 1))
    elif method == "exact":
        values = row_singular_values(full_jacobian(linear, exact_limit).matrix)[:kept]
        products = (0, linear.shape[0]) if linear.shape[0] <= linear.shape[1] else (linear.shape[1], 0)
    else:
        raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    return SingularValues(
        values=_refuse_degenerate(values),
        method=method,
        k=kept,
        requested=k,
        shape=linear.shape,
        dtype=str(linear.dtype).removeprefix("torch."),
        rounds=rounds if method == "range_finder" else 0,
        oversample=width - kept if method == "range_finder" else 0,
        seed=seed,
        sketch=sketch,
        products=products,
    )


def range_finder(
    linear: LinearMap, k: int, width: int, rounds: int, seed: Seed
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Top k singular values of ``Q' J``, where Q spans ``(J J')^rounds J V``; and those of ``J V``.

    Both half steps of a round are re-orthonormalised in float64, or the small singular values would be lost.
    """
    response = linear.jvp(directions(linear.shape[1], width, seed))
    sketch = row_singular_values(response[:k])
    for _ in range(rounds):
        inputs = orthonormal_rows(linear.vjp(orthonormal_rows(response)))
        response = linear.jvp(inputs)
    values = row_singular_values(linear.vjp(orthonormal_rows(response)))
    return values[:k], sketch


def full_jacobian(linear: LinearMap, limit: int = EXACT_LIMIT) -> DenseMap:
    """The whole Jacobian: a VJP an output, or a JVP an input where those are fewer.

    Raises
    ------
    InputError
        Its shorter side exceeds ``limit``: the time and memory are told.
    """
    outputs, inputs = linear.shape
    if min(outputs, inputs) > limit:
        size = outputs * inputs * 8 / 2**30
        raise InputError(
            f"the exact Jacobian is {outputs} x {inputs} ({size:.1f} GiB in float64, "
            f"{min(outputs, inputs)} products); raise the limit of {limit}, or use the range finder"
        )
    if outputs <= inputs:
        return DenseMap(linear.vjp(torch.eye(outputs, dtype=linear.dtype)))
    return DenseMap(linear.jvp(torch.eye(inputs, dtype=linear.dtype)).T)


def _refuse_degenerate(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InputError("the Jacobian at this image holds NaN or infinity")
    if not array.max() > 0:
        raise InputError("every response is zero: the output does not depend on the input at this image")
    return array
