# ---
# jupyter:
#   bindery:
#     title: Encoders and embeddings
#     minutes: 10
#     needs:
#       data: [emoji-roles]
#       results: []
#       records: []
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
# # Encoders and embeddings
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`00_primer`. **You will be able to** say exactly which network, which weights and which preprocessing
# made an embedding, read off what it keeps and what it loses, and get the embeddings of your own images.
# **Reading** 10 minutes · **running** under a minute · **data** drawings of people at work, in five styles, on
# random grounds · **encoder** EfficientNet-Lite0, trained on ImageNet {cite}`tan2019`.
# :::
#
# Everything in this book is said about *embeddings*: one vector an image, taken from a frozen network. An embedding is
# only as well defined as the three things that made it, and published comparisons have gone wrong on each of them: the
# weights (another file under the same name), the preprocessing (another resize), and the code in between (another
# pooling). So we begin by pinning them down.

# %% tags=["parameters"]
encoder: str = "efficientnet-lite0"  # card, timm:NAME, open_clip:MODEL/TAG, file.py:function
data: str = "emoji-roles"  # a data set of this project, or a folder with <attribute>_<object>/ inside
per_pair: int = 10  # images of each pair; ten take every style and both genders once
image_size: int = 128  # side of a rendered drawing in pixels
n_pairs: int = 40  # pairs used here at most
seed: int = 0  # seed of the drawings' placement and of the random network

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bindery import data as images_of
from bindery import figures
from bindery.chapter import start
from bindery.encoders import embed, load
from bindery.store import Store

chapter = start(globals())
rng = np.random.default_rng(seed)

# %% [markdown]
# ## A card, not a name
#
# An encoder is described by a *card*: a few lines of data that say which architecture, which weights with which
# checksum, which output is the embedding, and how an image becomes the network's input. The loader refuses a file whose
# checksum differs, a checkpoint whose names do not match, and a network in training mode.

# %%
network = load(encoder)
card = network.card
pd.Series(
    {
        "architecture": card.architecture,
        "family": card.family,
        "objective": card.objective,
        "embedding": f"{card.feature}, {card.pooling or 'as the network gives it'}",
        "D": network.dim,
        "input": f"{network.input_size} × {network.input_size} pixels",
        "licence": card.licence,
        "weights": network.weights,
        "fingerprint": network.fingerprint[:16] + "…",
    },
    name=network.name,
).to_frame()

# %% [markdown]
# The last line is the hash of all that an embedding depends on: weights, preprocessing, and the code that applies them.
# Stored embeddings are keyed by it, together with the images' own hashes, so that a changed resize can never return
# yesterday's numbers.
#
# ## The images
#
# Where the papers use shoe catalogues and photographs of fruit, the offline book draws: every combination of a role, a
# gender and one of five skin tones, by five illustrators, placed at random on a random ground. *Tone* is the attribute, *role*
# the object; both are properties of drawings and nothing more. A drawing varies from image to image in place, size,
# tilt and ground, so that thirty images of one pair are thirty different images.

# %%
rendering = {"n": per_pair, "size": image_size, "seed": seed} if data.startswith("emoji") else {}
everything = images_of.load(data, **rendering)
pairs = sorted(set(everything.pairs()))
chosen = {pairs[i] for i in rng.permutation(len(pairs))[:n_pairs]}
dataset = everything.subset([i for i, pair in enumerate(everything.pairs()) if pair in chosen])
dataset.describe().head(8)

# %% tags=["hide-input"]
columns = 7
shown = rng.choice(len(dataset), size=min(2 * columns, len(dataset)), replace=False)
figure, axes = plt.subplots(2, columns, figsize=(7, 2.5))
for axis in axes.flat:
    axis.axis("off")
for axis, i in zip(axes.flat, shown, strict=False):
    axis.imshow(dataset.images[int(i)])
    axis.set_title("\n".join(dataset.pairs()[int(i)]).replace("-", " "), fontsize=6)
chapter.figure(
    figure,
    name="encoders-images",
    alt="Two rows of small pictures of emoji people in different roles and skin tones, drawn in several styles on coloured "
    "and textured grounds.",
    caption="A random handful of the images, each with its attribute and object.",
)

# %% [markdown]
# ## From images to vectors
#
# `embed` runs the network in batches; the store keeps what it returns. The result must not depend on the batch it was
# computed in. It is worth checking, since in several public code bases it does.

# %%
store = Store()
embeddings = store.embeddings(network, dataset, progress=False)
probe = [dataset.images[int(i)] for i in range(min(12, len(dataset)))]
one_by_one = embed(network, probe, batch_size=1, progress=False)
together = embed(network, probe, batch_size=len(probe), progress=False)
batch_effect = float(np.abs(one_by_one - together).max() / np.abs(together).max())
chapter.measure(
    "batch_effect",
    batch_effect,
    encoders=network.name,
    data=dataset.name,
    protocol="batch of 1 against one batch",
)
print("embeddings:", embeddings.shape, embeddings.dtype)
print(f"largest difference between a batch of 1 and of {len(probe)}: {batch_effect:.1e} of the largest value")

# %% [markdown]
# ## What the vectors know
#
# The quickest look at a space is at neighbours. For each image, which *other* image has the smallest angle to it? If the
# encoder keeps roles, the neighbour has the same role; if it keeps styles, the same style. We compare the trained network
# with the same architecture before training, since an untrained convolution already keeps a good deal of an image.


# %%
def neighbours(vectors: np.ndarray) -> np.ndarray:
    """Index of the nearest other row by cosine, one a row."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    return cosine.argmax(axis=1)


nearest = {"trained": neighbours(embeddings)}
if network.weights != "custom":  # an own encoder comes with its own weights only
    untrained = load(encoder, weights="random", seed=seed)
    nearest["untrained"] = neighbours(store.embeddings(untrained, dataset, progress=False))
rows = []
for name, other in nearest.items():
    for factor in dataset.labels.columns:
        label = dataset.labels[factor].to_numpy()
        shares = pd.Series(label).value_counts(normalize=True)
        rows.append(
            {
                "network": name,
                "factor": factor,
                "agreement": float((label == label[other]).mean()),
                "chance": float((shares**2).sum()),
            }
        )
agreement = pd.DataFrame(rows)

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6, 2.9))
factors = list(dataset.labels.columns)
places = np.arange(len(factors))
colours = {"trained": figures.CYCLE[0], "untrained": figures.color_of("random")}
for offset, name in zip((-0.2, 0.2), nearest, strict=False):
    part = agreement[agreement.network == name]
    axis.bar(places + offset, part.agreement, width=0.38, label=name, color=colours[name])
chance = agreement[agreement.network == "trained"].chance
axis.hlines(chance, places - 0.42, places + 0.42, color="black", lw=1.2, label="chance")
axis.set_xticks(places, factors)
axis.set_ylabel("neighbour agrees (share of images)")
axis.set_xlabel("factor")
axis.set_ylim(0, 1)
axis.legend(ncols=3, fontsize=8)
chapter.figure(
    figure,
    name="encoders-neighbours",
    alt="Bars of how often an image's nearest neighbour shares each factor, for the trained and the untrained network, "
    "with a line for chance.",
    caption="How often the nearest neighbour of an image shares its label, factor by factor. What an encoder keeps is a "
    "profile over factors, not one number.",
)
main = dataset.object
value = {
    name: float(agreement[(agreement.network == name) & (agreement.factor == main)].agreement.iloc[0])
    for name in nearest
}
for name, share in value.items():
    chapter.measure(
        f"neighbour_{name}",
        share,
        n=len(dataset),
        encoders=network.name,
        data=dataset.name,
        protocol=f"1-NN by cosine, factor {main}",
    )
    chapter.glue(f"neighbour_{name}", 100 * share)
if "untrained" not in value:
    chapter.glue("neighbour_untrained", float("nan"))
chapter.glue("neighbour_factor", main)
chapter.glue("neighbour_n", len(dataset))

# %% [markdown]
# On the {glue:text}`neighbour_n` images of this run, the neighbour shares the {glue:text}`neighbour_factor` in
# {glue:text}`neighbour_trained:.0f` % of the cases for the trained network and in {glue:text}`neighbour_untrained:.0f` % for the untrained
# one. The doubt: drawings of one pair share the drawing itself, only its place and ground differ, so a neighbour may
# agree for the plainest of reasons. From chapter 5 on, train and test share no drawing.
#
# ## Lengths and angles
#
# One more look before the sphere. Both papers discard length at some point: Paper G puts all embeddings on the unit
# sphere; Paper S compares by cosine, but measures geometry on raw vectors. How much is lost?

# %% tags=["hide-input"]
norms = np.linalg.norm(embeddings, axis=1)
unit = embeddings / norms[:, None]
mean = unit.mean(axis=0)
angles = np.degrees(np.arccos(np.clip(unit @ (mean / np.linalg.norm(mean)), -1, 1)))
figure, axes = plt.subplots(1, 2, figsize=(7, 2.6))
axes[0].hist(norms / norms.mean(), bins=40)
axes[0].set_xlabel("length / mean length")
axes[0].set_ylabel("images")
axes[1].hist(angles, bins=40)
axes[1].set_xlabel("angle to the mean direction (degrees)")
chapter.figure(
    figure,
    name="encoders-lengths",
    alt="Two histograms: lengths of the embeddings relative to their mean, and angles to the mean direction in degrees.",
    caption="Left: lengths relative to their mean. Right: angles to the mean direction, which show how wide the cone of embeddings is.",
)
chapter.measure(
    "median_angle_degrees",
    float(np.median(angles)),
    n=len(angles),
    encoders=network.name,
    data=dataset.name,
    protocol="angle to the normalised mean",
)
chapter.glue("median_angle", float(np.median(angles)))

# %% [markdown]
# The embeddings form a cone: the median angle to the mean direction is {glue:text}`median_angle:.0f`°. Is that wide
# enough for the curvature of the sphere to matter, and narrow enough for its mean to be well defined? The next
# chapter asks both precisely.
#
# ## What did not hold
#
# * A share of agreement means little without its baselines, chance and the untrained network. Whenever a chapter reports what
#   a trained encoder keeps, look for the untrained one beside it.
# * Neighbour agreement says that a factor is *present*, not that it can be *combined* with another. That is the subject of
#   the book.
#
# :::{exercise}
# :label: ex-encoders-size
# Run this chapter with `-p encoder=efficientnet-lite2`. Which factor gains most over its smaller sibling? Is the gain
# larger than what another `seed` does?
# :::
