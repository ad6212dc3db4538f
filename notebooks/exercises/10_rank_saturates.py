# ---
# jupyter:
#   bindery:
#     title: The effective rank saturates in k
#     minutes: 45
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 10_jacobian_effective_rank
#       points: 6
#       level: short
#       prerequisites: [10_jacobian_effective_rank, 10_planted_spectrum]
#       defines: [rank_at, directions_needed, rank_free_of_k]
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
# # The effective rank saturates in k
#
# The Jacobian effective rank is computed from the $k$ largest singular values, $(\sum s)^2/\sum s^2$, with $k = 32$ in Paper S. It can never exceed $k$. Encoders whose full rank is 60 and 400 then
# read nearly alike, and the number says as much about $k$ as about the encoder.
#
# **Write**
#
# * `rank_at(s, k)`: the value from the $k$ largest of the singular values `s`, which come in no order;
# * `directions_needed(s, share)`: the smallest $k$ at which `rank_at` reaches that share of its value for all of `s`;
# * `rank_free_of_k(jacobian, k, seed)`: an estimate of $r = (\sum s^2)^2/\sum s^4$ of the *whole* Jacobian from $k$ products with random directions, `jacobian @ g`, with $g$ Gaussian. The same formula for
#   the singular values of the sketch comes to $(kr + 2)/(k + r + 1)$ on average: it saturates, too, but can be inverted.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# Sort first. For the last task: compute the value $q$ of the sketch `jacobian @ g` with `g` of shape (columns, k), and solve $q = (kr + 2)/(k + r + 1)$ for $r$.


# %%
def rank_at(s: Array, k: int) -> float:
    """Effective rank from the k largest singular values."""
    # <solution>
    top = np.sort(s)[::-1][:k]
    return float(top.sum() ** 2 / (top**2).sum())
    # </solution>


def directions_needed(s: Array, share: float) -> int:
    """Smallest k whose value is at least that share of the full one."""
    # <solution>
    top = np.sort(s)[::-1]
    values = np.cumsum(top) ** 2 / np.cumsum(top**2)
    return int(np.argmax(values >= share * values[-1])) + 1
    # </solution>


def rank_free_of_k(jacobian: Array, k: int, seed: int) -> float:
    """Estimate of the full (sum s^2)^2 / sum s^4 from k random products."""
    # <solution>
    g = np.random.default_rng(seed).standard_normal((jacobian.shape[1], k))
    v = np.linalg.svd(jacobian @ g, compute_uv=False) ** 2
    q = v.sum() ** 2 / (v**2).sum()
    return float((q * (k + 1) - 2) / (k - q))
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("10_rank_saturates", globals(), seed=seed)

# %% tags=["demo"]
import matplotlib.pyplot as plt

from bindery import figures

figures.style()
ks = np.arange(1, 301)
figure, axis = plt.subplots(figsize=(5.4, 3))
for reach, look in ((30, "-"), (60, "--"), (200, ":")):
    s = np.exp(-np.arange(3000) / reach)
    label = f"{rank_at(s, len(s)):.0f} in all"
    axis.plot(ks, [rank_at(s, k) for k in ks], look, label=label)
axis.plot(ks, ks, color="0.6", lw=0.8)
axis.axvline(32, color="0.4", ls="--", lw=0.9)
axis.set_xlabel("k")
axis.set_ylabel("effective rank of the k largest")
axis.set_ylim(0, 310)
axis.legend()
figures.finish(
    figure,
    "exercise-saturation",
    "Effective rank against k for three spectra. Near k of thirty-two the three curves are close together just below "
    "the diagonal; their ends at k of three hundred are far apart.",
    "Singular values that fall exponentially, at three rates. At $k = 32$ (dashed) the three read alike.",
)

# %% [markdown] tags=["solution"]
# For a flat spectrum `rank_at` is $k$ itself up to the true rank: the dial is at its stop. That is why the book prints $k$, the share of the full value, and an estimate that does not depend on $k$.
#
# The inversion amplifies noise where $q$ is near $k$: the derivative of $r$ with respect to $q$ grows like $(r/k)^2$. Average over images before inverting, and do not believe an $r$ much above ten times $k$.
