# ---
# jupyter:
#   bindery:
#     title: The sphere
#     minutes: 15
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
# # The sphere: where embeddings live when only angles count
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`00_primer` and {doc}`01_encoders_and_embeddings`. **You will be able to** move between the sphere and
# its tangent sheet, say what the sheet does to distances, compute a mean that stays on the sphere and know whether it is
# the only one, and recognise a numerical trap that sits in much published code.
# **Reading** 15 minutes · **running** under a minute · **data** drawings of people at work · **encoder**
# EfficientNet-Lite0, trained on ImageNet.
# :::
#
# Paper G {cite}`berasi2025` starts from an observation about CLIP and its relatives: they compare an image with a text by
# the cosine of their angle, so the length of an embedding carries no meaning, and "embedding" should be read as a
# *direction*, a point of the unit sphere $\S^{D-1}$. Sums and means of points of the sphere leave the sphere. The paper
# therefore does its arithmetic in a tangent space, where sums are legal, and comes back. This chapter builds the tools
# it needs: two maps, a mean, and a number that says how far the flat picture can be trusted.

# %% tags=["parameters"]
encoder: str = "efficientnet-lite0"  # card, timm:NAME, open_clip:MODEL/TAG, file.py:function
data: str = "emoji-roles"  # a data set of this project, or a folder with <attribute>_<object>/ inside
per_pair: int = 3  # images drawn for each pair of attribute and object
image_size: int = 128  # side of a rendered drawing in pixels
n_pairs: int = 120  # pairs used here at most
n_compared: int = 4000  # pairs of images whose distances are compared
n_cloud: int = 500  # points in the synthetic clouds of the mean's section
seed: int = 0  # seed of the drawings' placement and of the synthetic clouds

# %% tags=["remove-cell"]
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bindery import data as images_of
from bindery import sphere
from bindery.chapter import start
from bindery.encoders import load
from bindery.globe import Globe
from bindery.store import Store

chapter = start(globals())
rng = np.random.default_rng(seed)

# %% [markdown]
# ## A sheet that touches the sphere
#
# Take a point $\mu$ of the sphere and lay a flat sheet on it, as one holds a sheet of paper against a ball. The sheet is
# the *tangent space* at $\mu$: all arrows $v$ with $v\cdot\mu = 0$. Every point $u$ of the sphere, except the one opposite
# to $\mu$, is reached from $\mu$ by one shortest arc. Draw an arrow on the sheet in the direction in which that arc sets
# out, and make it as long as the arc. That arrow is $\Log_\mu(u)$; walking along it brings us back, $\Exp_\mu$.

# %% tags=["hide-input"]
pole = sphere.unit(np.array([0.45, -0.55, 0.7]))
figure, axes = plt.subplots(1, 2, figsize=(7, 3.5))
globe = Globe(axes[0])
plane = globe.sheet(pole, 1.15, turn=0.5)
point = sphere.exp(np.array([1.05, 0.3]) @ plane, pole)
globe.arc(pole, point, color="#D55E00", lw=2.4)
globe.arrow(pole, sphere.log(point, pole), color="#0072B2", lw=2.2)
globe.dots(np.stack([pole, point]))
globe.label(pole, r"$\mu$", (-12, 2))
globe.label(point, "$u$", (4, -12))
globe.label(pole + sphere.log(point, pole), r"$\mathrm{Log}_\mu(u)$", (-14, 8), color="#0072B2")
axes[0].set_title("one point: lengths agree", fontsize=10)
globe = Globe(axes[1])
plane = globe.sheet(pole, 1.3, turn=0.5)
pair = sphere.exp(np.array([[1.15, 0.35], [0.45, -1.1]]) @ plane, pole)
arrows = sphere.log(pair, pole)
globe.arc(*pair, color="#D55E00", lw=2.4)
for spot, arrow in zip(pair, arrows, strict=True):
    globe.arc(pole, spot, color="0.45", lw=1)
    globe.arrow(pole, arrow, color="#0072B2", lw=1.6)
ends = (pole + arrows) @ globe.frame[:2].T
axes[1].plot(*ends.T, color="#0072B2", lw=2.4, ls="--", zorder=6)
globe.dots(np.vstack([pole, pair]))
globe.label(pole, r"$\mu$", (-13, 4))
axes[1].set_title("two points: the sheet stretches", fontsize=10)
for axis in axes:
    axis.set_xlim(-1.75, 1.9)
    axis.set_ylim(-1.2, 1.85)
chapter.figure(
    figure,
    name="sphere-sheet",
    alt="Two globes with a tangent sheet at a point mu. Left: an arc from mu to u and an arrow of the same length on the "
    "sheet. Right: two points joined by an arc on the globe and by a dashed, longer line on the sheet.",
    caption=r"Left: $\mathrm{Log}_\mu(u)$ (blue) is as long as the arc from $\mu$ to $u$ (orange). Right: between two points "
    "away from $\\mu$ the straight line on the sheet (dashed) is longer than the arc on the sphere.",
)

# %% [markdown]
# ## The two maps in formulas
#
# With $|v|$ for the length of $v$, in radians,
#
# $$ \Exp_\mu(v) = \cos|v|\;\mu + \frac{\sin|v|}{|v|}\; v , $$ (eq-sphere-exp)
#
# $$ \Log_\mu(u) = \theta\,\frac{p}{|p|}, \qquad p = u - (u\cdot\mu)\,\mu, \qquad \theta = d(u, \mu), $$ (eq-sphere-log)
#
# where $d(u, u')$ is the angle between two points, the length of the shortest arc. These are Eqs. 13 and 14 of Paper G.
# Note what needs care: $v = 0$ and $u = \mu$ are harmless limits although a formula divides by zero there, and $u = -\mu$
# is not harmless at all, since every direction leads to it. The library treats the first two as legal and refuses the
# third by naming the row.

# %%
mu = sphere.unit(rng.standard_normal(1280))
points = sphere.unit(mu + rng.standard_normal((5, 1280)) / 30)
arrows = sphere.log(points, mu)
print("lengths of the arrows ", np.linalg.norm(arrows, axis=1).round(6))
print("angles to mu          ", sphere.distance(points, mu).round(6))
print("there and back, error ", np.abs(sphere.exp(arrows, mu) - points).max())
print("Exp of a zero arrow   ", np.abs(sphere.exp(np.zeros(1280), mu) - mu).max(), "away from mu")
try:
    sphere.log(np.stack([points[0], -mu]), mu)
except ValueError as error:
    print("the opposite point    ", error)

# %% [markdown]
# ## What the sheet does to distances
#
# The arrow of a point is exactly as long as its distance to $\mu$. Between two points away from $\mu$ that cannot hold:
# no flat map of the globe keeps all distances. How large is the error? The sheet errs in one direction only, and by a
# bounded factor.
#
# :::{prf:proposition} The sheet stretches, by a bounded factor
# :label: prop-sphere-stretch
# Let $u = \Exp_\mu(a)$ and $u' = \Exp_\mu(b)$ with $|a|, |b| \le R < \pi/2$. Then
#
# $$ d(u, u') \;\le\; |a - b| \;\le\; \frac{R}{\sin R}\; d(u, u') , $$ (eq-sphere-stretch)
#
# and $|a-b| = d(u,u')$ when $u$ and $u'$ lie on one ray from $\mu$; in particular when one of them *is* $\mu$.
# :::
#
# :::{prf:proof}
# Describe points by their distance $r$ from $\mu$ and their direction $\omega$. A small step has squared length
# $dr^2 + \sin^2\! r\, d\omega^2$ on the sphere and $dr^2 + r^2 d\omega^2$ on the sheet. Since $\sin r \le r$, a curve on the
# sheet is never shorter than its image on the sphere; applied to the straight line from $a$ to $b$ this is the first
# inequality. Since $\sin r / r$ falls with $r$, a curve on the sphere that stays within $R$ of $\mu$ gets longer on the
# sheet by a factor of at most $R/\sin R$; applied to the arc from $u$ to $u'$, which stays there because balls of radius
# below $\pi/2$ are convex, this is the second. On one ray $d\omega = 0$ and both lengths are equal.
# :::
#
# That is geometry. What do real embeddings do? We take the images of the last chapter, put their embeddings on the
# sphere, lay the sheet at their mean (the mean of the next section but one), and compare distances for random pairs of images.

# %%
options = {"n": per_pair, "size": image_size, "seed": seed} if data.startswith("emoji") else {}
dataset = images_of.load(data, **options)
labels = dataset.pairs()
chosen = sorted(set(labels))
kept = {chosen[i] for i in rng.permutation(len(chosen))[:n_pairs]}
dataset = dataset.subset([i for i, pair in enumerate(labels) if pair in kept])
network = load(encoder)
embeddings = Store().embeddings(network, dataset, progress=False)
u = sphere.unit(embeddings.astype(np.float64))
mean = sphere.frechet_mean(u)
sheet = sphere.log(u, mean.point)
print(
    f"{len(u)} images, D = {u.shape[1]}; largest angle to the mean {np.degrees(mean.max_angle):.1f} degrees"
)

# %% tags=["hide-input"]
first, second = rng.integers(len(u), size=(2, n_compared))
first, second = first[first != second], second[first != second]
on_sphere = sphere.distance(u[first], u[second])
on_sheet = np.linalg.norm(sheet[first] - sheet[second], axis=1)
to_mean = np.linalg.norm(sheet, axis=1)
same = on_sphere > 1e-9
stretch = on_sheet[same] / on_sphere[same]
bound = mean.max_angle / np.sin(mean.max_angle)
figure, axes = plt.subplots(1, 2, figsize=(7, 3.2))
top = np.degrees(max(on_sheet.max(), to_mean.max())) * 1.04
axes[0].plot([0, top], [0, top], color="black", lw=1, label="equal")
axes[0].plot([0, top / bound], [0, top], color="0.5", lw=1, ls="--", label="bound $R/\\sin R$")
axes[0].scatter(
    np.degrees(on_sphere), np.degrees(on_sheet), s=4, alpha=0.25, lw=0, color="#0072B2", label="two images"
)
axes[0].scatter(
    np.degrees(sphere.distance(u, mean.point)),
    np.degrees(to_mean),
    s=8,
    color="#D55E00",
    marker="x",
    lw=0.8,
    label="image and $\\mu$",
)
axes[0].set_xlabel("angle on the sphere (degrees)")
axes[0].set_ylabel("distance on the sheet (degrees)")
axes[0].legend(fontsize=8, loc="upper left")
axes[0].set_xlim(0, top)
axes[0].set_ylim(0, top)
axes[1].hist(stretch, bins=50, color="#0072B2")
axes[1].axvline(bound, color="0.5", ls="--", lw=1.2)
axes[1].axvline(1, color="black", lw=1)
axes[1].set_xlabel("stretch: sheet / sphere")
axes[1].set_ylabel("pairs of images")
chapter.figure(
    figure,
    name="sphere-stretch",
    alt="Left: distance on the sheet against angle on the sphere; image pairs lie a little above the diagonal and below the "
    "bound, pairs of an image and mu exactly on the diagonal. Right: histogram of the ratio, between one and the bound.",
    caption="Distances between random pairs of images on the sphere and on the sheet at their mean. The ratio lies between "
    "1 and the bound of {eq}`eq-sphere-stretch`; with $\\mu$ itself (crosses) it is 1.",
)
protocol = "sheet at the intrinsic mean, random pairs of images"
chapter.measure(
    "median_stretch",
    float(np.median(stretch)),
    n=len(stretch),
    encoders=network.name,
    data=dataset.name,
    protocol=protocol,
)
chapter.measure(
    "stretch_bound", float(bound), n=len(u), encoders=network.name, data=dataset.name, protocol=protocol
)
orthogonal = np.arccos(np.cos(np.median(to_mean)) ** 2)
chapter.glue("median_stretch", 100 * (float(np.median(stretch)) - 1))
chapter.glue("stretch_bound", 100 * (bound - 1))
chapter.glue("orthogonal_stretch", 100 * (np.sqrt(2) * np.median(to_mean) / orthogonal - 1))

# %% [markdown]
# Half of the pairs are stretched by more than {glue:text}`median_stretch:.1f` %; no pair can exceed
# {glue:text}`stretch_bound:.1f` %. The typical value has a simple reason: in many dimensions two images leave $\mu$ in almost
# orthogonal directions, and two orthogonal arrows of the median length are stretched by {glue:text}`orthogonal_stretch:.1f` %.
# Where all pairs are stretched by nearly the same factor, no order changes. How narrow the histogram is, is therefore a first hint
# at how much flat and curved arithmetic can differ, and a question for {doc}`05_compositional_classification`.
#
# ## A mean that stays on the sphere
#
# The mean of numbers minimises the sum of squared distances. On the sphere the same sentence defines the *intrinsic mean*
#
# $$ \mu = \argmin_{u \in \S^{D-1}} \sum_i w_i\, d(u, u_i)^2 , \qquad w_i \ge 0,\quad \sum_i w_i = 1 . $$ (eq-sphere-mean)
#
# The gradient of $\tfrac12 d(u, u_i)^2$ at $u$ is $-\Log_u(u_i)$, so at the mean the arrows cancel,
#
# $$ \sum_i w_i \Log_\mu(u_i) = 0 , $$ (eq-sphere-centred)
#
# which is what makes the sheet at $\mu$ the right place for averages: there the data have mean zero. Without the sphere one would
# take the arithmetic mean and scale it to length one. That point minimises the sum of squared *chords* instead of arcs;
# far points pull it less.

# %% tags=["hide-input"]
corner = sphere.unit(np.array([1.0, -1.35, 0.05]))
offsets = np.array([[-0.75, -0.28], [-0.82, 0.0], [-0.7, 0.25], [-0.62, -0.05], [1.45, 0.25]])
figure, axis = plt.subplots(figsize=(4.6, 3.7))
globe = Globe(axis)
side = sphere.unit(np.cross([0, 0, 1], corner))
cloud = sphere.exp(offsets @ np.stack([side, np.cross(corner, side)]), corner)
flat, curved = cloud.mean(axis=0), sphere.frechet_mean(cloud).point
for spot in cloud:
    globe.arc(curved, spot, color="0.55", lw=0.9)
globe.dots(cloud, color="#0072B2", s=36)
globe.dots(curved, color="#D55E00", marker="D", s=50)
globe.dots(flat, facecolors="white", edgecolors="black", s=42)
globe.dots(sphere.unit(flat), color="black", marker="s", s=36)
globe.label(curved, "intrinsic mean", (6, -14), color="#D55E00")
globe.label(sphere.unit(flat), "normalised mean", (-62, -34))
globe.label(flat, "arithmetic mean\n(inside the ball)", (-30, 22), fontsize=8)
axis.set_xlim(-1.15, 1.35)
chapter.figure(
    figure,
    name="sphere-means",
    alt="A globe with four blue points close together and one far away. The intrinsic mean lies further towards the far "
    "point than the normalised arithmetic mean; the arithmetic mean itself lies inside the ball.",
    caption="Three means of five points. The arithmetic mean leaves the sphere; scaled back to it, it undervalues the far point, "
    "since chords grow more slowly than arcs.",
)
gap = sphere.distance(sphere.unit(u.mean(axis=0)), mean.point)
chapter.measure(
    "means_gap_degrees",
    float(np.degrees(gap)),
    n=len(u),
    encoders=network.name,
    data=dataset.name,
    protocol="angle between normalised arithmetic and intrinsic mean",
)
chapter.glue("means_gap", float(np.degrees(gap)))

# %% [markdown]
# On the embeddings of this chapter the two means are {glue:text}`means_gap:.2f`° apart. The picture exaggerates: with many points
# that surround their mean evenly, it hardly matters which one is used.
#
# ## Finding it, and knowing that one has found it
#
# Paper G walks down the gradient with full steps: $\mu \leftarrow \Exp_\mu\bigl(\sum_i w_i \Log_\mu(u_i)\bigr)$ {cite}`berasi2025`. Its released code
# stops when the step is shorter than $10^{-5}$ or ten steps are done. In the second case it prints a warning, and the decomposition that called it is then aborted by an assertion.


# %%
def full_steps(points: np.ndarray, goal: float, limit: int) -> list[float]:
    """Gradient norms before each full step, from the normalised mean on."""
    at, norms = sphere.unit(points.mean(axis=0)), []
    while True:
        step = sphere.log(points, at).mean(axis=0)
        norms.append(float(np.linalg.norm(step)))
        if norms[-1] < goal or len(norms) > limit:
            return norms
        at = sphere.unit(sphere.exp(step - (step @ at) * at, at))


def library_steps(points: np.ndarray, limit: int = 12) -> list[float]:
    """Gradient norms of the library's iteration, read from its certificates."""
    norms = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for steps in range(limit):
            norms.append(sphere.frechet_mean(points, max_iter=steps, tol=1e-13, on_fail="warn").gradient_norm)
    return norms


# %% tags=["hide-input"]
spreads = (0.5, 1.0, 2.0, 5.6)
centre = sphere.unit(rng.standard_normal(768))
figure, axes = plt.subplots(1, 2, figsize=(7, 3.1), sharey=True)
colours = plt.get_cmap("viridis")(np.linspace(0.1, 0.85, len(spreads)))
rows = []
for spread, colour in zip(spreads, colours, strict=True):
    cloud = sphere.unit(centre + spread * rng.standard_normal((n_cloud, 768)) / np.sqrt(768))
    published, ours = full_steps(cloud, 1e-13, 40), library_steps(cloud)
    angle = np.degrees(np.median(sphere.distance(cloud, sphere.frechet_mean(cloud).point)))
    axes[0].semilogy(published, "o-", ms=2.5, lw=1.2, color=colour)
    axes[1].semilogy(np.maximum(ours, 1e-16), "o-", ms=2.5, lw=1.2, color=colour, label=f"{angle:.0f}°")
    after_ten = published[min(10, len(published) - 1)]
    rows.append(
        {
            "median angle (degrees)": round(angle),
            "gradient after 10 full steps": after_ten,
            "library, steps to 1e-10": sphere.frechet_mean(cloud).n_iter,
        }
    )
real, ours = full_steps(u, 1e-13, 40), library_steps(u)
axes[0].semilogy(real, "k.-", lw=1.6)
axes[1].semilogy(np.maximum(ours, 1e-16), "k.-", lw=1.6, label="images")
for axis, title in zip(axes, ("full steps (paper)", "scaled steps (library)"), strict=True):
    axis.axhline(1e-5, color="0.4", lw=0.9, ls="--")
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("steps")
axes[0].axvline(10, color="0.4", lw=0.9, ls="--")
axes[0].set_ylabel("gradient norm (radians)")
axes[0].set_ylim(1e-14, 1)
axes[1].legend(fontsize=8, title="median angle", title_fontsize=8)
chapter.figure(
    figure,
    name="sphere-steps",
    alt="Gradient norm against the number of steps for clouds of four widths and for the images. With full steps wide clouds "
    "converge slowly and the widest misses the goal of 1e-5 within ten steps; with scaled steps all converge in a few.",
    caption="Left: full steps, with the published goal and limit (dashed). The wider the cloud, the slower. Right: the same "
    "gradient, divided by an estimate of the curvature of {eq}`eq-sphere-mean`.",
)
steps = next((i for i, norm in enumerate(real) if norm < 1e-5), len(real))
chapter.measure(
    "gradient_after_ten_widest",
    rows[-1]["gradient after 10 full steps"],
    n=n_cloud,
    protocol=f"synthetic cloud in 768 dimensions, median angle {rows[-1]['median angle (degrees)']} degrees",
)
chapter.glue("widest", rows[-1]["median angle (degrees)"])
chapter.glue("widest_gradient", f"{rows[-1]['gradient after 10 full steps']:.0e}")
pd.DataFrame(rows).style.format({"gradient after 10 full steps": "{:.1e}"}).hide(axis="index")

# %% [markdown]
# Why does width matter? The second derivative of $\tfrac12 d(u, u_i)^2$ is 1 along the arc to $u_i$ and $\theta_i/\tan\theta_i$
# across it, which falls from 1 at $\theta_i = 0$ to 0 at a right angle. For a wide cloud the valley is flat, and a full step is too short. Dividing
# the gradient by $h + (1-h)/(D-1)$, $h = \sum_i w_i\,\theta_i/\tan\theta_i$, which is Newton's step for a cloud that looks
# alike in all directions, repairs that at no cost. For the widest cloud here, with a median angle of {glue:text}`widest`°, ten full
# steps leave a gradient of {glue:text}`widest_gradient`. Embeddings of images are narrower:

# %%
chapter.record(
    "gde.mean-in-ten-steps",
    steps,
    ci=(steps, steps),
    n=len(u),
    encoders=network.name,
    data=dataset.name,
    protocol="full steps from the normalised arithmetic mean, equal weights, float64, gradient norm below 1e-5",
)

# %% [markdown]
# A point where the gradient vanishes need not be the mean: on a sphere there may be several such points. When can one be sure?
#
# :::{prf:theorem} Uniqueness {cite}`afsari2011`
# :label: thm-sphere-unique
# If all points of positive weight lie within an open ball of radius $\pi/2$, then the intrinsic mean is unique, lies in
# that ball, and is the only point of the ball at which {eq}`eq-sphere-centred` holds.
# :::
#
# So the certificate is one number that can be checked after the fact: the largest angle between the mean that was found and any point. If it is
# below a right angle, take the ball around the mean itself, and the theorem applies. Paper G checks the same for its data,
# around the normalised arithmetic mean.

# %% tags=["hide-input"]
angles = np.degrees(sphere.distance(u, mean.point))
figure, axis = plt.subplots(figsize=(5.4, 2.8))
axis.hist(angles, bins=50, color="#0072B2")
axis.axvline(90, color="#D55E00", lw=1.6)
axis.text(89, 0.92 * axis.get_ylim()[1], "right angle", color="#D55E00", ha="right", fontsize=9)
axis.set_xlim(0, 95)
axis.set_xlabel("angle to the intrinsic mean (degrees)")
axis.set_ylabel("images")
chapter.figure(
    figure,
    name="sphere-angles",
    alt=f"Histogram of the angles of all images to their intrinsic mean, with a line at ninety degrees; the largest is {angles.max():.0f} degrees.",
    caption="The certificate of the mean: "
    + (
        "every image lies within a right angle of it, so there is no other mean."
        if mean.max_angle < np.pi / 2
        else "some images lie beyond a right angle, so that it need not be the only mean."
    ),
)
chapter.glue("negative", 100 * float((u < 0).mean()))
largest = float(sphere.distance(u, sphere.unit(u.mean(axis=0))).max())
chapter.record(
    "gde.embeddings-in-a-half-sphere",
    largest,
    ci=(largest, largest),
    n=len(u),
    encoders=network.name,
    data=dataset.name,
    protocol="largest angle to the normalised arithmetic mean over all images, equal weights",
)

# %%
print(
    mean.unique,
    f"gradient {mean.gradient_norm:.1e} after {mean.n_iter} steps, largest angle {np.degrees(mean.max_angle):.1f} degrees",
)

# %% [markdown]
# A doubt belongs here. Of all coordinates of these embeddings {glue:text}`negative:.1f` % are negative. Where a network ends in a rectifier and an
# average, as the default encoder of this book does, none is, and two non-negative vectors are never more than a right angle apart: the claim then holds by
# construction. The interesting cases are encoders whose coordinates take both signs, CLIP among them.
#
# ## The arccos trap
#
# "The angle is the arccos of the dot product" is correct mathematics and poor arithmetic. Near 1 the cosine is flat:
# $\cos\theta \approx 1 - \theta^2/2$, and float32 cannot tell $1 - 2^{-25}$ from $1$, so that all angles below $2^{-12}$ radians look alike. The formula
#
# $$ \theta = 2\,\operatorname{atan2}\bigl(|u - u'|,\, |u + u'|\bigr) $$ (eq-sphere-atan2)
#
# has no flat place: when two points are close their difference is exact, and when they are nearly opposite, their sum is.

# %% tags=["hide-input"]
true = np.geomspace(1e-9, np.pi / 2, 120)
base = sphere.unit(rng.standard_normal(1280))
aside = rng.standard_normal(1280)
aside = sphere.unit(aside - (aside @ base) * base)
ring = np.cos(true)[:, None] * base + np.sin(true)[:, None] * aside
curves = {}
for kind in (np.float32, np.float64):
    x, y = ring.astype(kind), base.astype(kind)
    with np.errstate(invalid="ignore"):
        curves[f"arccos, {kind.__name__}"] = np.arccos(np.clip(x @ y, -1, 1))
    curves[f"atan2, {kind.__name__}"] = sphere.distance(x, y)
figure, axis = plt.subplots(figsize=(6.2, 3.3))
looks = [("#D55E00", "-"), ("#0072B2", "-"), ("#D55E00", "--"), ("#0072B2", "--")]
for (name, value), (colour, dash) in zip(curves.items(), looks, strict=True):
    error = np.maximum(np.abs(np.float64(value) - true) / true, 1e-17)
    axis.loglog(true, error, color=colour, ls=dash, lw=1.5, label=name)
axis.axhline(1, color="0.6", lw=0.8)
axis.set_xlabel("true angle (radians)")
axis.set_ylabel("relative error")
axis.set_ylim(1e-17, 1e5)
axis.legend(fontsize=8, ncols=2, loc="upper right")
chapter.figure(
    figure,
    name="sphere-arccos",
    alt="Relative error of the angle against the true angle. In float32 the arccos formula is wrong by 100 percent below about "
    "1e-4 radians; the atan2 formula stays accurate down to the rounding of the points themselves.",
    caption="Relative error of two formulas for the angle between two points of the sphere in 1280 dimensions. What remains of "
    "the atan2 error is the rounding of the points, not of the formula.",
)
lost = true[np.abs(np.float64(curves["arccos, float32"]) - true) > 0.1 * true]
chapter.measure(
    "arccos_float32_lost_below",
    float(lost.max()),
    unit="rad",
    protocol="relative error above 10 %, dimension 1280",
)
chapter.glue("arccos_lost", f"{lost.max():.0e}")

# %% [markdown]
# In float32 the arccos formula is off by more than a tenth for angles up to {glue:text}`arccos_lost` radians. Does it matter?
# For embeddings of different images, tens of degrees apart, hardly. It matters as soon as distances are small: near-duplicates,
# the last steps of an iteration, finite differences, a point and itself. It also matters that a formula fails loudly. The released code of Paper G
# returns a vector of zeros for the opposite point and NaN for the mean of identical points; the library raises for the first and
# returns the point for the second.
#
# ## What did not hold
#
# * The sphere is curved, but data feel it only as far as they are wide. Here the sheet stretches the median pair by {glue:text}`median_stretch:.1f` %, and the normalised arithmetic
#   mean is {glue:text}`means_gap:.2f`° from the intrinsic one. Whatever the sphere adds in later chapters, it is no more than that.
# * "Ten steps are enough" is a property of the data, not of the algorithm. Wide clouds need more, and then a run that could have
#   ended well is aborted.
# * The half-sphere condition is automatic for encoders with non-negative features. Where it holds by construction it is no evidence
#   about the encoder.
#
# :::{exercise}
# :label: ex-sphere-transport
# `sphere.transport(v, start, end)` carries arrows from one sheet to another. Carry an arrow around a triangle on $\S^2$ with three right
# angles, back to where it started. By which angle has it turned, and what has that to do with the triangle's area?
# :::
#
# :::{exercise}
# :label: ex-sphere-encoder
# Run this chapter with `-p encoder=timm:vit_tiny_patch16_224`. Its features take both signs. How does {numref}`fig-sphere-angles` change, and
# what is the typical stretch now? Predict it from the median angle before you look.
# :::
#
# :::{exercise}
# :label: ex-sphere-chord
# Show that the normalised arithmetic mean minimises $\sum_i w_i\,|u - u_i|^2$ over the sphere, and that
# $|u - u_i|^2 = 2 - 2\cos d(u, u_i)$. Expand the cosine to fourth order: which points does the chord undervalue, and by how much?
# :::
