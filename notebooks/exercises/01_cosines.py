# ---
# jupyter:
#   bindery:
#     title: All cosines at once
#     minutes: 10
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 01_encoders_and_embeddings
#       points: 2
#       level: one-liner
#       prerequisites: [01_encoders_and_embeddings]
#       defines: [cosines]
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
# # All cosines at once
#
# Embeddings are rows, and nearly everything in this book starts from the cosines between two sets of them.
#
# **Write** `cosines(x, y)`: the (N, M) matrix of the cosines of every row of `x` (N, D) with every row of `y` (M, D), without a loop. A row of zeros, which some encoders do give, has cosine 0 with everything.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# Scale the rows to length one and multiply two matrices. A length of zero may be replaced by one: the row stays zero.


# %%
def cosines(x: Array, y: Array) -> Array:
    """(N, M) cosines of the rows of x with the rows of y."""
    # <solution>
    lengths = (np.linalg.norm(rows, axis=1) for rows in (x, y))
    a, b = (rows / np.where(n > 0, n, 1)[:, None] for rows, n in zip((x, y), lengths, strict=True))
    return a @ b.T
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("01_cosines", globals(), seed=seed)

# %% [markdown] tags=["solution"]
# One matrix product does N·M·D multiplications in an order that the processor likes; a loop over couples does the same ones a hundred times slower. Adding a small number to every length instead
# of replacing the zeros bends all cosines a little, and those of short rows a lot.
