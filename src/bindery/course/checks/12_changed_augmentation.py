"""A changed augmentation: the measure's properties, a record that can be repeated, a verdict slow to speak."""

from __future__ import annotations

from typing import Any

import numpy as np

from bindery.course.checking import Ask, expect, numbers, part

MEASURES = ("hue", "mirror")
IMAGES, PER_STEP = 64, 32


@part(2, "the measure of invariance")
def measure(ask: Ask, rng: np.random.Generator) -> None:
    """Loops, units, independent rows, and copies."""
    n, d = int(rng.integers(8, 15)), int(rng.integers(5, 20))
    rows = rng.standard_normal((n, d)) + 3
    changed = rows + 0.5 * rng.standard_normal((n, d))
    mean = (rows.sum(axis=0) + changed.sum(axis=0)) / (2 * n)
    match: list[float] = []
    other: list[float] = []
    for i in range(n):
        for j in range(n):
            a, b = rows[i] - mean, changed[j] - mean
            (match if i == j else other).append(float(a @ b / np.sqrt((a @ a) * (b @ b))))
    got = numbers(ask("invariance", rows, changed), "invariance")
    expect(
        np.isclose(got, np.mean(match) - np.mean(other)),
        "invariance is not the mean cosine of matching rows minus that of all others, about the mean of both sets.",
    )
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    moved = numbers(ask("invariance", 7 * rows @ turn + 2, 7 * changed @ turn + 2), "invariance")
    expect(
        np.isclose(got, moved), "invariance changes when all embeddings are shifted, scaled or turned alike."
    )
    far = numbers(
        ask("invariance", rng.standard_normal((300, 60)), rng.standard_normal((300, 60))), "invariance"
    )
    expect(abs(far) < 0.05, "invariance of unrelated embeddings is not near zero.")


def record(ask: Ask, condition: str, images: int, seed: int) -> dict[str, Any]:
    """One of the student's records, its form checked."""
    got = ask("experiment", condition, images, seed)
    keys = {"condition", "images", "seed", "losses", "before", "after"}
    expect(
        isinstance(got, dict) and keys <= set(got),
        "experiment must return a dictionary with condition, images, seed, losses, before and after.",
    )
    expect(
        (got["condition"], got["images"], got["seed"]) == (condition, images, seed),
        "The record does not repeat the condition, images and seed that it was made with.",
    )
    for when in ("before", "after"):
        expect(
            isinstance(got[when], dict) and set(MEASURES) <= set(got[when]),
            f"The record's {when!r} must be a dictionary with hue and mirror.",
        )
        got[when] = {name: float(numbers(got[when][name], f"{when}, {name},")) for name in MEASURES}
    got["losses"] = numbers(got["losses"], "the record's losses", (-1,)).tolist()
    return got


@part(2, "a record that can be repeated")
def repeatable(ask: Ask, rng: np.random.Generator) -> None:
    """One loss a step, the budget kept, equal arguments equal records, and the seed in use."""
    seed = int(rng.integers(1000))
    first = record(ask, "photometric", IMAGES, seed)
    expect(
        len(first["losses"]) == IMAGES // PER_STEP,
        "The number of losses is not the budget of images over the images a step.",
    )
    again = record(ask, "photometric", IMAGES, seed)
    expect(first == again, "The same arguments gave two different records.")
    other = record(ask, "photometric", IMAGES, seed + 1)
    expect(first["losses"] != other["losses"], "Another seed gives the same losses.")
    expect(
        first["before"] != other["before"],
        "'before' is the same for another seed: it must be of the untrained encoder of that seed.",
    )


@part(2, "only the augmentation differs")
def only_one_thing(ask: Ask, rng: np.random.Generator) -> None:
    """Equal before, unequal after."""
    seed = int(rng.integers(1000))
    first, second = (record(ask, name, IMAGES, seed) for name in ("none", "photometric-flip"))
    expect(
        first["before"] == second["before"],
        "'before' differs between two conditions of one seed: the untrained encoders must be the same.",
    )
    expect(first["before"] != first["after"], "'after' equals 'before': was the trained encoder measured?")
    expect(
        first["after"] != second["after"],
        "Two conditions end in the same encoder: does the condition reach the training?",
    )


def planted(rng: np.random.Generator, n: int, shift: dict[str, float]) -> tuple[list[Any], list[Any]]:
    """Records of two conditions whose measures differ by the shift, seed by seed, beside a large common part."""
    first, second = [], []
    for seed in range(n):
        common = {name: float(rng.normal(0.5, 0.3)) for name in MEASURES}
        moved = {name: common[name] + shift[name] + float(rng.normal(0, 0.02)) for name in MEASURES}
        told = {"images": 64, "seed": seed, "losses": [1.0, 0.9], "before": {"hue": 0.2, "mirror": 0.4}}
        first.append({**told, "condition": "none", "after": common})
        second.append({**told, "condition": "photometric", "after": moved})
    return first, second


@part(2, "a verdict that is slow to speak")
def verdict(ask: Ask, rng: np.random.Generator) -> None:
    """Clear shifts of either sign, paired by seed; none where there is none, and two seeds are too few."""
    up, down = float(rng.uniform(0.1, 0.2)), -float(rng.uniform(0.1, 0.2))
    for shift, expected in (
        ({"hue": up, "mirror": down}, ("up", "down")),
        ({"hue": down, "mirror": up}, ("down", "up")),
    ):
        got = ask("what_moved", *planted(rng, 6, shift))
        expect(isinstance(got, dict), "what_moved must return a dictionary.")
        expect(
            tuple(got.get(name) for name in MEASURES) == expected,
            "what_moved misses a difference that is the same in all six seeds, or has its sign wrong: it goes from the "
            "first condition to the second, seed by seed.",
        )
    first, second = planted(rng, 4, {"hue": 0.0, "mirror": 0.0})
    for number, (a, b) in enumerate(zip(first, second, strict=True)):
        for name in MEASURES:
            b["after"][name] = a["after"][name] + (0.1, -0.09, 0.11, -0.1)[number]
    got = ask("what_moved", first, second)
    expect(
        all(got.get(name) == "unclear" for name in MEASURES),
        "what_moved sees a movement where the differences of the seeds point both ways.",
    )
    first, second = planted(rng, 2, {"hue": 0.0, "mirror": 0.0})
    for name in MEASURES:
        for pair, gap in zip(zip(first, second, strict=True), (0.05, 0.1), strict=True):
            pair[1]["after"][name] = pair[0]["after"][name] + gap
    got = ask("what_moved", first, second)
    expect(
        all(got.get(name) == "unclear" for name in MEASURES),
        "what_moved is sure with two seeds that differ by a factor of two: a 95 % interval of so few is much wider.",
    )
