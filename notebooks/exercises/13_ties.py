# ---
# jupyter:
#   bindery:
#     title: Ties in caption choice
#     minutes: 10
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 13_natural_images
#       points: 2
#       level: one-liner
#       prerequisites: [13_natural_images]
#       defines: [accuracy]
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
# # Ties in caption choice
#
# A model scores a right and a wrong caption for each image. How often does it choose the right one? An encoder that does not see word order gives both captions the *same* score on hundreds of questions of SugarCrepe, and official
# codes differ in what they do then: one counts a tie as wrong, another as right. The number then says more about the code than about the encoder.
#
# **Write** `accuracy(right, wrong)`: the share of questions answered rightly, where a tie counts as one half, the chance of guessing.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# The mean of a comparison is a share. There is a NumPy function that is −1, 0 or 1.


# %%
def accuracy(right: Array, wrong: Array) -> float:
    """Share of questions where right scores higher, ties as one half."""
    # <solution>
    return float((1 + np.sign(right - wrong)).mean() / 2)
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("13_ties", globals(), seed=seed)

# %% [markdown] tags=["solution"]
# With ties as one half, exchanging the captions turns an accuracy of $a$ into $1 - a$, whatever the model: no rule that gives ties to one side has that symmetry, and a model that ignores the captions scores exactly one half.
# It is also the area under the ROC curve of one question's two scores. Report the share of ties beside it, and the precision: in bfloat16 scores tie that differ in float32.
