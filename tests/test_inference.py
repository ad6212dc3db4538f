"""Statistics over encoders: the papers' (n, r, p), exact constructions, families, refusals."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import spearmanr

from bindery.errors import InputError
from bindery.inference import (
    average_seeds,
    check_panel,
    correlate,
    difference_of_correlations,
    fisher_interval,
    leave_one_family_out,
    max_t,
    partial_correlate,
    power_curve,
    power_table,
    published,
    regress,
)
from bindery.inference.resampling import permutation_p, permuted_correlations

QUICK = {"draws": 100, "permutations": 199}


def orthonormal(n: int, k: int, seed: int = 0) -> np.ndarray:
    """(n, k) columns of mean 0, length 1, mutually orthogonal."""
    rows = np.random.default_rng(seed).standard_normal((n, k))
    return np.linalg.qr(np.c_[np.ones(n), rows])[0][:, 1:]


def encoders(n: int, n_families: int = 7, **columns: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "encoder": [f"e{i:02d}" for i in range(n)],
            "family": [f"f{i % n_families}" for i in range(n)],
            "trained": True,
            **columns,
        }
    )


def with_r(r: float, n: int) -> pd.DataFrame:
    """A table in which x and y correlate with exactly r."""
    u, v = orthonormal(n, 2).T
    return encoders(n, x=3 * u + 5, y=r * u + np.sqrt(1 - r**2) * v)


class TestPublishedCoefficients:
    """Paper S: each pair (n, r) with the p that the facts computed for it."""

    CASES = (
        (26, 0.69, 0.0001, 5e-5),
        (21, 0.69, 0.0005, 5e-5),
        (21, 0.65, 0.0014, 5e-5),
        (26, 0.65, 0.0003, 5e-5),
        (26, 0.11, 0.593, 5e-4),
        (26, 0.0173, 0.933, 5e-4),
    )

    @pytest.mark.parametrize("n, r, p, tolerance", CASES)
    def test_correlate(self, n: int, r: float, p: float, tolerance: float) -> None:
        row = correlate(with_r(r, n), "x", "y", **QUICK).iloc[0]
        assert row["r"] == pytest.approx(r)
        assert row["n"] == n
        assert row["p_val"] == pytest.approx(p, abs=tolerance)
        assert published(r, n).loc[0, "p_val"] == pytest.approx(row["p_val"], rel=1e-9)

    @pytest.mark.parametrize("r, p", [(0.69, 0.013), (0.33, 0.295)])
    def test_partial(self, r: float, p: float) -> None:
        u, v, c = orthonormal(13, 3).T
        table = encoders(13, x=u + 2 * c, y=r * u + np.sqrt(1 - r**2) * v - c, zero_shot=c)
        row = partial_correlate(table, "x", "y", ["zero_shot"], **QUICK).iloc[0]
        assert row["r"] == pytest.approx(r)
        assert row["p_val"] == pytest.approx(p, abs=6e-4)
        told = published(r, 13, covariates=1).iloc[0]
        assert (told["df"], told["p_val"]) == (10, pytest.approx(row["p_val"], rel=1e-9))
        assert told["ci_low"] == pytest.approx(row["ci_low"])

    @pytest.mark.parametrize(
        "n, r, low, high", [(26, 0.69, 0.41, 0.85), (21, 0.65, 0.30, 0.84), (13, 0.69, 0.22, 0.90)]
    )
    def test_fisher_intervals(self, n: int, r: float, low: float, high: float) -> None:
        assert_allclose(fisher_interval(r, n), (low, high), atol=0.005)
        row = correlate(with_r(r, n), "x", "y", **QUICK).iloc[0]
        assert_allclose(row["CI95"], (row["ci_low"], row["ci_high"]), atol=0.0051)

    @pytest.mark.parametrize("r2, n, adjusted", [(0.74, 21, 0.711), (0.74, 26, 0.717), (0.78, 26, 0.761)])
    def test_adjusted_r2_of_two_predictors(self, r2: float, n: int, adjusted: float) -> None:
        u, w, v = orthonormal(n, 3).T
        y = np.sqrt(0.47) * u + np.sqrt(r2 - 0.47) * w + np.sqrt(1 - r2) * v
        result = regress(encoders(n, jer=u, disc=w, y=y), "y", ["jer", "disc"])
        assert result["adj_r2"].iloc[0] == pytest.approx(adjusted, abs=6e-4)
        assert_allclose(result["r2_step"], [0, 0.47, r2], atol=1e-12)
        assert_allclose(result["r2_added"][1:], [0.47, r2 - 0.47], atol=1e-12)
        assert result["adj_r2_step"].iloc[-1] == pytest.approx(result["adj_r2"].iloc[0])
        assert_allclose(result["coef"], [0, np.sqrt(0.47), np.sqrt(r2 - 0.47)], atol=1e-12)


class TestCorrelate:
    def test_permutation_p_matches_all_permutations(self) -> None:
        rng = np.random.default_rng(0)
        table = encoders(7, x=rng.standard_normal(7), y=rng.standard_normal(7))
        r = np.corrcoef(table["x"], table["y"])[0, 1]
        every = [np.corrcoef(table["x"], np.array(y))[0, 1] for y in permutations(table["y"])]
        exact = np.mean(np.abs(every) >= abs(r) - 1e-12)
        assert correlate(table, "x", "y", draws=10)["p_perm"].iloc[0] == pytest.approx(exact, abs=0.02)

    def test_permutation_p_is_uniform_under_the_null(self) -> None:
        rng = np.random.default_rng(1)
        p = []
        for _ in range(600):
            x, y = rng.exponential(size=(2, 8))
            p.append(permutation_p(np.corrcoef(x, y)[0, 1], permuted_correlations(x[:, None], y, 99, rng)))
        assert 0.03 < np.mean(np.array(p) <= 0.05) < 0.075
        assert 0.46 < np.mean(p) < 0.55

    def test_spearman_is_that_of_scipy_and_blind_to_monotone_maps(self) -> None:
        rng = np.random.default_rng(2)
        x = rng.standard_normal(26)
        table = encoders(26, x=x, bent=np.exp(x), y=x + rng.standard_normal(26))
        first, second = (correlate(table, name, "y", method="spearman", **QUICK) for name in ("x", "bent"))
        assert first["r"].iloc[0] == pytest.approx(spearmanr(table["x"], table["y"]).statistic)
        same = ["r", "p_val", "p_perm", "ci_low", "family_ci_low", "family_ci_high", "loo_low", "loo_high"]
        assert_allclose(first[same].astype(float), second[same].astype(float))

    def test_bonett_wright_is_wider_than_fisher_for_ranks(self) -> None:
        low, high = fisher_interval(0.8, 26, method="spearman")
        assert low < fisher_interval(0.8, 26)[0] and high > fisher_interval(0.8, 26)[1]

    def test_clustered_encoders_widen_the_family_interval(self) -> None:
        # Within a family encoders are near copies: four points pretending to be forty.
        rng = np.random.default_rng(3)
        centre = rng.standard_normal((4, 2)) @ [[1, 0.6], [0, 0.8]]
        values = np.tile(centre, (10, 1)) + 0.01 * rng.standard_normal((40, 2))
        row = correlate(encoders(40, 4, x=values[:, 0], y=values[:, 1]), "x", "y").iloc[0]
        assert row["family_ci_high"] - row["family_ci_low"] > 2 * (row["ci_high"] - row["ci_low"])
        assert row["n_families"] == 4

    def test_family_bootstrap_of_single_member_families_is_the_plain_one(self) -> None:
        widths = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            x = rng.standard_normal(60)
            table = encoders(60, 60, x=x, y=x + rng.standard_normal(60))
            row = correlate(table, "x", "y", draws=300, permutations=9).iloc[0]
            widths.append((row["family_ci_high"] - row["family_ci_low"]) / (row["ci_high"] - row["ci_low"]))
        assert np.mean(widths) == pytest.approx(1, abs=0.15)

    def test_two_families_give_no_family_interval(self) -> None:
        row = correlate(encoders(8, 2, **_xy(8)), "x", "y", **QUICK).iloc[0]
        assert np.isnan(row["family_ci_low"])

    def test_leaving_out_the_family_that_makes_the_correlation(self) -> None:
        rng = np.random.default_rng(4)
        table = encoders(28, x=rng.standard_normal(28), y=rng.standard_normal(28))
        table.loc[table["family"] == "f3", ["x", "y"]] += 30
        row = correlate(table, "x", "y", **QUICK).iloc[0]
        assert row["r"] > 0.95
        assert (row["loo_low_family"], row["loo_low"] < 0.5) == ("f3", True)
        left = leave_one_family_out(table, "x", "y").set_index("family")
        rest = table[table["family"] != "f3"]
        assert left.loc["f3", "r"] == pytest.approx(np.corrcoef(rest["x"], rest["y"])[0, 1])
        assert left.loc["f3", "n"] == 24

    def test_columns_and_seed(self) -> None:
        first, second = (correlate(with_r(0.5, 26), "x", "y", **QUICK) for _ in range(2))
        pd.testing.assert_frame_equal(first, second)
        assert len(first) == 1
        assert {"n", "r", "CI95", "p_val", "BF10", "power", "ci_low", "p_perm", "loo_low"} <= set(first)

    def test_perfect_line(self) -> None:
        row = correlate(encoders(6, x=np.arange(6.0), y=2 * np.arange(6.0)), "x", "y", **QUICK).iloc[0]
        assert_allclose([row["r"], row["ci_low"], row["ci_high"]], 1)


class TestPartial:
    def test_a_common_cause_vanishes(self) -> None:
        u, v, c = orthonormal(30, 3).T
        table = encoders(30, x=c + 0.3 * u, y=c + 0.3 * v, cause=c)
        assert correlate(table, "x", "y", **QUICK)["r"].iloc[0] > 0.9
        row = partial_correlate(table, "x", "y", ["cause"], **QUICK).iloc[0]
        assert row["r"] == pytest.approx(0, abs=1e-9)
        assert row["p_perm"] == pytest.approx(1)

    def test_spearman_ranks_first(self) -> None:
        rng = np.random.default_rng(0)
        c = rng.standard_normal(26)
        table = encoders(26, x=c + rng.standard_normal(26), y=c + rng.standard_normal(26), c=c)
        bent = table.assign(x=np.exp(table["x"]), c=table["c"] ** 3)
        rows = [
            partial_correlate(t, "x", "y", ["c"], method="spearman", **QUICK).iloc[0] for t in (table, bent)
        ]
        for name in ("r", "p_perm", "family_ci_low", "loo_high"):
            assert rows[0][name] == pytest.approx(rows[1][name])

    def test_two_covariates_lower_the_degrees_of_freedom(self) -> None:
        u, v, c, d = orthonormal(13, 4).T
        table = encoders(13, x=u + c + d, y=0.69 * u + np.sqrt(1 - 0.69**2) * v + d, c=c, d=d)
        row = partial_correlate(table, "x", "y", ["c", "d"], **QUICK).iloc[0]
        assert row["p_val"] == pytest.approx(published(0.69, 13, covariates=2).loc[0, "p_val"])

    def test_errors(self) -> None:
        table = encoders(10, **_xy(10)).assign(c=lambda t: 2 * t["x"] + 1)
        with pytest.raises(InputError, match="x is a linear function of c"):
            partial_correlate(table, "x", "y", ["c"], **QUICK)
        with pytest.raises(InputError, match="other than x and y"):
            partial_correlate(table, "x", "y", ["y"], **QUICK)
        with pytest.raises(InputError, match="4 encoders are too few for a coefficient; it needs 5"):
            partial_correlate(table[:4].assign(c=[1, 5, 2, 0]), "x", "y", ["c"], **QUICK)


class TestDifference:
    def test_value_and_sign(self) -> None:
        u, v, w = orthonormal(26, 3).T
        table = encoders(26, y=u, near=0.8 * u + 0.6 * v, far=0.2 * u + np.sqrt(0.96) * w)
        row = difference_of_correlations(table, ("near", "y"), ("far", "y"), draws=500).iloc[0]
        assert_allclose([row["r_first"], row["r_second"], row["difference"]], [0.8, 0.2, 0.6])
        assert 0 < row["ci_low"] < 0.6 < row["ci_high"]
        back = difference_of_correlations(table, ("far", "y"), ("near", "y"), draws=500).iloc[0]
        assert_allclose([back["ci_low"], back["ci_high"]], [-row["ci_high"], -row["ci_low"]])

    def test_same_pair_is_exactly_zero(self) -> None:
        table = encoders(12, **_xy(12))
        row = difference_of_correlations(table, ("x", "y"), ("y", "x"), draws=50).iloc[0]
        assert_allclose([row["difference"], row["ci_low"], row["ci_high"]], 0, atol=1e-12)

    def test_dependence_narrows_the_interval(self) -> None:
        rng = np.random.default_rng(5)
        x, y = rng.standard_normal((2, 60))
        table = encoders(
            60, 60, x=x, twin=x + 0.05 * rng.standard_normal(60), other=rng.standard_normal(60), y=y
        )
        widths = []
        for name in ("twin", "other"):
            row = difference_of_correlations(table, ("x", "y"), (name, "y"), draws=300).iloc[0]
            widths.append(row["ci_high"] - row["ci_low"])
        assert widths[0] < widths[1] / 5


class TestRegress:
    def test_left_out_families_punish_a_fit_to_noise(self) -> None:
        rng = np.random.default_rng(6)
        table = encoders(14, a=rng.standard_normal(14), b=rng.standard_normal(14), y=rng.standard_normal(14))
        result = regress(table, "y", ["a", "b"])
        assert result["r2"].iloc[0] > 0 > result["r2_loo_family"].iloc[0]
        exact = table.assign(y=2 * table["a"] - table["b"] + 1)
        assert regress(exact, "y", ["a", "b"])["r2_loo_family"].iloc[0] == pytest.approx(1)
        assert_allclose(regress(exact, "y", ["a", "b"])["coef"], [1, 2, -1], atol=1e-9)

    def test_errors(self) -> None:
        table = encoders(10, **_xy(10)).assign(twin=lambda t: 3 * t["x"] + 2)
        with pytest.raises(InputError, match="x, twin are linearly dependent"):
            regress(table, "y", ["x", "twin"])
        with pytest.raises(InputError, match="4 encoders are too few"):
            regress(table[:4].assign(z=[1, 0, 0, 1]), "y", ["x", "z"])
        with pytest.raises(InputError, match="at least one column"):
            regress(table, "y", [])


class TestMaxT:
    def test_one_metric_needs_no_adjustment(self) -> None:
        row = max_t(with_r(0.4, 20), ["x"], "y").iloc[0]
        assert row["p_adj"] == row["p_perm"]
        assert row["p_perm"] == pytest.approx(published(0.4, 20).loc[0, "p_val"], abs=0.02)

    def test_copies_cost_nothing_and_independent_metrics_cost_sidak(self) -> None:
        rng = np.random.default_rng(7)
        table = with_r(0.5, 26)
        for i in range(11):
            table[f"copy{i}"], table[f"noise{i}"] = -table["x"], rng.standard_normal(26)
        copies = max_t(table, ["x", *(f"copy{i}" for i in range(11))], "y").iloc[0]
        assert copies["p_adj"] == copies["p_perm"]
        noise = max_t(table, ["x", *(f"noise{i}" for i in range(11))], "y").iloc[0]
        assert noise["p_adj"] == pytest.approx(1 - (1 - published(0.5, 26).loc[0, "p_val"]) ** 12, abs=0.03)
        assert noise["critical_r"] == pytest.approx(0.54, abs=0.03)  # Bonferroni over 12 at n = 26
        assert copies["critical_r"] == pytest.approx(0.39, abs=0.02)  # a single test

    def test_a_metric_with_a_gap_stays_in_place(self) -> None:
        table = encoders(10, **_xy(10)).assign(gap=lambda t: t["x"].where(t["encoder"] != "e04"))
        result = max_t(table, ["gap", "x"], "y", permutations=99)
        assert result["metric"].tolist() == ["gap", "x"]
        assert result.loc[0, ["r", "p_perm", "p_adj"]].isna().all()
        assert result.loc[0, "missing"] == "e04"
        assert (result["n_tests"] == 1).all()
        assert result.loc[1, ["r", "p_perm", "p_adj"]].notna().all()
        assert result["n"].tolist() == [9, 10]

    def test_errors(self) -> None:
        table = encoders(10, **_xy(10)).assign(flat=1.0)
        with pytest.raises(InputError, match="flat is constant"):
            max_t(table, ["x", "flat"], "y")
        with pytest.raises(InputError, match="'x' is listed twice"):
            max_t(table, ["x", "x"], "y")
        with pytest.raises(InputError, match="no metric has a value for every encoder"):
            max_t(table.assign(x=table["x"].where(table["encoder"] != "e00")), ["x"], "y")


class TestPower:
    def test_the_n_it_gives_reaches_the_power_and_one_less_does_not(self) -> None:
        for _, row in power_table((0.3, 0.5), (0.8,)).iterrows():
            reached = power_curve([int(row["n"]) - 1, int(row["n"])], [row["r"]])["power"]
            assert reached.iloc[0] < 0.8 <= reached.iloc[1]

    def test_power_is_the_rejection_rate(self) -> None:
        rng = np.random.default_rng(8)
        x = rng.standard_normal((4000, 26))
        y = 0.5 * x + np.sqrt(0.75) * rng.standard_normal((4000, 26))
        r = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(x, y, strict=True)])
        rate = np.mean(np.abs(r) > 0.388)  # critical |r| at n = 26
        assert power_curve([26], [0.5])["power"].iloc[0] == pytest.approx(rate, abs=0.02)


class TestPanel:
    def test_mixing_trained_and_untrained_is_refused(self) -> None:
        table = encoders(8, **_xy(8))
        table.loc[0, "trained"] = False
        with pytest.raises(InputError, match="trained and untrained"):
            correlate(table, "x", "y")

    def test_a_seed_is_not_an_encoder(self) -> None:
        table = pd.concat([encoders(4, **_xy(4)).assign(seed=seed) for seed in (0, 1)])
        with pytest.raises(InputError, match="encoder e00 has several rows; a seed is not an encoder"):
            correlate(table, "x", "y")
        averaged = average_seeds(table.assign(x=lambda t: t["x"] + t["seed"]))
        assert averaged["n_seeds"].tolist() == [2] * 4
        assert_allclose(averaged["x"], encoders(4, **_xy(4))["x"] + 0.5)
        assert averaged["trained"].dtype == bool
        assert "seed" not in averaged
        assert check_panel(averaged, ["x"]).encoders == ["e00", "e01", "e02", "e03"]

    def test_seeds_of_one_encoder_must_agree(self) -> None:
        table = pd.concat([encoders(4, **_xy(4)), encoders(4, **_xy(4)).assign(trained=False)])
        with pytest.raises(InputError, match="rows of encoder e00 disagree about trained"):
            average_seeds(table)

    def test_missing_values_are_named(self) -> None:
        table = encoders(8, **_xy(8))
        table.loc[[2, 5], "x"] = [np.nan, np.inf]
        with pytest.raises(InputError, match="missing or infinite for e02, e05"):
            correlate(table, "x", "y")
        row = correlate(table, "x", "y", missing="drop", **QUICK).iloc[0]
        assert (row["n"], row["dropped"]) == (6, "e02, e05")

    def test_constant_metric(self) -> None:
        with pytest.raises(InputError, match="y is constant"):
            correlate(encoders(8, **_xy(8)).assign(y=0.1 + 0.2), "x", "y")

    def test_too_few(self) -> None:
        with pytest.raises(InputError, match="3 encoders are too few"):
            correlate(encoders(3, **_xy(3)), "x", "y")

    def test_absent_column_and_method(self) -> None:
        with pytest.raises(InputError, match="no column 'z'"):
            correlate(encoders(5, **_xy(5)), "z", "y")
        with pytest.raises(InputError, match="no column 'family'"):
            correlate(encoders(5, **_xy(5)).drop(columns="family"), "x", "y")
        with pytest.raises(InputError, match="pearson or spearman"):
            correlate(encoders(5, **_xy(5)), "x", "y", method="kendall")  # type: ignore[arg-type]

    @pytest.mark.parametrize("r, n, covariates", [(1.0, 10, 0), (0.5, 4, 1)])
    def test_published_refuses_the_impossible(self, r: float, n: int, covariates: int) -> None:
        with pytest.raises(InputError, match="needs"):
            published(r, n, covariates=covariates)


def _xy(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    return {"x": rng.standard_normal(n), "y": rng.standard_normal(n)}
