"""The declared run on a tiny budget: order, resuming, measuring, and the table with its provenance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

from bindery import measurement, protocol, zoo_alignment, zoo_results
from bindery import scenes as sc
from bindery.errors import DataError, InputError
from bindery.jacobian import jer
from bindery.zoo import release
from bindery.zoo.backbone import build_backbone
from bindery.zoo.cli import app


@pytest.fixture(scope="module")
def plan() -> protocol.Protocol:
    declared = protocol.read()
    tiny = {"images": 64, "per_step": 32, "scenes": 64, "size": 16, "bfloat16": False}
    small = {"trials": 20, "exact_trials": 10, "factor_trials": 10, "probe_train": 80, "probe_test": 60}
    small |= {"geometry_scenes": 200, "jacobian_images": 2, "k": 8}
    return declared.model_copy(
        update={
            "objectives": ["vicreg", "clip-bag"],
            "conditions": ["photometric", "standard"],
            "seeds": [0, 1],
            "exhibits": [{"objective": "vicreg", "options": {"covariance": 0.0}}],
            "training": tiny,
            "benchmark": declared.benchmark.model_copy(update=small),
            "tuning": declared.tuning.model_copy(update={"images": 64, "chosen": {"vicreg": 5e-4}}),
        }
    )


def test_declared_protocol_is_complete_and_in_order() -> None:
    declared = protocol.read()
    plan = list(declared.plan())
    assert len(plan) == len(declared.objectives) * len(declared.conditions) * len(declared.seeds) + len(
        declared.exhibits
    )
    names = [protocol.run_name(config) for config in plan]
    assert len(set(names)) == len(names)
    per_seed = len(declared.objectives) * len(declared.conditions)
    assert {config.seed for config in plan[:per_seed]} == {declared.seeds[0]}
    families = {release.objective_class(o).family for o in declared.objectives}
    assert len(families - {"reconstruction", "control"}) == 7
    for config in plan:
        config.check()


def test_additions_are_named_by_their_budget_and_stay_outside_the_verdicts() -> None:
    declared = protocol.read()
    added = protocol.additions(declared)
    names = {protocol.run_name(config) for config in added}
    assert "bound-256k-s0" in names
    assert not names & {protocol.run_name(config) for config in declared.plan()}
    table = pd.DataFrame({"name": sorted(names), "jer": 1.0})
    assert zoo_results.declared(table).empty


def test_tuned_rates_and_changes_reach_the_configuration(plan: protocol.Protocol) -> None:
    assert plan.config("vicreg", "standard", 1).learning_rate == 5e-4
    assert plan.config("clip-bag", "standard", 1).learning_rate == 2e-3
    with pytest.raises(InputError, match="learning_rate"):
        plan.config("vicreg", "standard", 1, rate=3)


def test_broken_protocols_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read"):
        protocol.read(tmp_path / "none.yml")
    (tmp_path / "bad.yml").write_text("title: x\nseedz: 1\n")
    with pytest.raises(DataError, match="seedz"):
        protocol.read(tmp_path / "bad.yml")


def test_batched_jacobians_give_the_same_rank_as_the_library_one_by_one(plan: protocol.Protocol) -> None:
    torch.manual_seed(0)
    module = build_backbone("resnet", 4).eval().requires_grad_(False)
    row = measurement.jacobian_row(module, 16, plan.benchmark)
    images = torch.from_numpy(sc.render(sc.training_scenes(2, seed=plan.benchmark.seed + 30), 16))
    plain = jer(module, [image[None] for image in images], k=8, seed=plan.benchmark.seed, progress=False)
    assert row["jer"] == pytest.approx(plain.mean, rel=1e-4)
    assert row["r_hat"] == pytest.approx(plain.r_hat, rel=1e-3)


def test_run_resumes_and_measure_fills_the_table(
    plan: protocol.Protocol, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "read", lambda path=None: plan)
    monkeypatch.setattr(measurement.interventions, "row", lambda *_: {"map:jer": 1.0})
    configs = list(plan.plan())[:3]
    first = next(iter(protocol.run(configs, tmp_path, progress=False)))
    rest = [card.name for card in protocol.run(configs, tmp_path, progress=False)]
    assert first.name == "vicreg-s0" and rest == ["clip-bag-s0", "vicreg-standard-s0"]
    output = tmp_path / "zoo.parquet"
    said: list[str] = []
    assert zoo_results.measure_all(tmp_path, output, said.append) == 3 and len(said) == 3
    assert zoo_results.measure_all(tmp_path, output, said.append) == 3 and len(said) == 3
    table = zoo_results.read(output)
    assert list(table["name"][:5])[-1] == "oracle-bound" and (table["family"] == "random").sum() == 2
    declared = zoo_results.declared(table, plan)
    assert list(declared["name"]) == ["vicreg-s0", "clip-bag-s0", "vicreg-standard-s0"]
    assert np.isfinite(declared[[*zoo_results.TARGETS, *zoo_results.PREDICTORS]]).all(axis=None)
    ceiling = table.set_index("name").loc["oracle-bag"]
    assert ceiling["jitter_accuracy"] == ceiling["jitter_swap"] == 0.5
    told = measurement.provenance(output)
    assert set(told) == {"protocol_sha256", "commit", "versions"}


def test_seeds_are_averaged_not_counted() -> None:
    table = pd.DataFrame(
        {
            "condition": ["a"] * 3, "objective": ["x", "x", "y"], "family": ["f", "f", "g"],
            "seed": [0, 1, 0], "jer": [10.0, 14.0, 20.0],
        }
    )  # fmt: skip
    summary = zoo_results.by_objective(table)
    assert list(summary["jer"]) == [12.0, 20.0] and list(summary["n_seeds"]) == [2, 1]
    assert summary["jer_sd"][0] == pytest.approx(8**0.5)


def test_tuning_never_looks_at_binding(plan: protocol.Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("the binding task was evaluated during tuning")

    monkeypatch.setattr(protocol.binding, "evaluate", forbidden)
    table = protocol.tune(plan, progress=False)
    assert len(table) == 2 * len(plan.tuning.learning_rates)
    assert table.groupby("objective")["chosen"].sum().tolist() == [1, 1]


def test_command_line_trains_and_refuses(
    plan: protocol.Protocol, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "read", lambda path=None: plan)
    runner = CliRunner()
    done = runner.invoke(
        app, ["train", "--objective", "vicreg", "--option", "covariance=0", "--folder", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    assert release.card("vicreg-covariance0.0-s0", tmp_path).options == {"covariance": 0.0}
    wrong = runner.invoke(app, ["train", "--objective", "vicrec", "--folder", str(tmp_path)])
    assert isinstance(wrong.exception, InputError) and "vicreg" in str(wrong.exception)
    assert runner.invoke(app, ["list"]).exit_code == 0


def test_alignment_is_measured_for_what_is_trained_and_kept(
    plan: protocol.Protocol, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "read", lambda path=None: plan)
    monkeypatch.setattr(zoo_alignment.measure, "__kwdefaults__", {"steps": 2, "batches": 2})
    configs = [plan.config("vicreg", "photometric", 0), plan.config("vicreg", "standard", 0)]
    list(protocol.run(configs, tmp_path, progress=False))
    output, said = tmp_path / "alignment.parquet", []
    for _ in range(2):
        assert zoo_alignment.measure_all(tmp_path, output, said.append) == 1
    row = zoo_alignment.read(output).iloc[0]
    assert len(said) == 1 and row["name"] == "vicreg-s0"
    assert 1 < row["effective"] <= row["dim"] and 0 < row["within_share"] < 1
    with pytest.raises(DataError, match="bindery zoo align"):
        zoo_alignment.read(tmp_path / "none.parquet")
