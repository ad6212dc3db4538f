"""The committed random-initialisation measurement says what its records say."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from bindery.encoders import suite
from bindery.jacobian import effective_rank

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "jer_null.json"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measure_nulls", ROOT / "tools" / "measure_nulls.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["measure_nulls"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_encoder_of_the_suite_has_one_null(tool):
    shared = [name for a in tool.suite_architectures() for name in a.encoders]
    assert sorted(shared) == sorted(card.name for card in suite("paper-s"))
    assert len(shared) == len(set(shared)) == 26


def test_steps_are_distinct_and_cover_the_protocol(tool):
    steps = list(tool.steps())
    assert len({step.key for step in steps}) == len(steps)
    for architecture in tool.suite_architectures():
        mine = [s for s in steps if s.architecture.name == architecture.name and s.image in tool.PHOTOS]
        main = {(s.seed, s.image) for s in mine if s.dtype == tool.dtype_of(architecture)}
        assert len(main) == (2 if architecture.size_m > tool.LARGE_M else 8)


def test_summary_averages_the_records(tool):
    rng = np.random.default_rng(0)
    records = [
        {"architecture": "toy", "dtype": "float32", "dim": 64, "weight_seed": seed, "image": image, "exact": None,
         "range_finder": sorted(rng.gamma(2, size=32))[::-1], "sketch": sorted(rng.gamma(2, size=32))[::-1]}
        for seed in (0, 1) for image in ("coffee", "rocket", "noise")
    ]  # fmt: skip
    (row,) = tool.summary(records)
    photos = [r for r in records if r["image"] != "noise"]
    expected = np.mean([effective_rank(r["range_finder"]) for r in photos])
    assert row["range_finder_pr"] == pytest.approx(expected, abs=1e-4)
    assert (row["n"], row["weight_seeds"], row["dim"]) == (4, 2, 64)
    assert "exact_pr" not in row


def test_parts_are_merged_in_the_order_of_the_protocol(tool, tmp_path):
    first, second, third = [step.key for step in tool.steps()][:3]

    def part(name, *keys, k=tool.K):
        rows = [
            dict(zip(("architecture", "weight_seed", "image", "dtype"), key, strict=True)) for key in keys
        ]
        path = tmp_path / name
        path.write_text(
            json.dumps(
                {"protocol": {"k": k, "rounds": tool.ROUNDS}, "records": [r | {"from": name} for r in rows]}
            )
        )
        return path

    here = json.loads(part("here", second).read_text())["records"]
    found = tool.merged(here, [part("a", third, second), part("b", first, third)])
    assert [tool.key_of(record) for record in found] == [first, second, third]
    assert [record["from"] for record in found] == ["b", "here", "a"]
    with pytest.raises(SystemExit, match="another k"):
        tool.merged([], [part("c", first, k=16)])
    with pytest.raises(SystemExit, match="no file that --out wrote"):
        tool.merged([], [tmp_path / "absent.json"])
    with pytest.raises(SystemExit, match="no step of the protocol"):
        tool.merged([], [part("d", ("vgg", 0, "coffee", "float32"))])


@pytest.mark.skipif(not RESULTS.exists(), reason="results/jer_null.json is not there")
def test_committed_results_are_consistent(tool):
    content = json.loads(RESULTS.read_text())
    assert content["summary"] == tool.summary(content["records"])
    measured = [tool.key_of(record) for record in content["records"]]
    assert measured == [step.key for step in tool.steps()]  # every declared step, once, in order
    assert not [record for record in content["records"] if record["commit"].endswith("-dirty")]
    assert {"torch", "timm"} <= set(content["provenance"]["versions"])
    for record in content["records"]:
        for method in ("range_finder", "sketch", "exact"):
            values = record[method]
            if values is None:
                continue
            assert len(values) == min(32, record["dim"])
            assert min(values) > 0 and values == sorted(values, reverse=True)
        # The Ritz values lie between the sketch's, which sees a random part of the space, and the exact ones.
        assert record["range_finder"][0] > record["sketch"][0]
        if record["exact"]:
            worst = np.array(record["range_finder"]) / np.array(record["exact"])
            assert worst.max() < 1 + 1e-3 and worst.min() > 0.9
