# ---
# jupyter:
#   bindery:
#     title: The intrinsic mean by hand
#     minutes: 40
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 02_the_sphere
#       points: 6
#       level: short
#       prerequisites: [02_the_sphere, 02_exp_log]
#       defines: [intrinsic_mean, certificate]
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
# # The intrinsic mean by hand
#
# The intrinsic mean of points on the sphere minimises the weighted sum of squared *angles*. At the mean the arrows to the points cancel:
#
# $$ \sum_i w_i\, \mathrm{Log}_\mu(u_i) = 0 . $$
#
# The obvious walk takes full steps, $\mu \leftarrow \mathrm{Exp}_\mu\bigl(\sum_i w_i\,\mathrm{Log}_\mu(u_i)\bigr)$ with weights that sum to one. Code that
# stops after ten of them, done or not, is in use.
#
# **Write**
#
# * `intrinsic_mean(points, weights)`: the mean, to $10^{-8}$ radians, also of a cloud whose points lie 80 degrees from it;
# * `certificate(points, weights, mean)`: two numbers, the length of the weighted sum of arrows at `mean`, and the largest
#   angle between `mean` and a point that has weight. With them somebody else can believe the answer without repeating the walk.
#
# Weights are non-negative and need not sum to one. A point of weight zero does not count. Equal points are their own mean.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

from bindery.sphere import distance, exp, log

Array = np.ndarray

# %% [markdown] tags=["hint"]
# Start at the weighted arithmetic mean, scaled to length one. Stop by the length of the step, not by its number; allow hundreds of steps.
# `log(points, base)` gives the arrows as rows; `exp(arrow, base)` takes one arrow as well as many. Each `exp` rounds a
# little, so scale the result to length one, and keep the arrow orthogonal to the base.


# %%
def intrinsic_mean(points: Array, weights: Array) -> Array:
    """(D,) mean of (N, D) unit rows with (N,) weights."""
    # <solution>
    weights = weights / weights.sum()
    mean = weights @ points
    mean = mean / np.linalg.norm(mean)
    for _ in range(5000):
        step = weights @ log(points, mean)
        step = step - (step @ mean) * mean
        if np.linalg.norm(step) < 1e-12:
            break
        mean = exp(step, mean)
        mean = mean / np.linalg.norm(mean)
    return mean
    # </solution>


def certificate(
    points: Array,
    weights: Array,
    mean: Array,
) -> tuple[float, float]:
    """Length of the weighted sum of arrows, and the largest angle."""
    # <solution>
    weights = weights / weights.sum()
    gradient = np.linalg.norm(weights @ log(points, mean))
    return float(gradient), float(distance(points[weights > 0], mean).max())
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("02_intrinsic_mean", globals(), seed=seed)

# %% [markdown] tags=["solution"]
# The walk converges because the second derivative of half the squared angle lies between $\theta/\tan\theta$ and 1. For a narrow cloud that is
# nearly 1 and a full step nearly Newton's; for a cloud at 80 degrees it falls to a quarter across the arrows, and every step removes only a
# quarter of what is left. Ten steps then leave a twentieth of the first error. Dividing the step by an estimate of the curvature, as the library does, needs a few steps
# for any cloud.
#
# The largest angle matters as much as the gradient: below a right angle the point is *the* mean, beyond it there may be others.
