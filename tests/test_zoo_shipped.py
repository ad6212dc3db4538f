"""What is shipped: cards and weights agree, the size stays small, and the results table tells the truth."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from bindery import binding, encoders, protocol, zoo_results
from bindery import scenes as sc
from bindery.errors import DataError
from bindery.provenance import sha256_file
from bindery.zoo import release
from bindery.zoo.cli import app

SHIPPED = release.cards()
pytestmark = pytest.mark.skipif(not SHIPPED, reason="no zoo weights are shipped in this checkout")


def test_weights_match_their_cards_and_stay_small() -> None:
    for name, card in SHIPPED.items():
        assert sha256_file(release.SHIPPED / f"{name}.safetensors") == card.sha256
        assert card.name == name
    assert sum(card.bytes for card in SHIPPED.values()) <= 12_000_000


def test_every_family_is_there() -> None:
    families = {card.family for card in SHIPPED.values()}
    assert {
        "variance-decorrelation", "contrastive", "self-distillation", "clustering", "masked",
        "vision-language", "supervised",
    } <= families  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_every_encoder_loads_through_the_one_door(name: str) -> None:
    encoder = encoders.load(f"zoo:{name}")
    images = sc.to_pil(sc.render(sc.training_scenes(3, seed=0), encoder.input_size))
    rows = encoders.embed(encoder, images, progress=False)
    assert rows.shape == (3, encoder.dim) and np.isfinite(rows).all()
    assert encoder.weights == "pretrained" and not encoder.has_text
    assert encoders.load(f"zoo:{name}", weights="random").weights == "random"


@pytest.mark.parametrize("name", [n for n, card in SHIPPED.items() if card.family == "vision-language"])
def test_captions_find_their_images(name: str) -> None:
    """Among 16 scenes of one object each in its own place, most captions choose their own image."""
    encoder = encoders.load(f"zoo:{name}/joint")
    style = "bag" if "bag" in name else "phrase"
    scenes = sc.training_scenes(400, seed=8, objects=(1, 1), ground="dark")
    with torch.no_grad():
        images = encoder.module(torch.from_numpy(sc.render(scenes, encoder.input_size))).numpy()
    from bindery.scene_text import captions

    texts = encoder.encode_text(captions(scenes, style))  # type: ignore[arg-type]
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (images, texts)]
    own = np.einsum("nd,nd->n", *unit)
    other = np.einsum("nd,nd->n", unit[0], np.roll(unit[1], 1, axis=0))
    assert (own > other).mean() > 0.7


def test_results_table_agrees_with_the_shipped_weights() -> None:
    try:
        table = zoo_results.read().set_index("name")
    except DataError as error:
        pytest.skip(str(error))
    plan = protocol.read().benchmark
    trials = binding.trials(plan.trials, seed=plan.seed)
    images = trials.images(32)
    for name in ("vicreg", "supervised"):
        row = table.loc[f"{name}-s{SHIPPED[name].seed}"]
        assert row["weights_sha256"] == SHIPPED[name].sha256
        result = binding.evaluate(protocol.embedder(release.load(name).module)(images), trials)
        assert result.accuracy == pytest.approx(row["jitter_accuracy"], abs=0.01)


def test_retraining_tells_its_cost_before_it_starts() -> None:
    told = CliRunner().invoke(app, ["retrain", "--dry"])
    assert told.exit_code == 0 and f"{len(SHIPPED)} trainings" in told.output
    assert all(name in told.output for name in SHIPPED)
