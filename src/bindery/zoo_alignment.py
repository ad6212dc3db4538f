"""What each objective's loss sees of its encoder's response, for every seed of the declared run, as a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from bindery import measurement, protocol
from bindery.alignment import Split, split
from bindery.encoders.fingerprint import normal_form, sha256_text
from bindery.errors import DataError
from bindery.paths import results_dir
from bindery.zoo import gradients, release, train
from bindery.zoo.augment import condition
from bindery.zoo.backbone import Backbone

TABLE = "zoo_alignment.parquet"
HEAD_STEPS, BATCHES = 100, 8
SHARE = 0.99  # of the gradients' squared length that "the directions of the loss" hold


@torch.no_grad()
def view_split(backbone: Backbone, config: train.Config, pool: train.Pool, batches: int = BATCHES) -> Split:
    """Covariance between images and between two views of an image, under the training's augmentation."""
    parts: list[list[np.ndarray]] = [[], []]
    for number in range(batches):
        how = condition(config.condition)
        drawn = train.draw_batch(pool, config, how, gradients.FRESH + number, 2)
        for rows, shown in zip(parts, drawn.views, strict=True):
            rows.append(backbone(shown).numpy())
    return split(np.concatenate(parts[0]), np.concatenate(parts[1]))


def measure(
    name: str,
    folder: Path | None = None,
    pool: train.Pool | None = None,
    *,
    steps: int = HEAD_STEPS,
    batches: int = BATCHES,
) -> dict[str, Any]:
    """One row: effective rank of the loss gradients, how many directions hold them, what lies in these.

    Parameters
    ----------
    name, folder
        A run, or a shipped encoder when there is no folder.
    steps, batches
        Of the heads' fitting, and fresh batches whose gradients are taken.
    """
    card = release.card(name, folder)
    config = card.config()
    pool = pool or train.Pool.draw(config)
    backbone: Any = release.load(name, folder=folder).module
    objective = gradients.fit_heads(backbone, config, pool, steps)
    span = gradients.Span.of(gradients.loss_gradients(backbone, objective, config, pool, batches))
    views = view_split(backbone, config, pool, batches)
    row = {key: getattr(card, key) for key in ("objective", "family", "condition", "seed", "dim")}
    row |= {"name": name, "effective": span.effective, "directions": span.count(SHARE)}
    row |= {"seen_within": span.seen(views.within, SHARE), "seen_between": span.seen(views.between, SHARE)}
    row |= {"within_share": views.within_share, "head_steps": steps, "gradients": batches * config.per_step}
    row |= {"weights_sha256": card.sha256, "measured_with": code_version()}
    return row | {"spectrum": (span.values / span.values[0]).tolist()}


def code_version() -> str:
    """Short hash of the code that decides these values."""
    paths = [Path(__file__), Path(gradients.__file__), Path(train.__file__)]
    return sha256_text("".join(normal_form(path.read_text("utf-8")) for path in paths))[:12]


def measure_all(folder: Path, output: Path, say: Callable[[str], object] = print) -> int:
    """Rows of every declared run in the headline condition that ``folder`` holds; what is measured is kept."""
    plan = protocol.read()
    held = pd.read_parquet(output).to_dict("records") if output.exists() else []
    rows: dict[str, Any] = {str(row["name"]): row for row in held}
    found, pool = release.cards(folder), None
    for seed in plan.seeds:
        for objective in plan.objectives:
            config = plan.config(objective, plan.analysis["headline_condition"], seed)
            name = protocol.run_name(config)
            if name not in found or _fresh(rows.get(name), found[name].sha256):
                continue
            pool = pool or train.Pool.draw(config)
            rows[name] = measure(name, folder, pool)
            say(
                f"{name}  effective rank of the gradients {rows[name]['effective']:.1f} of {rows[name]['dim']}"
            )
            measurement.write(list(rows.values()), output, plan)
    return len(rows)


def _fresh(row: dict[str, Any] | None, sha256: str) -> bool:
    return row is not None and (row["weights_sha256"], row["measured_with"]) == (sha256, code_version())


def read(path: Path | None = None) -> pd.DataFrame:
    """The committed table, a row a run; raises DataError when it is missing."""
    path = path or results_dir() / TABLE
    if not path.exists():
        raise DataError(f"{path.name} is missing; make it with: bindery zoo run && bindery zoo align")
    return pd.read_parquet(path)
