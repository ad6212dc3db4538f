# ---
# jupyter:
#   bindery:
#     title: Change an augmentation, and say what moved
#     minutes: 90
#     needs:
#       data: []
#       results: []
#       records: []
#     exercise:
#       chapter: 12_where_rank_collapses
#       points: 8
#       level: mini-project
#       prerequisites: [08_attribute_binding, 12_where_rank_collapses, 11_partial_correlation]
#       defines: [invariance, experiment, what_moved]
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
# # Change an augmentation, and say what moved
#
# The encoders of the zoo differ in their objective only. Here the objective stays and the *augmentation* changes: which two views of a scene does the encoder learn to call equal? An encoder that sees recoloured views
# should come to ignore hue; one that sees mirrored views, left and right. "Should" is what an experiment is for, and a difference between two trainings is not yet one: another seed also makes a difference.
#
# **Write**
#
# * `invariance(embeddings, changed)`: by how much a changed image stays closer to its original than to other images. Subtract from both the mean over all rows of both, scale rows to length one, and return the
#   mean cosine of matching rows minus the mean cosine of rows that do not match;
# * `experiment(condition, images, seed)`: train one encoder and return its record, a dictionary with `condition`, `images`, `seed`, `losses` (one a step), and `before` and `after`: dictionaries with the invariances `hue` and
#   `mirror` of the untrained and the trained encoder on `PROBE`. Equal arguments give equal records;
# * `what_moved(first, second)`: given records of two conditions, with the same seeds in the same order, a dictionary that says for `hue` and `mirror` whether `after` went `"up"` or `"down"` from the first condition to the second, or is
#   `"unclear"`: whether the 95 % interval of the mean difference over seeds excludes zero.

# %% tags=["parameters"]
seed: int = 0  # the class's seed: it draws the inputs of the check
budget: int = 2048  # images that each encoder is trained on
n_seeds: int = 4  # trainings a condition

# %%
import numpy as np
import torch
from scipy import stats

from bindery.scenes import render, training_scenes
from bindery.zoo.train import Config, build, train

Array = np.ndarray

PROBE = torch.from_numpy(render(training_scenes(96, seed=12345), 32))


def recoloured(images: torch.Tensor) -> torch.Tensor:
    """Hues turned by a third of the circle."""
    return images[:, [1, 2, 0]]


def mirrored(images: torch.Tensor) -> torch.Tensor:
    """Left and right exchanged."""
    return images.flip(3)


def configuration(condition: str, images: int, seed: int) -> Config:
    """What ``build`` makes untrained and ``train`` trains."""
    small = {"per_step": 32, "scenes": 512, "width": 8, "bfloat16": False}
    return Config("vicreg", condition, seed=seed, images=images, **small)


@torch.no_grad()
def embed(backbone: torch.nn.Module, images: torch.Tensor) -> Array:
    """(N, D) embeddings in evaluation mode."""
    return backbone.eval()(images).double().numpy()


# %% [markdown] tags=["hint"]
# `build(configuration(...))` and `train(configuration(...), progress=False)` return objects with `.backbone` and, after training, `.losses`. The untrained encoder depends on the seed and not on the condition, so `before` must
# not either. For few seeds the interval of a mean is $\bar d \pm t\, s/\sqrt n$ with $t$ from `stats.t.ppf(0.975, n - 1)`.


# %%
def invariance(embeddings: Array, changed: Array) -> float:
    """Mean cosine of matching rows minus that of all others."""
    # <solution>
    mean = np.vstack([embeddings, changed]).mean(axis=0)
    a, b = embeddings - mean, changed - mean
    a, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (a, b))
    cosines, n = a @ b.T, len(a)
    match = np.trace(cosines) / n
    return float(match - (cosines.sum() - n * match) / (n * (n - 1)))
    # </solution>


def experiment(condition: str, images: int, seed: int) -> dict:
    """The record of one training."""
    # <solution>
    config = configuration(condition, images, seed)

    def measured(backbone: torch.nn.Module) -> dict[str, float]:
        plain = embed(backbone, PROBE)
        return {
            "hue": invariance(plain, embed(backbone, recoloured(PROBE))),
            "mirror": invariance(plain, embed(backbone, mirrored(PROBE))),
        }

    before = measured(build(config).backbone)
    trained = train(config, progress=False)
    told = {"condition": condition, "images": images, "seed": seed, "losses": list(trained.losses)}
    return told | {"before": before, "after": measured(trained.backbone)}
    # </solution>


def what_moved(first: list[dict], second: list[dict]) -> dict[str, str]:
    """For hue and mirror: up, down or unclear, first to second."""
    # <solution>
    told = {}
    for name in ("hue", "mirror"):
        gaps = np.array([b["after"][name] - a["after"][name] for a, b in zip(first, second, strict=True)])
        reach = stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
        told[name] = "unclear" if abs(gaps.mean()) <= reach else "up" if gaps.mean() > 0 else "down"
    return told
    # </solution>


# %% tags=["check"]
from bindery.course import check

check("12_changed_augmentation", globals(), seed=seed)

# %% tags=["demo"]
import matplotlib.pyplot as plt

from bindery import figures

figures.style()
conditions = ("none", "photometric", "photometric-flip")
records = {name: [experiment(name, budget, number) for number in range(n_seeds)] for name in conditions}
figure, axes = plt.subplots(1, 2, figsize=(6.6, 2.9), sharey=True)
for axis, measure in zip(axes, ("hue", "mirror"), strict=True):
    for place, name in enumerate(conditions):
        for record in records[name]:
            axis.plot(
                [place - 0.15, place + 0.15],
                [record["before"][measure], record["after"][measure]],
                "o-",
                ms=3,
                color=f"C{place}",
            )
    axis.set_xticks(range(len(conditions)), ("none", "colours", "colours,\nmirrored"))
    axis.set_title(measure, fontsize=10)
axes[0].set_ylabel("invariance")
figures.finish(
    figure,
    "exercise-augmentation",
    "Two panels, invariance to hue and to mirroring, with a pair of dots for each training: before on the left, after on "
    "the right, for three augmentations.",
    "Invariance before (left dot) and after training (right dot); one line a seed.",
)
for one, other in (("none", "photometric"), ("photometric", "photometric-flip")):
    print(f"{one} -> {other}:", what_moved(records[one], records[other]))

# %% [markdown] tags=["solution"]
# At the default budget two things are worth explaining. Invariance to hue starts near nothing and has to be *learnt*: recoloured views teach it. Invariance to mirroring is there before any training, because an untrained network averages over
# places, and training *unlearns* it: the objective's other half spreads the embeddings of different scenes, and left and right are among what it can spread them by. Mirrored views cannot teach what is already
# known; they forbid to unlearn it. So "the augmentation makes the encoder invariant" is true of one and a half of the two.
#
# Compare conditions that differ in one thing, `none` with `photometric` and that with `photometric-flip`, not the first with the last. The record holds everything that another person needs in order to repeat one dot.
# `what_moved` is deliberately slow to speak: with four seeds $t$ is 3.2, with two it is 12.7. With a small `budget` little has moved yet; a larger one shows where it goes.
