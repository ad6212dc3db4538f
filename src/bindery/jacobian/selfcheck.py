"""Whether the derivative that automatic differentiation returns is the derivative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bindery.errors import InputError
from bindery.jacobian.products import CUT, Linearization
from bindery.jacobian.seeds import generator
from bindery.jacobian.target import Target

# In units of the input's Euclidean norm; large steps resolve tiny Jacobians, small ones dodge ReLU kinks.
STEPS = (1e-4, 1e-6, 1e-2, 1e-8)
TOLERANCE = {torch.float64: 1e-5, torch.float32: 2e-3, torch.bfloat16: 0.1}
# An image may sit on a kink: rounding puts an activation on the other side of a ReLU, or equal pixels tie in a
# max pool. Then there are several derivatives, equally right, and a central difference is none of them.
KINK = 0.1
MOVED = 1e-4  # how far beside the image the derivative is looked at instead, as a share of its norm


@dataclass(frozen=True)
class SelfCheck:
    """Relative errors of one random direction; ``finite_difference`` is NaN when float64 cannot run."""

    adjoint_gap: float
    finite_difference: float


def self_check(target: Target, linear: Linearization, seed: int = 0) -> SelfCheck:
    """One direction against float64 central differences, and <u, J v> against <J'u, v>.

    Raises
    ------
    InputError
        A silent zero, forward and backward mode that disagree, or a derivative that is not the slope.
    """
    v = torch.from_numpy(generator("check", seed).standard_normal(linear.shape[1]))
    v = (v / v.norm()).to(linear.dtype)
    response = linear.jvp(v[None])[0].double()
    size = float(response.norm())
    if not np.isfinite(size):
        raise InputError("the Jacobian at this image holds NaN or infinity")
    tolerance = TOLERANCE.get(linear.dtype, 0.1)
    slope = _slope(target, linear.point, v, response, tolerance)
    if size == 0:
        raise InputError(
            CUT if slope is None or float(slope.norm()) == 0 else f"silent zero derivative: {CUT}"
        )
    unit = response / size
    gap = abs(float(linear.vjp(unit[None].to(linear.dtype))[0].double() @ v.double()) - size) / size
    error = float("nan") if slope is None else float((slope - response).norm()) / size
    if gap > tolerance:
        raise InputError(
            f"forward and backward mode disagree (relative gap {gap:.1e}, at most {tolerance:g}): an "
            "operation in the network has a wrong derivative, or its output is random"
        )
    if error > tolerance and not _on_a_kink(target, linear, v, error):
        raise InputError(
            f"the derivative differs from the float64 slope by {error:.1e} (at most {tolerance:g}): {CUT}"
        )
    return SelfCheck(gap, error)


def _on_a_kink(target: Target, linear: Linearization, v: Tensor, error: float) -> bool:
    """Whether the float64 derivative beside the image is the slope there, and the one at the image not far off."""
    if not error <= KINK:
        return False
    aside = torch.from_numpy(generator("check", 1).standard_normal(linear.point.numel()))
    aside = (aside / aside.norm()).reshape(linear.point.shape)
    point = linear.point.double()
    point = point + MOVED * max(float(point.norm()), 1.0) * aside
    double = Linearization(target.rebuild(torch.float64), point, linear.shape[0], 1)
    response, tolerance = double.jvp(v.double()[None])[0], TOLERANCE[torch.float64]
    slope = _slope(target, point, v, response, tolerance)
    return slope is not None and float((slope - response).norm()) <= tolerance * float(response.norm())


def _slope(target: Target, point: Tensor, v: Tensor, response: Tensor, tolerance: float) -> Tensor | None:
    """The central difference that agrees best over the steps, or None when float64 cannot run."""
    try:
        function = target.rebuild(torch.float64)
        with torch.no_grad():
            function(point.double())
    except (RuntimeError, TypeError, AttributeError):
        return None
    x = point.double()
    step = v.double().reshape(point.shape)
    best: Tensor | None = None
    for relative in STEPS:
        h = relative * max(float(x.norm()), 1.0)
        with torch.no_grad():
            slope = ((function(x + h * step) - function(x - h * step)) / (2 * h)).reshape(-1)
        if best is None or float((slope - response).norm()) < float((best - response).norm()):
            best = slope
        if float((best - response).norm()) <= 0.1 * tolerance * float(response.norm()):
            break
    return best
