# ---
# jupyter:
#   bindery:
#     title: The bias of the participation ratio
#     minutes: 45
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 09_limits_of_geometry
#       points: 6
#       level: short
#       prerequisites: [00_primer, 09_limits_of_geometry]
#       defines: [participation_ratio, expected_isotropic, corrected]
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
# # The bias of the participation ratio
#
# The participation ratio of the covariance $C$ counts directions that carry variance, $(\operatorname{tr} C)^2 / \operatorname{tr} C^2$, between 1 and $D$. With $N$ images one has
# only an estimate of $C$, and its eigenvalues spread even when those of $C$ do not. So the plug-in value is too small, and *how much* depends on $N$:
# tables that compare encoders at unequal $N$ or $D$ compare the bias.
#
# **Write**
#
# * `participation_ratio(x)`: of the covariance of the (N, D) rows, as a number of directions;
# * `expected_isotropic(n, d)`: what that comes to, within 5 %, for $N$ rows of independent normal numbers in $D$ dimensions;
# * `corrected(x)`: an estimate that is right on average, within a tenth, for *any* covariance and for few rows.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# Only $\operatorname{tr} C^2$ is badly biased, because the noise of an entry of $\hat C$ is squared with it. Where are two estimates of $C$ whose noise is
# independent? Half of the rows each: what is the expectation of $\operatorname{tr}(\hat C_1 \hat C_2)$?
#
# For the isotropic case start from $\operatorname{tr}\hat C \approx D$ and $\operatorname{E}\operatorname{tr}\hat C^2 \approx D + D^2/N$.


# %%
def participation_ratio(x: Array) -> float:
    """Plug-in value of (N, D) rows, between 1 and min(N - 1, D)."""
    # <solution>
    centred = x - x.mean(axis=0)
    gram = centred.T @ centred
    return float(np.trace(gram) ** 2 / (gram**2).sum())
    # </solution>


def expected_isotropic(n: int, d: int) -> float:
    """Plug-in value to expect of n isotropic rows in d dimensions."""
    # <solution>
    return n * d / (n + d)
    # </solution>


def corrected(x: Array) -> float:
    """Estimate of the participation ratio without the bias of few rows."""
    # <solution>
    first, second = (np.cov(half, rowvar=False) for half in (x[::2], x[1::2]))
    return float(np.trace(first) * np.trace(second) / (first * second).sum())
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("09_participation_ratio", globals(), seed=seed)

# %% tags=["demo"]
import matplotlib.pyplot as plt

from bindery import figures

figures.style()
rng = np.random.default_rng(seed)
sizes, spectrum = np.unique(np.geomspace(20, 600, 10).astype(int)), np.sqrt(np.arange(1, 101.0) ** -0.7)
truth = (spectrum**2).sum() ** 2 / (spectrum**4).sum()
draws = {n: spectrum * rng.standard_normal((8, n, 100)) for n in sizes}
figure, axis = plt.subplots(figsize=(5.4, 3))
for name, estimate, look in (("plug-in", participation_ratio, "o-"), ("corrected", corrected, "s--")):
    axis.semilogx(sizes, [np.mean([estimate(x) for x in draws[n]]) for n in sizes], look, label=name)
axis.axhline(truth, color="0.3", lw=0.9)
axis.text(sizes[-1], truth * 1.03, "true", ha="right", fontsize=9)
axis.set_xlabel("rows N")
axis.set_ylabel("participation ratio")
axis.set_ylim(0)
axis.legend(loc="lower right")
figures.finish(
    figure,
    "exercise-participation-ratio",
    "Participation ratio against the number of rows. The plug-in value starts far below the true one and creeps towards it; "
    "the corrected value is near it from the start.",
    "A covariance whose eigenvalues fall as a power, in 100 dimensions; mean of eight draws.",
)

# %% [markdown] tags=["solution"]
# $\operatorname{E}\operatorname{tr}(\hat C_1 \hat C_2) = \operatorname{tr}(\operatorname{E}\hat C_1\, \operatorname{E}\hat C_2) = \operatorname{tr} C^2$, since the halves are independent. The price is variance, because each half has
# half of the rows; averaging over many splits lowers it, and the limit of that, over all couples of distinct rows, is what the library does.
#
# Multiplying the plug-in value by $(N + D)/N$ is no correction: it inverts the isotropic formula and inflates every spectrum that is not flat.
