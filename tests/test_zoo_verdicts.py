"""The declared rules on tables whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bindery import protocol, zoo_results, zoo_verdicts
from bindery.errors import InputError
from bindery.zoo.objectives import OBJECTIVES


def made_up(jer_follows: float, pr_follows: float, seeds: int = 3) -> pd.DataFrame:
    """A table in which binding follows JER and G.PR as strongly as told."""
    plan, rng = protocol.read(), np.random.default_rng(1)
    skill = dict(
        zip(plan.objectives, rng.permutation(np.linspace(0.3, 0.9, len(plan.objectives))), strict=True)
    )
    skill["barlow"], skill["vicreg"] = 0.96, 0.97
    rows = []
    for seed in range(seeds):
        for objective in plan.objectives:
            s = skill[objective] + 0.001 * rng.normal()
            noise = rng.normal(size=5) / 10
            rows.append(
                {
                    "name": protocol.run_name(plan.config(objective, "photometric", seed)),
                    "objective": objective, "family": OBJECTIVES[objective].family, "condition": "photometric",
                    "seed": seed, "jitter_accuracy": s, "jitter_swap": s,
                    "jer": 10 + 10 * (jer_follows * s + noise[0] * (1 - jer_follows)),
                    "g_pr": pr_follows * s + noise[1] * (1 - pr_follows), "g_iso": noise[2], "l_iso": noise[3],
                    "jer_sketch_entropy": noise[4], "r_hat": 20 + noise[0], "same_different_in_sample": s,
                    "probe_shape": 0.8, "probe_place": 0.9, "jitter_accuracy_high": s + 0.03,
                }
            )  # fmt: skip
        null = {"name": f"random-s{seed}", "objective": "random", "family": "random", "condition": "none"}
        rows.append(null | {"seed": seed, "jer": 25.0, "jitter_accuracy": 0.15, "jitter_accuracy_high": 0.18})
        rows[-1] |= {"probe_shape": 0.65, "probe_place": 0.85}
    return pd.DataFrame(rows)


def test_rules_on_a_world_where_jer_rules() -> None:
    told = zoo_verdicts.verdicts(made_up(1.0, 0.0), draws=300).set_index("claim")["verdict"]
    assert told["jer-predicts"] == told["jer-predicts-better-than-geometry"] == "supports"
    assert told["decorrelation-binds-best"] == told["training-lowers-jer"] == "supports"


def test_rules_on_a_world_where_geometry_rules() -> None:
    told = zoo_verdicts.verdicts(made_up(0.0, 1.0), draws=300).set_index("claim")["verdict"]
    assert told["geometry-does-not-predict:g_pr"] == "contradicts"
    assert told["jer-predicts-better-than-geometry"] == "contradicts"
    assert told["jer-predicts"] == "inconclusive"


@pytest.mark.parametrize("gone", ["seed", "one training", "an objective"])
def test_nothing_is_decided_before_every_declared_seed_is_there(gone: str) -> None:
    table = made_up(1.0, 0.0)
    assert zoo_verdicts.complete(table) and "open" not in set(
        zoo_verdicts.verdicts(table, draws=50)["verdict"]
    )
    left = {
        "seed": table["seed"] < 2, "one training": table["name"] != "byol-s1",
        "an objective": table["objective"] != "bound",
    }[gone]  # fmt: skip
    told = zoo_verdicts.verdicts(table[left], draws=50)
    assert not zoo_verdicts.complete(table[left]) and set(told["verdict"]) == {"open"}
    assert np.isfinite(told["estimate"]).all()


def test_one_seed_has_no_interval_over_seeds_and_floor_silences_all() -> None:
    _, interval, seeds = zoo_verdicts.family_contrast(made_up(1.0, 0.0, seeds=1), "jer")
    assert seeds == 1 and not np.isfinite(interval).any()
    low = made_up(1.0, 0.0)
    low.loc[low["family"] != "random", "jitter_accuracy"] *= 0.15
    assert set(zoo_verdicts.verdicts(low, draws=100)["verdict"]) == {"at floor"}


def test_headline_leaves_out_control_and_null_and_averages_seeds() -> None:
    table = made_up(1.0, 0.0)
    rows = zoo_verdicts.panel(table)
    assert "bound" not in set(rows["encoder"]) and set(rows["n_seeds"]) == {3}
    assert "bound" in set(zoo_verdicts.panel(table, control=True)["encoder"])
    barlow = table.loc[table["objective"] == "barlow", "jer"].mean()
    assert rows.set_index("encoder").loc["barlow", "jer"] == pytest.approx(barlow)
    with pytest.raises(InputError, match="standard"):
        zoo_verdicts.panel(table, "standard")


def test_intervals_match_closed_forms() -> None:
    assert zoo_verdicts.null_verdict((-0.2, 0.25)) == "supports"
    assert zoo_verdicts.null_verdict((0.05, 0.2)) == "supports"
    assert zoo_verdicts.null_verdict((0.1, 0.9)) == "contradicts"
    assert zoo_verdicts.null_verdict((-0.5, 0.4)) == "inconclusive"
    mean, (low, high), n = zoo_verdicts.family_contrast(made_up(1.0, 0.0), "jitter_accuracy")
    assert n == 3 and low < mean < high
    found = zoo_verdicts.correlations(zoo_verdicts.panel(made_up(1.0, 0.0)), draws=100)
    assert list(found["predictor"]) == list(zoo_results.PREDICTORS)
    wide = found["high"] - found["low"]
    assert (wide >= found["fisher_high"] - found["fisher_low"] - 1e-12).all()


def test_untrained_runs_are_named() -> None:
    table = made_up(1.0, 0.0)
    table.loc[table["name"] == "byol-s1", ["probe_shape", "probe_place"]] = 0.66, 0.85
    assert zoo_verdicts.untrained(table) == ["byol-s1"]


def test_family_draws_keep_families_whole_in_number() -> None:
    families = np.array(["a", "a", "b", "c", "c", "c"])
    for chosen in zoo_verdicts.family_draws(families, 50, 0):
        drawn = families[chosen]
        for family, size in (("a", 2), ("b", 1), ("c", 3)):
            assert (drawn == family).sum() % size == 0
