"""Participation ratio: planted spectra, invariances, the isotropic law, and a correction that knows no spectrum."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part


def ratio_of(variances: np.ndarray) -> float:
    """The true value of a spectrum."""
    return float(variances.sum() ** 2 / (variances**2).sum())


def exact_rows(rng: np.random.Generator, variances: np.ndarray, n: int) -> np.ndarray:
    """Rows whose sample covariance has exactly this spectrum, up to scale, away from the origin."""
    d = len(variances)
    raw = rng.standard_normal((n, d))
    left = np.linalg.qr(raw - raw.mean(axis=0))[0]
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return 3 * (left - left.mean(axis=0)) * np.sqrt(variances) @ turn + 5 * rng.standard_normal(d)


@part(1, "planted spectra")
def planted(ask: Ask, rng: np.random.Generator) -> None:
    """Rows with a known sample covariance, far from the origin."""
    for variances in (np.ones(6), np.r_[np.ones(3), np.zeros(4)], rng.uniform(0.1, 2, 9)):
        got = numbers(ask("participation_ratio", exact_rows(rng, variances, 40)), "participation_ratio")
        expect(
            np.isclose(got, ratio_of(variances)),
            "participation_ratio is wrong for rows whose covariance is known: is it of variances, of centred rows, and "
            "not divided by D?",
        )


@part(1, "what must not matter does not")
def invariance(ask: Ask, rng: np.random.Generator) -> None:
    """Scale, shift, rotation, order."""
    x = rng.standard_normal((15, 8)) * rng.uniform(0.3, 2, 8)
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    first = numbers(ask("participation_ratio", x), "participation_ratio")
    second = numbers(
        ask("participation_ratio", 4 * x[::-1] @ turn + rng.standard_normal(8)), "participation_ratio"
    )
    expect(
        np.isclose(first, second),
        "participation_ratio changes when all rows are scaled, turned, shifted or reordered.",
    )
    variances = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2
    expect(
        np.isclose(first, ratio_of(variances)),
        "participation_ratio is not that of the eigenvalues of the covariance.",
    )


@part(1, "the isotropic law")
def isotropic(ask: Ask, rng: np.random.Generator) -> None:
    """Against the mean of simulated values, N below and above D."""
    for n, d in ((30, 90), (60, 60), (150, 40)):
        n, d = n + int(rng.integers(10)), d + int(rng.integers(10))
        values = []
        for _ in range(8):
            x = rng.standard_normal((n, d))
            values.append(ratio_of(np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2))
        got = numbers(ask("expected_isotropic", n, d), "expected_isotropic")
        expect(
            abs(got / np.mean(values) - 1) < 0.06,
            "expected_isotropic is more than 5 % away from what isotropic rows give; it depends on both N and D.",
        )


def mean_corrected(
    ask: Ask, rng: np.random.Generator, variances: np.ndarray, n: int, draws: int = 24
) -> float:
    """Mean of the student's estimate over fresh samples."""
    deviation = np.sqrt(variances)
    values = [
        numbers(ask("corrected", deviation * rng.standard_normal((n, len(deviation))) + 2), "corrected")
        for _ in range(draws)
    ]
    return float(np.mean(values))


@part(1, "the correction undoes the bias where it is largest")
def corrects_flat(ask: Ask, rng: np.random.Generator) -> None:
    """Isotropic, fewer rows than twice the dimensions."""
    d = int(rng.integers(35, 50))
    expect(
        abs(mean_corrected(ask, rng, np.ones(d), 80) / d - 1) < 0.1,
        "corrected is more than a tenth off, on average, for isotropic rows with fewer than twice as many rows as "
        "dimensions.",
    )


@part(2, "and leaves alone what is not biased")
def corrects_steep(ask: Ask, rng: np.random.Generator) -> None:
    """Spectra that are far from flat: a formula for the isotropic case overshoots."""
    d = int(rng.integers(35, 50))
    for variances in (0.75 ** np.arange(d), np.r_[np.full(8, 1.0), np.full(d - 8, 0.01)]):
        got = mean_corrected(ask, rng, variances, 100) / ratio_of(variances)
        expect(
            abs(got - 1) < 0.1,
            "corrected is more than a tenth off, on average, for a spectrum that is not flat: it must not presume one.",
        )
