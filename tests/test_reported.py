"""The published cells are what the papers print: counted, and consistent with each other by arithmetic."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bindery.errors import DataError, InputError
from bindery.ledger import reported_cells
from bindery.ledger.reported import COLUMNS, check_cell


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    return reported_cells()


def r_to_p(r: float, n: int, covariates: int = 0) -> float:
    freedom = n - 2 - covariates
    t = abs(r) * (freedom / (1 - r * r)) ** 0.5
    return 2 * stats.t.sf(t, freedom)


def test_every_cell_of_the_three_tables_is_there(cells):
    counts = cells[cells["paper"] == "G"].groupby("table").size()
    # 20 rows of 6 numbers with 16 rho; 18 rows of 6 with 12 rho; 9 methods of 3 numbers on 2 data sets
    assert counts[["Table 1", "Table 2", "Table 3"]].tolist() == [20 * 6 + 16, 18 * 6 + 12, 9 * 3 * 2]


@pytest.mark.parametrize("table", ["Table 1", "Table 2"])
def test_rho_follows_from_the_rounded_aucs(cells, table):
    part = cells[(cells["table"] == table) & cells["metric"].isin(["AUC", "rho"])]
    wide = part.pivot_table(
        index=["data", "encoder", "setting", "method"], columns="metric", values="value"
    ).reset_index()
    base = wide[wide["method"] == "zero-shot"].set_index(["data", "encoder", "setting"])["AUC"]
    checked = 0
    for row in wide.dropna(subset=["rho"]).itertuples():
        zero_shot = base[(row.data, row.encoder, row.setting)]
        low = 100 * (row.AUC - 0.05) / (zero_shot + 0.05)
        high = 100 * (row.AUC + 0.05) / (zero_shot - 0.05)
        assert low - 0.05 <= row.rho <= high + 0.05, row
        checked += 1
    assert checked == {"Table 1": 16, "Table 2": 12}[table]


def test_rows_that_two_tables_share_agree(cells):
    first = cells[(cells["table"] == "Table 1") & (cells["setting"] == "closed world")]
    second = cells[(cells["table"] == "Table 2") & (cells["encoder"] == "clip-vit-l14")]
    keys = ["data", "method", "metric"]
    both = first.merge(second, on=keys)
    assert len(both) == len(second) == 2 * (6 + 7 + 7)
    assert (both["value_x"] == both["value_y"]).all()


def test_worst_group_and_gap_of_own_runs_add_up(cells):
    part = cells[(cells["table"] == "Table 3") & cells["method"].isin(["zero-shot", "GDE (image)"])]
    wide = part.pivot_table(index=["data", "method"], columns="metric", values="value")
    assert ((wide["AVG"] - wide["WG"] - wide["GAP"]).abs() <= 0.15 + 1e-9).all()


@pytest.mark.parametrize(
    "r, n, covariates, p",
    [(0.69, 26, 0, 0.0001), (0.65, 21, 0, 0.001), (0.1102, 26, 0, 0.592), (0.0173, 26, 0, 0.933)],
)
def test_p_of_each_reported_correlation(r, n, covariates, p):
    digits = len(f"{p}".split(".")[1])
    assert round(r_to_p(r, n, covariates), digits) == pytest.approx(p, abs=10.0**-digits)


@pytest.mark.parametrize("metric, version, n", [("jer", "v1", 21), ("jer", "v2", 26), ("g-iso", "v2", 26)])
def test_correlation_rows_agree_with_their_p_and_share_of_variance(cells, metric, version, n):
    r, p, share = (cells.loc[f"S.T2.{metric}.{version}.{name}", "value"] for name in ("r", "p", "r2"))
    # r is printed to two decimals and p to as many as it has: the two ranges must meet
    half = 0.5 * 10.0 ** -len(np.format_float_positional(p).split(".")[1])
    assert r_to_p(r + 0.005, n) <= p + half and p - half <= r_to_p(r - 0.005, n)
    assert abs(share - r * r) <= 0.01


def test_bounds_of_the_geometry_rows_are_the_bounds_of_their_p(cells):
    row, p = cells.loc["S.T2.g-pr.v2.abs-r"], cells.loc["S.T2.g-pr.v2.p"]
    assert r_to_p(row["low"], 26) == pytest.approx(p["high"], abs=0.002)
    assert r_to_p(row["high"], 26) == pytest.approx(p["low"], abs=0.002)


def test_null_and_trained_means_fit_below_the_number_of_directions(cells):
    k = cells.loc["S.SU.protocol.jer-directions", "value"]
    assert k + cells.loc["S.T3.all.delta-jer", "value"] == pytest.approx(19.54)


def test_caption_pairs_add_up(cells):
    part = cells[cells["table"] == "SugarCrepe, data"]["value"]
    total = part["S.SD.sugar-crepe.total"]
    assert part.drop("S.SD.sugar-crepe.total").sum() == total == 7511


def test_a_number_or_a_reason(cells):
    nothing = cells[cells[["value", "low", "high"]].isna().all(axis=1)]
    assert (nothing["mark"] == "unnumbered").all() and (nothing["note"] != "").all()


def test_unknown_cell_suggests_the_nearest():
    with pytest.raises(InputError, match=r"did you mean 'G\.T3\.waterbirds\.gde-image\.wg'"):
        check_cell("G.T3.waterbirds.gde-image.wgg")


@pytest.mark.parametrize("fault", ["columns", "twice", "mark", "empty", "number"])
def test_broken_tables_are_refused(tmp_path, fault):
    row = dict.fromkeys(COLUMNS, "") | {"id": "a", "mark": "printed", "value": "1"}
    table = pd.DataFrame([row])
    if fault == "columns":
        table = table.drop(columns="note")
    elif fault == "twice":
        table = pd.concat([table, table])
    elif fault == "mark":
        table["mark"] = "sure"
    elif fault == "number":
        table["value"] = "about 3"
    if fault != "empty":
        table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError) as caught:
        reported_cells(tmp_path)
    assert "\n" not in str(caught.value)
