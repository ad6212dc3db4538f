"""Everything the declared run measures of one encoder, as one flat row, and the table of all rows."""

from __future__ import annotations

import json
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from torch import nn

from bindery import binding, geometry, interventions, jacobian, readouts
from bindery import scenes as sc
from bindery.encoders.fingerprint import normal_form, sha256_text
from bindery.errors import DataError
from bindery.jacobian import JER, KINDS, DenseMap, check_derivative, estimate, jacobians
from bindery.protocol import Benchmark, Protocol, embedder
from bindery.provenance import commit, sha256_json, versions
from bindery.readouts import Whitening
from bindery.zoo import release
from bindery.zoo.backbone import build_backbone

Row = dict[str, Any]
Images = NDArray[np.float32]
CODE = (
    Path(__file__),
    Path(sc.__file__),
    Path(readouts.__file__),
    Path(interventions.__file__),
    *(
        Path(jacobian.__file__).with_name(f"{name}.py")
        for name in ("batched", "estimators", "ranks", "seeds")
    ),
    *sorted(Path(binding.__file__).parent.glob("*.py")),
    *sorted(Path(geometry.__file__).parent.glob("*.py")),
)
"""What decides a measured value, besides the weights."""


@lru_cache(maxsize=1)
def code_version() -> str:
    """Short hash of the measuring code; comments, docstrings and layout do not count."""
    return sha256_text("".join(normal_form(path.read_text("utf-8")) for path in CODE))[:12]


@lru_cache(maxsize=4)
def _trials(
    n: int, seed: int, mode: binding.Mode, ground: sc.Ground, size: int
) -> tuple[binding.Trials, Images]:
    """Trials and their images, drawn once for all encoders."""
    drawn = binding.trials(n, seed=seed, mode=mode, ground=ground)
    return drawn, drawn.images(size)


@lru_cache(maxsize=8)
def _scenes(n: int, seed: int, size: int, ground: str = "tinted", most: int = 4) -> tuple[sc.Scenes, Images]:
    drawn = sc.training_scenes(n, seed=seed, objects=(2 if most == 2 else 1, most), ground=ground)  # type: ignore[arg-type]
    return drawn, sc.render(drawn, size)


@lru_cache(maxsize=4)
def _factor_trials(factor: str, n: int, seed: int, size: int) -> tuple[binding.FactorTrials, Images]:
    drawn = binding.factor_trials(factor, n, seed=seed)
    return drawn, sc.render(drawn.scenes, size)


def settings(plan: Benchmark) -> dict[str, tuple[int, binding.Mode, sc.Ground]]:
    """Trials, mode and ground of the three binding measurements."""
    few = plan.exact_trials
    return {
        "jitter": (plan.trials, "jitter", "dark"),
        "exact": (few, "exact", "dark"),
        "grey": (few, "jitter", "grey"),
    }


def binding_row(module: nn.Module, size: int, plan: Benchmark) -> Row:
    """Jitter on dark (the target), exact on dark, jitter on grey; same/different; whitening."""
    embed = embedder(module)
    row: Row = {}
    for name, (n, mode, ground) in settings(plan).items():
        trials, images = _trials(n, plan.seed, mode, ground, size)
        rows = embed(images)
        result = binding.evaluate(rows, trials)
        row |= {f"{name}_{key}": value for key, value in result.record().items()}
        if name == "jitter":
            decided = binding.same_different(result, seed=plan.seed)
            row |= {
                f"same_different_{key}": getattr(decided, key)
                for key in ("out_of_sample", "in_sample", "auroc")
            }
            bank = embed(_scenes(1000, plan.seed + 9, size, "dark", 2)[1])
            white = binding.evaluate(rows, trials, readout=Whitening(bank))
            row |= {"whitened_accuracy": white.accuracy, "whitened_swap": white.swap}
    return row


def control_row(module: nn.Module, size: int, plan: Benchmark) -> Row:
    """Single factors: retrieval by cosine (chance 1/8) and AUROC of a linear probe (chance .5)."""
    embed = embedder(module)
    row: Row = {}
    for index, factor in enumerate(binding.FACTORS):
        trials, images = _factor_trials(factor, plan.factor_trials, plan.seed + 1 + index, size)
        row[f"retrieval_{factor}"] = binding.factor_retrieval(embed(images), trials).accuracy
    train, test = (
        _scenes(n, plan.seed + 5 + i, size, "dark") for i, n in enumerate((plan.probe_train, plan.probe_test))
    )
    scores = binding.linear_probe(embed(train[1]), train[0], embed(test[1]), test[0])
    return row | {f"probe_{factor}": value for factor, value in scores.items()}


def geometry_row(module: nn.Module, size: int, plan: Benchmark) -> Row:
    """G.PR, its finite-sample correction, G.Iso and L.Iso on held-out scenes like those trained on."""
    rows = embedder(module)(_scenes(plan.geometry_scenes, plan.seed + 20, size)[1])
    return {
        "g_pr": geometry.participation_ratio(rows),
        "g_pr_corrected": geometry.participation_ratio(rows, correction="finite-sample"),
        "g_iso": geometry.isotropy(rows),
        "l_iso": geometry.local_isotropy(rows),
    }


def jacobian_row(module: nn.Module, size: int, plan: Benchmark) -> Row:
    """JER (pr of the range finder's top k), its standard error, the other readings, and the k-free rank.

    The Jacobians are formed whole, which is cheap at D = 128, and the range finder works on the matrices: the
    values are those of :func:`bindery.jacobian.jer` at a tenth of its cost.
    """
    images = torch.from_numpy(_scenes(plan.jacobian_images, plan.seed + 30, size)[1])
    check_derivative(module, images[:1], plan.seed)
    spectra = [
        estimate(DenseMap(matrix), plan.k, "range_finder", 5, 0, (plan.seed, index))
        for index, matrix in enumerate(jacobians(module, images))
    ]
    measured = JER(tuple(spectra), "pr")
    table = measured.table()
    row: Row = {"jer": measured.mean, "jer_sd": measured.sd, "jer_se": measured.standard_error}
    row |= {f"jer_{kind}": float(table[kind].mean()) for kind in ("entropy", "pr_variance")}
    row |= {f"jer_sketch_{kind}": float(table[f"sketch_{kind}"].mean()) for kind in KINDS}
    spectrum = np.mean([s.values / s.values[0] for s in measured.spectra], axis=0)
    return row | {"r_hat": measured.r_hat, "jer_k": len(spectrum), "spectrum": spectrum.tolist()}


def measure(module: nn.Module, size: int, plan: Benchmark) -> Row:
    """One row of measurements of an encoder that reads (N, 3, size, size) images in [0, 1]."""
    started = time.process_time()
    row: Row = {}
    for part in (binding_row, control_row, geometry_row, jacobian_row):
        row |= part(module, size, plan)
    return row | {"evaluation_cpu_s": time.process_time() - started, "measured_with": code_version()}


def random_rows(protocol: Protocol) -> list[Row]:
    """The nulls: the untrained default network of every seed."""
    rows = []
    for seed in protocol.seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = build_backbone("resnet").eval().requires_grad_(False)
        told = {"name": f"random-s{seed}", "objective": "random", "family": "random", "condition": "none"}
        row = {**told, "seed": seed, "backbone": "resnet", "options": "{}", "steps": 0, "dim": module.dim}
        size = protocol.training["size"]
        row |= measure(module, size, protocol.benchmark)
        rows.append(row | interventions.row(module, size, protocol.benchmark))
    return rows


def pixel_rows(protocol: Protocol) -> list[Row]:
    """What pixels score without any network, and the oracle codes (bag ceiling .5)."""
    size, plan = protocol.training["size"], protocol.benchmark
    rows = []
    for code in ("pixels-rgb", "pixels-grey", "pixels-contrast", "oracle-bag", "oracle-bound"):
        row: Row = {
            "name": code,
            "objective": code,
            "family": "baseline",
            "condition": "none",
            "options": "{}",
        }
        kind = code.split("-")[1]
        for name, (n, mode, ground) in settings(plan).items():
            trials, images = _trials(n, plan.seed, mode, ground, size)
            if code.startswith("oracle"):
                codes = binding.oracle(trials.scenes, kind)  # type: ignore[arg-type]
            else:
                codes = binding.pixel_code(images, kind, ground=sc.GROUNDS[ground])  # type: ignore[arg-type]
            row |= {f"{name}_{key}": value for key, value in binding.evaluate(codes, trials).record().items()}
        rows.append(row)
    return rows


def trained_row(name: str, folder: Path, protocol: Protocol) -> Row:
    """Card, training times and measurements of one trained encoder (its fp16 weights).

    Interventions are measured in the headline condition.
    """
    card = release.card(name, folder)
    encoder = release.load(name, folder=folder)
    losses = pd.read_parquet(folder / f"{name}.losses.parquet")
    told = card.model_dump(exclude={"source", "sha256", "bytes", "parameters"})
    told |= {"options": json.dumps(card.options), "weights_sha256": card.sha256}
    told |= {
        "first_loss": float(losses["loss"].iloc[:5].mean()),
        "training_cpu_s": float(losses["cpu_s"].iloc[0]),
    }
    told |= measure(encoder.module, card.size, protocol.benchmark)
    if card.condition != protocol.analysis["headline_condition"]:
        return told
    return told | interventions.row(encoder.module, card.size, protocol.benchmark)


def write(rows: list[Row], path: Path, protocol: Protocol) -> None:
    """The rows as a parquet file whose metadata hold the protocol's hash, the commit and the versions."""
    table = pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False)
    told = {"protocol_sha256": sha256_json(protocol.model_dump(exclude={"status"})), "commit": commit()}
    told |= {"versions": versions()}  # type: ignore[dict-item]
    table = table.replace_schema_metadata(
        {**(table.schema.metadata or {}), b"bindery": json.dumps(told).encode()}
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def provenance(path: Path) -> dict[str, Any]:
    """What :func:`write` stored beside the rows; raises DataError when there is none."""
    held = pq.read_schema(path).metadata or {}
    if b"bindery" not in held:
        raise DataError(f"{path.name} carries no provenance; it was not written by this library")
    told: dict[str, Any] = json.loads(held[b"bindery"])
    return told
