# ---
# jupyter:
#   bindery:
#     title: Exp and Log without the arccos trap
#     minutes: 30
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 02_the_sphere
#       points: 5
#       level: short
#       prerequisites: [02_the_sphere]
#       defines: [exp, log]
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
# # Exp and Log without the arccos trap
#
# Chapter 2 moves between the sphere and its tangent sheet by
#
# $$ \mathrm{Exp}_\mu(v) = \cos|v|\,\mu + \frac{\sin|v|}{|v|}\,v , \qquad
# \mathrm{Log}_\mu(u) = \theta\,\frac{u - (u\cdot\mu)\,\mu}{|u - (u\cdot\mu)\,\mu|} , \qquad \theta = d(\mu, u) . $$
#
# Both formulas divide by something that may be zero, and the first way to compute $\theta$ that comes to mind,
# $\arccos(u\cdot\mu)$, loses half of the digits when $u$ is near $\mu$.
#
# **Write `exp` and `log`** for a batch of rows, with NumPy only, such that
#
# * `exp(log(u)) = u` and `log(exp(v)) = v` to all the digits that the rounding of $u$ leaves, for arrows of length $10^{-9}$ (about seven) as well as 3;
# * a zero arrow and a point equal to the base give the base and a zero arrow, not NaN;
# * no answer holds NaN for any rows of unit length; the point opposite the base, where every direction is as good as another, may be
#   refused with an error.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# `np.sinc(t)` is $\sin(\pi t)/(\pi t)$, with the right value at zero. For the angle, think of the chord $|u - \mu|$ and of the
# other chord $|u + \mu|$: $\theta = 2\,\mathrm{atan2}(|u-\mu|, |u+\mu|)$. The part of $u$ that lies in the sheet can be had without subtracting two nearly
# equal numbers: $u - (u\cdot\mu)\mu$ equals $w - (w\cdot\mu)\mu$ with $w = u - \mu$.


# %%
def exp(tangents: Array, base: Array) -> Array:
    """(N, D): where the (N, D) arrows lead from the (D,) base."""
    # <solution>
    length = np.linalg.norm(tangents, axis=1, keepdims=True)
    return np.cos(length) * base + np.sinc(length / np.pi) * tangents
    # </solution>


def log(points: Array, base: Array) -> Array:
    """(N, D): arrows from the (D,) base to the (N, D) points."""
    # <solution>
    chord = points - base
    angle = 2 * np.arctan2(np.linalg.norm(chord, axis=1), np.linalg.norm(points + base, axis=1))
    arrow = chord - (chord @ base)[:, None] * base
    length = np.linalg.norm(arrow, axis=1)
    factor = np.divide(angle, length, out=np.ones_like(angle), where=length > 0)
    return factor[:, None] * arrow
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("02_exp_log", globals(), seed=seed)

# %% [markdown] tags=["solution"]
# Two cancellations are avoided. The cosine of a small angle $\theta$ is $1 - \theta^2/2$, so below $10^{-8}$ it *is* one and its arccos zero;
# the chord is the angle itself there. And $u - (u\cdot\mu)\mu$ subtracts two vectors that agree in nearly all digits, while $u - \mu$ is exact
# when they are close. What is left to the division is a zero over a zero in a single case, $u = \mu$, where the factor does not matter.
#
# Clipping the cosine to $[-1, 1]$ removes the NaN and leaves the loss of digits: the check's small arrows come back as zero.
