"""The zoo's declared run: a protocol file fixed beforehand, its trainings in their stated order, resumable.

Stands above the zoo and the tasks; the zoo itself knows no task.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import nn

from bindery import binding
from bindery import scenes as sc
from bindery.errors import DataError
from bindery.paths import project_root
from bindery.zoo import release
from bindery.zoo.train import Config, Pool, Trained, train, with_options

FILE = Path("notebooks/protocols/zoo.yml")
ADDITIONS = Path("notebooks/protocols/zoo_additions.yml")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tuning(_Strict):
    """The only choice that may be made from results: a learning rate an objective, by probes and loss."""

    learning_rates: list[float]
    condition: str
    images: int
    seed: int
    data_seed: int
    benchmark_seed: int
    decision: str
    tie: float
    """Probe scores closer than this count as equal; then the lower training loss decides."""
    chosen: dict[str, float]
    """Rates that replace the common one; empty when nothing was tuned."""


class Benchmark(_Strict):
    """Seeds and sizes of everything measured."""

    seed: int
    trials: int
    exact_trials: int
    factor_trials: int
    probe_train: int
    probe_test: int
    geometry_scenes: int
    jacobian_images: int
    k: int


class Protocol(_Strict):
    """What was fixed before the run."""

    title: str
    status: str
    objectives: list[str]
    conditions: list[str]
    seeds: list[int]
    data_seed: int
    training: dict[str, Any]
    exhibits: list[dict[str, Any]]
    tuning: Tuning
    benchmark: Benchmark
    analysis: dict[str, Any]

    def config(self, objective: str, condition: str, seed: int, **changes: Any) -> Config:
        """The configuration of one training; ``changes`` are fields of :class:`Config`."""
        base = Config(objective, condition, seed, data_seed=self.data_seed)
        tuned = {"learning_rate": self.tuning.chosen[objective]} if objective in self.tuning.chosen else {}
        return with_options(base, self.training | tuned | changes)

    def plan(self) -> Iterator[Config]:
        """All trainings in order: seed by seed over conditions and objectives; exhibits before the last."""
        for index, seed in enumerate(self.seeds):
            if index and index == len(self.seeds) - 1:
                yield from self._exhibits()
            for condition in self.conditions:
                for objective in self.objectives:
                    yield self.config(objective, condition, seed)

    def _exhibits(self) -> Iterator[Config]:
        yield from (self.exhibit(item) for item in self.exhibits)

    def exhibit(self, item: dict[str, Any]) -> Config:
        """The configuration of an exhibit: the first seed, photometric, but for what the item says."""
        given: dict[str, Any] = {"condition": "photometric", "seed": self.seeds[0]} | item
        return self.config(**given)


def read(path: Path | None = None) -> Protocol:
    """The protocol of a file (``notebooks/protocols/zoo.yml`` by default).

    Raises
    ------
    DataError
        The file is missing or not valid; the field at fault is told.
    """
    path = path or project_root() / FILE
    try:
        return Protocol.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError(f"cannot read the protocol {path.name}: {error.strerror}") from error
    except (ValidationError, yaml.YAMLError) as error:
        raise DataError(f"{path.name} is no valid protocol: {error}") from error


class Additions(_Strict):
    """Trainings thought of after the run had been seen, with the reason; outside every verdict."""

    reason: str
    trainings: list[dict[str, Any]]


def additions(protocol: Protocol, path: Path | None = None) -> list[Config]:
    """Configurations of the later additions; none when their file is absent."""
    path = path or project_root() / ADDITIONS
    if not path.exists():
        return []
    try:
        held = Additions.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (ValidationError, yaml.YAMLError) as error:
        raise DataError(f"{path.name} is no valid list of additions: {error}") from error
    return [protocol.exhibit(item) for item in held.trainings]


def run_name(config: Config) -> str:
    """File name of a training: its variant and its seed."""
    return f"{release.variant_name(config)}-s{config.seed}"


def run(configs: list[Config], folder: Path, *, progress: bool | None = None) -> Iterator[release.ZooCard]:
    """Train what is not yet in ``folder``, one after the other, and yield each card; a stopped run resumes.

    CPU seconds and the loss of every step are written beside the weights.
    """
    pool: Pool | None = None
    for config in configs:
        name = run_name(config)
        if name in release.cards(folder):
            continue
        key = (config.scenes, config.data_seed, config.size)
        if pool is None or pool.key != key:
            pool = Pool.draw(config)
        started = time.process_time()
        checkpoint = folder / f"{name}.checkpoint"
        trained = train(config, pool=pool, checkpoint=checkpoint, progress=progress)
        card = release.save(trained, folder, name)
        history = {"loss": trained.losses, "cpu_s": time.process_time() - started}
        pd.DataFrame(history).to_parquet(folder / f"{name}.losses.parquet")
        checkpoint.unlink(missing_ok=True)
        yield card


def embedder(module: nn.Module, batch: int = 512) -> binding.score.Embed:
    """``module`` as a function of float32 arrays (N, 3, H, W) in [0, 1]."""

    @torch.no_grad()
    def embed(images: np.ndarray) -> np.ndarray:
        parts = (torch.from_numpy(images[i : i + batch]) for i in range(0, len(images), batch))
        rows = [module(part.contiguous(memory_format=torch.channels_last)) for part in parts]
        return torch.cat(rows).float().numpy()

    return embed


def probe_scores(
    module: nn.Module, size: int, *, seed: int, train: int = 2000, test: int = 1000
) -> dict[str, float]:
    """AUROC of linear probes for shape, place, colour and bound on held-out dark scenes of 1 to 4 objects."""
    embed = embedder(module)
    parts = [sc.training_scenes(n, seed=seed + i, ground="dark") for i, n in enumerate((train, test))]
    rows = [np.asarray(embed(sc.render(part, size))) for part in parts]
    return binding.linear_probe(rows[0], parts[0], rows[1], parts[1])


def tune(protocol: Protocol, *, progress: bool | None = None) -> pd.DataFrame:
    """Every objective at every candidate learning rate: final loss, single-factor probes, which is chosen.

    The binding task is never looked at. Columns objective, learning_rate, loss, shape, place, colour, score,
    chosen; score is the mean of shape and place.
    """
    plan = protocol.tuning
    rows, pool = [], None
    for objective in protocol.objectives:
        for rate in plan.learning_rates:
            changes = {"learning_rate": rate, "images": plan.images, "data_seed": plan.data_seed}
            config = protocol.config(objective, plan.condition, plan.seed, **changes)
            pool = pool or Pool.draw(config)
            trained = train(config, pool=pool, progress=progress)
            scores = probe_scores(trained.backbone, config.size, seed=plan.benchmark_seed)
            loss = float(np.mean(trained.losses[-20:]))
            row = {"objective": objective, "learning_rate": rate, "loss": loss, **scores}
            rows.append(row | {"score": (scores["shape"] + scores["place"]) / 2})
    table = pd.DataFrame(rows).drop(columns="bound")
    best = table.groupby("objective")["score"].transform("max")
    close = table[table["score"] >= best - plan.tie]
    chosen = close.loc[close.groupby("objective")["loss"].idxmin()]
    return table.assign(chosen=table.index.isin(chosen.index))


def retrain(card: release.ZooCard, *, seed: int | None = None, progress: bool | None = None) -> Trained:
    """Train a shipped encoder again from its card, with its own or another seed."""
    config = card.config()
    return train(config if seed is None else replace(config, seed=seed), progress=progress)
