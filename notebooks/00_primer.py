# ---
# jupyter:
#   bindery:
#     title: A primer
#     minutes: 12
#     needs:
#       data: []
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
# # A primer: four ideas and a picture of each
#
# :::{admonition} Before you start
# :class: tip
# **You need** vectors, matrices, and some NumPy. **You will be able to** read an eigenvalue spectrum, walk on a sphere,
# say what a Jacobian does to a small change, and tell what a correlation over 26 points is worth.
# **Reading** 12 minutes · **running** seconds · **data** drawn from a seed · **encoder** none.
# :::
#
# Both papers ask how an *encoder*, a network that turns an image into a vector, keeps track of what belongs to what. One
# of them looks at where the vectors lie; the other at how they move when the image moves. Four pieces of mathematics
# carry everything that follows: the covariance of a cloud, the tangent space of a sphere, the Jacobian of a map, and the
# correlation coefficient. If you know all four, go on to {doc}`01_encoders_and_embeddings`.

# %% tags=["parameters"]
seed: int = 0  # seed of every random draw on this page
n_points: int = 400  # points in the clouds drawn here
n_encoders: int = 26  # encoders in the correlation section

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import numpy as np

from bindery import sphere
from bindery.chapter import start
from bindery.geometry import participation_ratio

chapter = start(globals())
rng = np.random.default_rng(seed)

# %% [markdown]
# ## Covariance: how a cloud spreads
#
# Take $N$ points $z_1, \dots, z_N \in \R^D$ with mean $\bar z$. Their covariance is
#
# $$ C = \frac{1}{N} \sum_{i=1}^{N} (z_i - \bar z)(z_i - \bar z)\T . $$ (eq-primer-covariance)
#
# It is symmetric, so it has $D$ orthogonal eigenvectors, the *directions of spread*, and eigenvalues
# $\lambda_1 \ge \dots \ge \lambda_D \ge 0$, the variances along them. A round cloud has equal eigenvalues; a cigar has
# one large and the rest small. How many directions "really" carry the variance? One answer that needs no threshold is
# the *participation ratio*
#
# $$ \mathrm{PR} = \frac{\left(\sum_i \lambda_i\right)^2}{\sum_i \lambda_i^2}, $$ (eq-primer-pr)
#
# which is $D$ when all eigenvalues are equal and $1$ when only one is not zero. Paper S divides it by $D$ and calls it
# G.PR, {eq}`eq-primer-pr` in the unit of "share of the directions available".

# %% tags=["hide-input"]
spreads = {"round": np.array([1.0, 1.0]), "oval": np.array([1.0, 0.45]), "cigar": np.array([1.0, 0.08])}
figure, axes = plt.subplots(1, 3, figsize=(7, 2.7), sharex=True, sharey=True)
for axis, (name, scale) in zip(axes, spreads.items(), strict=True):
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    cloud = (rng.standard_normal((n_points, 2)) * scale) @ turn.T
    values, vectors = np.linalg.eigh(np.cov(cloud.T, bias=True))
    axis.scatter(*cloud.T, s=5, alpha=0.35, linewidths=0)
    for value, vector in zip(values, vectors.T, strict=True):
        axis.annotate(
            "", xy=2 * np.sqrt(value) * vector, xytext=(0, 0), arrowprops={"arrowstyle": "->", "lw": 2}
        )
    axis.set_title(f"{name}: PR = {2 * participation_ratio(cloud):.2f} of 2", fontsize=9)
    axis.set_aspect("equal")
    axis.set_xlabel("first coordinate")
axes[0].set_ylabel("second coordinate")
chapter.figure(
    figure,
    name="primer-covariance",
    alt="Three clouds of points in the plane, round, oval and long, each with two arrows along its directions of spread.",
    caption="Three clouds and the square roots of their eigenvalues, drawn twice as long. The participation ratio counts "
    "the directions that carry the variance, {eq}`eq-primer-pr`.",
)

# %% [markdown]
# **A doubt to keep.** The participation ratio of a *sample* depends on how many points there are: a few points never fill
# many dimensions. {numref}`fig-primer-sample` draws perfectly round data, whose true ratio is one, and measures it from
# more and more points. Chapter 9 shows the correction.

# %% tags=["hide-input"]
dimension = 64
counts = np.unique(np.geomspace(8, 4096, 12).astype(int))
plug_in = [participation_ratio(rng.standard_normal((count, dimension))) for count in counts]
corrected = [
    participation_ratio(rng.standard_normal((count, dimension)), correction="finite-sample")
    for count in counts
]
figure, axis = plt.subplots(figsize=(5.2, 3.0))
axis.axhline(1, color="0.6", lw=1, label="true value")
axis.semilogx(counts, plug_in, "o-", label="plug-in")
axis.semilogx(counts, corrected, "s--", label="corrected")
axis.set_xlabel("number of points N")
axis.set_ylabel(f"participation ratio / {dimension}")
axis.legend()
chapter.figure(
    figure,
    name="primer-sample",
    alt="Participation ratio against the number of points: the plug-in value climbs slowly from near zero to one, "
    "the corrected value scatters around one from the start.",
    caption=f"Round Gaussian data in {dimension} dimensions. The plug-in ratio measures the sample size as much as the "
    "cloud; the corrected one scatters around the truth.",
)

# %% [markdown]
# ## The sphere: angles instead of lengths
#
# Vision–language models compare embeddings by the cosine of their angle. Only the direction matters, so the vectors may
# as well have length one: they live on the unit sphere $\S^{D-1}$. On a sphere "$a + b$" leaves the surface, and a mean
# of two points lies inside the ball. The way out is old: at a point $\mu$ lay a flat sheet, the *tangent space*, and use
# two maps,
#
# $$ \Exp_\mu : \text{sheet} \to \text{sphere}, \qquad \Log_\mu : \text{sphere} \to \text{sheet}. $$
#
# $\Log_\mu(u)$ is the arrow at $\mu$ that points towards $u$ and is as long as the angle between them; $\Exp_\mu$ walks
# that arrow. On the sheet one may add. Chapter 2 is about these two maps.

# %%
pole = np.array([[0.0, 0.0, 1.0]])
point = np.array([[0.8, 0.0, 0.6]])
arrow = sphere.log(point, pole[0])
back = sphere.exp(arrow, pole[0])
print("arrow    ", arrow[0].round(4))
print("length   ", np.linalg.norm(arrow).round(4), "radians; the angle is", np.arccos(0.6).round(4))
print("walk back", back[0].round(4))

# %% tags=["hide-input"]
angle = np.linspace(0, 2 * np.pi, 200)
walk = np.linspace(0, 1, 40)[:, None] * sphere.log(point, pole[0])
path = sphere.exp(walk, pole[0])
figure, axis = plt.subplots(figsize=(4.6, 3.2))
axis.plot(np.cos(angle), np.sin(angle), color="0.7", lw=1)
axis.plot([-1.1, 1.4], [1, 1], color="0.4", lw=1)
axis.plot(path[:, 0], path[:, 2], lw=3, label="along the sphere")
axis.annotate("", xy=(float(arrow[0, 0]), 1), xytext=(0, 1), arrowprops={"arrowstyle": "->", "lw": 2})
axis.plot([0], [1], "o", color="black", ms=5)
axis.plot([0.8], [0.6], "o", color="black", ms=5)
axis.text(-0.12, 1.06, r"$\mu$")
axis.text(0.86, 0.56, "$u$")
axis.text(0.5, 1.06, r"$\mathrm{Log}_\mu(u)$")
axis.set_aspect("equal")
axis.set_xlim(-1.2, 1.5)
axis.set_ylim(-0.2, 1.3)
axis.axis("off")
chapter.figure(
    figure,
    name="primer-tangent",
    alt="A circle with a horizontal line touching its top point mu; an arc runs from mu down to u, and an arrow of the "
    "same length lies on the line.",
    caption=r"A slice of the sphere and the sheet that touches it at $\mu$. The arrow on the sheet is as long as the arc.",
)

# %% [markdown]
# ## The Jacobian: what a small change of the input does
#
# An encoder is a map $f : \R^M \to \R^D$ from pixels to an embedding. Near one image $x$ it is almost linear,
#
# $$ f(x + \delta) \approx f(x) + J(x)\,\delta , \qquad J_{ij} = \partial f_i / \partial x_j . $$ (eq-primer-jacobian)
#
# $J$ has as many rows as the embedding has coordinates and as many columns as the image has numbers, over a hundred
# thousand. Nobody writes it down. A *Jacobian–vector product* $J\delta$ answers "where does the embedding go if the
# image changes by $\delta$", costs about two forward passes, and is exact. The *singular values* $s_1 \ge s_2 \ge \dots$
# of $J$ say how strongly the embedding reacts along its most sensitive directions: a ball of small changes becomes an
# ellipsoid, and the $s_i$ are its half-axes.
#
# The same count as before, of singular values this time, is Paper S's *Jacobian effective rank*: if one direction
# dominates it is near one, if all of $k$ react alike it is $k$.


# %% tags=["hide-input"]
def bend(x: np.ndarray) -> np.ndarray:
    """A small non-linear map of the plane, standing for an encoder."""
    return np.stack(
        [1.4 * np.tanh(x[..., 0]) + 0.5 * x[..., 1], 0.35 * x[..., 1] + 0.3 * np.sin(x[..., 0])], axis=-1
    )


centre, radius = np.array([0.3, -0.2]), 0.35
circle = centre + radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
step = 1e-6 * np.eye(2)
jacobian = np.stack([(bend(centre + h) - bend(centre - h)) / 2e-6 for h in step], axis=-1)
left, singular, _ = np.linalg.svd(jacobian)
figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.0))
axes[0].plot(*circle.T)
axes[0].plot(*centre, "ko", ms=4)
axes[0].set_title("images: a small ball around $x$", fontsize=9)
axes[1].plot(*bend(circle).T, label="$f$ of the circle")
axes[1].plot(*(bend(centre) + (circle - centre) @ jacobian.T).T, "--", label="$J$ of the circle")
for value, vector in zip(singular, left.T, strict=True):
    axes[1].annotate(
        "",
        xy=bend(centre) + radius * value * vector,
        xytext=bend(centre),
        arrowprops={"arrowstyle": "->", "lw": 2},
    )
axes[1].set_title(f"embeddings: half-axes {singular[0]:.2f} and {singular[1]:.2f}", fontsize=9)
axes[1].legend(fontsize=8)
for axis in axes:
    axis.set_aspect("equal", "datalim")
    axis.set_xlabel("first coordinate")
axes[0].set_ylabel("second coordinate")
chapter.figure(
    figure,
    name="primer-jacobian",
    alt="Left, a circle around a point; right, its image under a bent map beside the ellipse that the Jacobian predicts, "
    "with arrows along the two half-axes.",
    caption="The Jacobian turns a small ball into an ellipsoid. Its half-axes are the singular values (per unit of radius).",
)

# %% [markdown]
# ## Correlation: what 26 points can say
#
# Both the claim "geometry does not predict binding" and the claim "the Jacobian does" are correlations over encoders. For
# pairs $(x_i, y_i)$ the coefficient is
#
# $$ r = \frac{\sum_i (x_i - \bar x)(y_i - \bar y)}{\sqrt{\sum_i (x_i - \bar x)^2 \, \sum_i (y_i - \bar y)^2}}
# \in [-1, 1]. $$ (eq-primer-r)
#
# The $p$ value says how often unrelated data would give an $|r|$ at least as large. It does not say how sure we are of $r$
# itself. For that, draw the same experiment again and again.

# %% tags=["hide-input"]
truth, repeats = 0.6, 4000
x = rng.standard_normal((repeats, n_encoders))
y = truth * x + np.sqrt(1 - truth**2) * rng.standard_normal((repeats, n_encoders))
related = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(x, y, strict=True)])
unrelated = np.array(
    [np.corrcoef(a, b)[0, 1] for a, b in zip(x, rng.standard_normal((repeats, n_encoders)), strict=True)]
)
figure, axis = plt.subplots(figsize=(5.6, 3.0))
bins = np.linspace(-1, 1, 61)
axis.hist(unrelated, bins, alpha=0.6, label="true r = 0")
axis.hist(related, bins, alpha=0.6, label=f"true r = {truth}")
axis.set_xlabel(f"r measured on {n_encoders} encoders")
axis.set_ylabel(f"times in {repeats:,}")
axis.legend()
chapter.figure(
    figure,
    name="primer-correlation",
    alt="Two overlapping histograms of the measured correlation over 26 encoders, one centred on 0 and one on 0.6, each "
    "several tenths wide.",
    caption=f"The same experiment {repeats:,} times, with {n_encoders} encoders each. A true correlation of {truth} is "
    "measured as anything in the right-hand heap.",
)
low, high = np.quantile(related, [0.025, 0.975])
chapter.glue("primer_r_low", float(low))
chapter.glue("primer_r_high", float(high))
chapter.glue("primer_r_null", float(np.quantile(np.abs(unrelated), 0.95)))

# %% [markdown]
# With the number of encoders set above, a true $r$ of $0.6$ is measured anywhere between {glue:text}`primer_r_low:.2f` and
# {glue:text}`primer_r_high:.2f` in 95 of 100 experiments, and unrelated quantities reach $|r| =$
# {glue:text}`primer_r_null:.2f` in one of twenty. Encoders also come in families that resemble each other, which makes 26 count
# for fewer. So every correlation in this book comes with an interval, and with the families left out one by one.
#
# ## What did not fit on this page
#
# The sketches above are two-dimensional, and intuition from two dimensions fails in a thousand: random directions are
# nearly orthogonal there, and a handful of images spans almost nothing. Wherever that matters, the chapters show it.
#
# :::{exercise}
# :label: ex-primer-pr
# Which eigenvalues have a participation ratio of exactly 2 in three dimensions? Find two answers, one with a zero and one
# without.
# :::
#
# :::{solution} ex-primer-pr
# :class: dropdown
# $(1, 1, 0)$, of course. Without a zero: solve $(1 + a + b)^2 = 2\,(1 + a^2 + b^2)$; with $a = 1$ it reads
# $b^2 - 4b = 0$, so $b = 4$ and the spectrum is $(4, 1, 1)$, since $36 / 18 = 2$.
# :::
