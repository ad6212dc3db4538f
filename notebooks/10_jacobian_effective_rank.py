# ---
# jupyter:
#   bindery:
#     title: Jacobian effective rank
#     minutes: 22
#     needs:
#       data: []
#       results: ["sensitivity.json", "jer_null.json"]
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
# # Jacobian effective rank: in how many ways does an embedding react?
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`00_primer`, the section on the Jacobian, and singular values. **You will be able to** compute the Jacobian effective rank of any
# encoder, say which of three formulas and three estimators a number came from, and judge what a difference of one unit is worth.
# **Reading** 22 minutes · **running** about a minute · **data** the photographs inside scikit-image, rendered scenes · **encoders**
# EfficientNet-Lite0 {cite}`tan2019`, trained and untrained; tiny networks small enough for the exact answer.
# :::
#
# Move an image a little and its embedding moves. In some directions of image space it moves far, in others hardly. Paper S {cite}`chung2026`
# asks *how many* directions the embedding reacts to about equally, calls the answer the Jacobian effective rank, JER, and finds that it predicts binding where the geometry of the
# embeddings does not. This chapter is about the number itself: what it is, how to compute it, and how it can mislead.

# %% tags=["parameters"]
from typing import Literal

encoder: str = "efficientnet-lite0"  # card, timm:NAME, open_clip:MODEL/TAG, file.py:function, zoo:NAME
photos: list[str] = ["astronaut", "cat"]  # photographs at which it is linearised here
k: int = 32  # directions; part of the definition
n_patterns: int = 4  # input patterns shown
rounds: int = 5  # power rounds of the range finder on the tiny networks
live_method: Literal["sketch", "range_finder"] = "sketch"  # the range finder takes twelve times as long
n_images: int = 6  # images for the tiny networks
widths: list[int] = [4, 8, 16, 32]  # widths of the tiny residual network; D is eight times that
seed: int = 0  # seed of weights, scenes and directions

# %% tags=["remove-cell"]
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from bindery import figures, ledger
from bindery import scenes as sc
from bindery.chapter import start
from bindery.data import photographs
from bindery.encoders import load, suite
from bindery.encoders.build import seeded
from bindery.errors import InputError
from bindery.jacobian import (
    DenseMap,
    directions,
    effective_rank,
    estimate,
    gaussian_rank,
    k_curve,
    linearize,
    noise_images,
    rank_free_of_k,
    rounds_curve,
    singular_values,
    value_errors,
)
from bindery.jacobian.estimators import orthonormal_rows
from bindery.measurement import jacobians
from bindery.paths import results_dir
from bindery.zoo.backbone import build_backbone

chapter = start(globals())
chapter.glue("k", k)
cells = ledger.reported_cells()
chapter.glue("reported_delta", cells.loc["S.T3.all.delta-jer", "value"])
chapter.glue("reported_lowest", cells.loc["S.T3.supervised.jer", "value"])
chapter.glue("reported_highest", cells.loc["S.T3.variance-decorrelation.jer", "value"])


def kept(name: str) -> dict:
    """A file of results/, or nothing."""
    path = results_dir() / name
    return json.loads(path.read_text()) if path.exists() else {"records": [], "summary": [], "protocol": {}}


# %% [markdown]
# ## What an encoder reacts to
#
# Here is a photograph, and the patterns that move its embedding most: add a little of one to the photograph, and the embedding
# moves farther than for any other pattern of the same size at right angles to those before.


# %%
def strongest(linear, count: int, steps: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """The top singular values and input patterns, by subspace iteration."""
    inputs = directions(linear.shape[1], count, seed)
    for _ in range(steps):
        inputs = orthonormal_rows(linear.vjp(orthonormal_rows(linear.jvp(inputs))))
    left, values, _ = np.linalg.svd(linear.jvp(inputs).double().numpy(), full_matrices=False)
    return values, left.T @ inputs.numpy()


shown = photographs()
pictures = {name: shown[shown.names.index(name)] for name in photos}
networks = {weights: load(encoder, weights=weights, seed=seed) for weights in ("pretrained", "random")}
linear = {weights: linearize(network, pictures[photos[0]]) for weights, network in networks.items()}
patterns = {weights: strongest(each, n_patterns + 2) for weights, each in linear.items()}

# %% tags=["hide-input"]
figure, axes = plt.subplots(2, n_patterns + 1, figsize=(1.4 * (n_patterns + 1), 3.1))
for row, (weights, (values, rows)) in enumerate(patterns.items()):
    point = linear[weights].point[0].numpy().transpose(1, 2, 0)
    axes[row, 0].imshow((point - point.min()) / (point.max() - point.min()))
    axes[row, 0].set_ylabel({"pretrained": "trained", "random": "untrained"}[weights])
    for column in range(n_patterns):
        pattern = rows[column].reshape(linear[weights].point.shape[1:]).transpose(1, 2, 0)
        scale = np.quantile(np.abs(pattern), 0.995)
        axes[row, column + 1].imshow(np.clip(0.5 + 0.5 * pattern / scale, 0, 1))
        axes[row, column + 1].set_title(
            f"$s_{column + 1}$ = {values[column] / values[0]:.2f} $s_1$", fontsize=8.5, loc="center"
        )
for axis in axes.flat:
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)
    axis.spines[:].set_visible(False)
chapter.figure(
    figure,
    name="jer-patterns",
    alt="Two rows: a photograph as the network sees it, then patterns in false colours with their relative singular values; textures on a few "
    "parts of the picture for the trained network, noise spread all over it for the untrained one.",
    caption=f"The input patterns that move the embedding of {encoder} most, with their singular values relative to the first: trained (top), "
    "untrained (bottom).",
)

# %% [markdown]
# The strength of the reaction falls off from pattern to pattern. JER asks how fast.
#
# ## Definition
#
# Let $f:\R^M\to\R^D$ be the encoder, $M = 3\cdot224\cdot224$ for the usual input, and $J(x)=\partial f/\partial x$ its Jacobian at an image, with singular values
# $s_1\ge s_2\ge\dots$. Equation 1 of the paper is
#
# $$ \mathrm{JER}(x) = \frac{\bigl(\sum_{i=1}^{k} s_i\bigr)^2}{\sum_{i=1}^{k} s_i^2}, \qquad k = 32, $$ (eq-jer)
#
# averaged over images. It is 1 if a single direction carries everything and $k$ if the top $k$ react alike. Scaling the encoder's output or its
# input changes nothing. Three things in it are choices, and they matter:
#
# * **the formula.** Equation {eq}`eq-jer` is a participation ratio of the $s_i$. "Effective rank" usually means the exponential of the entropy of
#   $p_i = s_i/\sum_j s_j$ {cite}`roy2007`; and the participation ratio of *variances*, $(\sum s_i^2)^2/\sum s_i^4$, would be the exact counterpart of
#   the paper's own G.PR.
# * **the truncation.** Only the largest $k$ count, and the value cannot exceed $k$.
# * **the singular values themselves.** They must be estimated, and there are two estimators in circulation that estimate different things.

# %%
index = np.arange(k)
spectra = {
    "flat": np.ones(k),
    "slow: 1/(1 + i/20)": 1 / (1 + index / 20),
    "geometric: 0.9^i": 0.9**index,
    "power law: 1/i": 1 / (1 + index),
    "one dominates": np.where(index == 0, 1, 0.02),
}
kinds = ("pr", "entropy", "pr_variance")
pd.DataFrame(
    {name: {kind: effective_rank(s, kind) for kind in kinds} for name, s in spectra.items()}
).T.style.format("{:.2f}")

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.9), width_ratios=[1, 1.1])
for number, (name, s) in enumerate(spectra.items()):
    axes[0].semilogy(index + 1, s, color=figures.CYCLE[number], label=name)
    for offset, (kind, mark) in enumerate(zip(kinds, "osD", strict=True)):
        axes[1].plot(
            effective_rank(s, kind), number + 0.18 * (offset - 1), mark, color=figures.CYCLE[number], ms=5.5
        )
axes[0].set_xlabel("number i")
axes[0].set_ylabel("singular value, relative")
axes[0].set_ylim(1e-2, 1.6)
axes[1].set_yticks(range(len(spectra)), list(spectra), fontsize=8)
axes[1].set_ylim(len(spectra) - 0.5, -0.5)
axes[1].set_xlim(0, k + 1)
axes[1].set_xlabel(f"effective rank of {k} values")
for _, mark, label in zip(kinds, "osD", ("pr (the paper's)", "entropy", "pr of variances"), strict=True):
    axes[1].plot([], [], mark, color="0.3", ms=5, ls="", label=label)
axes[1].legend(fontsize=7.5, loc="lower right")
chapter.figure(
    figure,
    name="jer-formulas",
    alt="Left, five spectra on a log scale from flat to steep; right, their effective ranks by three formulas, which agree for the flat spectrum "
    "and spread by up to a factor of two for the others.",
    caption="Five spectra and their effective ranks by three formulas. Numbers from different formulas cannot be compared.",
)

# %% [markdown]
# ## A matrix that is never written down
#
# $J$ has $D\cdot M$ entries, for EfficientNet-Lite0 almost two hundred million. Two products are all we need. A *Jacobian–vector product* $Jv$ pushes a
# change of the image forward through the network; a *vector–Jacobian product* $u\T J$ pulls a direction of the embedding back to the image, which is what every training step
# does. Both are exact, up to rounding, and cost about as much as a forward pass or two. They belong to one matrix, so for any $u$ and $v$
#
# $$ u\T (J v) = (u\T J)\, v , $$ (eq-jer-adjoint)
#
# which is a cheap test of any implementation:

# %%
view = linear["pretrained"]
v = directions(view.shape[1], 2, seed)
u = directions(view.shape[0], 2, seed + 1)
left, right = (view.jvp(v).double() * u).sum(1), (view.vjp(u).double() * v).sum(1)
print("shape of J        ", view.shape)
print("u'(Jv)            ", left.numpy())
print("(u'J)v            ", right.numpy())

# %% [markdown]
# ## Two estimators, and the exact value
#
# **The sketch.** Draw $k$ random orthonormal directions $V\in\R^{M\times k}$ and take the singular values of $JV$. It costs $k$ products. It does *not* give the largest
# singular values: random directions mix all of them, so that the spectrum of the sketch is a blurred one of *all* of $J$.
#
# **The range finder** {cite}`halko2011`. Start likewise, then let the matrix pull the directions towards its own strong ones:
#
# $$
# \begin{aligned}
# Y_0 &= J V, & Y_{r} &= J J\T \operatorname{orth}(Y_{r-1}) \quad (r = 1,\dots,q), \\
# Q &= \operatorname{orth}(Y_q), & s_i &\approx \sigma_i(Q\T J) .
# \end{aligned}
# $$ (eq-jer-range-finder)
#
# With $q$ rounds it costs $2k(q+1)$ products and its values converge to the top $k$ from below. The paper uses $q = 5$, by the more detailed accounts; another account
# has the plain sketch. Are they the same in practice? On a network that is small enough for the exact answer, we can look.

# %%
with seeded(seed):
    tiny = {name: build_backbone(name).eval().requires_grad_(False) for name in ("resnet", "vit")}
small = torch.from_numpy(
    np.stack(
        [np.asarray(pictures[photos[0]].convert("RGB").resize((32, 32)), np.float32).transpose(2, 0, 1) / 255]
    )
)
exact = {name: DenseMap(jacobians(module, small)[0]) for name, module in tiny.items()}
curves = {name: rounds_curve(matrix, k, rounds + 3, seed) for name, matrix in exact.items()}
errors = {name: value_errors(matrix, k, (0, 1, 2, rounds), seed) for name, matrix in exact.items()}
print({name: matrix.shape for name, matrix in exact.items()})
curves["resnet"].round(4)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 3.0))
for number, column in enumerate(errors["resnet"].columns[1:]):
    value = np.maximum(errors["resnet"][column], 1e-9)
    axes[0].semilogy(
        errors["resnet"].index,
        100 * value,
        color=figures.CYCLE[number],
        label=column.replace("rounds", "q ="),
    )
axes[0].set_xlabel("number i of the singular value")
axes[0].set_ylabel("relative error (%)")
axes[0].set_ylim(1e-5, 100)
axes[0].legend(fontsize=8)
for name, colour in zip(curves, figures.CYCLE, strict=False):
    curve = curves[name]
    found = curve[curve.method == "range_finder"]
    axes[1].plot(found.rounds, found.pr, "o-", ms=4, color=colour, label=f"tiny {name}, range finder")
    axes[1].axhline(curve[curve.method == "exact"].pr.iloc[0], color=colour, lw=1, ls="--")
    axes[1].plot(0, curve[curve.method == "sketch"].pr.iloc[0], "x", color=colour, ms=8, mew=2)
axes[1].set_xlabel("power rounds q")
axes[1].set_ylabel(f"JER of {k} values")
axes[1].legend(fontsize=8, loc="lower right")
chapter.figure(
    figure,
    name="jer-estimators",
    alt="Left, relative error of each of the 32 singular values for 0, 1, 2 and 5 rounds: small for the first, growing towards the last. Right, "
    "JER against rounds rising to the exact value, with crosses for the sketch.",
    caption="An untrained tiny residual network at a 32-pixel photograph. Left: error of each singular value of the range finder. Right: JER against the number of rounds; "
    "dashed: exact; crosses: the sketch.",
)
finder = {
    name: curve[(curve.method == "range_finder") & (curve.rounds == rounds)].iloc[0]
    for name, curve in curves.items()
}
for name, row in finder.items():
    sketch = curves[name][curves[name].method == "sketch"].iloc[0]
    protocol = f"k = {k}, q = {rounds}, one 32-pixel photograph, against the exact top {k}"
    chapter.measure(
        "range_finder_error",
        float(row.error_pr),
        encoders=f"tiny-{name}#random",
        data="skimage photographs",
        protocol=protocol,
        variant=name,
    )
    chapter.measure(
        "sketch_difference",
        float(sketch.error_pr),
        encoders=f"tiny-{name}#random",
        data="skimage photographs",
        protocol=protocol,
        variant=name,
    )
chapter.glue("finder_error", 100 * max(abs(row.error_pr) for row in finder.values()))
chapter.glue("finder_worst", 100 * max(row.worst_value for row in finder.values()))
chapter.glue(
    "sketch_error", 100 * max(abs(c[c.method == "sketch"].error_pr.iloc[0]) for c in curves.values())
)
chapter.glue("rounds", rounds)

# %% [markdown]
# With {glue:text}`rounds` rounds JER is within {glue:text}`finder_error:.2f` % of the exact value on both networks, although single values are off by up to
# {glue:text}`finder_worst:.1f` %: the errors sit at the end of the spectrum, all in the same direction. The sketch differs by {glue:text}`sketch_error:.0f` %, and no number of
# random draws would mend that, for it estimates something else. **A sketch and a range finder must never be compared with each other.** So below each number says which it is.
#
# ## The dial $k$
#
# JER cannot exceed $k$. For a Jacobian with many equally strong directions it reads nearly $k$, whatever their number. How much can 32 tell?

# %% tags=["hide-input"]
sizes = np.unique(np.geomspace(4, 4096, 41).astype(int))
figure, axes = plt.subplots(1, 2, figsize=(7, 3.1))
for kind, colour, label in zip(
    kinds, figures.CYCLE, ("pr (the paper's)", "entropy", "pr of variances"), strict=False
):
    axes[0].semilogx(sizes, [gaussian_rank(k, int(size), kind) for size in sizes], color=colour, label=label)
axes[0].axhline(k, color="0.5", lw=1, ls=":")
axes[0].set_xlabel("true rank (flat spectrum)")
axes[0].set_ylabel(f"effective rank of a sketch, k = {k}")
axes[0].legend(fontsize=8, loc="lower right")
steps = (2, 4, 8, 16, 32, 64, 128)
dials, free = {}, {}
for name, matrix in exact.items():
    draws = [k_curve(matrix, steps, (seed, draw)) for draw in range(8)]
    dials[f"tiny {name}"] = draws[0]
    mean_pr = np.mean([draw.sketch_pr_variance for draw in draws], axis=0)
    free[f"tiny {name}"] = [rank_free_of_k(p, int(size)) for p, size in zip(mean_pr, draws[0].k, strict=True)]
for (name, dial), colour in zip(dials.items(), figures.CYCLE, strict=False):
    axes[1].loglog(dial.k, dial.top_pr, "o-", ms=4, color=colour, label=f"{name}: JER of top k")
    axes[1].loglog(dial.k, free[name], "s--", ms=4, color=colour, alpha=0.6, label=f"{name}: free of k")
axes[1].plot([2, 128], [2, 128], color="0.5", lw=1, ls=":")
axes[1].set_xlabel("k")
axes[1].set_ylabel("effective rank")
axes[1].legend(fontsize=7.5)
chapter.figure(
    figure,
    name="jer-dial",
    alt="Left, effective rank of a sketch against the true rank from 4 to 4096: it rises, then flattens just below 32. Right, JER against k on two "
    "tiny networks rises with k along the diagonal, while the k-free estimate stays roughly level.",
    caption=r"Left: what 32 random directions read of a Jacobian with a flat spectrum (closed forms). Right: JER against $k$ for two untrained networks, and the estimate "
    "{eq}`eq-jer-free`, averaged over eight draws of the directions. Dotted: the ceiling.",
)
readings = {size: gaussian_rank(k, size) for size in (64, 1024)}
for size in (64, 1024):
    chapter.measure(
        f"reading_of_rank_{size}", readings[size], protocol=f"closed form, flat spectrum, sketch of {k}"
    )
    chapter.glue(f"reads_{size}", readings[size])

# %% [markdown]
# A flat Jacobian of rank 64 reads {glue:text}`reads_64:.1f`, one of rank 1024 reads {glue:text}`reads_1024:.1f`. Near the top, one unit of JER may be a factor of ten in rank; lower down it is a
# matter of a few directions. JER values at different $k$ cannot be compared at all.
#
# There is an estimate without that ceiling. For a random sketch, the participation ratio of variances has the expectation
# $(k r + 2)/(k + r + 1)$ to good accuracy, with $r = (\sum s_i^2)^2/\sum s_i^4$ over the *whole* spectrum. Solving for $r$,
#
# $$ \hat r = \frac{(k+1)\,P - 2}{k - P}, \qquad P = \Bigl\langle \frac{(\sum_i s_i^2)^2}{\sum_i s_i^4} \Bigr\rangle , $$ (eq-jer-free)
#
# where $\langle\cdot\rangle$ is the mean over images and $s_i$ are the sketch's values.
#
# Once $k$ is not tiny it hardly moves with it, {numref}`fig-jer-dial`, right. It answers a slightly different question than {eq}`eq-jer`, so we report it beside JER and never instead.
#
# ## The width of the embedding enters
#
# Encoders differ in $D$, from 384 to 4,096 in our reconstruction of the paper's suite. Does that matter by itself? We take one architecture, untrained, at several widths; and one network whose embedding is mixed and cut
# down by a random projection, which learns nothing.

# %%
scenes = torch.from_numpy(sc.render(sc.training_scenes(n_images, seed=seed + 30), 32))


def tiny_jer(module: torch.nn.Module, images: torch.Tensor, project: int | None = None) -> np.ndarray:
    """Exact JER of each image; ``project``: after a random projection of the embedding."""
    values = []
    for matrix in jacobians(module, images):
        if project is not None:
            matrix = directions(len(matrix), project, seed).float() @ matrix
        values.append(effective_rank(estimate(DenseMap(matrix), min(k, len(matrix)), "exact")))
    return np.array(values)


by_width = {}
for width in widths:
    with seeded(seed):
        by_width[8 * width] = tiny_jer(build_backbone("resnet", width).eval().requires_grad_(False), scenes)
full = tiny["resnet"].dim
cuts = [d for d in (8, 16, 32, 64) if d < full]
by_projection = {d: tiny_jer(tiny["resnet"], scenes, d) for d in cuts} | {
    full: tiny_jer(tiny["resnet"], scenes)
}

# %% tags=["hide-input"]
null = kept("jer_null.json")
vit = [row for row in null["summary"] if "width" in row["architecture"] and "range_finder_pr" in row]
figure, axis = plt.subplots(figsize=(5.8, 3.1))
axis.semilogx(
    sizes[sizes >= 8],
    [gaussian_rank(k, int(d)) for d in sizes[sizes >= 8]],
    color="0.6",
    lw=1.2,
    label="independent Gaussian entries",
)
for found, label, look in (
    (by_width, "tiny resnet, by width", "o-"),
    (by_projection, "one tiny resnet, projected", "s--"),
):
    axis.errorbar(
        list(found),
        [v.mean() for v in found.values()],
        [v.std(ddof=1) if len(v) > 1 else 0 for v in found.values()],
        fmt=look,
        ms=5,
        capsize=2,
        label=label,
    )
if vit and k == null["protocol"]["k"]:
    axis.plot(
        [row["dim"] for row in vit],
        [row["range_finder_pr"] for row in vit],
        "^-.",
        label="ViT/32, by width (kept)",
    )
axis.axhline(k, color="0.5", lw=1, ls=":")
axis.set_xlabel("D, length of the embedding")
axis.set_ylabel(f"JER, k = {k}")
axis.legend(fontsize=8, loc="lower right")
chapter.figure(
    figure,
    name="jer-width",
    alt="JER against the length of the embedding on a log axis: rising for networks by width and for projections of one network, below the curve of "
    "Gaussian matrices.",
    caption="Untrained networks: JER grows with the length of the embedding, and shrinks when the same embedding is cut down at random. Bars: standard deviation over images.",
)
for d, v in by_width.items():
    chapter.measure(
        "jer_by_width",
        v.mean(),
        n=len(v),
        encoders="tiny-resnet#random",
        data="scenes",
        protocol=f"exact top {k}, one weight seed",
        variant=f"D={d}",
    )
chapter.glue("narrow_d", min(by_width))
chapter.glue("wide_d", max(by_width))
chapter.glue("narrow_jer", by_width[min(by_width)].mean())
chapter.glue("wide_jer", by_width[max(by_width)].mean())

# %% [markdown]
# From $D =$ {glue:text}`narrow_d` to {glue:text}`wide_d` the same untrained design goes from {glue:text}`narrow_jer:.1f` to {glue:text}`wide_jer:.1f`. So a
# comparison across encoders of different width is partly a comparison of widths. The paper's own remedy is the null: it subtracts what the untrained architecture has,
# $\Delta\mathrm{JER} = \mathrm{JER}_\text{trained} - \mathrm{JER}_\text{null}$.
#
# ## Training against chance
#
# What does training do to JER? The trained network and its own untrained twin, at the same photographs. The range finder takes twelve times as long as a sketch, so its values
# were measured once and are kept under `results/` (`python tools/measure_sensitivity.py`); the {glue:text}`live_method` is computed again here.

# %%
order = kept("sensitivity.json")["protocol"].get("images", ["astronaut", "cat", "coffee", "rocket"])
rows = []
for weights, network in networks.items():
    for name, picture in pictures.items():
        number = order.index(name) if name in order else len(order)
        s = singular_values(
            network,
            picture,
            k,
            live_method,
            rounds,
            seed=(seed, number),
            check=(weights, name) == ("pretrained", photos[0]),
        )
        rows.append(
            {"weights": weights, "image": name, "method": live_method, "source": "here", "s": s.values}
        )
        if s.sketch is not None:
            rows.append(
                {"weights": weights, "image": name, "method": "sketch", "source": "here", "s": s.sketch}
            )
records = [r for r in kept("sensitivity.json")["records"] if r["encoder"] == encoder and not r["module"]]
if k == 32:
    for r in records:
        rows += [
            {"weights": r["weights"], "image": r["image"], "method": m, "source": "kept", "s": np.array(r[m])}
            for m in ("range_finder", "sketch")
        ]
values = pd.DataFrame(rows)
for kind in kinds:
    values[kind] = [effective_rank(s, kind) for s in values["s"]]
mine, theirs = (
    values[(values.source == source) & (values.method == "sketch")].set_index(["weights", "image"])
    for source in ("here", "kept")
)
both = mine.index.intersection(theirs.index) if seed == 0 else mine.index[:0]
if len(both):
    gap = max(float(np.abs(mine.s[i] / theirs.s[i] - 1).max()) for i in both)
    print(f"sketches computed here and kept ones agree to {gap:.0e} at {len(both)} images")
chapter.glue("live_method", live_method.replace("_", " "))
values = pd.concat(
    [
        values[values.source == "kept"],
        values[
            (values.source == "here")
            & ~pd.MultiIndex.from_frame(values[["weights", "image", "method"]]).isin(
                pd.MultiIndex.from_frame(values[values.source == "kept"][["weights", "image", "method"]])
            )
        ],
    ]
)
values.groupby(["method", "weights", "image"])[list(kinds)].mean().round(2)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 3.1))
method = "range_finder" if (values.method == "range_finder").any() else "sketch"
chosen = values[values.method == method]
looks = {"pretrained": ("#0072B2", "trained"), "random": ("#6E6E6E", "untrained")}
for weights, (colour, label) in looks.items():
    for number, (_, row) in enumerate(
        chosen[(chosen.weights == weights) & (chosen.image != "noise")].iterrows()
    ):
        axes[0].plot(
            np.arange(1, len(row.s) + 1),
            row.s / row.s[0],
            color=colour,
            lw=1.1,
            alpha=0.8,
            label=label if not number else None,
        )
axes[0].set_xlabel("number i")
axes[0].set_ylabel("$s_i / s_1$")
axes[0].set_ylim(0, 1.03)
axes[0].legend(fontsize=8)
images = [name for name in [*order, "noise"] if name in set(chosen.image)] or sorted(set(chosen.image))
for kind, mark in zip(kinds, "osD", strict=True):
    for weights, (colour, _) in looks.items():
        part = chosen[chosen.weights == weights].set_index("image")[kind].reindex(images)
        axes[1].plot(
            part.to_numpy(),
            np.arange(len(images)) + (0.1 if weights == "random" else -0.1),
            mark,
            color=colour,
            ms=5.5,
            mfc="white" if kind != "pr" else None,
        )
for kind, mark in zip(("pr (the paper's)", "entropy", "pr of variances"), "osD", strict=True):
    axes[1].plot([], [], mark, color="0.3", ls="", ms=5, mfc="white" if mark != "o" else None, label=kind)
axes[1].set_yticks(range(len(images)), images)
axes[1].set_ylim(len(images) - 0.5, -0.9)
axes[1].set_xlim(0, k)
axes[1].set_xlabel(f"effective rank ({method.replace('_', ' ')}, k = {k})")
figure.legend(*axes[1].get_legend_handles_labels(), loc="outside upper right", ncols=3, fontsize=7.5)
chapter.figure(
    figure,
    name="jer-trained",
    alt="Left, spectra of the trained and the untrained network at several photographs; right, effective ranks by three formulas at each photograph and at "
    "Gaussian noise, trained in blue and untrained in grey.",
    caption=f"{encoder}, trained (blue) and untrained (grey). Left: singular values relative to the largest, a line a photograph. Right: effective ranks by three formulas; "
    "the last row, where measured, is Gaussian noise instead of a photograph.",
)
natural = chosen[chosen.image != "noise"]
mean = natural.groupby("weights")[list(kinds)].mean()
counts = natural.groupby("weights").size()
for weights in ("pretrained", "random"):
    for kind in kinds:
        spread = natural[natural.weights == weights][kind]
        chapter.measure(
            f"jer_{weights}",
            spread.mean(),
            n=len(spread),
            encoders=networks[weights],
            data="skimage photographs",
            protocol=f"{method}, k = {k}, q = 5, {kind}, embedding before normalisation, one weight seed",
            variant=kind,
        )
delta = float(mean.pr["pretrained"] - mean.pr["random"])
chapter.measure(
    "delta_jer",
    delta,
    n=int(counts.min()),
    encoders=encoder,
    data="skimage photographs",
    protocol=f"{method}, k = {k}, pr; trained minus own random initialisation",
)
noisy = chosen[chosen.image == "noise"].groupby("weights").pr.mean()
for weights, told in (("pretrained", "trained"), ("random", "random")):
    chapter.glue(f"noise_{told}", f"{noisy[weights]:.1f}" if weights in noisy else "not measured")
moved = [abs(noisy[w] - mean.pr[w]) > 1 for w in ("pretrained", "random") if w in noisy]
chapter.glue(
    "noise_told",
    "JER is a property of the network and of the images it is shown"
    if any(moved)
    else "here the images hardly matter"
    if moved
    else "no value is kept for this encoder",
)
siblings = {}
for r in kept("sensitivity.json")["records"]:
    if r["encoder"] != encoder and r["weights"] == "pretrained" and not r["module"] and r["image"] != "noise":
        siblings.setdefault(r["encoder"], []).append(effective_rank(r["range_finder"], "pr"))
chapter.glue(
    "siblings",
    ", ".join(f"{name} {np.mean(v):.1f} ({len(v)} photographs)" for name, v in sorted(siblings.items()))
    or "none",
)
chapter.glue("encoder_name", encoder)
chapter.glue("trained_jer", mean.pr["pretrained"])
chapter.glue("random_jer", mean.pr["random"])
chapter.glue("delta_jer", delta)
chapter.glue("jer_method", method.replace("_", " "))
chapter.glue("jer_images", int(counts.min()))
chapter.glue(
    "other_entropy", "{:.1f} against {:.1f}".format(mean.entropy["pretrained"], mean.entropy["random"])
)
chapter.glue(
    "other_variance",
    "{:.1f} against {:.1f}".format(mean.pr_variance["pretrained"], mean.pr_variance["random"]),
)

# %% [markdown]
# By the {glue:text}`jer_method` at {glue:text}`jer_images` photographs, the trained network has a JER of {glue:text}`trained_jer:.1f`, its untrained twin {glue:text}`random_jer:.1f`: a $\Delta$JER of
# {glue:text}`delta_jer:+.1f`. By entropy it is {glue:text}`other_entropy`, by the variances {glue:text}`other_variance`. The paper reports a mean $\Delta$JER over its 26 encoders of
# {glue:text}`reported_delta:.2f`. Its supervised encoders, transformers and ConvNeXts, have about
# {glue:text}`reported_lowest:.1f`, which is nowhere near what we find for this supervised network: another architecture, other photographs, and a protocol that we had to reconstruct, any of which may be the reason. Other trained networks that ship with packages, kept: {glue:text}`siblings`. One design is no test of that claim; {doc}`11_sensitivity_and_binding` is. A handful of photographs is no hundred either: the spread over images in
# {numref}`fig-jer-trained` tells how much that matters here.
#
# ### Is it the image or the network?
#
# The paper's control replaces photographs by Gaussian noise. For {glue:text}`encoder_name` the trained value goes from {glue:text}`trained_jer:.1f` to
# {glue:text}`noise_trained`, the untrained one from {glue:text}`random_jer:.1f` to {glue:text}`noise_random`: {glue:text}`noise_told`. On the tiny networks we can afford the exact values:

# %%
noise = (
    torch.cat(list(noise_images(n_images, 32, seed))) * 0.25 + 0.35
)  # these networks normalise by themselves
pd.DataFrame(
    {
        f"tiny {name}, untrained": {
            "scenes": f"{a.mean():.2f} ± {a.std(ddof=1):.2f}",
            "noise": f"{b.mean():.2f} ± {b.std(ddof=1):.2f}",
        }
        for name, module in tiny.items()
        for a, b in [(tiny_jer(module, scenes), tiny_jer(module, noise))]
    }
).T.rename_axis("JER, mean ± sd over images")

# %% [markdown]
# ## The nulls of the whole suite
#
# JER of a network before training is a property of the architecture and its initialisation. For the reconstructed suite of Paper S it needs no weights from anywhere, only patience
# (`python tools/measure_nulls.py`). What has been measured so far:

# %% tags=["hide-input"]
every = {}
for card in suite("paper-s"):
    every.setdefault(card.architecture, []).append(card.name)
rows = [row for row in null["summary"] if row["architecture"] in every and "range_finder_pr" in row]
best = {}
for row in rows:
    if row["architecture"] not in best or row["n"] > best[row["architecture"]]["n"]:
        best[row["architecture"]] = row
missing = sorted(set(every) - set(best))
if best:
    ranked = sorted(best.values(), key=lambda row: row["range_finder_pr"])
    figure, axis = plt.subplots(figsize=(6.6, 0.26 * len(ranked) + 0.9))
    for number, row in enumerate(ranked):
        for field, mark, colour in (("range_finder_pr", "o", "#0072B2"), ("sketch_pr", "x", "#D55E00")):
            spread = row.get(f"{field}_sd") or 0
            axis.errorbar(
                row[field],
                number,
                xerr=spread,
                fmt=mark,
                color=colour,
                ms=5,
                capsize=2,
                label={"o": "range finder", "x": "sketch"}[mark] if not number else None,
            )
    axis.plot(
        [gaussian_rank(null["protocol"]["k"], row["dim"]) for row in ranked],
        range(len(ranked)),
        "|",
        color="0.35",
        ms=9,
        label="sketch of independent Gaussian entries",
    )
    axis.set_yticks(
        range(len(ranked)),
        [f"{row['architecture']} (D = {row['dim']}, n = {row['n']})" for row in ranked],
        fontsize=7.5,
    )
    axis.set_ylim(-0.6, len(ranked) - 0.4)
    axis.axvline(32, color="0.5", lw=1, ls=":")
    axis.set_xlabel("JER of the untrained network, k = 32")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper right", ncols=3, fontsize=7.5)
    chapter.figure(
        figure,
        name="jer-null",
        alt="Untrained JER of each architecture, range finder as dots and sketch as crosses, most of them close to the ceiling of 32; ticks show what a sketch of a structureless matrix of the same length would read.",
        caption="JER at random initialisation, by architecture. Bars: standard deviation over photographs and weight seeds (n of them in all). Ticks: what the sketch of a matrix without structure, of the same D, would read.",
    )
    found = np.array([row["range_finder_pr"] for row in ranked])
    chapter.measure(
        "mean_null",
        found.mean(),
        n=len(found),
        encoders=[f"{row['architecture']}#random" for row in ranked],
        data="skimage photographs",
        protocol="range finder, k = 32, q = 5, pr; mean over architectures",
    )
chapter.glue("null_done", len(best))
chapter.glue("null_all", len(every))
chapter.glue("null_steps", len(null["records"]))
chapter.glue("null_hours", f"{sum(record['cpu_seconds'] for record in null['records']) / 3600:.1f}")
chapter.glue(
    "null_mean",
    f"{np.mean([row['range_finder_pr'] for row in best.values()]):.1f}" if best else "not measured",
)
chapter.glue(
    "implied_trained",
    f"{np.mean([row['range_finder_pr'] for row in best.values()]) + cells.loc['S.T3.all.delta-jer', 'value']:.1f}"
    if best
    else "not known",
)
chapter.glue("null_missing", ", ".join(missing) or "none")

# %% [markdown]
# {glue:text}`null_done` of {glue:text}`null_all` architectures; missing: {glue:text}`null_missing`. One command made these {glue:text}`null_steps` values in {glue:text}`null_hours` hours of one core; it resumes where it was stopped. Their mean null is {glue:text}`null_mean` of 32. So the paper's mean $\Delta$JER of
# {glue:text}`reported_delta:.2f` would put the average *trained* encoder of its suite near {glue:text}`implied_trained`, to be compared with the values it reports for families
# (from {glue:text}`reported_lowest:.1f` to {glue:text}`reported_highest:.1f`). That is a check of our reading of {eq}`eq-jer`, not of the claim.
#
# How far can such a value be trusted? The same records tell what moves it:

# %%
told = ["architecture", "weight_seed", "image", "dtype", "cpu_seconds"]
runs = pd.DataFrame(
    [
        [record[name] for name in told] + [effective_rank(record["range_finder"])]
        for record in null["records"]
        if record["architecture"] in every
    ],
    columns=[*told, "jer"],
)
main = runs[runs["dtype"] == runs["architecture"].map({name: row["dtype"] for name, row in best.items()})]
photographed = main[main["image"] != "noise"]
crossed = photographed.pivot_table(
    index=["architecture", "image"], columns="weight_seed", values="jer"
).dropna()
twice = (
    runs[runs["image"] != "noise"]
    .pivot_table(
        index=["architecture", "weight_seed", "image"], columns="dtype", values=["jer", "cpu_seconds"]
    )
    .dropna()
)
cost = twice["cpu_seconds"] if len(twice) else pd.DataFrame(columns=["bfloat16", "float32"], dtype=float)
twice = twice["jer"] if len(twice) else cost
shown_noise = main[main["image"] == "noise"].set_index("architecture")["jer"]
by_architecture = photographed.groupby("architecture")["jer"].mean()
moves = {
    "another architecture": (by_architecture.std(), len(by_architecture)),
    "another photograph, same weights": (
        np.sqrt(photographed.groupby(["architecture", "weight_seed"])["jer"].var().mean()),
        len(photographed),
    ),
    "other random weights, same photograph": (
        np.sqrt((crossed.diff(axis=1).iloc[:, -1] ** 2 / 2).mean()) if crossed.shape[1] > 1 else np.nan,
        len(crossed),
    ),
    "Gaussian noise for photographs (mean shift)": (
        (shown_noise - by_architecture.reindex(shown_noise.index)).mean(),
        len(shown_noise),
    ),
    "bfloat16 for float32 (largest shift)": (
        twice.diff(axis=1).iloc[:, -1].abs().max() if twice.shape[1] > 1 else np.nan,
        len(twice),
    ),
}
chapter.glue("null_between", moves["another architecture"][0])
chapter.glue("null_photo", moves["another photograph, same weights"][0])
chapter.glue("null_seed", moves["other random weights, same photograph"][0])
spread = photographed.groupby("architecture")["jer"].std()
chapter.glue(
    "null_widest", f"{spread.idxmax()} by {spread.max():.2f}" if spread.notna().any() else "none known"
)
chapter.glue("null_cost", (cost["bfloat16"] / cost["float32"]).median())
chapter.glue("null_dtype", moves["bfloat16 for float32 (largest shift)"][0])
pd.DataFrame(moves, index=["directions of 32", "from so many values"]).T.style.format(
    "{:.2f}", subset=["directions of 32"]
).format("{:.0f}", subset=["from so many values"])

# %% [markdown]
# Architectures differ by {glue:text}`null_between:.2f` (standard deviation), photographs under the same weights by {glue:text}`null_photo:.2f`, weights under the same photograph by {glue:text}`null_seed:.2f`. The widest spread of one architecture over both is {glue:text}`null_widest`. A few photographs and two
# draws of the weights are therefore enough for a null, if not for a trained network ({numref}`fig-jer-trained`). All but the ResNet-50 were measured in bfloat16; where the same step was taken
# in both precisions, bfloat16 took {glue:text}`null_cost:.2f` of the time (median), and the two differ by at most {glue:text}`null_dtype:.2f`.
#
# ## The silent zero
#
# Forward-mode derivatives fail in an unpleasant way. If anything inside the network runs under `torch.inference_mode`, as helpful `encode_image` functions often do, the tangent is dropped, and the
# derivative comes back as zeros, without a word:


# %%
@torch.inference_mode()
def careless(x: torch.Tensor) -> torch.Tensor:
    """An encoder that means well."""
    return tiny["resnet"](x)


_, tangent = torch.func.jvp(careless, (small,), (torch.randn(small.shape),))
print("largest entry of Jv, naively:", float(tangent.abs().max()))
try:
    singular_values(careless, small, k)
except InputError as error:
    print("the library:", error)

# %% [markdown]
# Zeros would make JER undefined; zeros in *one branch* of a network would make it merely wrong. So every measurement starts with a self-check: one direction against finite differences in double
# precision, and {eq}`eq-jer-adjoint`. The library also refuses networks in training mode, inputs that look like raw pixels, and outputs that do not depend on the input.
#
# ## What did not hold
#
# * **"The" Jacobian effective rank does not exist.** Formula, estimator, $k$, the layer and the length of the embedding each move it, often by as much as the differences that are discussed. A value without these is not a measurement.
# * **It saturates where the interest lies.** Untrained networks and the best trained ones crowd below 32; {eq}`eq-jer-free` spreads them out.
# * **Untrained does not mean uninformative.** The null is high because an untrained network passes everything on, in a random mixture. A high JER is no sign that an encoder knows anything: raw pixels have
#   a JER of exactly $k$.
#
# :::{exercise}
# :label: ex-jer-pixels
# Why has the identity map, "raw pixels as embedding", a JER of $k$? And what is the JER of $f(x) = (x, \epsilon\, g(x))$, raw pixels with a small network appended?
# :::
#
# :::{solution} ex-jer-pixels
# :class: dropdown
# $J = I$ has all singular values one. For the appended network $J\T J = I + \epsilon^2 G\T G$, so $s_i = \sqrt{1 + \epsilon^2 g_i^2}$: for small $\epsilon$ again nearly flat, JER $\approx k$, whatever $g$
# does. Appending a copy of the input raises JER to the ceiling without changing what can be read from $g$. JER measures a property of the embedding *as scaled*, not its information.
# :::
#
# :::{exercise}
# :label: ex-jer-k
# Run the chapter with `-p k=64`. Which numbers of this page change, which stay, and is {glue:text}`k` of 32 to 64 the same change for a trained and an untrained network?
# :::
#
# :::{solution} ex-jer-k
# :class: dropdown
# All JER values rise; the $\hat r$ of {eq}`eq-jer-free` stays, up to sampling error. A flat, untrained spectrum nearly doubles its JER, a steep one gains little, so that the *difference* between trained and untrained depends
# on $k$ as well: $\Delta$JER at $k=64$ is not that at $k=32$ times two. (The kept values are for $k=32$ and drop out.)
# :::
#
# :::{exercise}
# :label: ex-jer-units
# Two encoders give JER 29 and 30 by the range finder at the same photographs. Use {numref}`fig-jer-dial` (left) to say what that may mean for their ranks, and what a further unit, 30 to 31, means.
# :::
#
# :::{solution} ex-jer-units
# :class: dropdown
# Read as flat spectra, $32(1 - 8/r) = 29$ gives $r \approx 85$, $30$ gives $128$, $31$ gives $256$, from $\mathrm{JER}\approx k\,(1 - k/(4r))$ for $r \gg k$ (the figure's curve is for a sketch; the top values of a steep spectrum behave otherwise).
# Each unit near the ceiling costs more rank than the one before: on a logarithmic scale of ranks JER is squeezed at the top.
# :::
