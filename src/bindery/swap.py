r"""What of an embedding of two objects no bag of their parts can hold: the swap-antisymmetric part.

A scene has two objects, each with an attribute and an object value: ``(a1, o1)`` left and ``(a2, o2)`` right.
Two exchanges act on it, that of the attributes and that of the objects; each undoes itself, and together they
make a group of four. A *slot-free* code adds one direction for each value, wherever it occurs,

.. math:: u = \mathrm{Exp}_\mu(v_{a_1} + v_{o_1} + v_{a_2} + v_{o_2}),

so that no exchange changes it (the proposition of chapter 16). Whatever an encoder knows of binding therefore
lies in what changes sign under an exchange, :math:`\tfrac12(\mathrm{Log}\,u(s) - \mathrm{Log}\,u(\sigma s))`.

Arrays of tangents are (O, G, R, D): O contents (orbits of the group), G arrangements of each (1 + exchange of
attributes, then exchange of objects: 2 or 4), R renderings of each arrangement. A rendering r may share what
does not matter (place within the cell, size, background) between the arrangements of a content: such matched
renderings make the differences more precise and bias nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bindery import sphere
from bindery.checks import finite_rows
from bindery.errors import InputError

Floats = NDArray[np.float64]

#: Signs with which the arrangements of a content enter a sector, by number of arrangements.
SECTORS: dict[int, dict[str, tuple[int, ...]]] = {
    2: {"bag": (1, 1), "attribute in place": (1, -1)},
    4: {
        "bag": (1, 1, 1, 1),
        "attribute in place": (1, -1, 1, -1),
        "object in place": (1, 1, -1, -1),
        "attribute with object": (1, -1, -1, 1),
    },
}


def tangents(embeddings: ArrayLike, shape: tuple[int, int, int]) -> Floats:
    """Log of unit-normed embeddings at their intrinsic mean, as (O, G, R, D), less the mean of each rendering.

    What all scenes of a rendering share, its background for instance, tells nothing of a scene; no exchange
    changes it, so that antisymmetric parts stay as they are.

    Parameters
    ----------
    embeddings : (O * G * R, D) array
        Content by content, arrangement by arrangement, rendering by rendering; unit-normed here.
    shape : (O, G, R)

    Raises
    ------
    InputError
        Rows that are zero, not finite, or not O * G * R in number; G other than 2 or 4; R below 2.
    """
    contents, arrangements, renderings = shape
    if arrangements not in SECTORS or renderings < 2 or contents < 2:
        raise InputError(f"need two contents, 2 or 4 arrangements and two renderings; got {shape}")
    rows = finite_rows(embeddings, "embeddings").astype(np.float64)
    if len(rows) != contents * arrangements * renderings:
        raise InputError(f"shape {shape} needs {np.prod(shape)} embeddings; got {len(rows)}")
    points = sphere.unit(rows)
    base = sphere.frechet_mean(points, tol=1e-9, on_fail="warn").point
    rows = np.asarray(sphere.log(points, base), np.float64).reshape(*shape, -1)
    return rows - rows.mean(axis=(0, 1))


def exchange(rows: Floats, factor: str = "attribute") -> Floats:
    """The same tangents (O, G, ...) with every content's arrangements exchanged: the map s -> sigma s."""
    arrangements = rows.shape[1]
    if factor == "attribute":
        order = [1, 0, 3, 2][:arrangements]
    elif factor == "object" and arrangements == 4:
        order = [2, 3, 0, 1]
    else:
        raise InputError(f"no exchange of {factor!r} among {arrangements} arrangements")
    return rows[:, order]


def antisymmetric(rows: Floats, factor: str = "attribute") -> Floats:
    """Half the difference to the exchanged scene; zero for every bag code."""
    return 0.5 * (rows - exchange(rows, factor))


def sectors(rows: Floats) -> dict[str, Floats]:
    """The four (or two) parts of each content, (O, R, D): they add up to the arrangements, each with its sign."""
    parts = {
        name: np.einsum("g,ogrd->ord", np.array(signs), rows)
        for name, signs in SECTORS[rows.shape[1]].items()
    }
    return {name: part / rows.shape[1] for name, part in parts.items()}


@dataclass(frozen=True)
class Shares:
    """How the variance of two-object embeddings divides, from products of different renderings only.

    A product of two renderings of one content has the signal's energy for its expectation, since their
    noise is independent; no energy of noise is counted as signal, and an estimate may be negative.
    """

    names: tuple[str, ...]
    energy: Floats
    """(S, O) energy of each sector in each content; that of the bag is taken about the mean of all."""
    noise: Floats
    """(O,) energy of what rendering again changes, summed over the sectors."""
    flipped: Floats
    """(K, S) energies under random signs of each content's renderings: what a bag code would show."""

    def of(self, *names: str) -> Floats:
        """(O,) energy of the named sectors in each content; of all but the bag by default."""
        return np.asarray(
            self.energy[[self.names.index(name) for name in names or self.names[1:]]].sum(axis=0)
        )

    def share(self, *names: str) -> float:
        """Share of the variance between scenes that the named sectors hold (all but the bag by default)."""
        return float(self.of(*names).sum() / self.energy.sum())

    def interval(self, *names: str, draws: int = 1000, seed: int = 0) -> tuple[float, float]:
        """95 % percentile interval of `share` over contents, drawn with replacement."""
        return ratio_interval(self.of(*names), self.energy.sum(axis=0), draws=draws, seed=seed)

    def floor(self, *names: str, level: float = 0.95) -> float:
        """The share that random signs exceed with probability 1 - level: the noise floor."""
        chosen = [self.names.index(name) for name in names or self.names[1:]]
        return float(np.quantile(self.flipped[:, chosen].sum(axis=1) / self.energy.mean(axis=1).sum(), level))

    @property
    def rendering(self) -> float:
        """Share of *all* variance of single images that rendering again accounts for."""
        noise = float(self.noise.mean())
        return noise / (noise + float(self.energy.mean(axis=1).sum()))


def shares(rows: Floats, *, flips: int = 400, seed: int = 0) -> Shares:
    """Divide the variance of tangents (O, G, R, D) among the sectors and the renderings.

    Parameters
    ----------
    rows : (O, G, R, D) array
        From `tangents`.
    flips : int
        Draws of the noise floor: were an antisymmetric part noise, its sign would be as likely reversed.

    Returns
    -------
    Shares
    """
    rng = np.random.default_rng(seed)
    n_contents, _, n_renderings = rows.shape[:3]
    pairs = n_renderings * (n_renderings - 1)
    energy, noise, flipped = [], np.zeros(n_contents), []
    for name, part in sectors(rows).items():
        scale = 1.0
        if name == "bag":
            part, scale = part - part.mean(axis=0), n_contents / (n_contents - 1)
        gram = np.einsum("ord,osd->ors", part, part)
        own = np.einsum("orr->o", gram)
        signal = scale * (gram.sum(axis=(1, 2)) - own) / pairs
        energy.append(signal)
        noise += scale * own / n_renderings - signal
        signs = np.ones((1, n_contents, n_renderings))
        if name != "bag":
            signs = rng.choice([-1.0, 1.0], size=(flips, n_contents, n_renderings))
        products = np.einsum("kor,ors,kos->ko", signs, gram, signs) - own
        flipped.append(np.broadcast_to(products.mean(axis=1) / pairs, flips))
    return Shares(tuple(SECTORS[rows.shape[1]]), np.array(energy), noise, np.stack(flipped, axis=1))


def ratio_interval(
    numerator: Floats, denominator: Floats | float = 1.0, *, draws: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """95 % percentile interval of a ratio of sums over contents (O,), contents drawn with replacement."""
    n = len(numerator)
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws)
    low, high = np.quantile(counts @ numerator / (counts @ np.broadcast_to(denominator, n)), [0.025, 0.975])
    return float(low), float(high)


def nearest_twin(rows: Floats, factor: str = "attribute") -> Floats:
    """Is a rendering nearer to its own arrangement or to the exchanged one, as known from other renderings?

    Each rendering in turn is left out; the means of the others stand for both arrangements. Ties are worth one
    half, so that a bag code scores one half.

    Returns
    -------
    (O,) share of right choices of each content.
    """
    others = (rows.sum(axis=2, keepdims=True) - rows) / (rows.shape[2] - 1)
    return nearer(rows, others, exchange(others, factor))


def nearer(rows: Floats, own: Floats, twin: Floats) -> Floats:
    """(O,) share of the tangents (O, G, R, D) that lie nearer to ``own`` than to ``twin``; a tie is one half."""
    to_own, to_twin = (((rows - other) ** 2).sum(axis=-1) for other in (own, twin))
    tie = np.abs(to_own - to_twin) <= 1e-12 * (to_own + to_twin) + 1e-300
    return np.where(tie, 0.5, (to_own < to_twin).astype(np.float64)).mean(axis=(1, 2))
