"""The table of the declared run: filled row by row, read by chapters, checked by retraining."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from bindery import binding, measurement, protocol
from bindery import scenes as sc
from bindery.errors import DataError
from bindery.paths import results_dir
from bindery.zoo import release

TABLE = "zoo.parquet"
TARGETS = ("jitter_accuracy", "jitter_swap")
PREDICTORS = ("jer", "jer_sketch_entropy", "r_hat", "g_pr", "g_iso", "l_iso")


def read(path: Path | None = None) -> pd.DataFrame:
    """One row an encoder and seed, with nulls (family "random") and pixel and oracle rows ("baseline").

    Raises
    ------
    DataError
        The table is missing.
    """
    path = path or results_dir() / TABLE
    if not path.exists():
        raise DataError(f"{path.name} is missing; make it with: bindery zoo run && bindery zoo measure")
    return pd.read_parquet(path)


def declared(table: pd.DataFrame, plan: protocol.Protocol | None = None) -> pd.DataFrame:
    """The declared trainings only: no exhibits, nulls or baselines."""
    plan = plan or protocol.read()
    wanted = {
        protocol.run_name(plan.config(o, c, s))
        for o in plan.objectives
        for c in plan.conditions
        for s in plan.seeds
    }
    return table[table["name"].isin(wanted)].reset_index(drop=True)


def by_objective(table: pd.DataFrame) -> pd.DataFrame:
    """Seeds averaged, never counted: one row an objective and condition, with ``n_seeds`` and ``*_sd``."""
    columns = [name for name in table.select_dtypes("number").columns if name not in ("seed", "data_seed")]
    groups = table.groupby(["condition", "objective", "family"], sort=False)
    means, spread = groups[columns].mean(), groups[columns].std(ddof=1).add_suffix("_sd")
    return means.join(spread).assign(n_seeds=groups.size()).reset_index()


def measure_all(folder: Path, output: Path, say: Callable[[str], object] = print) -> int:
    """Measure what ``folder`` holds and ``output`` does not yet; returns the number of encoders in the table.

    The table is rewritten after every encoder, so that a stopped measurement loses one row at most. A row is
    kept while its weights' sha256 and the measuring code (:func:`bindery.measurement.code_version`) stay.
    """
    plan = protocol.read()
    held = pd.read_parquet(output) if output.exists() else pd.DataFrame({"name": [], "weights_sha256": []})
    records: list[measurement.Row] = [{str(k): v for k, v in row.items()} for row in held.to_dict("records")]
    rows = {str(row["name"]): row for row in records}
    if _stale(rows.get(f"random-s{plan.seeds[-1]}")):
        fresh = [*measurement.pixel_rows(plan), *measurement.random_rows(plan)]
        rows |= {row["name"]: row for row in fresh}
    found = release.cards(folder)
    order = [protocol.run_name(config) for config in [*plan.plan(), *protocol.additions(plan)]]
    for name in [name for name in order if name in found]:
        if not _stale(rows.get(name), found[name].sha256):
            continue
        rows[name] = measurement.trained_row(name, folder, plan)
        say(f"{name}  binding {rows[name]['jitter_accuracy']:.3f}  JER {rows[name]['jer']:.2f}")
        _write(rows, order, output, plan)
    _write(rows, order, output, plan)
    return sum(name in found for name in order)


def _stale(row: measurement.Row | None, sha256: str | None = None) -> bool:
    """Whether a row is missing, was measured by other code, or belongs to other weights."""
    if row is None or row.get("measured_with") != measurement.code_version():
        return True
    return sha256 is not None and row["weights_sha256"] != sha256


def _write(rows: dict[str, measurement.Row], order: list[str], output: Path, plan: protocol.Protocol) -> None:
    place = {name: index for index, name in enumerate(order)}
    sorted_rows = sorted(rows.values(), key=lambda row: place.get(row["name"], -1))
    part = output.with_suffix(".part")
    measurement.write(sorted_rows, part, plan)
    part.replace(output)


def check(name: str, seed: int | None = None) -> tuple[str, bool]:
    """Retrain a shipped encoder and compare: does the new binding lie in the shipped one's 95 % interval?

    Returns the sentence for people and the answer. With another seed the difference between seeds comes on
    top of the interval, which is binomial, so that "outside" is then no failure of the training.
    """
    plan = protocol.read().benchmark
    card = release.card(name)
    trials = binding.trials(plan.trials, seed=plan.seed)
    images = sc.render(trials.scenes, card.size)
    shipped = binding.evaluate(protocol.embedder(release.load(name).module)(images), trials)
    again = binding.evaluate(protocol.embedder(protocol.retrain(card, seed=seed).backbone)(images), trials)
    low, high = shipped.interval
    agrees = low <= again.accuracy <= high
    told = f"{name}: shipped {shipped.accuracy:.3f} [{low:.3f}, {high:.3f}], retrained {again.accuracy:.3f}"
    return told + (" lies inside" if agrees else " lies outside"), agrees
