"""Arms of compositional classification: closed forms on data that decompose, invariances, and the step table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bindery import compositional, sphere
from bindery.compositional import ARMS
from bindery.errors import InputError

ATTRIBUTES, OBJECTS, D = 5, 6, 24


def grid(seed: int = 0, copies: int = 4, noise: float = 0.0) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Points that decompose on the sphere exactly, plus noise, ``copies`` a pair."""
    rng = np.random.default_rng(seed)
    mu = sphere.unit(rng.standard_normal(D))
    parts = [0.5 * rng.standard_normal((n, D)) / np.sqrt(D) * 2 for n in (ATTRIBUTES, OBJECTS)]
    parts = [v - v @ mu[:, None] * mu for v in parts]
    parts = [v - v.mean(axis=0) for v in parts]
    rows, pairs = [], []
    for a in range(ATTRIBUTES):
        for o in range(OBJECTS):
            for _ in range(copies):
                point = sphere.exp((parts[0][a] + parts[1][o])[None], mu)[0]
                rows.append(point + noise * rng.standard_normal(D))
                pairs.append((f"a{a}", f"o{o}"))
    return np.array(rows), pairs


def parts_of(pairs: list[tuple[str, str]], seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two thirds of the pairs seen, half their copies for training."""
    rng = np.random.default_rng(seed)
    kinds = sorted(set(pairs))
    seen = {kinds[i] for i in rng.permutation(len(kinds))[: 2 * len(kinds) // 3]}
    index = np.arange(len(pairs))
    training = np.array([pair in seen and i % 2 == 0 for i, pair in enumerate(pairs)])
    return index[training], index[~training]


def test_geodesic_least_squares_recovers_what_decomposes_on_the_sphere() -> None:
    rows, pairs = grid()
    train, test = parts_of(pairs)
    table = compositional.evaluate(rows, pairs, train, test).set_index(["arm", "world"])
    for world in ("closed", "open"):
        assert table.loc[("GDE least squares", world), "pair_accuracy"] >= 99
    assert table.loc[("GDE least squares", "closed"), "auc"] >= table.loc[("LDE raw", "closed"), "auc"]


def test_length_of_the_input_does_not_matter() -> None:
    rows, pairs = grid(noise=0.1)
    train, test = parts_of(pairs)
    scale = np.random.default_rng(2).uniform(0.5, 2, (len(rows), 1))
    pd.testing.assert_frame_equal(
        compositional.evaluate(rows, pairs, train, test),
        compositional.evaluate(scale * rows, pairs, train, test),
    )


def test_rotating_all_embeddings_changes_nothing() -> None:
    rows, pairs = grid(noise=0.15)
    train, test = parts_of(pairs)
    turn = stats.ortho_group.rvs(D, random_state=3)
    before, after = (compositional.evaluate(x, pairs, train, test)["auc"] for x in (rows, rows @ turn))
    assert np.abs(before - after).max() < 1.0  # a near-tie may fall the other way


def test_closed_world_is_no_harder_than_the_open_one() -> None:
    rows, pairs = grid(noise=0.2)
    train, test = parts_of(pairs)
    wide = compositional.evaluate(rows, pairs, train, test).pivot(
        index="arm", columns="world", values="best_seen"
    )
    assert (wide["closed"] >= wide["open"] - 1e-9).all()


def test_templates_stay_unfitted() -> None:
    rows, pairs = grid()
    compositional.evaluate(rows, pairs, *parts_of(pairs))
    assert not any(hasattr(model, "context_") for model in ARMS.values())


def test_interval_is_the_t_interval() -> None:
    values = np.array([1.0, 2.0, 4.0, 7.0])
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = compositional.interval(values)
    assert found["mean"] == pytest.approx(3.5) and found["n"] == 4
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((expected.low, expected.high))
    with pytest.raises(InputError, match="at least two"):
        compositional.interval([1.0])


def test_steps_add_up_to_the_published_gap() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        [{"arm": arm, "seed": seed, "auc": rng.uniform(0, 30)} for arm in ARMS for seed in range(5)]
    )
    mean = compositional.steps(table).set_index("step")["mean"]
    first, second, _, gap = mean
    assert first + second == pytest.approx(gap)


def test_paired_interval_of_a_method_with_itself_is_zero() -> None:
    rows, pairs = grid(noise=0.2)
    train, test = parts_of(pairs)
    kept = [pairs[i] for i in train]
    model = (
        ARMS["GDE"]
        .__class__()
        .fit(compositional.unit(rows[train]), [a for a, _ in kept], [o for _, o in kept])
    )
    scored = compositional.score(model, compositional.unit(rows[test]), [pairs[i] for i in test], set(kept))
    found = compositional.paired_interval(scored, scored, draws=20)
    assert found["mean"] == found["ci_low"] == found["ci_high"] == 0


def test_bad_input_is_told() -> None:
    rows, pairs = grid()
    train, test = parts_of(pairs)
    with pytest.raises(InputError, match="lengths must agree"):
        compositional.evaluate(rows[:-1], pairs, train, test)
    broken = rows.copy()
    broken[7] = np.nan
    with pytest.raises(InputError, match="rows 7"):
        compositional.evaluate(broken, pairs, train, test)
    broken[7] = 0
    with pytest.raises(InputError, match="embedding 7 is zero"):
        compositional.evaluate(broken, pairs, train, test)
