# ---
# jupyter:
#   bindery:
#     title: The exact seen-unseen curve
#     minutes: 60
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 05_compositional_classification
#       points: 7
#       level: mini-project
#       prerequisites: [05_compositional_classification]
#       defines: [accuracies, area]
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
# # The exact seen–unseen curve
#
# A model scores all pairs for a test image and is biased against pairs it never saw. So a bias $b$ is added to the scores of all unseen pairs, and
# the accuracy on images of unseen pairs is drawn against that on images of seen pairs, for $b$ from $-\infty$ to $\infty$. Published code tries about
# twenty biases. The curve is a staircase with finitely many steps, and its area can be had exactly.
#
# All that matters of an image's scores is three numbers: `true`, the score of its own pair; `rival_seen` and `rival_unseen`, the best score among the
# *wrong* seen and the wrong unseen pairs. `is_seen` tells whether its own pair is a seen one. An image is right if its own pair scores strictly
# higher than both rivals, after the bias.
#
# **Write**
#
# * `accuracies(true, rival_seen, rival_unseen, is_seen, bias)`: the accuracy on images of seen pairs and on images of unseen pairs, as fractions, at one bias;
# * `area(true, rival_seen, rival_unseen, is_seen)`: the area under seen accuracy (vertical) against unseen accuracy (horizontal). Images whose biases coincide
#   switch together, and the curve joins the points before and after by a straight line.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# For an image of a seen pair there is one bias from which on it is wrong, unless it is wrong at any bias. For one of an unseen pair there is one
# bias from which on it is right, unless it never is. Collect these biases; between two neighbours nothing happens, so evaluate the accuracies
# in the middle of each gap, below the smallest and above the largest. `np.trapezoid` does the rest.


# %%
def accuracies(
    true: Array,
    rival_seen: Array,
    rival_unseen: Array,
    is_seen: Array,
    bias: float,
) -> tuple[float, float]:
    """Fractions right at one bias, of images of seen and of unseen pairs."""
    # <solution>
    own = true + np.where(is_seen, 0, bias)
    right = (own > rival_seen) & (own > rival_unseen + bias)
    return float(right[is_seen].mean()), float(right[~is_seen].mean())
    # </solution>


def area(
    true: Array,
    rival_seen: Array,
    rival_unseen: Array,
    is_seen: Array,
) -> float:
    """Exact area under the curve, between 0 and 1."""
    # <solution>
    lost = (true - rival_unseen)[is_seen & (true > rival_seen)]  # wrong from here on
    won = (rival_seen - true)[~is_seen & (true > rival_unseen)]  # right above
    kept = (lost[:, None] > won).mean(axis=1) + (lost[:, None] == won).mean(axis=1) / 2 if len(won) else [0.0]
    return float(np.sum(kept) / is_seen.sum() * len(won) / (~is_seen).sum())
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("05_seen_unseen_curve", globals(), seed=seed)

# %% tags=["demo"]
import matplotlib.pyplot as plt

from bindery import figures

figures.style()
rng = np.random.default_rng(seed)
is_seen = rng.random(300) < 0.5
true = rng.standard_normal(300) + 1.2
rival_seen, rival_unseen = rng.standard_normal(300) + 0.8, rng.standard_normal(300)
scores = (true, rival_seen, rival_unseen, is_seen)


def curve(biases: Array) -> Array:
    return np.array([accuracies(*scores, bias) for bias in biases]).T


fine, coarse = curve(np.linspace(-8, 8, 4001)), curve(np.linspace(-8, 8, 20))
figure, axis = plt.subplots(figsize=(4.4, 3.4))
axis.plot(100 * fine[1], 100 * fine[0], label="every bias")
axis.plot(100 * coarse[1], 100 * coarse[0], "o--", label="twenty biases")
axis.set_xlabel("accuracy on images of unseen pairs (%)")
axis.set_ylabel("accuracy on images of seen pairs (%)")
axis.legend()
figures.finish(
    figure,
    "exercise-curve",
    "Two falling curves of seen against unseen accuracy. The one through twenty biases cuts the corners of the other.",
    "The exact curve of made-up scores and the one through twenty biases.",
)
print(f"area {area(*scores):.4f}; through twenty biases {np.trapezoid(coarse[0], coarse[1]):.4f}")

# %% [markdown] tags=["solution"]
# The solution uses no curve at all. A seen image is lost at the bias $\ell_j = t_j - r_j$ and an unseen one won at $w_i$; each step to the right, worth one over the number of unseen
# images, is as high as the share of seen images not yet lost. The area is therefore the share of all couples (seen image, unseen image) in which the unseen one is won before the
# seen one is lost, with ties counting half: the statistic of Mann and Whitney. Images that are wrong at any bias are in no such couple but do count in the denominator.
#
# So the area answers a plain question: take one image of each kind; is there a bias at which both are right?
