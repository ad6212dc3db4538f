# ---
# jupyter:
#   bindery:
#     title: Partial correlation, and one family less
#     minutes: 40
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 11_sensitivity_and_binding
#       points: 5
#       level: short
#       prerequisites: [11_sensitivity_and_binding]
#       defines: [partial_correlation, without_each_family]
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
# # Partial correlation, and one family less
#
# Over 26 encoders, binding correlates with the Jacobian's effective rank. Is that more than what both owe to accuracy or size? The partial correlation of $x$ and $y$ given $z$ answers with
# what is left of each after a linear fit on $z$. And 26 encoders of 7 families are not 26 independent draws: one family may carry everything.
#
# **Write**
#
# * `partial_correlation(x, y, z)`: Pearson's correlation of the residuals of `x` and of `y` after least squares on the columns of `z` (n, q) and a constant;
# * `without_each_family(x, y, z, family)`: a dictionary from each family's name to the partial correlation of the encoders *outside* that family.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# `np.linalg.lstsq(design, target, rcond=None)[0]` fits; the constant is a column of ones in the design. When a family leaves, its encoders no longer have a say in the fit on $z$ either.


# %%
def partial_correlation(x: Array, y: Array, z: Array) -> float:
    """Correlation of x and y given the columns of z."""
    # <solution>
    design = np.column_stack([np.ones(len(x)), z])
    both = np.column_stack([x, y])
    rest = both - design @ np.linalg.lstsq(design, both, rcond=None)[0]
    return float(np.corrcoef(rest, rowvar=False)[0, 1])
    # </solution>


def without_each_family(
    x: Array,
    y: Array,
    z: Array,
    family: list[str],
) -> dict[str, float]:
    """Partial correlation of the rest, by the family left out."""
    # <solution>
    names = np.array(family)
    return {
        str(name): partial_correlation(x[names != name], y[names != name], z[names != name])
        for name in np.unique(names)
    }
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("11_partial_correlation", globals(), seed=seed)

# %% [markdown] tags=["solution"]
# Taking $z$ out of one variable only gives the *semi*-partial correlation, which is smaller and answers another question. Leaving the constant out forces the fit through the origin, and what is left then
# still holds the means. Fitting once on all encoders and dropping rows of residuals lets the absent family vote.
#
# The smallest and the largest value of `without_each_family` belong beside every correlation over encoders. If the sign depends on one family, there is one observation, not 26.
