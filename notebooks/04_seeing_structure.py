# ---
# jupyter:
#   bindery:
#     title: Seeing structure
#     minutes: 12
#     needs:
#       data: [emoji-roles]
#       results: ["embeddings/cue-conflict.*.safetensors"]
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
# # Seeing structure: parallelograms, prisms, and a number for them
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`03_decomposable_embeddings`. **You will be able to** draw pair means so that additive structure shows, say what
# such a drawing hides, and put a number in its place that a reader can check. **Reading** 12 minutes · **running** about a
# minute · **data** drawings of people at work, up to 30 images of each pair; the cue-conflict images
# {cite}`geirhos2019`, as committed embeddings · **encoder** EfficientNet-Lite0, trained on ImageNet.
# :::
#
# If pairs decompose, the four means of two attributes and two objects are the corners of a *parallelogram* on the sheet, and two
# attributes with three objects make a *prism* over a triangle. Paper G {cite}`berasi2025` shows both in its Figure 3: pair means of Waterbirds and of
# UT-Zappos, from 1, 5 and 30 images of each pair, projected on their principal components. The more images, the more regular the figure. It is
# the paper's only direct evidence for its central idea, and it is a picture without a number.
#
# This chapter draws the picture and then counts. The count has two surprises: one on what a plane projection of four points can
# show at all, one on *why* the figure gets more regular.

# %% tags=["parameters"]
from typing import Literal

encoder: str = "efficientnet-lite0"  # card, timm:NAME, open_clip:MODEL/TAG, file.py:function
data: str = "emoji-roles"  # a data set of this project, or a folder with <attribute>_<object>/ inside
per_pair: int = 30  # images of each pair at most
n_objects: int = 8  # objects used here, each with all attributes
image_size: int = 128  # side of a rendered drawing in pixels
shown: list[int] = [1, 5, 30]  # images a pair in the pictures, as in the paper
counts: list[int] = [1, 2, 3, 5, 10, 15, 30]  # images a pair in the curve
n_draws: int = 10  # random choices of those images
second: Literal["cue-conflict", "none"] = "cue-conflict"  # a second data set, by committed embeddings
attributes_shown: list[str] = []  # the two attributes of the pictures; the first by alphabet when empty
objects_shown: list[str] = []  # the three objects of the pictures; the first by alphabet when empty
seed: int = 0  # seed of the drawings' placement and of all choices

# %% tags=["remove-cell"]
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display

from bindery import committed, figures, sphere
from bindery import data as images_of
from bindery.chapter import start
from bindery.compositional import interval
from bindery.data.cue_conflict import cue_conflict_labels, names_sha256
from bindery.decomposition import additive_r2
from bindery.encoders import load
from bindery.errors import DataError, InputError
from bindery.grids import complete_grid
from bindery.store import Store

chapter = start(globals())
BLUE, ORANGE, GREEN = figures.CYCLE[0], figures.CYCLE[1], figures.CYCLE[2]

# %% [markdown]
# ## From images to pair means
#
# Let $u_{(z,e)}$ be the embeddings of the images of pair $z = (a, o)$, and $\mu$ their intrinsic mean with every pair weighted alike. With $k$ images drawn
# at random from each pair, the pair means on the sheet at $\mu$ are
#
# $$ v_z^{(k)} = \frac1k \sum_{e \in E_k(z)} \Log_\mu(u_{(z,e)}) . $$ (eq-see-means)
#
# The paper does not say which $\mu$ it uses, nor on what it fits the principal components. Here $\mu$ is the mean of all images, so that the three panels
# of a figure share one sheet, and the components are those of the pair means drawn.


# %%
@dataclass(frozen=True)
class Sheet:
    """Embeddings of a grid of pairs on the sheet at their mean."""

    name: str
    points: np.ndarray
    attributes: list[str]
    objects: list[str]
    sources: list[str]

    @property
    def cells(self) -> pd.Series:
        """Row numbers of each pair."""
        frame = pd.DataFrame({"attribute": self.attributes, "object": self.objects})
        return pd.Series(frame.groupby(["attribute", "object"]).indices)

    @property
    def scatter(self) -> float:
        """Variance of the images of a pair around their mean, summed over dimensions, mean over pairs."""
        several = [self.points[rows] for rows in self.cells if len(rows) > 1]
        return float(np.mean([np.sum(np.var(x, axis=0, ddof=1)) for x in several])) if several else 0.0

    @property
    def scatter_of_one_source(self) -> float:
        """The same around the mean of the images of one source, where sources recur within a pair."""
        keys = pd.Series(list(zip(self.attributes, self.objects, self.sources, strict=True)))
        groups = [rows for rows in keys.groupby(keys).indices.values() if len(rows) > 1]
        if not groups:
            return self.scatter
        within = sum(np.sum((self.points[rows] - self.points[rows].mean(axis=0)) ** 2) for rows in groups)
        return float(within / sum(len(rows) - 1 for rows in groups))

    def means(self, k: int, draw: np.random.Generator) -> pd.DataFrame:
        """Mean of k images of each pair (all of a pair that has fewer): one row a pair."""
        rows = {
            pair: self.points[draw.permutation(members)[:k]].mean(axis=0)
            for pair, members in self.cells.items()
        }
        found = np.stack(list(rows.values()))
        left, values, _ = np.linalg.svd(found, full_matrices=False)
        compact = left * values  # the same distances and angles in at most as many dimensions as pairs
        return pd.DataFrame(compact, index=pd.MultiIndex.from_tuples(rows, names=["attribute", "object"]))


def on_sheet(labelled: images_of.CompositionDataset, embeddings: np.ndarray) -> Sheet:
    """Log at the intrinsic mean, every pair weighted alike."""
    u = sphere.unit(embeddings.astype(np.float64))
    attributes, objects = map(list, zip(*labelled.pairs(), strict=True))
    sizes = pd.Series(1.0, index=range(len(u))).groupby([attributes, objects]).transform("size")
    mean = sphere.frechet_mean(u, 1 / sizes.to_numpy())
    sources = labelled.sources.agg("/".join, axis=1) if labelled.sources.shape[1] else labelled.labels.index
    return Sheet(labelled.name, sphere.log(u, mean.point), attributes, objects, list(map(str, sources)))


emoji = data.startswith("emoji")
options = {"n": per_pair, "size": image_size, "seed": seed} if emoji else {}
options |= {"roles": n_objects} if data == "emoji-roles" else {}
dataset = images_of.load(data, **options)
rows = complete_grid(
    dataset.pairs(), per_pair, least=sorted(shown, reverse=True), n_objects=n_objects, seed=seed
)
dataset = dataset.subset(rows)
network = load(encoder)
embeddings = Store().embeddings(network, dataset, progress=False)
main = on_sheet(dataset, embeddings)
biggest = min(per_pair, int(main.cells.map(len).min()))
print(
    f"{len(dataset)} images: {len(set(main.attributes))} values of {dataset.attribute} x "
    f"{len(set(main.objects))} of {dataset.object}, at least {biggest} images a pair"
)

# %% [markdown]
# ## A parallelogram
#
# Two attributes and two objects; by default the first of the alphabet, not chosen by looks. To the drawing we add the number that the eye estimates from it. A
# parallelogram closes: what leads from $a_1$ to $a_2$ is the same for both objects. So its *defect* is
#
# $$ \delta = \frac{\bigl|\, v_{a_1 o_1} - v_{a_1 o_2} - v_{a_2 o_1} + v_{a_2 o_2} \bigr|}{\text{mean length of the four sides}} , $$ (eq-see-defect)
#
# 0 for a parallelogram. Four unrelated points in many dimensions have $|{\pm} {\pm} {\pm} {\pm}|^2 = 4\sigma^2$ above and sides of length $\sqrt2\,\sigma$ below, so
# $\delta \approx \sqrt2$.


# %%
def components(means: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Centre, first n principal directions of the rows, and the share of their variance."""
    centre = means.mean(axis=0)
    _, values, directions = np.linalg.svd(means - centre, full_matrices=False)
    return centre, directions[:n], float(np.sum(values[:n] ** 2) / np.sum(values**2))


def defect(corners: np.ndarray) -> float:
    """How far four points (rows a1o1, a1o2, a2o1, a2o2) are from a parallelogram."""
    sides = [
        corners[0] - corners[1],
        corners[2] - corners[3],
        corners[0] - corners[2],
        corners[1] - corners[3],
    ]
    gap = corners[0] - corners[1] - corners[2] + corners[3]
    return float(np.linalg.norm(gap) / np.mean(np.linalg.norm(sides, axis=1)))


def readable(name: str) -> str:
    """A label without hyphens."""
    return name.replace("-", " ")


def choose(wanted: list[str], names: list[str], n: int) -> list[str]:
    """The wanted names where the grid has them all, else the first n by alphabet."""
    if missing := sorted(set(wanted) - set(names)):
        print(f"not in the complete grid: {', '.join(missing)}; the first by alphabet are shown instead")
    return wanted[:n] if wanted and not missing else sorted(set(names))[:n]


pair_of_attributes = choose(attributes_shown, main.attributes, 2)
three_objects = choose(objects_shown, main.objects, 3)
COLOURS = dict(zip(pair_of_attributes, (BLUE, ORANGE), strict=True))
MARKS = dict(zip(three_objects, ("o", "s", "^"), strict=False))
panels = sorted({min(k, biggest) for k in shown})

# %% tags=["hide-input"]
corner_names = [(a, o) for a in pair_of_attributes for o in three_objects[:2]]
figure, axes = plt.subplots(1, len(panels), figsize=(7, 2.9), squeeze=False)
planes = {}
for axis, k in zip(axes[0], panels, strict=True):
    draw = np.random.default_rng([seed, k])
    picked = {pair: draw.permutation(main.cells[pair])[:k] for pair in corner_names}
    corners = np.stack([main.points[rows].mean(axis=0) for rows in picked.values()])
    centre, plane, planes[k] = components(corners, 2)
    flat = (corners - centre) @ plane.T
    # A principal direction has no sign: let the objects run to the right and the attributes upwards.
    flip = np.sign(
        [flat[1, 0] - flat[0, 0] + flat[3, 0] - flat[2, 0], flat[2, 1] - flat[0, 1] + flat[3, 1] - flat[1, 1]]
    )
    flip[flip == 0] = 1
    flat = flat * flip
    axis.plot(*flat[[0, 1, 3, 2, 0]].T, color="0.35", lw=1.3, zorder=2)
    for (attribute, thing), rows, spot in zip(corner_names, picked.values(), flat, strict=True):
        look = {"color": COLOURS[attribute], "marker": MARKS[thing]}
        single = (main.points[rows] - centre) @ plane.T * flip
        axis.scatter(*single.T, s=12, alpha=0.25, lw=0, **look)
        axis.scatter(*spot, s=80, edgecolors="black", lw=1.4, zorder=3, **look,
                     label=f"{readable(attribute)}, {readable(thing)}")  # fmt: skip
    axis.set_title(f"k = {k}: defect {defect(corners):.2f}", fontsize=10)
    axis.set_aspect("equal", "datalim")
    axis.margins(0.12)
    axis.set_xlabel("component 1")
axes[0, 0].set_ylabel("component 2")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=4,
    fontsize=7.5,
    handletextpad=0.2,
)
chapter.figure(
    figure,
    name="see-parallelogram",
    alt="Three panels of four outlined pair means joined to a quadrilateral, from few to many images a pair, with the single images "
    "faint behind and the defect of each quadrilateral in its title.",
    caption=f"Pair means (outlined) of {' and '.join(map(readable, pair_of_attributes))} with {' and '.join(map(readable, three_objects[:2]))}, "
    "from $k$ images of each pair, in the plane of their own first two components; the images themselves are faint. The defect is that "
    "of {eq}`eq-see-defect`, in all dimensions; four unrelated points have about 1.41.",
)


# %% [markdown]
# Two doubts about this drawing. First, *what a plane hides*. Four points span three dimensions and the drawing shows the best two. It always
# shows *some* quadrilateral; what makes it a parallelogram may be that the third dimension was thrown away. In the three panels the plane
# holds {glue:text}`see_planes` of the variance. That is why the defect is computed without projecting.
#
# Second, *which four*. One choice of labels is an anecdote. So here are all choices:


# %%
def all_defects(k: int, draw: np.random.Generator) -> np.ndarray:
    """Defects of all two-by-two grids of pair means with k images each."""
    means = main.means(k, draw)
    names_a, names_o = (sorted(set(means.index.get_level_values(i))) for i in (0, 1))
    grid = means.to_numpy().reshape(len(names_a), len(names_o), -1)
    a, b = np.triu_indices(len(names_a), 1)
    o, q = np.triu_indices(len(names_o), 1)
    corners = [np.stack([grid[i, s], grid[i, t], grid[j, s], grid[j, t]])
               for i, j in zip(a, b, strict=True) for s, t in zip(o, q, strict=True)]  # fmt: skip
    return np.array([defect(four) for four in corners])


defects = {k: all_defects(k, np.random.default_rng([seed, k, 1])) for k in panels}
mixed = np.random.default_rng([seed, 2]).permutation(
    main.means(biggest, np.random.default_rng(seed)).to_numpy()
)
unrelated = np.array([defect(mixed[np.random.default_rng([seed, 3, i]).choice(len(mixed), 4, replace=False)])
                      for i in range(len(defects[panels[-1]]))])  # fmt: skip

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.2, 2.7))
bins = np.linspace(0, 2, 41)
shades = plt.get_cmap("Blues")(np.linspace(0.45, 0.95, len(panels)))
for (k, values), shade in zip(defects.items(), shades, strict=True):
    axis.hist(values, bins, histtype="step", lw=1.8, color=shade, label=f"k = {k}")
axis.hist(
    unrelated, bins, histtype="step", lw=1.5, color="0.4", ls="--", label=f"four random pairs, k = {biggest}"
)
axis.set_xlabel("defect of the parallelogram")
axis.set_ylabel("two-by-two grids")
axis.legend(fontsize=8)
chapter.figure(
    figure,
    name="see-defects",
    alt="Histograms of the parallelogram defect over all two-by-two grids, one line a number of images a pair, "
    "and dashed the defects of four random pairs.",
    caption="Defects of all two-by-two grids of pair means, by images a pair; dashed, four pairs taken at random that form no grid.",
)
chapter.glue("see_planes", ", ".join(f"{100 * share:.0f} %" for share in planes.values()))
for k in panels:
    chapter.measure("parallelogram_defect", float(np.median(defects[k])), n=len(defects[k]), encoders=network, data=dataset,
                    variant=f"k={k}", protocol="median over all two-by-two grids")  # fmt: skip
chapter.glue("see_defect_few", float(np.median(defects[panels[0]])))
chapter.glue("see_defect_many", float(np.median(defects[panels[-1]])))
chapter.glue("see_defect_random", float(np.median(unrelated)))

# %% [markdown]
# The median defect is {glue:text}`see_defect_few:.2f` with the fewest images and {glue:text}`see_defect_many:.2f` with the most; four pairs at random, which form no grid, have
# {glue:text}`see_defect_random:.2f`.
#
# ## A prism
#
# Two attributes and three objects give six points, in five dimensions. If they add up they need three: two for the triangle of the objects, one for
# the step between the attributes. We take the three principal components of the six means and look at them from the side, with the mean step from one
# attribute to the other pointing up. That is a choice of viewpoint and changes no shape.


# %%
def viewed(points: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, float]:
    """Rows of ``points`` as screen coordinates (x, y); ``means`` are a1o1, a1o2, a1o3, a2o1, a2o2, a2o3."""
    centre, space, share = components(means, 3)
    solid = (means - centre) @ space.T
    up = sphere.unit((solid[3:] - solid[:3]).mean(axis=0))
    triangle = (solid[:3] + solid[3:]) / 2
    level = triangle - (triangle @ up)[:, None] * up
    side = np.linalg.svd(level, full_matrices=False)[2][0]
    if level[2] @ side < level[0] @ side:
        side = -side
    depth = np.cross(up, side)
    x, y, z = ((points - centre) @ space.T @ axis for axis in (side, up, depth))
    return np.stack([x + 0.25 * z, y + 0.4 * z], axis=1), share


# %% tags=["hide-input"]
if len(three_objects) < 3:
    print("a prism needs three objects; this grid has two")
else:
    prism_names = [(a, o) for a in pair_of_attributes for o in three_objects]
    figure, axes = plt.subplots(1, len(panels), figsize=(7, 3.2), squeeze=False)
    spaces = {}
    for axis, k in zip(axes[0], panels, strict=True):
        draw = np.random.default_rng([seed, k])
        picked = [draw.permutation(main.cells[pair])[:k] for pair in prism_names]
        means = np.stack([main.points[rows].mean(axis=0) for rows in picked])
        spots, spaces[k] = viewed(means, means)
        n = len(three_objects)
        for j in range(n):
            axis.plot(*spots[[j, j + n]].T, color="0.55", lw=1.2, zorder=1)
        for i, attribute in enumerate(pair_of_attributes):
            axis.fill(*spots[i * n : (i + 1) * n].T, color=COLOURS[attribute], alpha=0.18, lw=0)
            axis.plot(
                *np.vstack([spots[i * n : (i + 1) * n], spots[i * n]]).T, color=COLOURS[attribute], lw=1.4
            )
        for (attribute, thing), rows, spot in zip(prism_names, picked, spots, strict=True):
            look = {"color": COLOURS[attribute], "marker": MARKS[thing]}
            axis.scatter(*viewed(main.points[rows], means)[0].T, s=10, alpha=0.22, lw=0, **look)
            axis.scatter(*spot, s=70, edgecolors="black", lw=1.4, zorder=3, **look,
                         label=f"{readable(attribute)}, {readable(thing)}")  # fmt: skip
        axis.set_title(f"k = {k}: {100 * spaces[k]:.0f} % in 3-D", fontsize=10)
        axis.set_aspect("equal", "datalim")
        axis.set_xticklabels([])
        axis.set_yticklabels([])
        axis.margins(0.12)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
        fontsize=7.5,
        handletextpad=0.2,
    )
    chapter.figure(
        figure,
        name="see-prism",
        alt="Three panels of six outlined pair means as two triangles joined by three edges, seen from the side, with few to many images a pair; "
        "the title of each says how much of the variance three dimensions hold.",
        caption=f"The same for two attributes and three objects ({', '.join(map(readable, three_objects))}): a prism, if they add up. Three principal components in a "
        "side view; the title says how much of the variance of the six means they hold.",
    )

# %% [markdown]
# ## A number for all pairs at once
#
# A number should use all pairs and say something about pairs that were not used. The additive model predicts a pair's mean from the others',
#
# $$ \hat v_{ao} = b + v_a + v_o , \qquad R^2 = 1 - \frac{\sum_z |v_z - \hat v_z^{(-z)}|^2}{\sum_z |v_z - \bar v^{(-z)}|^2} , $$ (eq-see-r2)
#
# where $\hat v_z^{(-z)}$ is fitted by least squares without $z$, and $\bar v^{(-z)}$ is the mean of the other pairs. $R^2 = 1$ is a perfect grid, $0$ is no better than
# predicting the mean for everything, and labels that mean nothing give *less* than zero, because they are fitted all the same. That is the
# control: deal the pair labels out at random and compute the same number.
#
# For the interval there is a choice, too. Other random images give a band that shrinks to nothing when all images are used. What one wants to know is what *other objects* would
# give. So the intervals below leave out one object at a time (the jackknife), and the thin band is the choice of images.


# %%
def additive_share(means: pd.DataFrame) -> float:
    """Additive R² of pair means left out in turn."""
    names = {level: list(means.index.get_level_values(level)) for level in means.index.names}
    return additive_r2(means.to_numpy(), names).held_out


def shuffled_share(means: pd.DataFrame, draw: np.random.Generator) -> float:
    """The same with the pair labels dealt out at random."""
    return additive_share(pd.DataFrame(draw.permutation(means.to_numpy()), index=means.index))


def jackknife(value: Callable[[pd.Index], float], names: pd.Index) -> dict[str, Any]:
    """A statistic with the t interval from its values without one object each; n objects, no interval below four."""
    whole, n = value(names), len(names)
    if n < 4:
        return {"value": whole, "ci": None, "n": n}
    told = interval([n * whole - (n - 1) * value(names.drop(name)) for name in names])
    half = (told["ci_high"] - told["ci_low"]) / 2
    return {"value": whole, "ci": (whole - half, whole + half), "n": n}


def curve(sheet: Sheet, ks: list[int], draws: int) -> tuple[pd.DataFrame, dict[int, list[pd.DataFrame]]]:
    """Additive R² and its control for each number of images: one row a random choice; and the means themselves."""
    rows, grids = [], {}
    everything = int(sheet.cells.map(len).max())  # with all images there is nothing to choose
    for k in ks:
        choices = range(1 if k == everything else draws)
        grids[k] = [sheet.means(k, np.random.default_rng([seed, k, i, 4])) for i in choices]
        shares = [additive_share(means) for means in grids[k]]
        for i in range(draws):
            means = grids[k][i % len(choices)]
            control = shuffled_share(means, np.random.default_rng([seed, k, i, 5]))
            rows.append({"k": k, "draw": i, "R2": shares[i % len(choices)], "shuffled": control})
    return pd.DataFrame(rows), grids


def without_labels(grids: list[pd.DataFrame], names: pd.Index) -> list[pd.DataFrame]:
    """Only these objects."""
    return [means[means.index.get_level_values("object").isin(names)] for means in grids]


def mean_share(grids: list[pd.DataFrame], names: pd.Index) -> float:
    """Additive R² with these objects, mean over the random choices."""
    return float(np.mean([additive_share(means) for means in without_labels(grids, names)]))


def over_shuffled(grids: list[pd.DataFrame], names: pd.Index) -> float:
    """Additive R² with these objects minus that with random labels."""
    parts = without_labels(grids, names)
    control = [
        shuffled_share(parts[i % len(parts)], np.random.default_rng([seed, i, 6])) for i in range(n_draws)
    ]
    return mean_share(grids, names) - float(np.mean(control))


sheets = {main.name: main}
reason = "switched off by the parameter `second`"
if second != "none":
    try:
        other = committed.read(second, network.name, names_sha256(), network.weights_sha256)
        sheets[second] = on_sheet(cue_conflict_labels(), other)
    except DataError as error:
        reason = str(error)
if second not in sheets:
    print("no second data set:", reason)

# %% [markdown]
# ## Why more images make it clearer
#
# Before the curve, a prediction. Let $\sigma^2$ be the variance of single images around their pair's mean. The mean of $k$ images misses the mean of all $K$ by
# noise of variance $\sigma^2\left(\tfrac1k - \tfrac1K\right)$, in every cell independently. Noise has no additive structure. With $Z$ pairs and $p = \sum_i(|Z_i| - 1)$ directions it
# adds, in expectation, $Z-1$ such units to the total sum of squares and $Z-1-p$ to what the additive fit leaves over:
#
# $$ \begin{aligned} \mathbb E\, S_{\text{total}}(k) &= S_{\text{total}}(K) + (Z-1)\,\sigma^2\left(\tfrac1k-\tfrac1K\right), \\
# \mathbb E\, S_{\text{rest}}(k) &= S_{\text{rest}}(K) + (Z-1-p)\,\sigma^2\left(\tfrac1k-\tfrac1K\right). \end{aligned} $$ (eq-see-law)
#
# On a complete grid every pair has the same leverage $h = (1+p)/Z$, and leaving out in turn is a formula, not a loop:
# $R^2 = 1 - \frac{S_{\text{rest}}}{S_{\text{total}}} \left(\frac{(Z-1)/Z}{1-h}\right)^2$. So *any* cloud of pairs, decomposable or not, gives a rising curve, predicted by {eq}`eq-see-law` from the
# scatter within pairs alone. What tells decomposable from not is where the curve *ends*. Even the mean of all $K$ images carries noise: another $K$ renderings of the same drawings would give another mean. With
# $\sigma_1^2$ the variance among renderings of one drawing, the end for unlimited renderings has $-\sigma_1^2/K$ in place of $\sigma^2(\tfrac1k - \tfrac1K)$.


# %%
def law(sheet: Sheet, ks: np.ndarray) -> np.ndarray:
    """Additive R² that averaging alone predicts for k images a pair; where k is infinite, the end."""
    K = int(sheet.cells.map(len).min())
    means = sheet.means(K, np.random.default_rng(seed))
    Z, (A, O) = len(means), (means.index.get_level_values(i).nunique() for i in (0, 1))
    p = A + O - 2
    names = {level: list(means.index.get_level_values(level)) for level in means.index.names}
    total = float(np.sum((means - means.mean()).to_numpy() ** 2))
    rest = (1 - additive_r2(means.to_numpy(), names).in_sample) * total
    finite = np.where(np.isinf(ks), K, ks)
    extra = np.where(np.isinf(ks), -sheet.scatter_of_one_source / K, sheet.scatter * (1 / finite - 1 / K))
    factor = (((Z - 1) / Z) / (1 - (1 + p) / Z)) ** 2
    below = total + (Z - 1) * extra  # noise larger than all there is: the end is not determined
    return 1 - factor * (rest + (Z - 1 - p) * extra) / np.where(below > 0, below, np.nan)


curves, means_of = {}, {}
for name, sheet in sheets.items():
    smallest = int(sheet.cells.map(len).min())
    curves[name], means_of[name] = curve(sheet, sorted({min(k, smallest) for k in counts}), n_draws)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, len(sheets), figsize=(3.6 * len(sheets), 3.2), squeeze=False, sharey=True)
ends = {}
for axis, (name, table) in zip(axes[0], curves.items(), strict=True):
    grouped = table.groupby("k")
    for column, colour, mark, told in (
        ("R2", BLUE, "o", "pairs left out"),
        ("shuffled", "0.45", "d", "labels shuffled"),
    ):
        middle, spread = grouped[column].mean(), grouped[column].std().fillna(0)
        axis.fill_between(middle.index, middle - spread, middle + spread, color=colour, alpha=0.2, lw=0)
        axis.plot(
            middle.index, middle, marker=mark, ms=5, color=colour, lw=0 if column == "R2" else 1.2, label=told
        )
    fine = np.geomspace(1, table.k.max(), 60)
    ends[name] = float(law(sheets[name], np.array([np.inf]))[0])
    axis.plot(fine, law(sheets[name], fine), color=ORANGE, lw=1.4, zorder=0, label="averaging alone")
    axis.axhline(ends[name], color=ORANGE, lw=1, ls=":", label="its end")
    axis.axhline(0, color="0.6", lw=0.8)
    axis.set_xscale("log")
    axis.set_xticks(sorted(set(table.k)), [str(k) for k in sorted(set(table.k))])
    axis.minorticks_off()
    axis.set_title(readable(name), fontsize=10)
    axis.set_xlabel("images a pair, $k$")
axes[0, 0].set_ylabel("additive $R^2$, pairs left out")
axes[0, 0].set_ylim(min(-0.7, 1.2 * min(t["shuffled"].min() for t in curves.values())), 1)
axes[0, -1].legend(fontsize=8, loc="lower right")
chapter.figure(
    figure,
    name="see-curve",
    alt="Additive R squared of left-out pairs against the number of images a pair, for each data set: dots beside the "
    "orange curve that averaging alone predicts, and the values with shuffled labels.",
    caption="Additive $R^2$ of pairs left out, against images a pair (dots; band: random choices of the images). Orange: what {eq}`eq-see-law` predicts "
    "from the scatter within pairs, and where it ends. Grey: the same with shuffled labels.",
)

# %% tags=["hide-input"]
for name, sheet in sheets.items():
    ks = sorted(means_of[name])
    names = pd.Index(sorted(set(sheet.objects)))
    structured = jackknife(lambda kept, name=name, ks=ks: over_shuffled(means_of[name][ks[-1]], kept), names)
    sharper = jackknife(
        lambda kept, name=name, ks=ks: (
            mean_share(means_of[name][ks[-1]], kept) - mean_share(means_of[name][ks[0]], kept)
        ),
        names,
    )
    told = f"{ks[-1]} images a pair, mu of all images, jackknife over {len(names)} objects"
    for claim, found, how in (
        ("gde.pair-means-additive", structured, told),
        (
            "gde.structure-sharpens-with-images",
            sharper,
            f"{told}; against {ks[0]}, mean of {n_draws} choices",
        ),
    ):
        display(chapter.record(claim, found["value"], ci=found["ci"], n=found["n"], encoders=network, data=name, variant=name,
                               headline=claim != "gde.structure-sharpens-with-images" or name == main.name, protocol=how))  # fmt: skip
    whole = jackknife(lambda kept, name=name, ks=ks: mean_share(means_of[name][ks[-1]], kept), names)
    chapter.measure(
        "additive_r2",
        whole["value"],
        ci=whole["ci"],
        n=whole["n"],
        encoders=network,
        data=name,
        variant=name,
        protocol=told,
    )
    if np.isfinite(ends[name]):
        chapter.measure(
            "additive_r2_limit",
            ends[name],
            encoders=network,
            data=name,
            variant=name,
            protocol="averaging law, unlimited renderings of the same sources",
        )
main_curve = curves[main.name].groupby("k")["R2"].mean()
chapter.glue("see_r2_one", float(main_curve.iloc[0]))
chapter.glue("see_r2_all", float(main_curve.iloc[-1]))
chapter.glue("see_k_all", int(main_curve.index[-1]))
chapter.glue("see_r2_end", ends[main.name])
chapter.glue("see_r2_shuffled", float(curves[main.name].groupby("k")["shuffled"].mean().iloc[-1]))
deviation = [
    float(
        np.abs(
            t.groupby("k")["R2"].mean() - law(sheets[n], t.groupby("k")["R2"].mean().index.to_numpy(float))
        ).max()
    )
    for n, t in curves.items()
]
chapter.glue("see_law_error", max(deviation))
chapter.measure(
    "averaging_law_error",
    max(deviation),
    encoders=network,
    data=list(sheets),
    protocol="largest difference between measured mean R² and the law",
)
if second in sheets:
    second_curve = curves[second].groupby("k")["R2"].mean()
    chapter.glue(
        "see_second",
        f"the {second} images go from {second_curve.iloc[0]:.2f} to {second_curve.iloc[-1]:.2f} with {second_curve.index[-1]} images a pair and would end at {ends[second]:.2f}",
    )
else:
    chapter.glue("see_second", "a second data set was not measured")

# %% [markdown]
# With one image a pair the left-out $R^2$ is {glue:text}`see_r2_one:.2f`, with {glue:text}`see_k_all` it is {glue:text}`see_r2_all:.2f`, and with labels that mean nothing
# {glue:text}`see_r2_shuffled:.2f`; {glue:text}`see_second`. How far the first numbers lie above the last is the structure; how they grow with the images is another matter. The dots
# lie within {glue:text}`see_law_error:.3f` of the orange curve, and to that accuracy averaging alone accounts for the rise: *seeing* the parallelogram emerge is seeing noise average out. The
# number that speaks about the encoder is the end of the curve, {glue:text}`see_r2_end:.2f` for the main set; what is missing to 1 is interaction, and no number
# of images will remove it.
#
# ## All factors
#
# The definition of the last chapter allows any number of factors, and these drawings have more than two: who is drawn, in which tone, as woman or man, by which illustrator. Each row of the next figure
# treats one more of them as a factor.

# %% tags=["hide-input"]
ladder = [
    dataset.attribute,
    dataset.object,
    *[name for name in ("gender", "style") if name in dataset.labels],
]
rows = []
for n in range(2, len(ladder) + 1):
    factors = {name: dataset.labels[name].tolist() for name in ladder[:n]}
    try:
        found = additive_r2(main.points, factors)
        rows.append({"factors": " + ".join(ladder[:n]), "combinations": found.n_combinations, "free directions": round(found.null * (found.n_combinations - 1)),
                     "without structure": found.null, "fitted": found.in_sample, "left out": found.held_out})  # fmt: skip
    except InputError as error:
        print(" + ".join(ladder[:n]), "not determined:", error)
by_factors = pd.DataFrame(rows)
figure, axis = plt.subplots(figsize=(6.4, 0.9 + 0.55 * len(by_factors)))
places = np.arange(len(by_factors))[::-1]
axis.barh(places + 0.2, by_factors["fitted"], height=0.36, color="0.65", label="fitted combinations")
axis.barh(places - 0.2, by_factors["left out"], height=0.36, color=BLUE, label="combinations left out")
axis.vlines(
    by_factors["without structure"],
    places - 0.45,
    places + 0.45,
    color="black",
    lw=1.3,
    ls=":",
    label="without structure",
)
axis.set_yticks(
    places, [f"{row.factors}\n{row.combinations} combinations" for row in by_factors.itertuples()], fontsize=8
)
axis.set_xlabel("additive $R^2$")
axis.set_xlim(min(0, 1.1 * by_factors["left out"].min()), 1)
axis.legend(fontsize=8, loc="lower right")
axis.grid(axis="y", visible=False)
chapter.figure(
    figure,
    name="see-factors",
    alt="Horizontal bars of the additive R squared for two, three and four factors, on fitted and on left-out combinations, with the value expected without structure.",
    caption="Additive $R^2$ with two, three and four factors: one direction for each value of each factor, for combinations of all of them.",
)
last = by_factors.iloc[-1]
chapter.glue("see_factors_n", len(ladder))
chapter.glue("see_factors_combinations", int(last["combinations"]))
chapter.glue("see_factors_directions", int(last["free directions"]))
chapter.glue("see_factors_out", float(last["left out"]))
chapter.measure(
    "additive_r2_all_factors",
    float(last["left out"]),
    n=int(last["combinations"]),
    encoders=network,
    data=dataset,
    protocol=f"{last['factors']}, combinations left out",
)
drawings = dataset.sources.iloc[:, 0].tolist() if dataset.sources.shape[1] else []
try:
    apart = additive_r2(
        main.points, {"attribute": main.attributes, "object": main.objects}, groups=drawings
    ).held_out
    chapter.measure(
        "additive_r2_other_drawings",
        apart,
        encoders=network,
        data=dataset,
        protocol="pairs and drawings left out, two halves of the drawings",
    )
    chapter.glue("see_apart", f"{apart:.2f}")
except InputError:
    chapter.glue("see_apart", "not measurable with so few drawings")

# %% [markdown]
# With all {glue:text}`see_factors_n` factors, {glue:text}`see_factors_directions` directions stand for {glue:text}`see_factors_combinations` combinations, and predict left-out ones with an $R^2$ of
# {glue:text}`see_factors_out:.2f`. Fewer images stand behind each combination, so part of what is missing is noise again.
#
# ## What the paper says, what we found, why they differ
#
# * **The paper** shows two figures whose regularity grows with the number of images, for CLIP ViT-L/14 on Waterbirds and UT-Zappos.
# * **We found**, by default in drawings and for an ImageNet network without any text, a left-out $R^2$ of {glue:text}`see_r2_one:.2f` with one image a pair and of {glue:text}`see_r2_all:.2f` with {glue:text}`see_k_all`; {glue:text}`see_second`. The
#   control can fail: with shuffled labels it is {glue:text}`see_r2_shuffled:.2f`.
# * **They differ** in encoder and data, so this is an analogue. And they differ in what follows from the picture. That structure sharpens with images is arithmetic and holds for every data set, {eq}`eq-see-law`. It is the
#   end of the curve that is evidence.
#
# ## What did not hold
#
# * The picture is weaker evidence than it looks: a plane shows four points favourably, and the eye forgives a good deal of defect.
# * A role is drawn by the same hands in all tones. When left-out pairs must also be predicted from *other drawings*, the main set's $R^2$ of {glue:text}`see_r2_all:.2f` becomes
#   {glue:text}`see_apart`. Part of the regularity is that of the illustrators, who recolour one drawing.
# * Additive does not mean useful. Whether composed points *find* the right images is the question of {doc}`05_compositional_classification` and
#   {doc}`07_imagining_compositions`.
#
# :::{exercise}
# :label: ex-see-random
# Show that four independent points with the same covariance in $D$ dimensions have a defect {eq}`eq-see-defect` that tends to $\sqrt2$ as $D$ grows. Why do the random quadruples of
# {numref}`fig-see-defects` scatter so widely around it, although $D$ is large?
# :::
#
# :::{solution} ex-see-random
# :class: dropdown
# With $x_i = m + \sigma \varepsilon_i$ and $\varepsilon_i$ of squared length near 1, the numerator is $\sigma|\varepsilon_1 - \varepsilon_2 - \varepsilon_3 + \varepsilon_4| \approx 2\sigma$ and each side $\sigma|\varepsilon_i - \varepsilon_j| \approx \sqrt2\,\sigma$, since
# independent directions are nearly orthogonal; the ratio is $\sqrt2$. But the variance of pair means sits in few directions, those of the objects, so the number of dimensions that counts is small. And pairs taken at random often share an object or an attribute; then
# some sides are short and the gap may even exceed the diagonal.
# :::
#
# :::{exercise}
# :label: ex-see-leverage
# Derive the formula for $R^2$ with pairs left out in turn on a complete grid. (Without pair $z$ the fit misses it by $e_z/(1-h)$; what is the mean of the *other* pairs?)
# :::
#
# :::{solution} ex-see-leverage
# :class: dropdown
# The misses sum to $S_{\text{rest}}/(1-h)^2$. The mean of the others is $\bar v^{(-z)} = (Z\bar v - v_z)/(Z-1)$, so $v_z - \bar v^{(-z)} = \tfrac{Z}{Z-1}(v_z - \bar v)$, and the denominator is
# $\left(\tfrac{Z}{Z-1}\right)^2 S_{\text{total}}$. The leverages are equal by symmetry and sum to the number of parameters, $1 + p$.
# :::
#
# :::{exercise}
# :label: ex-see-law
# Run this chapter with `-p encoder=timm:vit_tiny_patch16_224`, or with the same network untrained through a function in a file of your own. Does the curve still lie on {eq}`eq-see-law`? Where does it end?
# :::
#
# :::{solution} ex-see-law
# :class: dropdown
# It lies on the curve, whatever the encoder: {eq}`eq-see-law` assumes only that images are drawn at random within pairs. Where it ends depends on the encoder; for trained against untrained, with drawings left out as well, see
# {numref}`fig-decomposable-share`.
# :::
