# ---
# jupyter:
#   bindery:
#     title: Attribute binding
#     minutes: 20
#     needs:
#       data: [emoji-duos]
#       results: ["attribute_binding*.parquet", "zoo*.parquet"]
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
# # Attribute binding: which shape stood where?
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`00_primer` and {doc}`01_encoders_and_embeddings`. **You will be able to** say what the binding task of
# Paper S asks and what it does not, which scores need no binding at all, and where a published eight-way accuracy can
# mislead. **Reading** 20 minutes · **running** about a minute · **data** rendered scenes of two coloured shapes; drawings of
# two people · **encoders** EfficientNet-Lite0, 1 and 2 with ImageNet weights {cite}`tan2019`, the same three untrained,
# tiny untrained networks, and the small encoders of the zoo (`bindery zoo`) where they are at hand.
# :::
#
# A red disc on the left and a green cross on the right: an encoder that *binds* knows that the **disc** is **left**. One
# that does not may still know that there is a disc, a cross, something left and something right. Both are "good
# representations" by most measures. Paper S {cite}`chung2026` tells them apart with one picture and eight choices.

# %% tags=["parameters"]
from typing import Literal

encoders: list[str] = [
    "efficientnet-lite0"
]  # computed here; card, timm:NAME, open_clip:MODEL/TAG, file.py:function, zoo:NAME
n_live: int = 20  # trials computed here for each of them
n_trials: int = 600  # trials for everything that needs no large network
n_zoo: int = 200  # trials for each small encoder of the zoo
objectives: list[str] = []  # only these of the zoo; empty for all
zoo_condition: Literal["photometric", "standard"] = "photometric"  # augmentation in the zoo's training
n_factor: int = 100  # single-factor trials for each tiny network
duo_styles: list[str] = ["twemoji", "noto", "openmoji"]  # who drew the pairs of people
seed: int = 8  # seed of the scenes; the kept results are for 8

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

from bindery import binding, figures, ledger, zoo, zoo_results, zoo_verdicts
from bindery import data as images_of
from bindery import scenes as sc
from bindery.binding import BindingResult, SceneImages
from bindery.chapter import start
from bindery.encoders import Encoder, load
from bindery.encoders.build import seeded
from bindery.errors import DataError, InputError
from bindery.paths import results_dir
from bindery.protocol import embedder
from bindery.store import Store
from bindery.zoo.backbone import build_backbone

chapter = start(globals())
store = Store()
cells = ledger.reported_cells()
for name in ("variance-decorrelation", "vision-language"):
    chapter.glue(f"reported_{name}", cells.loc[f"S.T3.{name}.binding", "value"])
chapter.glue("chance", 100 * binding.CHANCE)

# %% [markdown]
# ## The question, in pictures
#
# The first image is the query. Which of the eight others shows *the same shapes in the same places*? Colours do not help:
# the query is red and green, all candidates are blue and yellow, dealt at random.

# %% tags=["hide-input"]
example = binding.trials(2, seed=seed)
pictures = sc.render(example.scenes, 112).transpose(0, 2, 3, 1).reshape(2, 9, 112, 112, 3)
figure, axes = plt.subplots(2, 9, figsize=(7, 2.05), width_ratios=[1.25, *[1] * 8])
for row in range(2):
    for column in range(9):
        axis = axes[row, column]
        axis.imshow(pictures[row, column])
        axis.set_xticks([])
        axis.set_yticks([])
        axis.grid(False)
        frame = {0: "black", 1: figures.color_of("supports"), 2: figures.color_of("contradicts")}.get(column)
        for spine in axis.spines.values():
            spine.set_visible(frame is not None)
            spine.set_color(frame)
            spine.set_linewidth(2.2)
        if row == 0:
            axis.set_title("query" if column == 0 else binding.KINDS[column - 1], fontsize=7, loc="center")
chapter.figure(
    figure,
    name="binding-task",
    alt="Two rows of nine dark pictures with two coloured shapes each: a query in red and green, then eight candidates in "
    "blue and yellow, titled target, swap, moved, moved, part-shape, part-place, different, different.",
    caption="Two trials. The target (blue frame) repeats the query's assignment of shapes to places; the swap (orange frame) "
    "shows the same shapes in the same places, exchanged. In a real trial the order is unknown.",
)

# %% [markdown]
# **What the paper says.** Encoders that were trained to decorrelate their features (Barlow Twins {cite}`zbontar2021`,
# VICReg {cite}`bardes2022`) find the target in about {glue:text}`reported_variance-decorrelation:.0f` % of the trials, CLIP
# {cite}`radford2021` in about {glue:text}`reported_vision-language:.0f` %, where guessing gives {glue:text}`chance:.1f` %. These are
# readings of its Table 3 from accounts of the paper; its checkpoints and pictures are not known to us.
#
# **What is ours.** The paper names the kinds of distractors and neither their number nor the shapes, grid and background.
# The counts in {numref}`fig-binding-task` are this book's convention: one target, one *swap*, two with the same shapes in other
# places (*moved*), two with one object right and one half wrong (*part-shape*, *part-place*), two with nothing in
# common. Places are the nine cells of a $3\times3$ grid. In *jitter* mode, used unless we say otherwise, places within the cell and sizes are
# redrawn in every image; in *exact* mode equal cells mean equal coordinates.
#
# ## The score, and what it is worth
#
# With embeddings $z = f(x)$ of the query and $z_1, \dots, z_8$ of the candidates, $z_1$ being the target, the encoder
# answers with the largest cosine. A trial's credit is
#
# $$ a = \frac{\mathbb{1}\left[\cos(z, z_1) = m\right]}{\#\{c : \cos(z, z_c) = m\}}, \qquad m = \max_{c} \cos(z, z_c), $$ (eq-binding-credit)
#
# so that ties share it: an encoder that says the same of every image scores exactly $1/8$, and not $1$ or $0$ as the order
# of the candidates may have it. Beside this eight-way accuracy we report a *swap choice*, the share of trials in which the target
# is closer than its swapped twin alone,
#
# $$ b = \mathbb{1}\left[\cos(z, z_1) > \cos(z, z_2)\right] + \tfrac12\, \mathbb{1}\left[\cos(z, z_1) = \cos(z, z_2)\right] . $$ (eq-binding-swap)
#
# Why two numbers? Consider a perfect *bag*: a code that lists which shapes occur and which places are filled, and nothing about
# which goes with which. Only target and swap agree with the query, and they tie. So it scores one half in
# {eq}`eq-binding-credit`, four times chance, and one half in {eq}`eq-binding-swap`, which *is* chance. **Only a swap
# choice above one half is evidence of binding.** The eight-way accuracy measures, first of all, whether shapes and places
# are seen at all.

# %% [markdown]
# ## Ceilings first
#
# Before any network runs, we ask what scores can be had without one: from codes that know the scene (*oracles*), and from
# pixels. Three pixel codes: RGB values, grey values (luma), and the silhouette $|x - \text{ground}|$. Two grounds: dark, and a mid grey.


# %%
def codes(trials: binding.Trials, size: int = 32) -> dict[str, BindingResult]:
    """Scores that need no network, for one set of trials."""
    images, level = trials.images(size), sc.GROUNDS[trials.ground]
    made = {
        "constant": np.ones((len(images), 1)),
        **{
            f"oracle: {kind}": binding.oracle(trials.scenes, kind)
            for kind in ("shape", "place", "bag", "bound")
        },
        **{
            f"pixels: {kind}": binding.pixel_code(images, kind, ground=level)
            for kind in ("rgb", "grey", "contrast")
        },
    }
    return {name: binding.evaluate(code, trials) for name, code in made.items()}


settings = {
    "dark, jitter": ("dark", "jitter"),
    "dark, exact": ("dark", "exact"),
    "grey, jitter": ("grey", "jitter"),
}
bare = {
    name: codes(binding.trials(n_trials, seed=seed, mode=mode, ground=ground))
    for name, (ground, mode) in settings.items()
}
table = pd.DataFrame(
    {name: {code: result.accuracy for code, result in found.items()} for name, found in bare.items()}
)
table["swap choice (dark, jitter)"] = {code: result.swap for code, result in bare["dark, jitter"].items()}
table.style.format("{:.3f}").set_caption(
    f"Accuracy without a network, {n_trials} trials; chance {binding.CHANCE:.3f}, swap choice .5"
)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 3.1), sharey=True)
names = list(table.index)
looks = {"dark, jitter": ("#0072B2", "o"), "dark, exact": ("#56B4E9", "s"), "grey, jitter": ("#6E6E6E", "D")}
for offset, (setting, (colour, mark)) in zip((-0.2, 0, 0.2), looks.items(), strict=True):
    for axis, measure in zip(axes, ("accuracy", "swap"), strict=True):
        values = [getattr(bare[setting][name], measure) for name in names]
        axis.plot(values, np.arange(len(names)) + offset, mark, ms=5, color=colour, label=setting, ls="")
for axis, chance, title in zip(
    axes, (binding.CHANCE, 0.5), ("eight-way accuracy", "swap choice"), strict=True
):
    axis.axvline(chance, color="0.35", lw=1, ls=":")
    axis.set_xlim(-0.03, 1.03)
    axis.set_xlabel(title)
axes[0].axvline(0.5, color=figures.color_of("contradicts"), lw=1, ls="--")
axes[0].text(0.515, 0.05, "bag ceiling", fontsize=7.5, color=figures.color_of("contradicts"))
axes[0].set_yticks(range(len(names)), names)
axes[0].invert_yaxis()
axes[1].legend(loc="lower left", fontsize=8)
chapter.figure(
    figure,
    name="binding-ceilings",
    alt="Dot plot of eight codes. Constant code at chance; oracles for shape and place below the bag at one half; grey pixels and "
    "silhouettes far above the bag on dark ground, near chance on grey ground for grey pixels.",
    caption="What can be scored without a network: eight-way accuracy and swap choice of oracle codes and pixel codes in three "
    "settings. Dotted: chance; dashed: the ceiling of every code that does not bind.",
)
for setting in settings:
    for kind in ("rgb", "grey", "contrast"):
        result = bare[setting][f"pixels: {kind}"]
        chapter.measure(
            f"pixels_{kind}",
            result.accuracy,
            ci=result.interval,
            n=result.n,
            data="binding scenes",
            protocol=f"{setting}, 32 px",
            variant=setting,
        )
chapter.glue("grey_dark", bare["dark, jitter"]["pixels: grey"].accuracy)
chapter.glue("grey_exact", bare["dark, exact"]["pixels: grey"].accuracy)
chapter.glue("grey_grey", bare["grey, jitter"]["pixels: grey"].accuracy)
chapter.glue("grey_swap", bare["dark, jitter"]["pixels: grey"].swap)

# %% [markdown]
# Plain grey pixels, no network, find the target in {glue:text}`grey_dark:.2f` of the trials on the dark ground, with a swap
# choice of {glue:text}`grey_swap:.2f`, since two pictures with the same shapes in roughly the same places overlap. With exact
# coordinates they reach {glue:text}`grey_exact:.2f`. A binding score is only as meaningful as its distance from these lines, so
# they stand in every plot below.
#
# ### The isoluminance trap
#
# On the grey ground the same grey pixels fall to {glue:text}`grey_grey:.2f`. The reason is visible when the colours are
# taken away: the red of the queries has almost the luminance of that ground, so to whoever ignores hue *the red object
# is not there*. Many objectives train encoders to ignore hue, by colour jitter. On such a ground the benchmark would measure colour
# blindness and call it a failure to bind. The paper does not state its background.

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 4, figsize=(7, 1.9))
for index, ground in enumerate(("dark", "grey")):
    scene = binding.trials(1, seed=seed, ground=ground).scenes[[0]]
    image = sc.render(scene, 160)[0].transpose(1, 2, 0)
    luma = image @ binding.baselines.LUMA
    axes[2 * index].imshow(image)
    axes[2 * index + 1].imshow(luma, cmap="gray", vmin=0, vmax=1)
    axes[2 * index].set_title(f"{ground} ground", fontsize=8.5)
    axes[2 * index + 1].set_title("its luminance", fontsize=8.5)
for axis in axes:
    axis.axis("off")
chapter.figure(
    figure,
    name="binding-isoluminance",
    alt="A query on dark ground and its luminance, where both shapes show; the same query on grey ground and its luminance, "
    "where the red shape has all but vanished.",
    caption="The same query on two grounds, and what remains without hue. On grey the red object is gone.",
)

# %% [markdown]
# ## Encoders
#
# Now the networks. Images are rendered at the encoder's own input size and shown *whole*: the usual centre crop
# would cut the outer cells. A network computes nine embeddings a trial, so the {glue:text}`kept_n` trials of the three EfficientNets and of
# their untrained twins were measured once and are kept under `results/` (`python tools/measure_binding.py`, half an hour of
# one core). The encoders named in the parameters are computed here; where both exist, they must agree.


# %%
def rows_of(network: Encoder, scenes: sc.Scenes) -> np.ndarray:
    """Embeddings of scenes, whole, from the store or computed; one at a time is fastest on a CPU."""
    return store.embeddings(network, SceneImages(scenes, network.input_size), batch_size=1, progress=False)


kept_file = results_dir() / "attribute_binding.parquet"
kept = (
    pd.read_parquet(kept_file)
    if kept_file.exists()
    else pd.DataFrame(columns=["encoder", "weights", "readout", "grid", "ground"])
)
columns = [f"s{i}" for i in range(8)]


def kept_result(
    name: str, weights: str, readout: str = "cosine", grid: int = 1, ground: str = "dark"
) -> BindingResult | None:
    """The kept similarities, or None."""
    wanted = {"encoder": name, "weights": weights, "readout": readout, "grid": grid, "ground": ground}
    part = kept[np.logical_and.reduce([kept[key] == value for key, value in wanted.items()])]
    return BindingResult(part[columns].to_numpy(np.float64)) if len(part) else None


all_trials = binding.trials(max(200, n_live), seed=seed)
live_scenes = all_trials.scenes[: 9 * n_live]
live_trials = binding.Trials(live_scenes, "jitter", "dark", seed)
live, results, networks = {}, {}, {}
for name in encoders:
    networks[name] = load(name).uncropped()
    live[name] = binding.evaluate(rows_of(networks[name], live_scenes), live_trials)
    results[name, networks[name].weights] = live[name]
for name, weights in sorted(set(zip(kept["encoder"], kept["weights"], strict=True))):
    if seed == 8 and (found := kept_result(name, weights)) is not None:
        if name in live and weights == networks[name].weights:
            first = found.similarities[:n_live]
            gap = float(np.abs(first - live[name].similarities[: len(first)]).max())
            print(
                f"{name}: kept and computed similarities differ by at most {gap:.1e} over {len(first)} trials"
            )
            chapter.measure(
                "kept_gap",
                gap,
                n=len(first),
                encoders=name,
                data="binding scenes",
                protocol="largest difference of a cosine",
                variant=name,
            )
        results[name, weights] = found
chapter.glue("kept_n", max((r.n for r in results.values()), default=0))

# %% [markdown]
# The tiny networks of the zoo read 32-pixel images and are cheap. Untrained ones are always there; trained ones join by themselves
# when their weights are shipped. Seeds of one objective are averaged and count as one encoder.

# %%
zoo_trials = binding.trials(n_zoo, seed=seed)
zoo_images = zoo_trials.images(32)
tiny = {}
for backbone in ("resnet", "vit"):
    for weight_seed in range(3):
        with seeded(weight_seed):
            tiny[backbone, weight_seed] = build_backbone(backbone).eval().requires_grad_(False)
untrained = {key: binding.evaluate(embedder(module)(zoo_images), zoo_trials) for key, module in tiny.items()}
trained: dict[str, list[BindingResult]] = {}
family_of: dict[str, str] = {}
for name, card in zoo.cards().items():
    if objectives and card.objective not in objectives:
        continue
    if card.backbone == "resnet" and card.condition == zoo_condition and not card.options and not card.width:
        found = binding.evaluate(embedder(zoo.load(name).module)(zoo_images), zoo_trials)
        trained.setdefault(card.objective, []).append(found)
        family_of[card.objective] = card.family
print(
    f"{len(trained)} trained objectives of the zoo here ({zoo_condition}), {len(untrained)} untrained tiny networks"
)


# %% tags=["hide-input"]
def pooled_row(name: str, parts: list[BindingResult], family: str) -> dict[str, object]:
    """One line of the table: seeds averaged, Wilson interval for the trials of one."""
    accuracy, swap = (
        float(np.mean([getattr(part, what) for part in parts])) for what in ("accuracy", "swap")
    )
    n = parts[0].n
    return {
        "encoder": name, "family": family, "seeds": len(parts), "n": n,
        "accuracy": accuracy, "accuracy_ci": binding.wilson(accuracy * n, n), "swap": swap, "swap_ci": binding.wilson(swap * n, n),
        "against": {kind: float(np.mean([part.against[kind] for part in parts])) for kind in parts[0].against},
    }  # fmt: skip


def family(name: str, weights: str) -> str:
    if weights == "random":
        return "random"
    known = networks[name].card.family if name in networks else "supervised"
    return known if known in figures.FAMILIES else "yours"


lines = [
    pooled_row(name if weights == "pretrained" else f"{name}, {weights}", [found], family(name, weights))
    for (name, weights), found in results.items()
]
lines.sort(key=lambda line: (line["family"] == "random", line["encoder"]))
for backbone in ("resnet", "vit"):
    parts = [found for (kind, _), found in untrained.items() if kind == backbone]
    lines.append(pooled_row(f"tiny {backbone}, random", parts, "random"))
lines += sorted(
    (pooled_row(f"zoo: {name}", parts, family_of[name]) for name, parts in trained.items()),
    key=lambda line: -line["accuracy"],
)
grey_pixels = bare["dark, jitter"]["pixels: grey"]
figure, axes = plt.subplots(1, 2, figsize=(7, 0.28 * len(lines) + 1.3), sharey=True)
for axis, what, chance in zip(axes, ("accuracy", "swap"), (binding.CHANCE, 0.5), strict=True):
    axis.axvline(chance, color="0.35", lw=1, ls=":", label="chance")
    axis.axvline(0.5, color=figures.color_of("contradicts"), lw=1, ls="--", label="bag ceiling")
    axis.axvline(
        getattr(grey_pixels, what), color=figures.color_of("pixels"), lw=1, ls="-.", label="grey pixels"
    )
    for row, line in enumerate(lines):
        low, high = line[f"{what}_ci"]
        look = {
            "color": figures.color_of(line["family"], "black"),
            "marker": figures.marker_of(line["family"], "p"),
        }
        hollow = {"mfc": "white"} if line["family"] == "random" else {}
        axis.plot([low, high], [row, row], color=look["color"], lw=1.4)
        axis.plot(line[what], row, ms=6.5, ls="", **look, **hollow)
    axis.set_xlim(0, 1)
axes[0].set_xlabel("eight-way accuracy")
axes[1].set_xlabel("swap choice")
axes[0].set_yticks(range(len(lines)), [line["encoder"] for line in lines], fontsize=8)
axes[0].set_ylim(len(lines) - 0.4, -0.6)
handles, told = axes[0].get_legend_handles_labels()
figure.legend(handles, told, loc="outside upper center", ncols=3, fontsize=8)
chapter.figure(
    figure,
    name="binding-encoders",
    alt="Dots with intervals for each encoder, eight-way accuracy on the left and swap choice on the right, with vertical lines for "
    "chance, the bag ceiling and grey pixels.",
    caption="Binding by cosine, jitter on dark ground, 95 % Wilson intervals over trials. Hollow marks are untrained networks and enter "
    "no statistic. Dotted: chance; dashed: bag ceiling; dash-dotted: grey pixels.",
)
for line in lines:
    for what in ("accuracy", "swap"):
        chapter.measure(
            f"binding_{what}",
            line[what],
            ci=line[f"{what}_ci"],
            n=line["n"],
            encoders=line["encoder"].removesuffix(", random")
            + ("#random" if line["family"] == "random" else ""),
            data="binding scenes",
            protocol="jitter, dark ground, cosine, whole image; seeds averaged",
            variant=line["encoder"],
        )
head = next((line for line in lines if line["encoder"] == encoders[0]), lines[0])
twin = next((line for line in lines if line["encoder"] == f"{encoders[0]}, random"), None)
chapter.glue("head", head["encoder"])
chapter.glue("head_n", head["n"])
chapter.glue("head_accuracy", head["accuracy"])
chapter.glue("head_interval", "[{:.2f}, {:.2f}]".format(*head["accuracy_ci"]))
chapter.glue("head_swap", head["swap"])
chapter.glue("head_swap_interval", "[{:.2f}, {:.2f}]".format(*head["swap_ci"]))
chapter.glue("twin_accuracy", f"{twin['accuracy']:.2f}" if twin else "not measured")
chapter.glue(
    "n_beyond_bag",
    sum(line["swap_ci"][0] > 0.5 for line in lines if line["family"] not in ("random", "control")),
)
chapter.glue("n_trained", sum(line["family"] not in ("random", "control") for line in lines))

# %% [markdown]
# {glue:text}`head` finds the target in {glue:text}`head_accuracy:.2f` of {glue:text}`head_n` trials, interval
# {glue:text}`head_interval`; its untrained twin in {glue:text}`twin_accuracy`. Against the swap alone it scores
# {glue:text}`head_swap:.2f`, {glue:text}`head_swap_interval`. Of the {glue:text}`n_trained` trained encoders in the figure,
# {glue:text}`n_beyond_bag` have a swap choice that is above one half beyond sampling error. That is what counts as evidence of binding, and by itself it says
# nothing about *how much* beyond pixels.

# %% [markdown]
# ## Which distractor fools it?
#
# The eight-way accuracy hides where an encoder fails. Against each kind of distractor alone, chance is one half:

# %% tags=["hide-input"]
kinds = list(dict.fromkeys(binding.KINDS[1:]))
extra = {
    f"({name})": bare["dark, jitter"][name].against
    for name in ("oracle: bag", "oracle: place", "pixels: grey")
}
matrix = pd.DataFrame({**{line["encoder"]: line["against"] for line in lines}, **extra}).T[kinds]
figure, axis = plt.subplots(figsize=(5.6, 0.25 * len(matrix) + 0.9))
shown = axis.imshow(matrix, vmin=0, vmax=1, cmap="PuOr", aspect="auto")
for i, j in np.ndindex(matrix.shape):
    value = matrix.iloc[i, j]
    axis.text(
        j,
        i,
        f"{value:.2f}".lstrip("0") if value < 1 else "1",
        ha="center",
        va="center",
        fontsize=7.5,
        color="white" if abs(value - 0.5) > 0.3 else "black",
    )
axis.set_xticks(range(len(kinds)), kinds, fontsize=8.5)
axis.set_yticks(range(len(matrix)), matrix.index, fontsize=8)
axis.xaxis.tick_top()
axis.grid(False)
axis.spines[:].set_visible(False)
axis.tick_params(length=0)
chapter.figure(
    figure,
    name="binding-kinds",
    alt="Table of two-alternative accuracies in colour: one row an encoder or code, one column a kind of "
    "distractor.",
    caption="Share of trials in which the target is closer than a distractor of one kind; chance is .5. In brackets, codes without a network.",
)
weakest = matrix.loc[
    [line["encoder"] for line in lines if line["family"] not in ("random", "control")]
].idxmin(axis=1)
chapter.glue("n_swap_weakest", int((weakest == "swap").sum()))

# %% [markdown]
# For {glue:text}`n_swap_weakest` of the {glue:text}`n_trained` trained encoders the swap is the hardest distractor. The other columns tell
# what is seen at all: a low score against *different* means that neither shapes nor places govern the cosine, and then a failure at the swap is no failure of *binding*.
#
# ## Same or different?
#
# The paper's second measure, *Disc*, takes pairs instead of sets: is this the same assignment of shapes to places or not? The answer is a
# threshold on the cosine. The paper speaks of the optimal threshold, which suggests that it is fitted on the pairs it is judged on. We
# show that, an honest version (fitted on one half, judged on the other, both ways), and the threshold-free area under the ROC curve.

# %% tags=["hide-input"]
pairs = {
    name if weights == "pretrained" else f"{name}, {weights}": binding.same_different(found, seed=seed)
    for (name, weights), found in results.items()
}
pairs |= {f"zoo: {name}": binding.same_different(parts[0], seed=seed) for name, parts in trained.items()}
pairs |= {
    f"({name})": binding.same_different(bare["dark, jitter"][name], seed=seed)
    for name in ("oracle: bag", "oracle: bound", "pixels: grey")
}
same = pd.DataFrame(
    {
        name: {"out of sample": r.out_of_sample, "in sample": r.in_sample, "AUROC": r.auroc, "pairs": r.n}
        for name, r in pairs.items()
    }
).T
for name, r in pairs.items():
    chapter.measure(
        "same_different",
        r.out_of_sample,
        n=r.n,
        encoders=name,
        data="binding scenes",
        protocol="threshold out of sample, balanced pairs",
        variant=name,
    )
optimism = same["in sample"] - same["out of sample"]
few = same["pairs"] < 0.5 * n_trials
chapter.glue("optimism", 100 * float(optimism[few].mean() if few.any() else optimism.mean()))
chapter.glue("optimism_n", int(same["pairs"][few].median() if few.any() else same["pairs"].median()))
same.style.format(
    {"out of sample": "{:.3f}", "in sample": "{:.3f}", "AUROC": "{:.3f}", "pairs": "{:.0f}"}
).set_caption("Same/different; chance .5")

# %% [markdown]
# With about {glue:text}`optimism_n` pairs the in-sample threshold flatters by {glue:text}`optimism:.1f` points on average, to be
# set against the signal where an encoder is near chance. The bag oracle shows what the measure rewards: it answers most pairs rightly without binding, because most distractors differ
# in shapes or places.
#
# ## Can it see at all? Single-factor controls
#
# An encoder may fail because it lacks the link, or because it never saw the shapes. So we ask for one factor at a time: which of eight
# candidates shows the same two *shapes* (the same two *places*, the same two *colours*) while everything else varies? Retrieval by cosine
# is as strict as the binding task; a linear probe asks whether the factor is there at all. The zoo's rows are means over the seeds of its declared run.

# %% tags=["hide-input"]
control_rows = []
try:
    zoo_rows = zoo_results.declared(zoo_results.read()).query("condition == @zoo_condition")
except DataError:
    zoo_rows = pd.DataFrame()
for backbone in ("resnet", "vit"):
    embed = embedder(tiny[backbone, 0])
    for index, factor in enumerate(binding.FACTORS):
        found = binding.factor_retrieval(
            embed, binding.factor_trials(factor, n_factor, seed=seed + 2 + index), size=32
        )
        control_rows.append(
            {
                "encoder": f"tiny {backbone}, random",
                "factor": factor,
                "measure": "retrieval",
                "value": found.accuracy,
            }
        )
    parts = [
        sc.training_scenes(n_factor * 4, seed=seed + 5 + k, objects=(2, 2), ground="dark") for k in (0, 1)
    ]
    scores = binding.linear_probe(
        embed(sc.render(parts[0], 32)), parts[0], embed(sc.render(parts[1], 32)), parts[1]
    )
    control_rows += [
        {"encoder": f"tiny {backbone}, random", "factor": f, "measure": "probe AUROC", "value": v}
        for f, v in scores.items()
    ]
for row in zoo_rows.to_dict("records"):
    for factor in (*binding.FACTORS, "bound"):
        told = {"retrieval": row.get(f"retrieval_{factor}", np.nan), "probe AUROC": row[f"probe_{factor}"]}
        control_rows += [
            {"encoder": f"zoo: {row['objective']}", "factor": factor, "measure": m, "value": v}
            for m, v in told.items()
        ]
controls_file = results_dir() / "attribute_binding_controls.parquet"
if controls_file.exists():
    told = pd.read_parquet(controls_file)
    told["encoder"] = told["encoder"].where(told["weights"] == "pretrained", told["encoder"] + ", random")
    control_rows = told[["encoder", "factor", "measure", "value"]].to_dict("records") + control_rows
control = (
    pd.DataFrame(control_rows)
    .dropna()
    .pivot_table(index="encoder", columns=["measure", "factor"], values="value", sort=False)
)
wanted = [("retrieval", f) for f in binding.FACTORS] + [
    ("probe AUROC", f) for f in (*binding.FACTORS, "bound")
]
control = control.reindex(columns=pd.MultiIndex.from_tuples(wanted))
control.style.format("{:.2f}", na_rep="·").set_caption(
    "Retrieval by cosine (chance .125) and linear probe (AUROC, chance .5) of one factor at a time"
)

# %% [markdown]
# The two halves of the table answer different questions. A high probe and a low retrieval mean that the factor is in the embedding while the
# cosine is busy with something else, colour for instance. The last column is the link itself, "this shape in this cell", for a linear probe; whether it can be
# read out of embeddings whose cosine does not show it is the subject of {doc}`12_where_rank_collapses`.
#
# ## Other readouts
#
# A cosine may overlook what is there. The paper tried nearest neighbours and a local PCA; we add a whitening and a linear probe, fitted on held-out
# scenes of other colours. The probe for the *bag* labels shows how far one gets by reading shapes and places better, without any link.

# %% tags=["hide-input"]
readouts = ["cosine", "kNN", "local PCA", "whitening", "probe, bag", "probe, linked"]
held = [(name, weights) for name, weights in results if kept_result(name, weights) is not None and seed == 8]
if held:
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.0))
    for name, weights in held:
        look = {
            "color": figures.color_of(family(name, weights)),
            "marker": "od^s"[sorted({n for n, _ in held}).index(name) % 4],
        }
        for axis, what in zip(axes, ("accuracy", "swap"), strict=True):
            values = [getattr(kept_result(name, weights, readout), what) for readout in readouts]
            axis.plot(
                values,
                ls="-" if weights == "pretrained" else ":",
                lw=1,
                ms=5,
                label=f"{name.removeprefix('efficientnet-')}{', random' * (weights == 'random')}",
                mfc="white" if weights == "random" else None,
                **look,
            )
    for axis, chance, title in zip(
        axes, (binding.CHANCE, 0.5), ("eight-way accuracy", "swap choice"), strict=True
    ):
        axis.axhline(chance, color="0.35", lw=1, ls=":")
        axis.axhline(0.5, color=figures.color_of("contradicts"), lw=1, ls="--")
        axis.set_xticks(range(len(readouts)), readouts, rotation=35, ha="right", fontsize=8)
        axis.set_ylabel(title)
        axis.set_ylim(0, 1)
    axes[0].legend(fontsize=7, ncols=2, loc="upper left")
    chapter.figure(
        figure,
        name="binding-readouts",
        alt="Lines over six readouts for each EfficientNet, trained and untrained: eight-way accuracy on the left, swap choice on the right, "
        "with lines at chance and at the bag ceiling.",
        caption="Six ways to read the same frozen embeddings. Dashed: the bag ceiling. Open marks and dotted lines: untrained networks.",
    )
    name, weights = held[0]
    base = kept_result(name, weights)
    best = max(readouts[1:], key=lambda r: kept_result(name, weights, r).accuracy)
    chapter.glue("best_readout", best)
    chapter.glue("best_accuracy", f"{kept_result(name, weights, best).accuracy:.2f}")
    chapter.glue("best_swap", f"{kept_result(name, weights, best).swap:.2f}")
    chapter.glue("readout_encoder", name)
else:
    for glued in ("best_readout", "best_accuracy", "best_swap", "readout_encoder"):
        chapter.glue(glued, "not measured")

# %% [markdown]
# For {glue:text}`readout_encoder` the best of these is *{glue:text}`best_readout`*, with an eight-way accuracy of {glue:text}`best_accuracy` and a swap choice of
# {glue:text}`best_swap`. Read both numbers. Had the accuracy climbed towards one half while the swap choice stayed there, the readout would have found a better bag. A swap choice well
# above one half means that the link was in the embedding all the while, and the cosine did not look at it. {doc}`12_where_rank_collapses` asks how far that goes.
#
# ## What it retrieves
#
# The paper's Fig. 6 shows retrievals of encoders that fail, with high similarities all the same. Here are the first trials, not chosen, with all
# eight similarities.

# %% tags=["hide-input"]
name = encoders[0]
shown_trials = min(4, n_live)
pictures = (
    sc.render(live_scenes[: 9 * shown_trials], 96).transpose(0, 2, 3, 1).reshape(shown_trials, 9, 96, 96, 3)
)
figure, axes = plt.subplots(
    shown_trials, 9, figsize=(7, 1.06 * shown_trials + 0.2), squeeze=False, width_ratios=[1.2, *[1] * 8]
)
for row in range(shown_trials):
    similarity = live[name].similarities[row]
    order = np.argsort(-similarity, kind="stable")
    for column, which in enumerate([None, *order]):
        axis = axes[row, column]
        axis.imshow(pictures[row, 0 if which is None else which + 1])
        axis.set_xticks([])
        axis.set_yticks([])
        axis.grid(False)
        colour = {0: figures.color_of("supports"), 1: figures.color_of("contradicts")}.get(which)
        for spine in axis.spines.values():
            spine.set_visible(colour is not None)
            spine.set_color(colour)
            spine.set_linewidth(2.2)
        title = "query" if which is None else f"{similarity[which]:.3f}"
        axis.set_title(title, fontsize=7, loc="center", pad=2)
        if which is not None:
            axis.set_xlabel(binding.KINDS[which], fontsize=6, labelpad=1)
chapter.figure(
    figure,
    name="binding-retrieval",
    alt="Rows of nine pictures: a query, then its eight candidates ordered by falling cosine similarity with the value above and the "
    "kind below; the target is often not first.",
    caption=f"The first trials of {name}: candidates in order of their cosine with the query (above), with their kind (below). Blue "
    "frame: target; orange frame: swap.",
)
top = live[name].similarities.max(axis=1)
spread = live[name].similarities.max(axis=1) - live[name].similarities.min(axis=1)
chapter.glue("top_similarity", float(np.median(top)))
chapter.glue("similarity_spread", float(np.median(spread)))

# %% [markdown]
# The winner has a cosine of {glue:text}`top_similarity:.3f` in the median, and all eight candidates lie within {glue:text}`similarity_spread:.3f` of each
# other. A high similarity is no sign of a right answer: relative to photographs, all of these pictures are alike.
#
# ## People instead of shapes
#
# Is all this about coloured shapes only? Emoji fonts draw two people with any two skin tones, so *who has which tone*, left or right, is a binding
# question drawn by artists. The query has tones (a, b); the choice is between another drawing with (a, b) and the same other drawing with (b, a). A bag of tones
# scores one half. Here the tones themselves are the same in query and candidates, so pixels can help, and we show what they make of it.

# %%
duos = images_of.load(
    "emoji-duos",
    n=3 * len(duo_styles),
    size=224,
    seed=seed,
    equal=False,
    styles=duo_styles,
    duos=["handshake", "men-holding-hands", "women-holding-hands"],
)
labels = duos.labels.assign(drawing=duos.sources["drawing"])


def twins(embeddings: np.ndarray) -> binding.TwinResult:
    """Choice between (a, b) and (b, a), over drawings."""
    return binding.twin_choice(embeddings, labels, first="left", second="right", content="drawing", seed=seed)


small = (
    np.stack([np.asarray(duos.images[i].resize((32, 32))) for i in range(len(duos))]).reshape(len(duos), -1)
    / 255
)
twin_rows = {"pixels: rgb": twins(small)}
for name, network in networks.items():
    twin_rows[name] = twins(store.embeddings(network, duos, batch_size=1, progress=False))

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.1), width_ratios=[1, 1.2])
i = int(
    np.flatnonzero((labels.left == "dark") & (labels.right == "light") & (labels.duo == "men-holding-hands"))[
        0
    ]
)
j = int(
    np.flatnonzero(
        (labels.left == "light") & (labels.right == "dark") & (labels.drawing == labels.drawing[i])
    )[0]
)
axes[0].imshow(
    np.hstack([np.asarray(duos.images[i]), np.full((224, 16, 3), 255, np.uint8), np.asarray(duos.images[j])])
)
axes[0].axis("off")
for row, (name, found) in enumerate(twin_rows.items()):
    colour = (
        figures.color_of("pixels")
        if name.startswith("pixels")
        else figures.color_of(family(name, "pretrained"), "black")
    )
    axes[1].plot(found.interval, [row, row], color=colour, lw=1.6)
    axes[1].plot(found.accuracy, row, "o", color=colour)
    chapter.measure(
        "twin_choice",
        found.accuracy,
        ci=found.interval,
        n=found.n,
        encoders=name,
        data="emoji-duos",
        protocol="(a, b) against (b, a) in another drawing, cosine; interval over drawings",
        variant=name,
    )
axes[1].axvline(0.5, color=figures.color_of("contradicts"), ls="--", lw=1)
axes[1].set_yticks(range(len(twin_rows)), list(twin_rows))
axes[1].set_ylim(len(twin_rows) - 0.4, -0.6)
axes[1].set_xlim(0, 1)
axes[1].set_xlabel("twin choice (bag and chance .5)")
chapter.figure(
    figure,
    name="binding-duos",
    alt="Left, two drawings of the same two people with their skin tones exchanged; right, twin choice of pixels and encoders with intervals "
    "and a line at one half.",
    caption="Left: a pair of twins. Right: how often the drawing with the tones in the query's order is closer than its twin; intervals "
    "resample drawings.",
)
chapter.glue("duo_head", twin_rows[encoders[0]].accuracy)
chapter.glue("duo_interval", "[{:.2f}, {:.2f}]".format(*twin_rows[encoders[0]].interval))
chapter.glue("duo_pixels", twin_rows["pixels: rgb"].accuracy)

# %% [markdown]
# {glue:text}`head` chooses rightly in {glue:text}`duo_head:.2f` of the cases, {glue:text}`duo_interval`, pixels in {glue:text}`duo_pixels:.2f`. Compare this with the swap choice on
# shapes, {glue:text}`head_swap:.2f`: that one network links a shape to its place does not mean that it links a tone to a person, and what is bound matters as much as who binds.
#
# ## The claims
#
# The paper's contrast is between *objectives*, decorrelation against image–text. With the zoo's encoders at hand (one network, one budget) it can be
# asked here; without them the claim stays *not run*. CLIP's own score is recorded only when CLIP itself is among the encoders.

# %% tags=["hide-input"]
try:
    table = zoo_results.read()
    runs = zoo_results.declared(table)
    runs = runs[runs["condition"] == zoo_condition].pivot_table(
        index="seed", columns="objective", values="jitter_accuracy"
    )
    floor = zoo_verdicts.at_floor(table, zoo_condition)
except (DataError, InputError):
    runs, floor = pd.DataFrame(), False
compared = ["barlow", "vicreg", "clip-bag"]
if set(compared) <= set(runs.columns) and zoo_verdicts.complete(table, zoo_condition) and not floor:
    both = runs[compared].dropna()
    gap = both[["barlow", "vicreg"]].mean(axis=1) - both["clip-bag"]
    if len(gap) > 1:
        half = stats.t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap))
        chapter.record(
            "jer.binding-order",
            gap.mean(),
            ci=(gap.mean() - half, gap.mean() + half),
            n=len(gap),
            encoders=[f"zoo:{name}" for name in compared],
            data="binding scenes",
            protocol=f"jitter, dark ground, 1000 trials, zoo ({zoo_condition}), captions without the link; difference seed by seed, t interval over n seeds",
            variant=zoo_condition,
        )
clip = [
    name
    for name in networks
    if name.startswith(("clip", "open_clip")) and networks[name].weights == "pretrained"
]
if clip:
    shares = np.mean([live[name].credit for name in clip], axis=0)  # the same trials for each: counted once
    chapter.record(
        "jer.clip-near-chance",
        shares.mean(),
        ci=binding.wilson(shares.sum(), len(shares)),
        n=len(shares),
        encoders=[networks[name] for name in clip],
        data="binding scenes",
        protocol=f"jitter, dark ground, the same n trials for each of {len(clip)}, mean credit, Wilson interval over trials; cosine, whole image",
    )
if not clip and not len(runs):
    print("no claim can be recorded here: neither CLIP nor the table of the zoo's declared run is at hand")
elif floor:
    print("the zoo is at floor in this condition, and no verdict is drawn from it")

# %% [markdown]
# ## What did not hold
#
# * **The eight-way accuracy is not a binding score.** A perfect bag scores one half, and grey pixels score {glue:text}`grey_dark:.2f`. The range in which the paper's encoders lie, from
#   {glue:text}`reported_vision-language:.0f` to {glue:text}`reported_variance-decorrelation:.0f` %, is below the bag ceiling throughout (if its candidates are like ours): all of it can be had without
#   any link. Whether those encoders bind cannot be told from that table; the swap choice would tell.
# * **The background decides.** On a ground of the objects' luminance the task measures sensitivity to hue.
# * **A network trained on photographs is a stranger here.** What the EfficientNets do with flat shapes on black may say little about scenes they were trained on; the emoji help only a little.
# * **The counts of distractors are ours.** With more *different* and fewer *swap* candidates every score would rise.
#
# :::{exercise}
# :label: ex-binding-bag
# A code knows all shapes and places, and the link in a share $q$ of the scenes; elsewhere it is a bag. What are its eight-way accuracy and its swap
# choice? And for a code that knows only which *places* are filled: how many of our candidates tie?
# :::
#
# :::{solution} ex-binding-bag
# :class: dropdown
# Where it knows the link it is right; elsewhere target and swap tie, worth one half: both scores are $q + (1-q)/2 = (1+q)/2$. A code of places ties the target with
# *swap* and *part-shape*, all of which fill the query's cells: one third in the eight-way task, one half against the swap. Compare the row *oracle: place* of the table.
# :::
#
# :::{exercise}
# :label: ex-binding-ground
# Run the chapter with `-p encoders='["timm:resnet18"]'` or your own `file.py:function`, and then look at its swap choice before its accuracy. Which of the columns of
# {numref}`fig-binding-kinds` explains the accuracy?
# :::
#
# :::{solution} ex-binding-ground
# :class: dropdown
# There is no one answer. For most convolutional networks the *different* and *moved* columns carry the accuracy, because the pooled features respond to how much
# of which edge is where. Note that the untrained twin is the fair comparison, and that `timm:` names load published weights, which need a network connection.
# :::
#
# :::{exercise}
# :label: ex-binding-ties
# Score the constant encoder with `argmax` over the similarities instead of {eq}`eq-binding-credit`, with the target listed first, then last. What does a benchmark report
# that forgets ties?
# :::
#
# :::{solution} ex-binding-ties
# :class: dropdown
# `np.argmax` returns the first of equals: with the target first the constant encoder is perfect, with the target last it is always wrong. Shared credit gives
# $1/8$ for any order. In practice exact ties come from encoders that saturate, from rounding to few digits, and from images that are equal after preprocessing.
# :::
