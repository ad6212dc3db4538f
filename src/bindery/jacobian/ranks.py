r"""How many singular values count: three effective ranks, their closed forms, and a rank free of k.

.. math::

    \mathrm{pr} = \frac{(\sum_i s_i)^2}{\sum_i s_i^2},\qquad
    \mathrm{entropy} = \exp\Bigl(-\sum_i p_i \ln p_i\Bigr),\ p_i = \frac{s_i}{\sum_j s_j},\qquad
    \mathrm{pr\_variance} = \frac{(\sum_i s_i^2)^2}{\sum_i s_i^4}

Source: Paper S, Eq. 1 (``pr`` of the top 32, its JER); Roy and Vetterli 2007 (``entropy``).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.special import entr

from bindery.errors import InputError

Kind = Literal["pr", "entropy", "pr_variance"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def effective_rank(s: ArrayLike, kind: Kind = "pr") -> float:
    """Effective number of the singular values ``s``, between 1 and their count.

    Parameters
    ----------
    s : (k,) array or SingularValues
        Non-negative, at least one positive; the order and the scale do not matter.
    kind
        See the module's formulas.

    >>> round(effective_rank([1.0, 1.0, 0.0]), 6)
    2.0

    Raises
    ------
    InputError
        Not one-dimensional, negative, not finite, all zero, or an unknown kind.
    """
    values = np.asarray(s, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise InputError(f"singular values must be one row; got shape {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError("singular values must be finite and not negative")
    if not values.max() > 0:
        raise InputError("all singular values are zero: the output does not depend on the input here")
    # Scaled by the largest, so that neither fourth powers nor tiny Jacobians leave the floating range.
    values = values / values.max()
    if kind == "pr":
        return float(values.sum() ** 2 / (values**2).sum())
    if kind == "entropy":
        return float(np.exp(entr(values / values.sum()).sum()))
    if kind == "pr_variance":
        return float((values**2).sum() ** 2 / (values**4).sum())
    raise InputError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")


def gaussian_rank(k: int, dimension: int, kind: Kind = "pr") -> float:
    r"""Effective rank of the sketch of a Jacobian with independent Gaussian entries.

    The k singular values of a (D, k) Gaussian matrix follow the Marchenko-Pastur law, with g the ratio of the
    shorter to the longer side b, a: the density of s is
    :math:`\sqrt{(h^2 - s^2)(s^2 - l^2)} / (\pi g s)` on :math:`[l, h] = [1 - \sqrt g, 1 + \sqrt g]`,
    mean of s^2 one. Then pr is :math:`b\, m_1^2 \approx 32 (1 - 8 / D)` at k = 32,
    entropy :math:`b \exp(\ln m_1 - E[s \ln s] / m_1)`, and pr_variance, a ratio of expectations that is exact
    for finite sizes, :math:`(k D + 2) / (k + D + 1)`.

    A Jacobian of flat rank r acts like dimension r. pr and entropy are large-size limits: good to 1 % when
    the shorter side is 8 or more.

    >>> round(gaussian_rank(32, 384, "entropy"), 3), round(gaussian_rank(32, 384, "pr_variance"), 2)
    (31.658, 29.47)
    """
    if k < 1 or dimension < 1:
        raise InputError(f"k and dimension must be at least 1; got {k} and {dimension}")
    if kind == "pr_variance":
        return (k * dimension + 2) / (k + dimension + 1)
    shorter, longer = sorted((k, dimension))
    ratio = shorter / longer
    low, high = 1 - np.sqrt(ratio), 1 + np.sqrt(ratio)

    def moment(weight: Literal["s", "s ln s"]) -> float:
        def integrand(angle: float) -> float:
            # s = 1 + sqrt(g) cos(angle) removes the square-root ends of the density.
            s = 1 + np.sqrt(ratio) * np.cos(angle)
            root = np.sqrt((high + s) * (s + low)) * np.sqrt(ratio) * np.sin(angle)
            density_times_s = root / (np.pi * ratio)
            jacobian = np.sqrt(ratio) * np.sin(angle)
            return float(density_times_s * jacobian * (1.0 if weight == "s" else np.log(max(s, 1e-300))))

        return float(quad(integrand, 0, np.pi, epsabs=1e-11)[0])

    mean = moment("s")
    if kind == "pr":
        return float(shorter * mean**2)
    if kind == "entropy":
        return float(shorter * np.exp(np.log(mean) - moment("s ln s") / mean))
    raise InputError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")


def rank_free_of_k(pr_variance: float | NDArray[np.float64], k: int) -> float:
    r"""Estimate of (sum s^2)^2 / sum s^4 of the *whole* Jacobian, from sketches with k directions.

    Inverts the expected value of a random sketch, (k r + 2) / (k + r + 1). The truncated values saturate at
    k, so that encoders with r = 60 and r = 400 read almost the same; this one does not.

    Parameters
    ----------
    pr_variance : float or (n,) array
        Of **sketch** singular values (the range finder's are no random sample); averaged over images.
    k
        Directions of the sketch.

    Returns
    -------
    float
        At least 1; infinite when the sketch is flat.

    >>> rank_free_of_k((32 * 50 + 2) / (32 + 50 + 1), 32)
    50.0
    """
    mean = float(np.mean(pr_variance))
    if k < 2:
        raise InputError(f"an effective rank cannot be told from k = {k}; take k of 2 or more")
    if not 1 - 1e-9 <= mean <= k * (1 + 1e-9):
        raise InputError(f"pr_variance of {k} singular values lies in [1, {k}]; got {mean:g}")
    if mean >= k:
        return float("inf")
    return max(1.0, round((mean * (k + 1) - 2) / (k - mean), 9))
