"""First-order response of an encoder to changes of its input, and what two views of an image share.

Source: Paper S, theory: z' = z + J delta, Cov(z' | x) = J Sigma J'. The split of the covariance is the law of total
covariance, and the cross-covariance of two independent views is its part between images.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bindery.checks import finite_rows, same_length
from bindery.errors import InputError
from bindery.jacobian import jacobians

Floats = NDArray[np.float64]


def in_double(module: nn.Module) -> nn.Module:
    """A float64 copy in evaluation mode: small steps need the digits."""
    return copy.deepcopy(module).double().eval().requires_grad_(False)


@dataclass(frozen=True, eq=False)
class Response:
    """How an embedding moved under N steps of its image, and how it moves to first order; (N, D) each."""

    actual: Floats
    linear: Floats

    @property
    def covariance_error(self) -> float:
        """Relative Frobenius error of Cov(J delta) against Cov(z'), over the same draws: no sampling error."""
        actual, linear = (np.cov(rows.T) for rows in (self.actual, self.linear))
        return float(np.linalg.norm(linear - actual) / np.linalg.norm(actual))

    @property
    def error(self) -> float:
        """rms of what the first order misses, over the rms of the response."""
        return float(np.linalg.norm(self.actual - self.linear) / np.linalg.norm(self.actual))


def respond(module: nn.Module, image: Tensor, steps: Tensor, jacobian: Tensor | None = None) -> Response:
    """Response of a float64 ``module`` at ``image`` (C, H, W) to ``steps`` (N, C, H, W).

    ``jacobian``: its (D, M) Jacobian there, when it is at hand.

    Raises
    ------
    InputError
        Shapes that do not fit, or no step that moves the embedding.
    """
    if steps.ndim != 4 or steps.shape[1:] != image.shape or len(steps) < 2:
        raise InputError(f"need two steps or more of shape {tuple(image.shape)}, got {tuple(steps.shape)}")
    image, steps = image.double(), steps.double()
    jacobian = jacobians(module, image[None])[0] if jacobian is None else jacobian
    with torch.no_grad():
        start = module(image[None])
        moved = torch.cat([module(image + part) for part in steps.split(256)]) - start
    if not float(moved.abs().max()) > 0:
        raise InputError("no step moves the embedding: nothing to compare")
    return Response(moved.numpy(), (steps.flatten(1) @ jacobian.T).numpy())


def sampling_error(covariance: Floats, draws: int) -> float:
    r"""Expected relative Frobenius error of a sample covariance of Gaussian draws.

    .. math::

        \mathbb{E}\|\hat C - C\|_F^2 / \|C\|_F^2 = (1 + r) / (n - 1),
        \qquad r = (\operatorname{tr} C)^2 / \|C\|_F^2

    The square root is returned. The more directions (r), the more draws it takes.
    """
    if draws < 2:
        raise InputError(f"a sample covariance takes two draws or more, not {draws}")
    ratio = np.trace(covariance) ** 2 / np.linalg.norm(covariance) ** 2
    return float(np.sqrt((1 + ratio) / (draws - 1)))


@dataclass(frozen=True, eq=False)
class Split:
    """Covariance (D, D) between images and within an image, over its views; their sum is the total."""

    between: Floats
    within: Floats

    @property
    def within_share(self) -> float:
        """Share of the total variance that is between views of one image."""
        return float(np.trace(self.within) / (np.trace(self.within) + np.trace(self.between)))


def split(first: NDArray[np.floating], second: NDArray[np.floating]) -> Split:
    """Split from embeddings (N, D) of two independent views of each of N images.

    The part between is the symmetrised cross-covariance of the views, unbiased; the part within half the second
    moment of their difference.
    """
    a, b = (
        finite_rows(rows, name).astype(np.float64) for rows, name in ((first, "first"), (second, "second"))
    )
    same_length(first=a, second=b)
    if len(a) < 2:
        raise InputError("a covariance takes two images or more")
    gap = a - b
    a, b = a - a.mean(0), b - b.mean(0)
    cross = a.T @ b / (len(a) - 1)
    return Split((cross + cross.T) / 2, gap.T @ gap / (2 * len(a)))
