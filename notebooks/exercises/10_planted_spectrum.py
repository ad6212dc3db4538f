# ---
# jupyter:
#   bindery:
#     title: Effective rank of a planted spectrum
#     minutes: 30
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 10_jacobian_effective_rank
#       points: 5
#       level: short
#       prerequisites: [00_primer, 10_jacobian_effective_rank]
#       defines: [planted, effective_ranks]
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
# # Effective rank of a planted spectrum
#
# "The effective rank" of a Jacobian is at least three numbers. With singular values $s_i$:
#
# | name | formula |
# |---|---|
# | `pr` | $(\sum s)^2 / \sum s^2$ |
# | `entropy` | $\exp\bigl(-\sum p \ln p\bigr)$ with $p = s/\sum s$ |
# | `pr_variance` | $(\sum s^2)^2 / \sum s^4$ |
#
# Before one measures them on a network, they should be measured on a matrix whose singular values are known.
#
# **Write**
#
# * `planted(s, rows, columns, seed)`: a random (rows, columns) matrix with exactly these singular values, and zeros for the rest; every direction is as likely as any other;
# * `effective_ranks(matrix)`: a dictionary with the three numbers, which does not mind singular values that are zero.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# $U \operatorname{diag}(s) V^{\mathsf T}$ with orthonormal columns in $U$ and $V$: the Q of a QR decomposition of a Gaussian matrix has them, but the routine fixes their signs by a
# convention; toss a coin for each column. The limit of $p \ln p$ at zero is zero,
# but `0 * np.log(0)` is NaN.


# %%
def planted(s: Array, rows: int, columns: int, seed: int) -> Array:
    """Random (rows, columns) matrix with singular values s."""
    # <solution>
    rng = np.random.default_rng(seed)
    u, _ = np.linalg.qr(rng.standard_normal((rows, len(s))))
    v, _ = np.linalg.qr(rng.standard_normal((columns, len(s))))
    return (u * (s * rng.choice([-1, 1], len(s)))) @ v.T
    # </solution>


def effective_ranks(matrix: Array) -> dict[str, float]:
    """The three effective ranks, under pr, entropy and pr_variance."""
    # <solution>
    s = np.linalg.svd(matrix, compute_uv=False)
    p = s[s > 1e-12 * s.max()] / s.sum()
    return {
        "pr": float(s.sum() ** 2 / (s**2).sum()),
        "entropy": float(np.exp(-(p * np.log(p)).sum())),
        "pr_variance": float((s**2).sum() ** 2 / (s**4).sum()),
    }
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("10_planted_spectrum", globals(), seed=seed)

# %% [markdown] tags=["solution"]
# The three agree only where all positive singular values are equal: then each is their count. Otherwise `entropy` ≥ `pr` ≥ `pr_variance`, because squaring makes small values count
# less (they are Rényi's diversities of orders 1 and 2 of $s$, and 2 of $s^2$). A paper that prints "effective rank 12" without a formula leaves a factor of two or three open.
