"""The trainer: seeds, resuming, labels that follow the crop, refusals; every objective on a tiny budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from bindery import scenes as sc
from bindery.errors import BinderyError, DataError, InputError
from bindery.zoo import release
from bindery.zoo.augment import CONDITIONS, Condition, Window, apply_window, condition, recolour, seen_through
from bindery.zoo.backbone import TinyResNet, TinyViT, build_backbone
from bindery.zoo.objectives import OBJECTIVES, LanguageObjective, build_objective
from bindery.zoo.objectives.decorrelation import VICReg
from bindery.zoo.train import Config, Pool, Trained, build, train

TINY = Config("simclr", images=32 * 6, per_step=32, scenes=64, size=16, width=4, bfloat16=False)


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool.draw(TINY)


def weights(trained: Trained) -> Tensor:
    return torch.cat([p.detach().flatten() for p in trained.backbone.parameters()])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_trains_both_backbones_and_all_its_heads(objective: str, pool: Pool) -> None:
    config = replace(TINY, objective=objective, images=32 * 3)
    before, after = weights(build(config)), train(config, pool=pool)
    assert np.isfinite(after.losses).all() and len(after.losses) == 3
    assert not torch.equal(before, weights(after))
    heads, fresh = after.objective, build(config).objective
    for (name, now), then in zip(heads.named_parameters(), fresh.parameters(), strict=True):
        assert now.requires_grad != ("teacher" in name)
        if now.requires_grad:
            assert not torch.equal(now, then), f"{name} was never moved"
    assert not after.backbone.training


@pytest.mark.parametrize("objective", ["vicreg", "mae", "clip-phrase"])
def test_vit_trains(objective: str, pool: Pool) -> None:
    config = replace(TINY, objective=objective, images=64, backbone="vit", width=16)
    assert np.isfinite(train(config, pool=pool).losses).all()


def test_same_seed_same_weights_and_same_start_for_every_objective(pool: Pool) -> None:
    assert torch.equal(weights(train(TINY, pool=pool)), weights(train(TINY, pool=pool)))
    starts = [weights(build(replace(TINY, objective=o))) for o in OBJECTIVES]
    assert all(torch.equal(starts[0], start) for start in starts[1:])
    assert not torch.equal(starts[0], weights(build(replace(TINY, seed=1))))


@pytest.mark.parametrize("objective", ["dino", "clip-bag", "mae"])
def test_interrupted_training_resumes_to_the_same_weights(objective: str, pool: Pool, tmp_path: Path) -> None:
    config = replace(TINY, objective=objective)
    whole = train(config, pool=pool)
    path = tmp_path / "run.checkpoint"

    def stop(step: int, state: Trained) -> None:
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, pool=pool, checkpoint=path, every=3, callback=stop)
    resumed = train(config, pool=pool, checkpoint=path)
    assert torch.equal(weights(whole), weights(resumed))
    assert whole.losses == resumed.losses


def test_callback_sees_an_encoder_in_evaluation_mode_and_changes_nothing(pool: Pool) -> None:
    seen = []

    def look(step: int, state: Trained) -> None:
        assert not state.backbone.training
        state.backbone(torch.rand(2, 3, 16, 16))
        seen.append(step)

    watched = train(TINY, pool=pool, every=2, callback=look)
    assert seen == [2, 4, 6]
    assert torch.equal(weights(watched), weights(train(TINY, pool=pool)))


def test_nan_loss_stops_and_names_the_step(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, calls = VICReg.loss, []

    def broken(self: VICReg, backbone, batch) -> Tensor:  # type: ignore[no-untyped-def]
        calls.append(0)
        return plain(self, backbone, batch) * (float("nan") if len(calls) == 3 else 1)

    monkeypatch.setattr(VICReg, "loss", broken)
    with pytest.raises(BinderyError, match=r"vicreg .* nan at step 3 of 6"):
        train(replace(TINY, objective="vicreg"), pool=pool)


def test_bad_configurations_are_refused_with_choices(pool: Pool, tmp_path: Path) -> None:
    for change, told in (
        ({"objective": "vicrec"}, "did you mean vicreg.*barlow"),
        ({"condition": "photo"}, "photometric, standard"),
        ({"images": 3}, "less than one step"),
        ({"per_step": 3}, "two scenes"),
        ({"scenes": 4}, "pool of 4"),
        ({"size": 30}, "multiple of 8"),
        ({"backbone": "mlp"}, "resnet, vit"),
        ({"width": 7}, "multiple of 4"),
        ({"options": {"lambda": 1}}, "temperature"),
        ({"size": 24}, "pool was drawn"),
    ):
        with pytest.raises(InputError, match=told):
            train(replace(TINY, **change), pool=pool)  # type: ignore[arg-type]
    path = tmp_path / "run.checkpoint"
    train(TINY, pool=pool, checkpoint=path)
    with pytest.raises(InputError, match=r"seed=0 \(here 4\)"):
        train(replace(TINY, seed=4), pool=pool, checkpoint=path)
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="no checkpoint"):
        train(TINY, pool=pool, checkpoint=path)


def test_vicreg_covariance_option_reaches_the_loss(pool: Pool) -> None:
    free = train(replace(TINY, objective="vicreg", options={"covariance": 0.0}), pool=pool)
    bound = train(replace(TINY, objective="vicreg", options={"covariance": 10.0}), pool=pool)
    assert free.losses[0] < bound.losses[0]


def test_labels_follow_the_window() -> None:
    """Rendering the cropped scene anew gives the cropped image."""
    scenes = sc.training_scenes(24, seed=3, ground="dark")
    images = torch.from_numpy(sc.render(scenes, 128))
    generator = torch.Generator().manual_seed(0)
    side = 0.5 + 0.5 * torch.rand(24, generator=generator)
    left, top = (torch.rand(24, generator=generator) * (1 - side) for _ in range(2))
    window = Window(left, top, side, torch.arange(24) % 2 == 0)
    sight = seen_through(scenes, window)
    redrawn = torch.from_numpy(sc.render(sight, 128))
    shown = apply_window(images, window)
    for n in range(24):  # objects cut by the edge are drawn in one and gone in the other
        for slot in np.flatnonzero(sight.present[n]):
            x, y = (int(128 * float(part[n, slot])) for part in (sight.x, sight.y))
            assert (
                torch.allclose(shown[n, :, y, x], redrawn[n, :, y, x], atol=0.05) or sight.shape[n, slot] == 1
            )
            row, column = divmod(int(sight.cell[n, slot]), 3)
            assert column == min(2, int(3 * sight.x[n, slot])) and row == min(2, int(3 * sight.y[n, slot]))
    assert (sight.present.sum(1) <= scenes.present.sum(1)).all()
    assert (shown[:, :, 8:-8, 8:-8] - redrawn[:, :, 8:-8, 8:-8]).abs().mean() < 0.01


def test_whole_window_changes_nothing() -> None:
    scenes = sc.training_scenes(5, seed=0)
    images = torch.from_numpy(sc.render(scenes, 16))
    zero = torch.zeros(5)
    window = Window(zero, zero, torch.ones(5), torch.zeros(5, dtype=torch.bool))
    assert torch.allclose(apply_window(images, window), images, atol=1e-5)
    assert np.array_equal(seen_through(scenes, window).cell, scenes.cell)


def test_recolouring_keeps_grey_and_full_turns_and_range() -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(6, 3, 8, 8, generator=generator)
    assert torch.allclose(recolour(images, Condition(), generator), images, atol=1e-5)
    grey = images[:, :1].expand(-1, 3, -1, -1)
    assert torch.allclose(recolour(grey, Condition(hue=0.5), generator), grey, atol=1e-3)
    turned = recolour(images, Condition(hue=0.5, grey=1.0), generator)
    assert torch.allclose(turned[:, 0], turned[:, 1], atol=1e-3)
    strong = recolour(images, CONDITIONS["photometric"], generator)
    assert strong.min() >= 0 and strong.max() <= 1 and not torch.allclose(strong, images)
    with pytest.raises(InputError, match="photometric"):
        condition("wild")


def test_backbones_have_the_declared_size_and_pool_their_map() -> None:
    for name, largest in (("resnet", 0.32e6), ("vit", 0.30e6)):
        backbone = build_backbone(name).eval()
        assert 0.25e6 < sum(p.numel() for p in backbone.parameters()) < largest
        images = torch.rand(2, 3, 32, 32)
        features = backbone.feature_map(images)
        assert features.shape == (2, backbone.dim, 32 // backbone.stride, 32 // backbone.stride)
        assert torch.allclose(backbone(images), features.mean((2, 3)))
        assert backbone(torch.rand(1, 3, 64, 64)).shape == (1, backbone.dim)
    assert TinyResNet().dim == 128 and len(TinyViT().blocks) >= 8


def test_text_tower_ignores_padding() -> None:
    objective = build_objective("siglip", build_backbone("resnet", 4))
    assert isinstance(objective, LanguageObjective)
    short = torch.zeros(2, 36, dtype=torch.long)
    short[0, :3] = torch.tensor([12, 14, 16])
    alone = objective.text(short[:1])
    short[1, :30] = 9
    assert torch.allclose(objective.text(short)[0], alone[0], atol=1e-5)


def test_release_round_trip_and_refusals(pool: Pool, tmp_path: Path) -> None:
    trained = train(replace(TINY, objective="siglip", options={}), pool=pool)
    card = release.save(trained, tmp_path, "small")
    assert card.config() == trained.config and card.steps == 6
    plain, joint = (release.load(name, folder=tmp_path) for name in ("small", "small/joint"))
    images = torch.rand(3, 3, 16, 16)
    with torch.no_grad():
        rows, expected = plain.module(images), trained.backbone(images)
        assert torch.allclose(rows, expected, atol=3e-3 * float(expected.abs().max()))
        projected = trained.objective.project(expected)  # type: ignore[union-attr]
        assert torch.allclose(joint.module(images), projected, atol=1e-2 * float(projected.abs().max()))
    assert joint.has_text and not plain.has_text
    texts = joint.encode_text(["a red disc", "an image of a blue ring at the top left"])
    assert (
        texts.shape == (2, joint.dim)
        and joint.logit_scale == pytest.approx(10, rel=0.1)
        and joint.logit_bias < -5
    )
    null = release.load("small", weights="random", seed=3, folder=tmp_path)
    assert null.fingerprint != plain.fingerprint
    with torch.no_grad():
        start = build(replace(trained.config, seed=3)).backbone.eval()
        assert torch.allclose(null.module(images), start(images), atol=1e-5)
    with pytest.raises(InputError, match="small"):
        release.load("smal", folder=tmp_path)
    with pytest.raises(InputError, match="vocabulary"):
        joint.encode_text(["a purple disc"])
    release.save(train(TINY, pool=pool), tmp_path, "mute")
    with pytest.raises(InputError, match="without text"):
        release.load("mute/joint", folder=tmp_path)
    path = tmp_path / "small.safetensors"
    path.write_bytes(path.read_bytes()[:-8] + b"spoiled!")
    with pytest.raises(DataError, match="sha256"):
        release.load("small", folder=tmp_path)
