"""Partial correlation: closed forms, what must not matter, a planted confounder, and families left out whole."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part


def table(rng: np.random.Generator, q: int, n: int = 26) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correlated x, y and q covariates, not centred."""
    z = rng.standard_normal((n, q)) + rng.uniform(2, 5, q)
    x = z @ rng.uniform(0.3, 1, q) + rng.standard_normal(n)
    y = z @ rng.uniform(-1, -0.3, q) + 0.6 * x + rng.standard_normal(n)
    return x, y, z


def by_precision(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> float:
    """From the inverse of the covariance matrix, without any fit."""
    precision = np.linalg.inv(np.cov(np.column_stack([x, y, z]), rowvar=False))
    return float(-precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1]))


@part(1, "one covariate, by the textbook's formula")
def one_covariate(ask: Ask, rng: np.random.Generator) -> None:
    """Closed form from three correlations."""
    x, y, z = table(rng, 1)
    xy, xz, yz = (np.corrcoef(a, b)[0, 1] for a, b in ((x, y), (x, z[:, 0]), (y, z[:, 0])))
    expected = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    got = numbers(ask("partial_correlation", x, y, z), "partial_correlation")
    expect(
        np.isclose(got, expected),
        "partial_correlation differs from the closed form for one covariate: is z taken out of both, with a constant?",
    )


@part(1, "several covariates")
def several(ask: Ask, rng: np.random.Generator) -> None:
    """From the precision matrix; symmetric; affine maps of the columns change nothing."""
    x, y, z = table(rng, int(rng.integers(2, 5)))
    got = numbers(ask("partial_correlation", x, y, z), "partial_correlation")
    expect(np.isclose(got, by_precision(x, y, z)), "partial_correlation is wrong for several covariates.")
    swapped = numbers(ask("partial_correlation", y, x, z), "partial_correlation")
    expect(np.isclose(got, swapped), "partial_correlation changes when x and y change places.")
    other = numbers(ask("partial_correlation", 3 * x - 7, 0.1 * y + 2, -2 * z + 40), "partial_correlation")
    expect(np.isclose(got, other), "partial_correlation changes with the units of x, y or z.")


@part(1, "a common cause is taken out")
def confounder(ask: Ask, rng: np.random.Generator) -> None:
    """x and y share z alone: a large correlation becomes that of the noises."""
    z, e, f = rng.standard_normal((3, 400))
    got = numbers(ask("partial_correlation", 3 * z + e, 3 * z + f, z[:, None]), "partial_correlation")
    expect(abs(got) < 0.25, "A correlation that is due to z alone is still there after z was taken out.")


@part(2, "families leave whole, and have no say")
def families(ask: Ask, rng: np.random.Generator) -> None:
    """Against the precision matrix of the rest; one family is far away."""
    x, y, z = table(rng, 2)
    family = rng.permutation(np.repeat(["vit", "resnet", "clip", "dino"], [9, 7, 6, 4])).tolist()
    far = np.array(family) == "clip"
    x, y, z = x + 6 * far, y + 6 * far, z + np.outer(far, [4.0, -3.0])
    got = ask("without_each_family", x, y, z, family)
    expect(
        isinstance(got, dict) and set(got) == set(family),
        "without_each_family must return a dictionary with one entry for each family, by its name.",
    )
    for name in sorted(set(family)):
        rest = np.array(family) != name
        value = numbers(got[name], f"without_each_family, under {name!r},")
        expect(
            np.isclose(value, by_precision(x[rest], y[rest], z[rest])),
            "without_each_family is not the partial correlation computed from the other families alone.",
        )
