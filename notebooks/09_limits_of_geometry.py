# ---
# jupyter:
#   bindery:
#     title: The limits of global geometry
#     minutes: 25
#     needs:
#       data: []
#       results: ["embeddings/cue-conflict.*.safetensors", "zoo*.parquet"]
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
# # The limits of global geometry
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_encoders_and_embeddings` and {doc}`08_attribute_binding`. **You will be able to** compute three measures of how
# well embeddings are spread, say what each owes to the number of images, and judge what "no correlation over 26 encoders" can mean.
# **Reading** 25 minutes · **running** under a minute · **data** synthetic clouds; images in which shape and texture disagree
# {cite}`geirhos2019` (as committed embeddings) · **encoders** EfficientNet-Lite 0, 1, 2; the small encoders of the zoo (`bindery zoo`)
# where their table is at hand.
# :::
#
# A good representation, one often reads, is one whose embeddings are well *spread*: no direction dominates, no region collapses. Spread is
# easily measured from the embeddings alone, so it is a tempting thing to watch. Paper S {cite}`chung2026` says that it is not enough.

# %% tags=["parameters"]
from typing import Literal

encoders: list[str] = [
    "efficientnet-lite0",
    "efficientnet-lite1",
    "efficientnet-lite2",
]  # of the committed embeddings
dim: int = 768  # of the synthetic clouds
sizes: list[int] = [50, 100, 200, 400, 800]  # numbers of images in the value-against-N curves
repeats: int = 4  # random subsets at each size
neighbours: list[int] = [10, 20, 50, 100, 200]  # k of the local metrics
anchors: int = 60  # images whose neighbourhoods are averaged
zoo_condition: Literal["photometric", "standard"] = "photometric"  # augmentation in the zoo's training
n_scenes: int = 1000  # scenes for the sweep over formulations
draws: int = 10000  # bootstrap draws over families, as declared for the zoo
simulations: int = 20000  # of the contrast of two correlations
seed: int = 9  # seed of every random draw on this page

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from matplotlib.patches import Ellipse
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from bindery import (
    binding,
    committed,
    figures,
    geometry,
    inference,
    ledger,
    protocol,
    zoo,
    zoo_results,
    zoo_verdicts,
)
from bindery import scenes as sc
from bindery.chapter import start
from bindery.data.cue_conflict import cue_conflict_labels, names_sha256
from bindery.errors import DataError, InputError

chapter = start(globals())
rng = np.random.default_rng(seed)
cells = ledger.reported_cells()
NOT_RUN = "Not run here: the table of the zoo is missing. The commands bindery zoo run and bindery zoo measure make it."

# %% [markdown]
# **What the paper says.** It computes three measures, G.PR, G.Iso and L.Iso, of the embeddings of natural images, for 26 encoders, and correlates
# each with the binding accuracy of {doc}`08_attribute_binding`. None correlates. What binds is not what is spread.
#
# **What a reader should ask.** Three things. What do these numbers depend on besides the encoder? Do they fail to predict *binding*,
# or do they fail to predict *anything* about these pictures? And how much can 26 encoders say about a correlation of zero? We take them in this order.
#
# ## Three measures, three pictures
#
# Let $z_1, \dots, z_N \in \mathbb{R}^D$ be embeddings, not normalised, $C$ their covariance and $\lambda_1 \ge \dots \ge \lambda_D$ its eigenvalues. The
# *global participation ratio* is the number of directions that carry variance, as a share of all,
#
# $$ \mathrm{G.PR} = \frac{\bigl(\sum_i \lambda_i\bigr)^2}{D \sum_i \lambda_i^2} = \frac{(\operatorname{tr} C)^2}{D \operatorname{tr} C^2} . $$ (eq-limits-gpr)
#
# If $m$ eigenvalues are equal and the rest zero, it is $m/D$. The *global isotropy score* looks at the strongest direction only,
#
# $$ \mathrm{G.Iso} = 1 - \frac{\lambda_1}{\sum_i \lambda_i} , $$ (eq-limits-giso)
#
# the share of the variance outside it. The *local isotropy score* applies the same formula to neighbourhoods: with $C_i$ the covariance of the $k$
# nearest neighbours of image $i$,
#
# $$ \mathrm{L.Iso} = \frac1N \sum_{i=1}^{N} \Bigl(1 - \frac{\lambda_1(C_i)}{\operatorname{tr} C_i}\Bigr) . $$ (eq-limits-liso)
#
# The formulas of G.PR and G.Iso are the paper's. For L.Iso it gives words; $k = 50$ and {eq}`eq-limits-liso` are this book's choice, and we vary both below.

# %% tags=["hide-input"]
turn = rng.uniform(0, 2 * np.pi, 400)
clouds = {
    "blob": rng.standard_normal((400, 2)),
    "cigar": rng.standard_normal((400, 2)) * [2.2, 0.5] @ np.array([[0.87, 0.5], [-0.5, 0.87]]),
    "ring": 2 * np.column_stack([np.cos(turn), np.sin(turn)]) + 0.08 * rng.standard_normal((400, 2)),
}
measured = {
    name: {
        "G.PR": geometry.participation_ratio(cloud),
        "G.Iso": geometry.isotropy(cloud),
        "L.Iso": geometry.local_isotropy(cloud, 20, anchors=100),
    }
    for name, cloud in clouds.items()
}


def ellipse(points: np.ndarray, **look: object) -> Ellipse:
    """Two standard deviations of a planar cloud."""
    values, vectors = np.linalg.eigh(np.cov(points.T))
    width, height = 4 * np.sqrt(values[::-1])
    return Ellipse(
        points.mean(axis=0),
        width,
        height,
        angle=np.degrees(np.arctan2(*vectors[::-1, 1])),
        fill=False,
        **look,
    )


figure, axes = plt.subplots(1, 4, figsize=(7, 2.35), width_ratios=[1.15, 1, 1, 1])
bars = np.array([0.42, 0.22, 0.13, 0.09, 0.06, 0.04, 0.03, 0.01])
ratio = 1 / (bars**2).sum()
axes[0].bar(np.arange(8) + 0.5, bars, width=0.86, color="#56B4E9")
axes[0].bar(ratio / 2, 1 / ratio, width=ratio, fill=False, edgecolor="#0072B2", lw=1.8)
axes[0].set_title("G.PR: how many\nequal eigenvalues?", fontsize=8.5)
axes[0].set_xticks([])
axes[0].set_yticks([])
titles = {
    "blob": "blob",
    "cigar": "cigar: G.Iso sees\nthe long axis",
    "ring": "ring: L.Iso sees\nthe thin places",
}
for axis, (name, cloud) in zip(axes[1:], clouds.items(), strict=True):
    axis.plot(*cloud.T, ".", ms=2.2, color="#B4B4B4")
    axis.add_patch(ellipse(cloud, color="#0072B2", lw=1.6))
    for anchor in (int(np.argmax(cloud @ [0.9, 0.44])), int(np.argmin(cloud @ [0.9, 0.44]))):
        near = cloud[np.argsort(((cloud - cloud[anchor]) ** 2).sum(1))[1:21]]
        axis.plot(*near.T, ".", ms=3, color="#D55E00")
        axis.add_patch(ellipse(near, color="#D55E00", lw=1.3))
    axis.set_title(titles[name], fontsize=8.5)
    axis.set_xlim(-5, 5)
    axis.set_ylim(-4.4, 4.4)
    axis.set_aspect("equal")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_xlabel(
        "  ".join(f"{key} {value:.2f}" for key, value in measured[name].items()).replace("  L", "\nL"),
        fontsize=7.5,
    )
for axis in axes:
    axis.grid(False)
chapter.figure(
    figure,
    name="limits-metrics",
    alt="Left, eight falling bars with a box of equal area and equal sum of squares. Right, three planar clouds, a round blob, a long cigar and a "
    "thin ring, each with an ellipse for the whole and two small ellipses for neighbourhoods, and their three scores below.",
    caption="The three measures. Left: eigenvalues as bars; G.PR counts the equal bars (box) that have the same total and the same sum of squares. Right: "
    "clouds in the plane with their scores. Blue ellipses belong to the whole cloud, orange ones to neighbourhoods of 20.",
)

# %% [markdown]
# No two of them ask the same. The cigar is low on G.PR and G.Iso. The ring is perfect on both and low on L.Iso: globally spread, locally a line. All three
# centre the embeddings and leave their lengths alone, so that an encoder with a few very long embeddings scores low whatever its directions do.
#
# ## What they owe to the number of images
#
# The eigenvalues of a *sample* covariance are more unequal than those of the population. For isotropic data, whose true G.PR is 1, the plug-in value of
# {eq}`eq-limits-gpr` with $N$ images is about
#
# $$ \mathrm{G.PR}_{\text{plug-in}} \approx \frac{N}{N + D} . $$ (eq-limits-bias)
#
# It is a statement about $N$ and $D$, not about the encoder. Multiplying by $(N + D)/N$ mends only this one case. What mends all is to replace
# $(\operatorname{tr} C)^2$ and $\operatorname{tr} C^2$ each by an unbiased estimate, which exists in closed form {cite}`chun2026`; the library calls it `correction="finite-sample"`.


# %%
def corrected(rows: np.ndarray) -> float:
    """The participation ratio from unbiased estimates of its two parts."""
    return geometry.participation_ratio(rows, correction="finite-sample")


label = cue_conflict_labels()
here = [name for name in encoders if name in committed.available("cue-conflict")]
embeddings = {name: committed.read("cue-conflict", name, names_sha256()) for name in here}
spread = np.arange(1, dim + 1) ** -0.5  # standard deviations: eigenvalues fall off like 1/i
truth = {"isotropic": 1.0, "eigenvalues like 1/i": (spread**2).sum() ** 2 / (dim * (spread**4).sum())}
cloud = rng.standard_normal((max(sizes), dim))
samples = {"isotropic": cloud, "eigenvalues like 1/i": cloud * spread}
if here:
    samples[here[0]] = embeddings[here[0]].astype(np.float64)
curves = {
    name: {kind: geometry.value_against_n(rows, metric, [n for n in sizes if n <= len(rows)], repeats=repeats, seed=seed) for kind, metric in
           (("plug-in", geometry.participation_ratio), ("finite-sample", corrected))}
    for name, rows in samples.items()
}  # fmt: skip

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, len(samples), figsize=(7, 2.7))
for axis, (name, pair) in zip(np.atleast_1d(axes), curves.items(), strict=True):
    for kind, colour, mark in (("plug-in", "#D55E00", "s"), ("finite-sample", "#0072B2", "o")):
        told = pair[kind]
        axis.errorbar(
            told["n"],
            told["mean"],
            told["sd"].fillna(0),
            color=colour,
            marker=mark,
            ms=4.5,
            lw=1.4,
            capsize=2,
            label=kind,
        )
    n = pair["plug-in"]["n"].to_numpy()
    width = samples[name].shape[1]
    naive = pair["plug-in"]["mean"] * (n + width) / n
    axis.plot(n, naive, ":", color="0.45", lw=1.4, label="plug-in × (N + D)/N")
    if name in truth:
        axis.axhline(truth[name], color="black", lw=0.9, ls="--", label="truth")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set_xticks(sizes, [str(size) for size in sizes], fontsize=7.5)
    axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axis.set_title(name, fontsize=9)
    axis.set_xlabel("number of images N")
np.atleast_1d(axes)[0].set_ylabel("G.PR")
np.atleast_1d(axes)[0].legend(fontsize=7, loc="lower right", borderpad=0.1)
chapter.figure(
    figure,
    name="limits-n",
    alt="Participation ratio against the number of images for isotropic data, for a falling spectrum and for a real encoder. Three curves "
    "each, plug-in, finite-sample, and plug-in times a factor, with the truth where it is known.",
    caption="G.PR against the number of images, mean and sd over random subsets. The plug-in value grows with N; the estimate with unbiased parts does not; the "
    "factor $(N+D)/N$ is right for isotropic data and wrong elsewhere.",
)
smallest, largest = sizes[0], sizes[-1]
plug = curves["isotropic"]["plug-in"].set_index("n")["mean"]
chapter.glue("plug_small", plug[smallest])
chapter.glue("plug_large", plug[largest])
chapter.glue("law_small", smallest / (smallest + dim))
chapter.glue("law_large", largest / (largest + dim))
chapter.glue("n_small", smallest)
chapter.glue("n_large", largest)
chapter.measure(
    "plug_in_isotropic",
    plug[smallest],
    n=smallest,
    data="isotropic Gaussian",
    protocol=f"G.PR, D = {dim}",
    variant=f"N = {smallest}",
)
real = here[0] if here else ""
growth = curves[real] if real else curves["eigenvalues like 1/i"]
ends = growth["plug-in"].sort_values("n")["mean"].to_numpy()
settled = growth["finite-sample"].sort_values("n")["mean"].to_numpy()
chapter.glue("real_name", real or "the falling spectrum")
chapter.glue("real_growth", ends[-1] / ends[0])
chapter.glue("real_corrected_growth", settled[-1] / settled[0])

# %% [markdown]
# Isotropic clouds read {glue:text}`plug_small:.3f` with {glue:text}`n_small` images and {glue:text}`plug_large:.3f` with {glue:text}`n_large`; equation
# {eq}`eq-limits-bias` says {glue:text}`law_small:.3f` and {glue:text}`law_large:.3f`. For {glue:text}`real_name` the plug-in value grows by a factor of
# {glue:text}`real_growth:.2f` from the smallest to the largest subset, the corrected one by {glue:text}`real_corrected_growth:.2f`. So a table that measures some
# encoders on more images than others compares numbers of images. The library does not do it:

# %%
rows = (
    embeddings
    if len(embeddings) > 1
    else {"one": samples["isotropic"], "other": samples["eigenvalues like 1/i"]}
)
first, second = list(rows)[:2]
names = [f"image {i}" for i in range(len(rows[first]))]
try:
    geometry.compare_geometry(
        {first: rows[first], second: rows[second][:400]}, {first: names, second: names[:400]}
    )
except InputError as refused:
    print(f"refused: {refused}")
try:
    geometry.compare_geometry(
        {first: rows[first], second: rows[second]},
        {first: names, second: [f"other {name}" for name in names]},
    )
except InputError as refused:
    print(f"refused: {refused}")

# %% [markdown]
# It cannot refuse unequal $D$, since encoders have the length they have. But the share in {eq}`eq-limits-gpr` divides by $D$, and {eq}`eq-limits-bias` contains $D$:
# here is one law, seen by encoders of different length with the same number of images. Each cloud has the same effective *number* of directions.

# %%
lengths, used = (128, 384, 768, 2048), min(40, dim)
rows_of_length = {}
for length in lengths:
    held = np.zeros((largest, length))
    held[:, :used] = rng.standard_normal((largest, used))
    rows_of_length[f"D = {length}"] = held + 0.02 * rng.standard_normal((largest, length))
by_length = geometry.compare_geometry(
    rows_of_length,
    [str(i) for i in range(largest)],
    metrics={"G.PR": geometry.participation_ratio, "corrected": corrected, "G.Iso": geometry.isotropy},
)
by_length["directions (corrected × D)"] = by_length["corrected"] * by_length["dim"]
by_length.round(3)

# %% [markdown]
# The share falls as $1/D$ while nothing changed but empty coordinates. The suite that we reconstructed for Paper S mixes lengths from 384 to 4,096, so that "G.PR" ranks
# encoders partly by their width. Whether a share or a number is meant is a decision, and the paper's is the share.
#
# ## Encoders that are here
#
# Three ImageNet networks, on the same 1,280 images, so that the comparison is legitimate:

# %%
if embeddings:
    told = geometry.compare_geometry(
        embeddings, names,
        metrics={"G.PR": geometry.participation_ratio, "G.PR corrected": corrected, "G.Iso": geometry.isotropy, "L.Iso, k = 50": lambda z: geometry.local_isotropy(z, 50, anchors=anchors)},
    )  # fmt: skip
    for row in told.to_dict("records"):
        for metric in ("G.PR", "G.PR corrected", "G.Iso", "L.Iso, k = 50"):
            chapter.measure(
                "geometry",
                row[metric],
                n=row["n"],
                encoders=row["encoder"],
                data="cue-conflict",
                protocol=metric,
                variant=f"{row['encoder']}, {metric}",
            )
    shown = told.round(3)
else:
    shown = "no committed embeddings here: python tools/embed_cue_conflict.py makes them"
shown

# %% [markdown]
# Three encoders of one family give no correlation with anything; the library asks for four at least, and honesty for many more.
#
# ## How much can 26 encoders say about zero?
#
# The paper reports correlations near zero and p-values far from significance. But a p-value of .6 does not say that a correlation is zero. It says that this many encoders could
# not tell. What they *can* tell is the interval. With $n$ independent encoders Fisher's $z = \operatorname{artanh} r$ has standard error
#
# $$ \mathrm{se}(z) = \frac{1}{\sqrt{n-3}} . $$ (eq-limits-fisher)


# %% tags=["hide-input"]
def cell(name: str, column: str = "value") -> float:
    return float(cells.loc[name, column])


n_first, n_second = 21, 26
reported = [
    ("G.PR, 21 encoders", cell("S.T2.g-pr.v1.r"), n_first),
    ("G.Iso, 26 encoders", cell("S.T2.g-iso.v2.r"), n_second),
    ("G.PR or L.Iso, 26 (smallest |r|)", cell("S.T2.g-pr.v2.abs-r", "low"), n_second),
    ("G.PR or L.Iso, 26 (largest |r|)", cell("S.T2.g-pr.v2.abs-r", "high"), n_second),
    ("JER, 26 encoders (for comparison)", cell("S.T2.jer.v2.r"), n_second),
]
implied = pd.concat(
    [inference.published(r, n).assign(what=what) for what, r, n in reported], ignore_index=True
)
figure, axes = plt.subplots(1, 2, figsize=(7, 2.75), width_ratios=[1.25, 1])
axes[0].axvspan(-0.3, 0.3, color="#E8F1F8", zorder=0)
axes[0].axvline(0, color="0.35", lw=0.9)
for row, line in implied.iterrows():
    colour = figures.color_of(
        "vision-language" if line["what"].startswith("JER") else "variance-decorrelation"
    )
    axes[0].plot([line["ci_low"], line["ci_high"]], [row, row], color=colour, lw=2)
    axes[0].plot(line["r"], row, "o", color=colour)
axes[0].set_yticks(range(len(implied)), implied["what"], fontsize=7.5)
axes[0].set_ylim(len(implied) - 0.5, -0.5)
axes[0].set_xlim(-1, 1)
axes[0].set_xlabel("reported r and its Fisher interval")
counts = np.arange(8, 121)
reach = np.array([inference.fisher_interval(0.0, int(n))[1] for n in counts])
axes[1].plot(counts, reach, color="#0072B2")
axes[1].axhspan(0, 0.3, color="#E8F1F8", zorder=0)
for n in (n_first, n_second):
    axes[1].plot([n, n], [0, np.interp(n, counts, reach)], color="0.35", lw=1, ls=":")
    axes[1].text(
        n, 0.02, f"{n} " if n == n_first else f" {n}", ha="right" if n == n_first else "left", fontsize=7.5
    )
enough = int(counts[np.argmax(reach <= 0.3)])
axes[1].plot(enough, 0.3, "o", color="#0072B2")
axes[1].text(enough + 2, 0.32, f"n = {enough}", fontsize=8)
axes[1].set_xlabel("number of encoders")
axes[1].set_ylabel("half-width of the interval at r = 0")
axes[1].set_ylim(0, 0.75)
chapter.figure(
    figure,
    name="limits-published",
    alt="Left, five reported correlations with intervals; those of the geometry measures straddle zero and reach beyond a shaded band of plus or minus .3; that of JER "
    "lies right of it. Right, the half-width of the interval falls with the number of encoders and enters the band only beyond forty.",
    caption="Left: what the reported coefficients imply if the encoders were independent. Shaded: the band that this book demands of a claim of no correlation. "
    "Right: how many encoders would be needed for an interval that fits into it even when r = 0 exactly.",
)
chapter.glue("giso_low", implied.loc[1, "ci_low"])
chapter.glue("giso_high", implied.loc[1, "ci_high"])
chapter.glue("giso_p", implied.loc[1, "p_val"])
chapter.glue("giso_p_reported", cell("S.T2.g-iso.v2.p"))
chapter.glue("enough", enough)
implied[["what", "r", "n", "ci_low", "ci_high", "p_val"]].round(4)

# %% [markdown]
# The reported r of G.Iso gives back the reported p ({glue:text}`giso_p:.3f` against {glue:text}`giso_p_reported:.3f`), and the interval
# [{glue:text}`giso_low:.2f`, {glue:text}`giso_high:.2f`]. It excludes a strong relation and contains a moderate one. This book calls a claim of no correlation supported when the interval
# lies within ±.3. No coefficient of 26 encoders can do that, not even one of exactly zero; it takes {glue:text}`enough`, if they are independent, and encoders of one family
# are not ({doc}`11_sensitivity_and_binding`). The honest reading of the table is *not shown to correlate*, not *shown not to correlate*.
#
# The other side of the coin is power: with which chance does a real correlation show up as p < .05?

# %% tags=["hide-input"]
power = inference.power_curve(n=(8, 13, 17, 21, 26, 33, 40, 50, 60, 80), r=(0.3, 0.5, 0.69))
figure, axis = plt.subplots(figsize=(5.4, 2.8))
for (r, part), mark in zip(power.groupby("r"), "os^", strict=True):
    axis.plot(part["n"], part["power"], marker=mark, ms=4.5, label=f"true r = {r:.2f}".replace("0.", "."))
for n in (13, n_first, n_second):
    axis.axvline(n, color="0.4", lw=0.9, ls=":")
    axis.text(n + 0.4, 0.03, str(n), fontsize=7.5)
axis.set_xlabel("number of independent encoders")
axis.set_ylabel("chance of p < .05")
axis.set_ylim(0, 1.03)
axis.legend(fontsize=8, loc="lower right")
chapter.figure(
    figure,
    name="limits-power",
    alt="Three rising curves of power against the number of encoders. A true correlation of .3 is found by 26 encoders in about a third of the cases, one of .5 in "
    "about three quarters, one of .69 nearly always.",
    caption="Power of the test that the paper uses. Dotted: the three numbers of encoders that it reports on.",
)
chapter.glue("power_weak", 100 * float(power.query("n == 26 and r == 0.3")["power"].iloc[0]))
chapter.glue("power_strong", 100 * float(power.query("n == 26 and r == 0.69")["power"].iloc[0]))

# %% [markdown]
# A true correlation of .3 would be missed in most such studies (power {glue:text}`power_weak:.0f` %); one of the size reported for JER would hardly ever be
# ({glue:text}`power_strong:.0f` %).
#
# ## The contrast that carries the claim
#
# Suppose that geometry does not correlate with binding. Is it *binding* that it misses? It may simply be unrelated to everything about these scenes. The claim that "global geometry
# is not enough for binding" has content only beside a second correlation: that geometry *does* go with seeing the single factors, shapes, places, colours. What is to be tested is a difference,
#
# $$ \Delta = r(\text{metric}, \text{control}) - r(\text{metric}, \text{binding}) . $$ (eq-limits-contrast)
#
# How large must it be to show with 26 encoders? We simulate: a metric, a control and binding with given true correlations.


# %%
def contrast(n: int, r_control: float, r_binding: float, between: float = 0.3) -> np.ndarray:
    """Sampled values of the difference in (eq-limits-contrast); ``between`` is r(control, binding)."""
    truth = np.array([[1, r_control, r_binding], [r_control, 1, between], [r_binding, between, 1]])
    z = rng.standard_normal((simulations, n, 3)) @ np.linalg.cholesky(truth).T
    z = z - z.mean(axis=1, keepdims=True)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return (z[..., 0] * z[..., 1]).sum(axis=1) - (z[..., 0] * z[..., 2]).sum(axis=1)


critical = float(np.quantile(np.abs(contrast(n_second, 0.3, 0.3)), 0.95))
found = pd.DataFrame(
    [
        {
            "true r with control": r,
            "true r with binding": 0.0,
            "power": float((np.abs(contrast(n_second, r, 0.0)) > critical).mean()),
        }
        for r in (0.3, 0.5, 0.7)
    ]
)
chapter.glue("critical", critical)
chapter.glue("contrast_power", 100 * float(found["power"].iloc[1]))
found.round(2)

# %% [markdown]
# With 26 encoders a difference must exceed {glue:text}`critical:.2f` to stand out. If geometry correlated .5 with the controls and not at all with binding, that would be seen in
# {glue:text}`contrast_power:.0f` % of such studies. The paper shows the second correlation only.
#
# ## The zoo
#
# The zoo of small encoders (`bindery zoo`) holds what differs between the paper's encoders fixed: one network, one length $D$, one training set, one budget; only the
# objective changes. One point is one objective, seeds averaged. Untrained networks and the positive control (trained on the answer) are shown and enter no coefficient; geometry is
# measured on scenes like those of the training, never on the binding stimuli.

# %% tags=["hide-input"]
METRICS = {"g_pr": "G.PR", "g_iso": "G.Iso", "l_iso": "L.Iso"}
TARGETS = {
    "jitter_accuracy": "binding, eight-way",
    "jitter_swap": "binding, swap choice",
    "retrieval_shape": "shape, retrieval",
    "retrieval_place": "place, retrieval",
    "retrieval_colour": "colour, retrieval",
    "probe_shape": "shape, probe",
    "probe_place": "place, probe",
    "probe_colour": "colour, probe",
}
try:
    table = zoo_results.read()
    panel = zoo_verdicts.panel(table, zoo_condition)
except (DataError, InputError):
    table, panel = None, None
if panel is not None and (len(panel) < 6 or panel["family"].nunique() < 3):
    panel = None
plan = protocol.read()
wanted = [name for name in plan.objectives if name not in plan.analysis["headline_excludes"]]
whole = panel is not None and zoo_verdicts.complete(table, zoo_condition)
floor = panel is not None and zoo_verdicts.at_floor(table, zoo_condition)
if panel is None:
    print(NOT_RUN)
else:
    told = f"{len(panel)} of {len(wanted)} objectives in {panel['family'].nunique()} families, {zoo_condition}, {int(panel['n_seeds'].min())} to {int(panel['n_seeds'].max())} seeds averaged"
    print(
        told
        + ("; the condition is at floor, and no verdict is drawn from it" if floor else "")
        + ("" if whole else "; the run is not complete, and no verdict is drawn from it")
    )

# %% tags=["hide-input"]
if panel is not None:
    control = zoo_verdicts.panel(table, zoo_condition, control=True).query("family == 'control'")
    nulls = table[table["family"] == "random"]
    grey = table.set_index("name").loc["pixels-grey", "jitter_accuracy"]
    figure, axes = plt.subplots(1, 3, figsize=(7, 2.9), sharey=True)
    for axis, (column, title) in zip(axes, METRICS.items(), strict=True):
        figures.scatter_families(axis, panel, column, "jitter_accuracy", controls=control, untrained=nulls)
        figures.level_lines(axis, {"chance": binding.CHANCE, "bag ceiling": 0.5, "grey pixels": grey})
        axis.set_xlabel(title)
        axis.xaxis.set_major_locator(MaxNLocator(4))
    axes[0].set_ylabel("binding accuracy (jitter, dark)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=7)
    chapter.figure(
        figure,
        name="limits-scatter",
        alt="Three scatter plots of binding accuracy against G.PR, G.Iso and L.Iso over the objectives of the zoo, with lines for chance, the bag ceiling and grey pixels.",
        caption="Geometry and binding over the zoo’s objectives. Open marks enter no coefficient. Dotted: chance; dashed: bag ceiling; dash-dotted: grey pixels without a network.",
    )

# %% [markdown]
# Now the contrast of {eq}`eq-limits-contrast`: each metric with binding, and with each single factor, by cosine retrieval (as strict as the task) and by a linear probe (is the factor there at all).

# %% tags=["hide-input"]
answers, contrasts = pd.DataFrame(), pd.DataFrame()
if panel is not None:
    usable = {key: name for key, name in TARGETS.items() if panel[key].nunique() > 1}
    answers = pd.concat(
        [
            inference.correlate(
                panel, metric, target, draws=min(draws, 200), permutations=min(draws, 999), seed=seed
            )
            for metric in METRICS
            for target in usable
        ]
    )
    figure, axis = plt.subplots(figsize=(7, 2.2))
    grid = answers.pivot_table(index="x", columns="y", values="r", sort=False)
    axis.imshow(grid, cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(grid.to_numpy()):
        row = answers.iloc[i * len(usable) + j]
        text = f"{value:+.2f}\n[{row['ci_low']:+.2f}, {row['ci_high']:+.2f}]"
        axis.text(
            j,
            i,
            text,
            ha="center",
            va="center",
            fontsize=6.6,
            color="white" if abs(value) > 0.45 else "black",
        )
    axis.set_xticks(range(len(usable)), [name.replace(", ", ",\n") for name in usable.values()], fontsize=7.5)
    axis.set_yticks(range(3), METRICS.values())
    axis.axvline(1.5, color="white", lw=3)
    axis.xaxis.tick_top()
    axis.grid(False)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    chapter.figure(
        figure,
        name="limits-contrast",
        alt="Matrix of correlations: rows G.PR, G.Iso and L.Iso, columns two binding scores and six single-factor controls, each with its interval.",
        caption="Pearson’s r over the zoo’s objectives, with Fisher intervals for independent encoders. Left of the gap: binding; right: seeing one factor at a time.",
    )
    controls = [key for key in usable if key.startswith("retrieval")]
    contrasts = pd.concat(
        [
            inference.difference_of_correlations(
                panel, (metric, key), (metric, "jitter_accuracy"), draws=min(draws, 1000), seed=seed
            )
            for metric in METRICS
            for key in controls
        ]
    )
    contrasts = contrasts[
        [
            "first",
            "second",
            "r_first",
            "r_second",
            "difference",
            "ci_low",
            "ci_high",
            "family_ci_low",
            "family_ci_high",
        ]
    ].reset_index(drop=True)
contrasts.round(2) if len(contrasts) else NOT_RUN

# %% [markdown]
# ### Any formulation, any neighbourhood?
#
# The paper says that its null result does not depend on the neighbourhood size or on how spread is measured. We let both vary: the embeddings of the shipped encoders (one seed an objective) on the same scenes,
# every formula of the library, every $k$.

# %% tags=["hide-input"]
shipped = {}
if panel is not None:
    for name, card in zoo.cards().items():
        plain = (
            card.backbone == "resnet"
            and not card.options
            and not card.width
            and card.condition == zoo_condition
        )
        if plain and card.objective in set(panel["encoder"]) and card.objective not in shipped:
            shipped[card.objective] = name
sweep = pd.DataFrame()
if len(shipped) >= 6:
    scenes = sc.render(sc.training_scenes(n_scenes, seed=plan.benchmark.seed + 20), 32)
    spreads = {
        "G.PR": geometry.participation_ratio,
        "G.PR, corrected": corrected,
        "effective rank": geometry.effective_rank,
        "G.Iso": geometry.isotropy,
        "uniformity (lower is more even)": geometry.uniformity,
    }
    for kind, short in (
        ("isotropy", "L.Iso"),
        ("participation_ratio", "local PR"),
        ("effective_rank", "local rank"),
    ):
        for k in neighbours:
            if k < n_scenes:
                spreads[f"{short}, k = {k}"] = lambda z, k=k, kind=kind: geometry.local_isotropy(
                    z, k, anchors=anchors, formulation=kind, seed=seed
                )
    values = {
        objective: {title: measure(z) for title, measure in spreads.items()}
        for objective, name in shipped.items()
        for z in [protocol.embedder(zoo.load(name).module)(scenes)]
    }
    wide = (
        pd.DataFrame(values)
        .T.rename_axis("encoder")
        .reset_index()
        .merge(panel[["encoder", "family", "trained", "jitter_accuracy"]])
    )
    wide["trained"] = wide["trained"].astype(bool)
    sweep = inference.max_t(wide, list(spreads), "jitter_accuracy", permutations=min(draws, 4999), seed=seed)
    sweep[["ci_low", "ci_high"]] = [inference.fisher_interval(r, len(wide)) for r in sweep["r"]]
    figure, axis = plt.subplots(figsize=(6, 0.2 * len(sweep) + 0.7))
    axis.axvspan(-0.3, 0.3, color="#E8F1F8", zorder=0)
    axis.axvline(0, color="0.35", lw=0.9)
    for row, line in sweep.iterrows():
        axis.plot([line["ci_low"], line["ci_high"]], [row, row], color="#56B4E9", lw=1.6)
        axis.plot(line["r"], row, "o", ms=4.5, color="#0072B2")
    for side in (-1, 1):
        axis.axvline(side * sweep["critical_r"].iloc[0], color=figures.color_of("contradicts"), lw=1, ls="--")
    axis.set_yticks(range(len(sweep)), sweep["metric"], fontsize=7.5)
    axis.set_ylim(len(sweep) - 0.5, -0.5)
    axis.set_xlim(-1, 1)
    axis.set_xlabel("r with binding accuracy")
    chapter.figure(
        figure,
        name="limits-sweep",
        alt="Correlations of twenty measures of spread with binding accuracy, with intervals; dashed lines mark the size that the best of as many useless measures reaches in one case of twenty.",
        caption="Every measure of spread with binding, over the shipped encoders. Dashed: what the best of so many useless measures would exceed in 5 % of cases.",
    )
elif panel is not None:
    print(
        f"not run: the sweep needs six shipped encoders of the condition {zoo_condition}; there are {len(shipped)}"
    )
else:
    print(NOT_RUN)

# %% [markdown]
# ## The claims

# %% tags=["hide-input"]
CLAIMS = {"g_pr": "jer.gpr-uncorrelated", "g_iso": "jer.giso-uncorrelated", "l_iso": "jer.liso-uncorrelated"}
if panel is not None and whole and not floor:
    declared = zoo_verdicts.correlations(panel, draws=draws, seed=0).set_index("predictor")
    names_used = [f"zoo:{name}" for name in panel["encoder"]]
    words = f"{zoo_condition} condition, one point an objective, {int(panel['n_seeds'].min())} seeds or more averaged, jitter on dark ground; wider of Fisher's and the family bootstrap's interval"
    for metric, claim in CLAIMS.items():
        line = declared.loc[metric]
        display(
            chapter.record(
                claim,
                line["r"],
                ci=(line["low"], line["high"]),
                n=len(panel),
                p=line["p_perm"],
                encoders=names_used,
                data="zoo scenes",
                protocol=words,
                variant=zoo_condition,
            )
        )
    good = panel[panel["family"].isin(["self-distillation", "vision-language"])].nlargest(1, "g_pr")
    if len(good):
        line = good.iloc[0]
        display(
            chapter.record(
                "jer.good-geometry-chance-binding", line["jitter_accuracy"] - binding.CHANCE, ci=(line["jitter_accuracy_low"] - binding.CHANCE, line["jitter_accuracy_high"] - binding.CHANCE), n=1,
                encoders=f"zoo:{line['encoder']}", data="zoo scenes", protocol=f"{zoo_condition} condition; the zoo's captions name places, which web captions rarely do; Wilson interval over trials, mean over seeds", variant=zoo_condition,
            )
        )  # fmt: skip
    if len(sweep):
        line = sweep.loc[sweep["r"].abs().idxmax()]
        display(
            chapter.record(
                "jer.null-robust-to-choices", line["r"], ci=(line["ci_low"], line["ci_high"]), n=len(shipped), p=line["p_adj"], encoders=[f"zoo:{name}" for name in shipped], data="zoo scenes",
                protocol=f"{line['metric']}, the farthest from zero of {len(sweep)}; one seed an objective; Fisher interval, which does not know of the choice; p adjusted for the number of measures", variant=zoo_condition,
            )
        )  # fmt: skip
    top = declared.loc[list(METRICS)]["r"].abs().idxmax()
    summary = (
        f"Over {len(panel)} objectives, r with binding is "
        + ", ".join(f"{declared.loc[m, 'r']:+.2f} for {title}" for m, title in METRICS.items())
        + f"; the largest in size is {METRICS[top]}."
    )
else:
    summary = NOT_RUN
    if floor:
        summary = "The condition is at floor: too few objectives bind beyond an untrained network for any coefficient to mean something."
    elif panel is not None:
        summary = "The table does not hold every declared objective with every declared seed, so that no claim is recorded."
chapter.glue("zoo_summary", summary)

# %% [markdown]
# {glue:text}`zoo_summary`
#
# ## Why ours may differ from the paper's
#
# The paper's encoders differ in everything at once: architecture, length $D$, training set, augmentation, size. Any of these may blur a relation that a controlled comparison would show, or make one that it
# would not. Ours differ in the objective only, but are tiny, see drawn scenes, and were trained for a minute. A coefficient that differs between the two says that something *besides* the objective
# matters, and leaves open what.
#
# ## What did not hold
#
# * **"No correlation" is not what 26 encoders can show.** Even a coefficient of exactly zero leaves an interval wider than our band.
# * **A plug-in participation ratio is partly a number of images,** and the share is partly a length. Neither is a property of the objective.
# * **The contrast is missing from the published table.** Without the correlation with single factors, "geometry does not predict binding" cannot be told from "geometry does not predict anything here".
# * **L.Iso is under-determined.** Words do not fix $k$, the functional, or whether the anchor belongs to its neighbourhood.
#
# :::{exercise}
# :label: ex-limits-bias
# Derive {eq}`eq-limits-bias` for Gaussian data with known mean: with $S = \frac1N \sum_i z_i z_i^\top$ and $z_i \sim \mathcal{N}(0, I_D)$, show that $\mathbb{E}\operatorname{tr} S = D$ and
# $\mathbb{E}\operatorname{tr} S^2 = D + D(D+1)/N$.
# :::
#
# :::{solution} ex-limits-bias
# :class: dropdown
# $\operatorname{tr} S^2 = \frac{1}{N^2}\sum_{i,j} (z_i^\top z_j)^2$. The $N$ terms with $i = j$ have mean $\mathbb{E}|z|^4 = D(D+2)$, the $N(N-1)$ others $\mathbb{E}(z_i^\top z_j)^2 = D$. Together
# $\frac{D(D+2)}{N} + \frac{N-1}{N} D = D + \frac{D(D+1)}{N}$. The ratio of expectations is $\frac{D^2}{D\,(D + D(D+1)/N)} = \frac{N}{N + D + 1}$.
# :::
#
# :::{exercise}
# :label: ex-limits-lengths
# Multiply one coordinate of all embeddings by 100. What happens to the three measures, and to the cosine between two embeddings? Which preprocessing would make them immune, and what would it hide?
# :::
#
# :::{solution} ex-limits-lengths
# :class: dropdown
# One eigenvalue swamps the rest: G.PR goes to $1/D$, G.Iso to 0, L.Iso with it. The cosine is spoilt too, and in the same way. Standardising each coordinate (or whitening) makes the measures immune, by declaring all directions equally important,
# which is the property that they were to measure.
# :::
#
# :::{exercise}
# :label: ex-limits-power
# A colleague reports p = .41 for a metric over 12 encoders and concludes that it is useless. Which true correlations are compatible with that? Use `inference.fisher_interval` and `inference.power_curve`, and say how many encoders you would ask for.
# :::
#
# :::{solution} ex-limits-power
# :class: dropdown
# With $n = 12$, p = .41 belongs to |r| of about .26, whose interval is about [−.37, .73]. A true r of .5 is found by 12 encoders in about four cases of ten. For an interval within ±.3 around zero more than forty are needed, and more if they come in families.
# :::
