# ---
# jupyter:
#   bindery:
#     title: A derivative by differences, and when it lies
#     minutes: 50
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 10_jacobian_effective_rank
#       points: 6
#       level: short
#       prerequisites: [10_jacobian_effective_rank]
#       defines: [jvp, difference, good_step, switching]
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A derivative by differences, and when it lies
#
# The Jacobian–vector product $Jv$ of a network says how its output moves when the input moves along $v$. Forward-mode differentiation gives it exactly; a difference quotient
# $\bigl(f(x + hv) - f(x - hv)\bigr)/2h$ needs nothing but the network, and is wrong in three ways: $h$ too large and the network bends, $h$ too small and digits cancel, and with rectifiers
# $x + hv$ and $x - hv$ may lie on different sides of a kink.
#
# The networks here have one hidden layer, $f(x) = W_2\,\varphi(W_1 x)$; `network` below takes $\varphi = \tanh$ or the rectifier.
#
# **Write**
#
# * `jvp(w1, w2, x, v)`: the exact product for tanh;
# * `difference(w1, w2, x, v, h)`: the central difference for tanh;
# * `good_step(w1, w2, x, v)`: an $h$ for which the central difference is right to seven digits, for $v$ of *any* length from $10^{-6}$ to $10^{6}$;
# * `switching(w1, x, v, h)`: the numbers of the hidden units that a rectifier switches on or off between $x - hv$ and $x + hv$, in growing order. If it is empty the
#   difference is exact up to rounding; if not, it lies.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray


def network(w1: Array, w2: Array, x: Array, kind: str = "tanh") -> Array:
    """Output of the network for one input."""
    hidden = w1 @ x
    active = np.tanh(hidden) if kind == "tanh" else np.maximum(hidden, 0)
    return w2 @ active


# %% [markdown] tags=["hint"]
# The derivative of tanh is $1 - \tanh^2$. The error of a central difference is about $h^2|v|^2$ from bending plus $\varepsilon/(h|v|)$ from rounding: what matters is the length of the *step*
# $h|v|$, and the best one is near the cube root of $\varepsilon = 2\cdot 10^{-16}$.


# %%
def jvp(w1: Array, w2: Array, x: Array, v: Array) -> Array:
    """Jacobian at x times v, exactly, for tanh."""
    # <solution>
    return w2 @ ((1 - np.tanh(w1 @ x) ** 2) * (w1 @ v))
    # </solution>


def difference(w1: Array, w2: Array, x: Array, v: Array, h: float) -> Array:
    """Central difference along v with step h, for tanh."""
    # <solution>
    return (network(w1, w2, x + h * v) - network(w1, w2, x - h * v)) / (2 * h)
    # </solution>


def good_step(w1: Array, w2: Array, x: Array, v: Array) -> float:
    """A step that makes the central difference right to seven digits."""
    # <solution>
    return float(np.cbrt(np.finfo(float).eps) / np.linalg.norm(v))
    # </solution>


def switching(w1: Array, x: Array, v: Array, h: float) -> list[int]:
    """Hidden units that a rectifier switches between x - hv and x + hv."""
    # <solution>
    before, after = w1 @ (x - h * v) > 0, w1 @ (x + h * v) > 0
    return np.flatnonzero(before != after).tolist()
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("10_jvp_by_differences", globals(), seed=seed)

# %% tags=["demo"]
import matplotlib.pyplot as plt

from bindery import figures

figures.style()
rng = np.random.default_rng(seed)
w1, w2 = rng.standard_normal((64, 16)) / 4, rng.standard_normal((10, 64)) / 8
x, v = rng.standard_normal(16), rng.standard_normal(16) / 4
steps, exact = np.geomspace(1e-14, 1, 113), jvp(w1, w2, x, v)
errors = [np.linalg.norm(difference(w1, w2, x, v, h) - exact) / np.linalg.norm(exact) for h in steps]
figure, axis = plt.subplots(figsize=(5.4, 3))
axis.loglog(steps, errors, lw=1.2)
axis.axvline(good_step(w1, w2, x, v), color="0.4", ls="--", lw=0.9)
axis.set_xlabel("step h")
axis.set_ylabel("relative error")
figures.finish(
    figure,
    "exercise-difference",
    "Relative error of the central difference against the step, both logarithmic: a valley. Left of it the error grows "
    "raggedly by rounding, right of it smoothly with the square of the step.",
    "The central difference of a small network. Dashed: the step of `good_step`.",
)

# %% [markdown] tags=["solution"]
# Bending and rounding balance where the step is about the cube root of $\varepsilon$, which leaves about ten digits; in float32 only four. A fixed $h$ fails for long and for short $v$.
#
# For a rectifier nothing bends, so between kinks the difference is exact at any $h$. The kinks are the problem: with thousands of units and a step that is not tiny, some unit always switches, and the quotient
# mixes two linear maps. That error does not fall with $h^2$, it vanishes at once when the last switching unit falls out of the interval, and no look at one quotient tells.
