# ---
# jupyter:
#   bindery:
#     title: A gallery of traps
#     minutes: 15
#     needs:
#       data: []
#       results: ["embeddings/cue-conflict.efficientnet-lite0.safetensors"]
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
# # A gallery of traps
#
# :::{admonition} Before you start
# :class: tip
# **You need** nothing but the chapters that a trap names. **You will be able to** recognise seven ways in which honest code returns a
# plausible wrong number. **Reading** 15 minutes · **running** seconds · **data** synthetic; images in which shape and texture disagree
# {cite}`geirhos2019` (as committed embeddings); SugarCrepe's captions where they are at hand.
# :::
#
# None of these raised an error. Each gave a number of the right size, and most of them stood in published code or tables. Every
# one is sprung here on purpose, with the public report it comes from, what to do instead, and the test of this project that keeps us out of
# it. A cell whose trap no longer works fails, and so does this page: then the trap is to be taken off the wall.

# %% tags=["parameters"]
n_points: int = 200  # points a curve, where a trap draws one
seed: int = 17  # seed of all synthetic data

# %% tags=["remove-cell"]
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display

from bindery import captions as cap
from bindery import committed, compositional, figures, geometry, jacobian, sphere
from bindery.chapter import start
from bindery.compositional import ARMS
from bindery.data import where
from bindery.data.cue_conflict import cue_conflict_labels, names_sha256
from bindery.errors import BinderyError, DataError
from bindery.openworld import binned_curve, image_scores, seen_unseen_curve
from bindery.worlds import Candidates

chapter = start(globals())
rng = np.random.default_rng(seed)
gallery, began = [], time.process_time()


# %% [markdown]
# A trap is sprung by one call, which fails if what it shows is not there any more.


# %%
def sprung(trap: str, there: bool, *, wrong: str, right: str, guard: str) -> None:
    """Hang a trap on the wall, or fail if it is none any more."""
    global began
    if not there:
        raise BinderyError(f"the trap {trap!r} no longer works: expected {wrong}; take it off this page")
    gallery.append({"trap": trap, "wrong": wrong, "right": right, "guard": guard})
    seconds, began = time.process_time() - began, time.process_time()
    display(Markdown(f"*Wrong:* {wrong}. *Right:* {right}. *Guard:* `{guard}`."))
    if seconds > 5:
        raise BinderyError(f"{trap}: took {seconds:.0f} s of processor time; a trap is shown in five")


# %% [markdown]
# ## An angle that rounds to zero
#
# The angle between two unit vectors is $\arccos(p \cdot q)$, and near one the arccosine has no digits left: in single precision every angle
# below $3 \cdot 10^{-4}$ may come out as zero, or as twice itself. Reported for
# [a sphere in Julia](https://github.com/JuliaManifolds/Manifolds.jl/pull/583) and
# [one in Rust](https://github.com/SauersML/gam/issues/592); the released code of Paper G has it too. The cure is in {doc}`02_the_sphere`.

# %%
p = sphere.unit(rng.standard_normal((1, 768)))
other = rng.standard_normal((1, 768))
aside = sphere.unit(other - (other @ p.T) * p)
angles = np.geomspace(1e-6, 0.3, n_points)
q = (np.cos(angles)[:, None] * p + np.sin(angles)[:, None] * aside).astype(np.float32)
base = p.astype(np.float32)
by_arccos = np.arccos(np.clip((q @ base.T)[:, 0], -1, 1))
by_chord = sphere.distance(q, np.repeat(base, n_points, axis=0))
errors = {"arccos": np.abs(by_arccos / angles - 1), "this library": np.abs(by_chord / angles - 1)}

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6, 2.6))
for name, colour in (("arccos", "C1"), ("this library", "C0")):
    axis.loglog(angles, np.maximum(errors[name], 1e-9), ".", ms=3.5, color=colour, label=name)
axis.axhline(1, color="0.5", lw=1, ls=":")
axis.set_xlabel("true angle (radians)")
axis.set_ylabel("relative error")
axis.legend(loc="upper right")
chapter.figure(
    figure,
    name="trap-arccos",
    alt="Relative error of an angle in single precision against the angle, by arccosine and by this library: the first reaches one below a few ten-thousandths.",
    caption="Angles in single precision, D = 768. At the dotted line nothing of the number is right.",
)
lost = angles[errors["arccos"] > 0.5]
sprung(
    "arccos in single precision",
    len(lost) > 0 and errors["this library"][angles > 1e-5].max() < 1e-2,
    wrong=f"arccos is off by half or more for angles up to {lost.max():.1e} rad",
    right=f"two arctangents stay within {errors['this library'][angles > 1e-4].max():.0e} above 1e-4 rad, which is what single precision can hold",
    guard="tests/test_sphere.py::test_float32_keeps_small_angles_that_arccos_loses",
)

# %% [markdown]
# ## A composite with a length
#
# $c + v_a + v_o$ is no unit vector, and its length differs from pair to pair. In a dot product, long composites win. The released code of
# Paper G scores its linear baseline that way
# ([`factorizers.py`](https://github.com/BerasiDavide/vlm_image_compositionality)), so a table that reads "linear against spherical" is in
# part "with length against without". {doc}`05_compositional_classification` takes the two apart.

# %%
name = "efficientnet-lite0"
labelled = cue_conflict_labels()
rows = compositional.unit(committed.read("cue-conflict", name, names_sha256(), None))
pairs = labelled.pairs()
model = ARMS["LDE raw"].fit(rows, [a for a, _ in pairs], [o for _, o in pairs])
kinds = sorted(set(pairs))
composites = model.compose([a for a, _ in kinds], [o for _, o in kinds])
lengths = np.linalg.norm(composites, axis=1)
chosen = {
    "raw": (rows @ composites.T).argmax(axis=1),
    "unit": (rows @ compositional.unit(composites).T).argmax(axis=1),
}
right = {how: np.mean([kinds[i] == pair for i, pair in zip(found, pairs, strict=True)]) for how, found in chosen.items()}  # fmt: skip
longest = np.argsort(-lengths)[: len(kinds) // 4]
share = {how: np.isin(found, longest).mean() for how, found in chosen.items()}

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6, 2.4))
for how, marker in (("raw", "s"), ("unit", "o")):
    counts = np.bincount(chosen[how], minlength=len(kinds))
    axis.plot(
        lengths, counts, marker, ms=4, alpha=0.7, color=figures.color_of(f"LDE {how}"), label=f"LDE {how}"
    )
axis.set_xlabel("length of the composite")
axis.set_ylabel("times predicted")
axis.legend()
chapter.figure(
    figure,
    name="trap-length",
    alt="How often each pair is predicted against the length of its composite: raw composites are predicted more often when long.",
    caption="EfficientNet-Lite0, images in which shape and texture disagree, every pair seen, composites fitted to the same images that are asked. One point a pair.",
)
sprung(
    "composites that keep their length",
    share["raw"] > share["unit"] + 0.05,
    wrong=f"the longest quarter of the composites takes {share['raw']:.0%} of the predictions; {right['raw']:.1%} are right",
    right=f"at unit length it takes {share['unit']:.0%}; {right['unit']:.1%} are right",
    guard="tests/test_decomposition.py::test_raw_and_unit_linear",
)

# %% [markdown]
# ## An area from twenty points
#
# The seen–unseen curve of compositional classification has a step wherever one image changes its mind. The common evaluator looks at twenty
# to forty biases only. What that does to the area and the best harmonic mean is the subject of
# [a long thread](https://github.com/ExplainableML/czsl/issues/4). The exact curve costs one sort ({doc}`05_compositional_classification`).

# %%
n_pairs, shown = 40, 300
world = Candidates.closed_world(
    [(f"a{i % 8}", f"o{i // 8}") for i in range(0, n_pairs, 2)],
    [(f"a{i % 8}", f"o{i // 8}") for i in range(n_pairs)],
)
gaps = []
for _ in range(20):
    true = rng.integers(0, len(world.pairs), shown)
    table = rng.standard_normal((shown, len(world.pairs)))
    table[np.arange(shown), true] += 2.0
    scores = image_scores(table, world, [world.pairs[i] for i in true])
    exact, binned = seen_unseen_curve(scores), binned_curve(scores)
    gaps.append(
        (100 * (binned.auc - exact.auc), 100 * (binned.best_harmonic_mean - exact.best_harmonic_mean))
    )
gaps = pd.DataFrame(gaps, columns=["AUC", "best harmonic mean"])
gaps.describe().loc[["mean", "min", "max"]].round(2)

# %% tags=["remove-input"]
sprung(
    "twenty biases",
    bool((gaps["best harmonic mean"] <= 1e-9).all() and gaps["best harmonic mean"].min() < -0.1),
    wrong=f"over 20 draws the best harmonic mean is too low by up to {-gaps['best harmonic mean'].min():.2f} points, the AUC off by up to {gaps['AUC'].abs().max():.2f}",
    right="all breakpoints, by one sort",
    guard="tests/test_openworld.py::test_never_above_the_exact_area_when_every_bias_is_kept",
)

# %% [markdown]
# ## A dimension that counts the images
#
# The participation ratio of the *sample* covariance of $N$ isotropic points in $D$ dimensions is about $ND/(N+D)$; the truth is $D$. A
# table of encoders measured on unequal $N$ compares the $N$. Chun et al. {cite}`chun2026` give the correction;
# [an effective rank in a medical-imaging library](https://github.com/Project-MONAI/MONAI/issues/8996) had a floor of the same kind. See
# {doc}`09_limits_of_geometry`.

# %%
clouds = rng.standard_normal((5, 2000, 256))
counts = [32, 64, 128, 256, 512, 1024, 2000]
curve = pd.DataFrame(
    {
        name: [
            np.mean([geometry.participation_ratio(cloud[:n], correction=how) for cloud in clouds])
            for n in counts
        ]
        for name, how in (("plug-in", "none"), ("corrected", "finite-sample"))
    },
    index=counts,
)

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6, 2.4))
axis.semilogx(counts, curve["plug-in"], "s-", color="C1", label="plug-in")
axis.semilogx(counts, curve["corrected"], "o-", color="C0", label="unbiased parts")
axis.axhline(1, color="0.5", lw=1, ls=":")
axis.set_xlabel("number of points N")
axis.set_ylabel("participation ratio / D")
axis.set_xticks(counts, [str(n) for n in counts])
axis.legend()
chapter.figure(
    figure,
    name="trap-participation",
    alt="Participation ratio of an isotropic cloud against the number of points: the plug-in value climbs from near zero, the corrected one stays at one.",
    caption="Mean of five isotropic clouds, D = 256, true value 1 (dotted).",
)
sprung(
    "the plug-in participation ratio",
    curve["plug-in"].iloc[0] < 0.25
    and curve["plug-in"].iloc[-1] > 0.8
    and (curve["corrected"] - 1).abs().max() < 0.15,
    wrong=f"the same clouds read {curve['plug-in'].iloc[0]:.2f} with {counts[0]} points and {curve['plug-in'].iloc[-1]:.2f} with {counts[-1]}",
    right=f"unbiased numerator and denominator stay within {(curve['corrected'] - 1).abs().max():.2f} of 1",
    guard="tests/test_geometry.py::test_plug_in_value_of_isotropic_data_is_about_n_over_n_plus_d",
)

# %% [markdown]
# ## A rank that cannot exceed k
#
# Jacobian effective rank as Paper S defines it {cite}`chung2026` reads the top $k = 32$ singular values, so it is at most 32 whatever the
# map does. Jacobians whose full ranks are far apart then read much nearer to each other, and between encoders of unequal $D$, or in tables
# of unequal $k$, the number is not the same quantity. We know of no public report; {doc}`10_jacobian_effective_rank` turns the dial.

# %%
spectra = {f"$s_i = i^{{-{a}}}$": np.arange(1, 769) ** -a for a in (0.25, 0.5, 0.75, 1.0)}
ks = [8, 16, 32, 64, 128, 256, 768]
ranks = pd.DataFrame(
    {label: [jacobian.effective_rank(s[:k]) for k in ks] for label, s in spectra.items()}, index=ks
)

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6, 2.6))
for label in ranks:
    axis.loglog(ks, ranks[label], "o-", ms=4, label=label)
axis.axvline(32, color="0.5", lw=1, ls=":")
axis.set_xlabel("k, singular values read")
axis.set_ylabel("effective rank")
axis.set_xticks(ks, [str(k) for k in ks])
axis.minorticks_off()
axis.legend(fontsize=8)
chapter.figure(
    figure,
    name="trap-k",
    alt="Effective rank of four planted spectra against the number of singular values read; the curves fan out as more are read.",
    caption="Planted spectra of 768 singular values. Dotted: the k of Paper S.",
)
spread = (ranks.iloc[:, 0] / ranks.iloc[:, -1]).round(1)
sprung(
    "the k of an effective rank",
    spread[768] > 3 * spread[32],
    wrong=f"at k = 32 the flattest and the steepest spectrum differ by a factor of {spread[32]:.1f}",
    right=f"all values read, by {spread[768]:.1f}; so a rank is told with its k, and unequal ones are not compared",
    guard="tests/test_jacobian.py::test_value_errors_and_k_curve",
)

# %% [markdown]
# ## Derivatives that are silently zero
#
# Inside `torch.inference_mode` automatic differentiation is off, and `torch.func.jvp` of a function that enters it returns zeros without
# a word (reported for calls made inside it: [pytorch #177318](https://github.com/pytorch/pytorch/issues/177318)). Many encoders' own `encode` functions are decorated so. A
# spectrum of zeros has no rank; a spectrum in which only the last layers count has one, and it is wrong. The library checks one
# direction against finite differences before it believes a derivative ({doc}`10_jacobian_effective_rank`).


# %%
class Decorated(torch.nn.Module):
    """A network whose body runs under inference mode, as in many encoders' own ``encode``."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Conv2d(3, 8, 3)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            return torch.tanh(self.body(image)).mean((2, 3))


torch.manual_seed(seed)
encode = Decorated().eval().requires_grad_(False)
image = torch.from_numpy(rng.standard_normal((1, 3, 8, 8))).float()
push = torch.from_numpy(rng.standard_normal(image.shape)).float()
_, slope = torch.func.jvp(encode, (image,), (push,))
moved = (encode(image + 1e-2 * push) - encode(image - 1e-2 * push)) / 2e-2
try:
    jacobian.singular_values(encode, image, k=4)
    refused = ""
except BinderyError as error:
    refused = str(error)
print(f"jvp: {slope.abs().max():.3f}; by finite differences: {moved.abs().max():.3f}\nthe library: {refused}")

# %% tags=["remove-input"]
sprung(
    "inference mode inside the function",
    float(slope.abs().max()) == 0 and float(moved.abs().max()) > 0.01 and bool(refused),
    wrong="the derivative is exactly zero in every direction",
    right="finite differences see it move; `bindery.jacobian` refuses such a function",
    guard="tests/test_jacobian.py::test_silent_zeros_are_refused",
)

# %% [markdown]
# ## The shorter caption wins
#
# SugarCrepe {cite}`hsieh2023` asks which of two captions fits a photograph. Where the wrong one was made by *adding* an attribute or an object,
# it is longer, and a reader without eyes who takes the shorter one is nearly always right. In the *swap* kinds most pairs are the same words in
# another order, so whoever reads bags of words is at chance there ([sugar-crepe #10](https://github.com/RAIVNLab/sugar-crepe/issues/10)); and the public scorers settle ties in
# three different ways. {doc}`13_natural_images` has the whole table.

# %%
try:
    if where.rehearsing():
        raise DataError("a rehearsal has the layout of SugarCrepe, not its captions")
    questions, source = cap.sugar_crepe(), "SugarCrepe"
except DataError:
    questions, source = cap.scene_items(100, seed=seed), "caption pairs over scenes, in SugarCrepe's kinds"
blind = cap.shorter_caption(questions)
category = np.array(questions.category)
by_kind = pd.Series({kind: blind.credit[category == kind].mean() for kind in questions.categories})
added = by_kind[[kind for kind in by_kind.index if kind.startswith("add")]]
constant = cap.Choice(np.zeros(len(questions)), np.zeros(len(questions)))
print(source)
by_kind.round(3).to_frame("accuracy of the shorter caption").T

# %% tags=["remove-input"]
sprung(
    "the shorter caption",
    bool((added > 0.95).all()) and len(set(constant.rules.values())) > 1,
    wrong=f"without an image, {added.min():.1%} or more of the *add* questions are answered rightly; and a scorer that ties everywhere scores "
    + " or ".join(f"{value:.0%}" for value in dict.fromkeys(constant.rules.values()))
    + " by the rule for ties",
    right="blind baselines beside every score, ties counted and shared",
    guard="tests/test_captions.py::test_a_tie_is_half_right_and_the_public_rules_disagree_about_it",
)

# %% [markdown]
# ## The wall

# %% tags=["remove-input"]
display(pd.DataFrame(gallery)[["trap", "wrong", "right"]].style.hide())
chapter.measure(
    "traps_sprung", len(gallery), data="synthetic", protocol="each trap shown, or the chapter fails"
)

# %% [markdown]
# ## What did not hold
#
# That a wrong number looks wrong. All of these were plausible, and no single run could have shown the fault. What shows it is a second way to the same number: a closed form, a planted truth,
# a permutation of the input, more digits, a baseline that cannot see. Each guard above is such a second way, and the exercises of this book ask for more of them.
#
# :::{exercise}
# :label: ex-traps-own
# Choose one number of your own last paper. Name two transformations of the input under which it must not change, and one under which it must change in
# a known way. Run all three.
# :::
#
# :::{solution} ex-traps-own
# :class: dropdown
# There is no one answer. For a retrieval score: shuffle the images (unchanged), scale all embeddings (unchanged if it claims to use cosines), and
# duplicate every gallery image (recall at 1 unchanged, recall at 5 not). The third is the one that finds bugs.
# :::
