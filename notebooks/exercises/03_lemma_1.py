# ---
# jupyter:
#   bindery:
#     title: Test Lemma 1
#     minutes: 40
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 03_decomposable_embeddings
#       points: 6
#       level: short
#       prerequisites: [02_the_sphere, 03_decomposable_embeddings]
#       defines: [directions, violation]
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
# # Test Lemma 1
#
# Lemma 1 of Paper G says: if points $u_{ao}$ of a complete grid are decomposable, $u_{ao} = \mathrm{Exp}_\mu(v_a + v_o)$ with $\mu$ their intrinsic mean, then there is
# exactly one choice of directions that sum to zero in each factor, and it is the mean over slices,
#
# $$ v_a = \operatorname{mean}_o \mathrm{Log}_\mu(u_{ao}), \qquad v_o = \operatorname{mean}_a \mathrm{Log}_\mu(u_{ao}) . $$
#
# A lemma can be tested like code: plant directions, build the points, take them apart, compare.
#
# **Write**
#
# * `directions(points)`: for an (A, O, D) grid of unit vectors the dictionary with `"mean"` (D,), `"attribute"` (A, D) and `"object"` (O, D);
# * `violation(points)`: the length, root mean square over the grid, of what the lemma leaves unexplained,
#   $\mathrm{Log}_\mu(u_{ao}) - v_a - v_o$. It is zero exactly if the points are decomposable.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

from bindery.sphere import frechet_mean, log

Array = np.ndarray

# %% [markdown] tags=["hint"]
# `frechet_mean(rows).point` is the intrinsic mean of the rows of a matrix, and `log(rows, base)` takes rows too: flatten the grid, and
# give it its shape back. Which axis is averaged away for an attribute?


# %%
def directions(points: Array) -> dict[str, Array]:
    """Mean and slice means of an (A, O, D) grid of unit vectors."""
    # <solution>
    rows = points.reshape(-1, points.shape[-1])
    mean = frechet_mean(rows).point
    arrows = log(rows, mean).reshape(points.shape)
    return {"mean": mean, "attribute": arrows.mean(axis=1), "object": arrows.mean(axis=0)}
    # </solution>


def violation(points: Array) -> float:
    """Root mean square length of what the sums of directions miss."""
    # <solution>
    found = directions(points)
    arrows = log(points.reshape(-1, points.shape[-1]), found["mean"]).reshape(points.shape)
    rest = arrows - found["attribute"][:, None] - found["object"]
    return float(np.sqrt((rest**2).sum(axis=-1).mean()))
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("03_lemma_1", globals(), seed=seed)

# %% [markdown] tags=["solution"]
# Planting *any* directions works, not only those that sum to zero: what comes back differs from them by one arrow $k$, added to all attributes and taken from all objects.
# That is the gauge. The zero sums fix it, and the slice means have them without being asked, since the arrows at the intrinsic mean cancel. At another base point,
# the scaled arithmetic mean for example, they do not.
#
# Taking one pair as reference, $v_a = \mathrm{Log}_\mu(u_{a0})$, is the other popular choice. On decomposable points it is a gauge too. On real points
# it trusts a single row with all its noise.
