# ---
# jupyter:
#   bindery:
#     title: Why marginal means fail on an incomplete grid
#     minutes: 45
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 03_decomposable_embeddings
#       points: 6
#       level: short
#       prerequisites: [03_decomposable_embeddings]
#       defines: [marginal_means, least_squares, company]
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
# # Why marginal means fail on an incomplete grid
#
# A table holds one vector $x_{ao}$ for each pair of attribute and object, and some pairs are missing. Suppose the world is
# perfectly additive, $x_{ao} = \alpha_a + \beta_o$. Even then the mean of the available pairs of an attribute is not $\alpha_a$ plus a constant: it holds the
# *company* that the attribute keeps, the mean $\beta_o$ of the objects it was seen with.
#
# **Write**, for a table `values` (A, O, D) that holds NaN where `present` (A, O) is false,
#
# * `marginal_means(values, present)`: predictions (A, O, D) for *all* pairs, $\bar x_{a\cdot} + \bar x_{\cdot o} - \bar x$, each a mean over the
#   available pairs;
# * `least_squares(values, present)`: predictions (A, O, D) for all pairs from the additive table that is nearest to the available pairs;
# * `company(beta, present)`: the (A, D) means of $\beta_o$ over the objects that each attribute was seen with, given `beta` (O, D).

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# NaN times zero is NaN: pick the available pairs, or replace the others by zero, before you sum. For least squares, write one row for each available pair with a one
# in the column of its attribute and a one in that of its object. The columns are linearly dependent, which is the gauge; `np.linalg.lstsq` does not mind.


# %%
def marginal_means(values: Array, present: Array) -> Array:
    """(A, O, D) sums of marginal means over the available pairs."""
    # <solution>
    filled = np.where(present[..., None], values, 0.0)
    attribute = filled.sum(axis=1) / present.sum(axis=1)[:, None]
    objects = filled.sum(axis=0) / present.sum(axis=0)[:, None]
    return attribute[:, None] + objects - filled.sum(axis=(0, 1)) / present.sum()
    # </solution>


def least_squares(values: Array, present: Array) -> Array:
    """(A, O, D) of the additive table nearest to the available pairs."""
    # <solution>
    n_a, n_o = present.shape
    a, o = np.nonzero(present)
    design = np.hstack([np.eye(n_a)[a], np.eye(n_o)[o]])
    effects = np.linalg.lstsq(design, values[a, o], rcond=None)[0]
    return effects[:n_a, None] + effects[n_a:]
    # </solution>


def company(beta: Array, present: Array) -> Array:
    """(A, D) mean effect of the objects seen with each attribute."""
    # <solution>
    return present @ beta / present.sum(axis=1, keepdims=True)
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("03_incomplete_grid", globals(), seed=seed)

# %% tags=["demo"]
import matplotlib.pyplot as plt

from bindery import figures

figures.style()
rng = np.random.default_rng(seed)
alpha, beta = rng.standard_normal((6, 1, 8)), rng.standard_normal((1, 12, 8))
shares, misses = np.linspace(0.35, 1, 8), {"marginal means": [], "least squares": []}
for share in shares:
    seen = rng.random((6, 12)) < share
    seen[0], seen[:, 0] = True, True  # connected: no value is without company
    noisy = np.where(seen[..., None], alpha + beta + 0.3 * rng.standard_normal((6, 12, 8)), np.nan)
    for name, method in (("marginal means", marginal_means), ("least squares", least_squares)):
        misses[name].append(np.sqrt(((method(noisy, seen) - alpha - beta) ** 2).sum(axis=2).mean()))
figure, axis = plt.subplots(figsize=(5.4, 3))
for name, look in (("marginal means", "o-"), ("least squares", "s--")):
    axis.plot(100 * shares, misses[name], look, label=name)
axis.set_xlabel("pairs available (%)")
axis.set_ylabel("error of the predictions")
axis.set_ylim(0)
axis.legend()
figures.finish(
    figure,
    "exercise-incomplete-grid",
    "Error of two methods against the share of available pairs. They meet where all pairs are available; with fewer, "
    "the error of marginal means grows steeply and that of least squares little.",
    "An additive table with noise. Marginal means pay for the company that values keep, least squares only for the noise.",
)

# %% [markdown] tags=["solution"]
# On a complete grid every attribute keeps the same company, all $\beta$, and both methods agree. On an incomplete one the mean over the pairs of attribute $a$ is $\alpha_a$ plus
# `company(beta, present)[a]`. More images do not help, since it is no noise. Least squares asks for effects that explain all available pairs together and so subtracts the company.
#
# It pays with variance: where few pairs tie the table together, effects are differences of differences. With little additivity or much noise marginal means can win.
