# ---
# jupyter:
#   bindery:
#     title: "Noise through a network: JΣJᵀ by simulation"
#     minutes: 45
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 10_jacobian_effective_rank
#       points: 5
#       level: short
#       prerequisites: [10_jacobian_effective_rank, 10_jvp_by_differences]
#       defines: [jacobian, push_forward, simulate]
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
# # Noise through a network: JΣJᵀ by simulation
#
# Paper S reads the Jacobian as follows: inputs that vary with covariance $\Sigma$ around $x$ make embeddings that vary with covariance $J\Sigma J^{\mathsf T}$, so a Jacobian of small effective rank lets the embedding
# react in few ways. That is exact for a linear network and a statement about *small* $\Sigma$ for any other. Test it.
#
# **Write**, for $f(x) = W_2 \tanh(W_1 x)$,
#
# * `jacobian(w1, w2, x)`: the (outputs, inputs) matrix at `x`;
# * `push_forward(j, sigma)`: $J\Sigma J^{\mathsf T}$;
# * `simulate(w1, w2, x, sigma, n, seed)`: the covariance of the outputs of `n` normal inputs with mean `x` and covariance `sigma`, which is not diagonal.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray


def network(w1: Array, w2: Array, x: Array) -> Array:
    """Outputs of (N, inputs) rows."""
    return np.tanh(x @ w1.T) @ w2.T


# %% [markdown] tags=["hint"]
# With a Cholesky factor $\Sigma = LL^{\mathsf T}$ the vector $Lz$ has covariance $\Sigma$ when $z$ is standard normal. For rows of $z$ that reads `z @ L.T`, not `z @ L`.


# %%
def jacobian(w1: Array, w2: Array, x: Array) -> Array:
    """(outputs, inputs) derivative at x."""
    # <solution>
    return (w2 * (1 - np.tanh(w1 @ x) ** 2)) @ w1
    # </solution>


def push_forward(j: Array, sigma: Array) -> Array:
    """Covariance of j times a vector of covariance sigma."""
    # <solution>
    return j @ sigma @ j.T
    # </solution>


def simulate(
    w1: Array,
    w2: Array,
    x: Array,
    sigma: Array,
    n: int,
    seed: int,
) -> Array:
    """(outputs, outputs) covariance of the outputs of n random inputs."""
    # <solution>
    z = np.random.default_rng(seed).standard_normal((n, len(x)))
    return np.cov(network(w1, w2, x + z @ np.linalg.cholesky(sigma).T), rowvar=False)
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("10_noise_through_a_network", globals(), seed=seed)

# %% tags=["demo"]
import matplotlib.pyplot as plt

from bindery import figures

figures.style()
rng = np.random.default_rng(seed)
w1, w2, x = rng.standard_normal((40, 6)) / 2, rng.standard_normal((4, 40)) / 6, rng.standard_normal(6)
factor = rng.standard_normal((6, 6)) / 3
sigma, scales = factor @ factor.T, np.geomspace(1e-2, 3, 12)
predicted = push_forward(jacobian(w1, w2, x), sigma)
gaps = []
for scale in scales:
    found = simulate(w1, w2, x, scale**2 * sigma, 20_000, seed) / scale**2
    gaps.append(100 * np.linalg.norm(found - predicted) / np.linalg.norm(predicted))
figure, axis = plt.subplots(figsize=(5.4, 3))
axis.loglog(scales, gaps, "o-")
axis.set_xlabel(r"scale of the noise (1: $\Sigma$ itself)")
axis.set_ylabel("gap of the covariances (%)")
figures.finish(
    figure,
    "exercise-push-forward",
    "Relative gap between simulated and predicted covariance against the scale of the noise: flat at about a per cent for "
    "small noise, rising steeply above a tenth.",
    r"For small noise only the error of the simulation is left; for large noise the network bends and $J\Sigma J^{\mathsf{T}}$ no longer describes it.",
)

# %% [markdown] tags=["solution"]
# The prediction holds as long as tanh is straight over the spread of the noise. Beyond, the units saturate and the outputs vary *less* than the Jacobian says. Between two photographs lies
# much more than a small noise: what the Jacobian of an encoder says about the spread of its embeddings is a question for measurement, not a consequence of the formula.
