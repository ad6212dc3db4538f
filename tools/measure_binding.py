"""Attribute binding of the ImageNet encoders that ship in packages, trained and at random initialisation.

    python tools/measure_binding.py                             # what is still missing
    python tools/measure_binding.py --only efficientnet-lite0   # one encoder

About 25 CPU minutes in all, against the minute that a chapter may take. Writes
``results/attribute_binding.parquet`` after every encoder: the similarities of query and candidates, one row
a trial, for every readout and every grid to which the last feature map is averaged (1 is the usual pooled
embedding), and ``results/attribute_binding_controls.parquet``: single-factor controls. Chapters 08 and 12
compute the first trials again and compare.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from bindery import binding, provenance
from bindery import scenes as sc
from bindery.encoders import Encoder, load
from bindery.paths import results_dir
from bindery.readouts import KNN, Cosine, LinearProbe, LocalPCA, Readout, Whitening

ENCODERS = ("efficientnet-lite0", "efficientnet-lite2", "efficientnet-lite1")
GRIDS = (1, 2, 3, 0)  # 0: the whole feature map
SEED, TRIALS, GREY_TRIALS, FACTOR_TRIALS, BANK = 8, 200, 60, 40, 600
PROTOCOL = {
    "mode": "jitter", "seed": SEED, "trials": TRIALS, "grey_trials": GREY_TRIALS, "bank": BANK,
    "bank_seed": SEED + 1, "factor_trials": FACTOR_TRIALS, "factor_seed": SEED + 2,
    "images": "rendered at the input size, no centre crop", "random": "weight seed 0, eval mode",
}  # fmt: skip


def maps(encoder: Encoder, scenes: sc.Scenes) -> torch.Tensor:
    """(N, C, h, w) last feature maps, whose mean over places is the embedding; one image at a time."""
    module: Any = encoder.module
    with torch.no_grad():
        made = [
            module.forward_features(encoder.preprocess(sc.to_pil(sc.render(scenes[[i]], encoder.input_size))))
            for i in range(len(scenes))
        ]
    return torch.cat(made)


def pooled(features: torch.Tensor, grid: int) -> np.ndarray:
    """(N, C * grid^2); the map itself for grid 0."""
    made = features if grid == 0 else torch.nn.functional.adaptive_avg_pool2d(features, grid)
    return made.flatten(1).numpy()


def similarities(encoder: Encoder) -> tuple[pd.DataFrame, np.ndarray, sc.Scenes]:
    """Rows of the first table, and the bank the fitted readouts used."""
    trials = binding.trials(TRIALS, seed=SEED)
    bank_scenes = sc.training_scenes(BANK, seed=SEED + 1, objects=(2, 2), ground="dark")
    bank = pooled(maps(encoder, bank_scenes), 1)
    features = maps(encoder, trials.scenes)
    readouts: dict[str, Readout] = {
        "kNN": KNN(bank), "local PCA": LocalPCA(bank), "whitening": Whitening(bank, 1e-2),
        "probe, linked": LinearProbe(bank, sc.bound_labels(bank_scenes), 1e-2),
        "probe, bag": LinearProbe(bank, sc.bag_labels(bank_scenes), 1e-2),
    }  # fmt: skip
    rows = pooled(features, 1)
    tables = [_table(binding.evaluate(rows, trials, readout=r), name, 1) for name, r in readouts.items()]
    tables += [
        _table(binding.evaluate(pooled(features, grid), trials, readout=Cosine()), "cosine", grid)
        for grid in GRIDS
    ]
    if encoder.weights == "pretrained":
        grey = binding.trials(GREY_TRIALS, seed=SEED, ground="grey")
        tables.append(
            _table(binding.evaluate(pooled(maps(encoder, grey.scenes), 1), grey), "cosine", 1, "grey")
        )
    return pd.concat(tables), bank, bank_scenes


def _table(result: binding.BindingResult, readout: str, grid: int, ground: str = "dark") -> pd.DataFrame:
    table = pd.DataFrame(result.similarities.astype(np.float32), columns=[f"s{i}" for i in range(8)])
    table.insert(0, "trial", np.arange(len(table)))
    return table.assign(readout=readout, grid=grid, ground=ground)


def controls(encoder: Encoder, bank: np.ndarray, bank_scenes: sc.Scenes) -> list[dict[str, Any]]:
    """Retrieval by cosine and AUROC of a linear probe, a row a factor."""
    train = slice(0, 2 * BANK // 3)
    test = slice(2 * BANK // 3, BANK)
    probes = binding.linear_probe(bank[train], bank_scenes[train], bank[test], bank_scenes[test], alpha=1e-2)
    rows = [{"factor": factor, "measure": "probe AUROC", "value": value} for factor, value in probes.items()]
    for index, factor in enumerate(binding.FACTORS):
        trials = binding.factor_trials(factor, FACTOR_TRIALS, seed=SEED + 2 + index)
        found = binding.factor_retrieval(pooled(maps(encoder, trials.scenes), 1), trials)
        low, high = found.interval
        rows.append(
            {"factor": factor, "measure": "retrieval", "value": found.accuracy, "low": low, "high": high}
        )
    return rows


def write(table: pd.DataFrame, path: Path) -> None:
    told = {"command": "python tools/measure_binding.py", "commit": provenance.commit()}
    about = {"protocol": PROTOCOL, "provenance": told | {"versions": provenance.versions()}}
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata(
        {**(arrow.schema.metadata or {}), b"bindery": json.dumps(about).encode()}
    )
    half = path.with_suffix(".tmp")
    pq.write_table(arrow, half, compression="zstd")
    half.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", default=[], help="encoder name")
    options = parser.parse_args()
    torch.set_num_threads(1)
    paths = [results_dir() / f"attribute_binding{part}.parquet" for part in ("", "_controls")]
    kept = [pd.read_parquet(path) if path.exists() else pd.DataFrame() for path in paths]
    done = set(zip(kept[0]["encoder"], kept[0]["weights"], strict=True)) if len(kept[0]) else set()
    for name in ENCODERS:
        for weights in ("pretrained", "random"):
            if (name, weights) in done or (options.only and name not in options.only):
                continue
            started = time.process_time()
            encoder = load(name, weights=weights).uncropped()  # type: ignore[arg-type]
            table, bank, bank_scenes = similarities(encoder)
            found = [table, pd.DataFrame(controls(encoder, bank, bank_scenes))]
            for index, (path, part) in enumerate(zip(paths, found, strict=True)):
                kept[index] = pd.concat([kept[index], part.assign(encoder=name, weights=weights)])
                write(kept[index], path)
            print(f"{name} {weights}: {time.process_time() - started:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
