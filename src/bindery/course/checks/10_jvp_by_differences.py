"""Jacobian–vector products: closed forms, order of convergence, a step that scales with v, and kinks."""

from __future__ import annotations

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part


def network(w1: np.ndarray, w2: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The tanh network."""
    return w2 @ np.tanh(w1 @ x)


def setting(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights, a point and a unit direction; no two sizes alike."""
    d, hidden, out = int(rng.integers(5, 9)), int(rng.integers(20, 40)), int(rng.integers(3, 5))
    w1, w2 = (
        rng.standard_normal((hidden, d)) / np.sqrt(d),
        rng.standard_normal((out, hidden)) / np.sqrt(hidden),
    )
    v = rng.standard_normal(d)
    return w1, w2, rng.standard_normal(d), v / np.linalg.norm(v)


def slope(w1: np.ndarray, w2: np.ndarray, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The exact product, from the whole Jacobian."""
    return (w2 * (1 - np.tanh(w1 @ x) ** 2)) @ w1 @ v


@part(1, "the exact product")
def exact(ask: Ask, rng: np.random.Generator) -> None:
    """Against the whole Jacobian, and linear in v."""
    w1, w2, x, v = setting(rng)
    got = numbers(ask("jvp", w1, w2, x, v), "jvp", (len(w2),))
    expect(np.allclose(got, slope(w1, w2, x, v)), "jvp is not the Jacobian at x times v.")
    twice = numbers(ask("jvp", w1, w2, x, -2e3 * v), "jvp", (len(w2),))
    expect(np.allclose(twice, -2e3 * got), "jvp is not linear in v: is it a difference?")


@part(1, "a central difference")
def second_order(ask: Ask, rng: np.random.Generator) -> None:
    """Halving the step divides the error by four; the value against this file's own."""
    w1, w2, x, v = setting(rng)
    answers = {}
    for h in (0.08, 0.04):
        answers[h] = numbers(ask("difference", w1, w2, x, v, h), "difference", (len(w2),))
    errors = {h: float(np.linalg.norm(answer - slope(w1, w2, x, v))) for h, answer in answers.items()}
    expect(errors[0.08] > 1e-9, "difference is exact at a large step: is it a difference at all?")
    expect(
        errors[0.08] > 3 * errors[0.04],
        "Halving the step does not divide the error of difference by four: it is no central difference.",
    )
    own = (network(w1, w2, x + 0.04 * v) - network(w1, w2, x - 0.04 * v)) / 0.08
    expect(np.allclose(answers[0.04], own), "difference is not (f(x + hv) - f(x - hv)) / 2h.")


@part(2, "a step that is right for any length of v")
def step(ask: Ask, rng: np.random.Generator) -> None:
    """Seven digits with this file's own central difference."""
    w1, w2, x, v = setting(rng)
    for length in (1.0, 1e-6, 1e6, 10 ** rng.uniform(-3, 3)):
        arrow = length * v
        h = float(numbers(ask("good_step", w1, w2, x, arrow), "good_step"))
        expect(h > 0, "good_step is not positive.")
        got = (network(w1, w2, x + h * arrow) - network(w1, w2, x - h * arrow)) / (2 * h)
        exact_ = slope(w1, w2, x, arrow)
        error = np.linalg.norm(got - exact_) / np.linalg.norm(exact_)
        size = "short" if length < 0.1 else "long" if length > 10 else "plain"
        expect(
            error < 1e-7,
            f"With the step of good_step the difference has fewer than seven digits for a {size} v.",
        )


@part(2, "the kinks between")
def kinks(ask: Ask, rng: np.random.Generator) -> None:
    """Against the signs, and against whether the rectifier's difference lies."""
    w1, _, x, v = setting(rng)
    crossings = np.sort(np.abs((w1 @ x) / (w1 @ v)))
    for h in (0.5 * crossings[0], (crossings[2] + crossings[3]) / 2, 2 * crossings[len(crossings) // 2]):
        got = ask("switching", w1, x, v, float(h))
        got = got.tolist() if isinstance(got, np.ndarray) else got
        expect(isinstance(got, list), "switching must return a list of numbers of units.")
        expected = [i for i in range(len(w1)) if (w1[i] @ (x - h * v) > 0) != (w1[i] @ (x + h * v) > 0)]
        expect(
            [int(i) for i in got] == expected,
            "switching does not name the units, in growing order, whose sign differs between x - hv and x + hv.",
        )
