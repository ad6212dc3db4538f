"""Covariance through a network: the Jacobian, the formula, and a simulation that samples the right covariance."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part


def setting(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights, point and a covariance with strong correlations; inputs, units and outputs differ in number."""
    d, hidden, out = int(rng.integers(4, 7)), int(rng.integers(15, 30)), int(rng.integers(2, 4))
    w1, w2 = (
        rng.standard_normal((hidden, d)) / np.sqrt(d),
        rng.standard_normal((out, hidden)) / np.sqrt(hidden),
    )
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return w1, w2, rng.standard_normal(d), (axes * np.geomspace(4, 0.02, d)) @ axes.T


def slopes(w1: np.ndarray, w2: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The Jacobian, one input after the other by central differences."""
    steps = 1e-5 * np.eye(len(x))
    columns = [(w2 @ (np.tanh(w1 @ (x + e)) - np.tanh(w1 @ (x - e)))) / 2e-5 for e in steps]
    return np.stack(columns, axis=1)


@part(1, "the Jacobian")
def derivative(ask: Ask, rng: np.random.Generator) -> None:
    """Against differences."""
    w1, w2, x, _ = setting(rng)
    got = numbers(ask("jacobian", w1, w2, x), "jacobian", (len(w2), len(x)))
    expect(
        np.allclose(got, slopes(w1, w2, x), atol=1e-6), "jacobian is not the derivative of the outputs at x."
    )


@part(1, "the formula")
def formula(ask: Ask, rng: np.random.Generator) -> None:
    """Against sums over indices; never negative."""
    _, _, x, sigma = setting(rng)
    j = rng.standard_normal((3, len(x)))
    got = numbers(ask("push_forward", j, sigma), "push_forward", (3, 3))
    expect(
        np.allclose(got, np.einsum("ik,kl,jl->ij", j, sigma, j)),
        "push_forward is not the covariance of j times a vector of covariance sigma.",
    )


@part(2, "the simulation agrees for small noise")
def small_noise(ask: Ask, rng: np.random.Generator) -> None:
    """Within the error of 20,000 draws, for a correlated covariance."""
    w1, w2, x, sigma = setting(rng)
    sigma = 1e-4 * sigma
    j = slopes(w1, w2, x)
    expected, out = j @ sigma @ j.T, (len(w2), len(w2))
    seeds = rng.integers(1 << 30, size=2).tolist()
    got = [numbers(ask("simulate", w1, w2, x, sigma, 20_000, seed), "simulate", out) for seed in seeds]
    gap = np.linalg.norm(got[0] - expected) / np.linalg.norm(expected)
    expect(
        gap < 0.06,
        "The simulated covariance of small noise is not J Sigma J^T: are the inputs correlated as "
        "sigma says, and is the mean taken away?",
    )
    expect(not np.array_equal(got[0], got[1]), "simulate gives the same covariance for different seeds.")


@part(1, "and goes through the network for large noise")
def large_noise(ask: Ask, rng: np.random.Generator) -> None:
    """Outputs saturate: compare with this file's own simulation."""
    w1, w2, x, sigma = setting(rng)
    sigma = 25 * sigma
    z = rng.standard_normal((20_000, len(x)))
    hidden = np.tanh((x + z @ np.linalg.cholesky(sigma).T) @ w1.T)
    expected, out = np.cov(hidden @ w2.T, rowvar=False), (len(w2), len(w2))
    got = numbers(ask("simulate", w1, w2, x, sigma, 20_000, int(rng.integers(1 << 30))), "simulate", out)
    expect(
        np.linalg.norm(got - expected) / np.linalg.norm(expected) < 0.1,
        "The simulated covariance of large noise is wrong: the inputs must go through the network, not through its "
        "Jacobian.",
    )
