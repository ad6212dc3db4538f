"""Two averages: slow references, what each may depend on, and reading a printed table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part


def test_set(rng: np.random.Generator, n_groups: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correctness, groups of very different sizes and accuracies, and other shares in training."""
    names = rng.choice(50, n_groups, replace=False)
    sizes = rng.permutation(np.array([11, 25, 60, 140])[:n_groups])
    groups = rng.permutation(np.repeat(names, sizes))
    level = dict(zip(names, rng.permutation(np.linspace(0.25, 0.95, n_groups)), strict=True))
    correct = rng.random(len(groups)) < np.array([level[name] for name in groups])
    train = rng.permutation(np.repeat(names, rng.permutation(np.array([7, 30, 90, 400])[:n_groups])))
    return correct, groups, train


def answer(ask: Ask, *data: np.ndarray) -> Mapping[str, float]:
    """The student's three numbers."""
    got = ask("averages", *data)
    names = ("plain", "weighted", "worst")
    expect(
        isinstance(got, dict) and all(name in got for name in names),
        "averages must return a dictionary with the keys plain, weighted and worst.",
    )
    return {name: float(numbers(got[name], f"averages, under {name!r},")) for name in names}


@part(1, "the plain average is over the test images")
def plain(ask: Ask, rng: np.random.Generator) -> None:
    """And does not know the training set."""
    correct, groups, train = test_set(rng)
    got = answer(ask, correct, groups, train)["plain"]
    expect(
        np.isclose(got, correct.sum() / len(correct)),
        "The plain average is not the share of right test images; was it taken over groups?",
    )
    other = answer(ask, correct, groups, train[train != train[0]])["plain"]
    expect(np.isclose(got, other), "The plain average changes with the training set.")


@part(1, "the weighted average has the training set's shares")
def weighted(ask: Ask, rng: np.random.Generator) -> None:
    """Against a loop; equal shares give the plain one; a group without training images drops out."""
    correct, groups, train = test_set(rng)
    for kept in (train, train[train != train[0]]):
        expected = sum(correct[groups == name].mean() for name in kept) / len(kept)
        expect(
            np.isclose(answer(ask, correct, groups, kept)["weighted"], expected),
            "The weighted average is not the sum of group accuracies times the groups' shares in training.",
        )
    same = answer(ask, correct, groups, np.repeat(groups, 3))
    expect(
        np.isclose(same["weighted"], same["plain"]),
        "With the same shares in training and test the two averages should agree.",
    )


@part(1, "the worst group")
def worst(ask: Ask, rng: np.random.Generator) -> None:
    """The smallest group accuracy, also when it is that of the smallest group."""
    correct, groups, train = test_set(rng)
    smallest = min(set(groups.tolist()), key=lambda name: int((groups == name).sum()))
    correct = correct | (groups != smallest)
    correct[np.flatnonzero(groups == smallest)[0]] = False
    expected = min(correct[groups == name].mean() for name in np.unique(groups))
    expect(
        np.isclose(answer(ask, correct, groups, train)["worst"], expected),
        "The worst group is not the one with the lowest accuracy in the test set.",
    )


@part(1, "which average a table prints")
def forensics(ask: Ask, rng: np.random.Generator) -> None:
    """Printed numbers made by one, by both, by none."""
    accuracies = np.round(rng.permutation([95.0, 88.0, 61.0, 79.0]) + rng.uniform(-3, 3, 4), 1)
    n_test = rng.permutation([2255, 2255, 642, 642])
    n_train = rng.permutation([3498, 184, 56, 1057])
    told = [np.round(np.average(accuracies, weights=n), 1) for n in (n_test, n_train)]
    while abs(told[0] - told[1]) < 1:
        n_train = rng.permutation([3498, 184, 56, 1057])
        told[1] = np.round(np.average(accuracies, weights=n_train), 1)
    cases = {
        "plain": (n_train, told[0]),
        "weighted": (n_train, told[1]),
        "neither": (n_train, max(told) + rng.uniform(0.5, 2)),
        "either": (2 * n_test, told[0]),
    }
    for name, (n, printed) in cases.items():
        got = ask("printed_average", accuracies, n_test, n, float(np.round(printed, 1)))
        expect(
            got in ("plain", "weighted", "either", "neither"),
            "printed_average must return plain, weighted, either or neither.",
        )
        expect(got == name, f"printed_average says {got!r} where {name!r} fits the printed number.")
