# ---
# jupyter:
#   bindery:
#     title: The two averages of accuracy
#     minutes: 25
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 06_group_robustness
#       points: 4
#       level: short
#       prerequisites: [06_group_robustness]
#       defines: [averages, printed_average]
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
# # The two averages of accuracy
#
# Tables of group robustness print "average" and "worst group". The average may be over the test images, or over groups with the *training* set's shares
# as weights. On Waterbirds, where the test set is balanced and the training set is not, the two differ by several points.
#
# **Write**
#
# * `averages(correct, groups, train_groups)`: a dictionary with `"plain"` (over the test images), `"weighted"` (group accuracies with the training shares as weights)
#   and `"worst"`, as fractions. `correct` and `groups` have one entry a test image, `train_groups` one a training image; groups are whole numbers;
# * `printed_average(accuracies, n_test, n_train, printed)`: which average a published table prints. Given the group accuracies in per cent, the group sizes of both
#   sets, and the printed number with one decimal, return `"plain"`, `"weighted"`, `"either"` or `"neither"`.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check

# %%
import numpy as np

Array = np.ndarray

# %% [markdown] tags=["hint"]
# A group without training images has weight zero. A printed number with one decimal stands for everything within 0.05 of it; the accuracies were rounded too,
# so grant it a little more: 0.1 in all.


# %%
def averages(
    correct: Array,
    groups: Array,
    train_groups: Array,
) -> dict[str, float]:
    """Both averages and the worst group's accuracy, as fractions."""
    # <solution>
    names = np.unique(groups)
    accuracy = np.array([correct[groups == name].mean() for name in names])
    shares = np.array([(train_groups == name).sum() for name in names])
    return {
        "plain": float(correct.mean()),
        "weighted": float(accuracy @ shares / shares.sum()),
        "worst": float(accuracy.min()),
    }
    # </solution>


def printed_average(
    accuracies: Array,
    n_test: Array,
    n_train: Array,
    printed: float,
) -> str:
    """Which of the averages, if any, a table prints, to 0.1."""
    # <solution>
    fits = [abs(np.average(accuracies, weights=n) - printed) <= 0.1 for n in (n_test, n_train)]
    return {(True, True): "either", (True, False): "plain", (False, True): "weighted"}.get(
        tuple(fits), "neither"
    )
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("06_two_averages", globals(), seed=seed)

# %% [markdown] tags=["solution"]
# The weighted average says what the model would score on data like the training set, where the spurious link holds; the plain one what it scores on this test set. A method that trades common groups for
# rare ones looks worse by the first and better by the second. Neither is wrong; a column in which rows use different ones is. The mean of the group accuracies, all groups alike, is a third number, and equals the plain average only when
# the test groups are equally large.
