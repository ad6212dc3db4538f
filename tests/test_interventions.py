"""Changes after training: each against what linear algebra says it must do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bindery import interventions as iv
from bindery import protocol
from bindery.errors import InputError
from bindery.jacobian import effective_rank, jacobians
from bindery.zoo.backbone import build_backbone

RNG = np.random.default_rng(0)


def test_jacobians_are_those_of_torch() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5), torch.nn.Tanh())
    images = torch.randn(3, 3, 2, 2)
    expected = torch.stack(
        [torch.autograd.functional.jacobian(module, image[None]).reshape(5, 12) for image in images]
    )
    assert torch.allclose(jacobians(module, images), expected, atol=1e-6)


def test_a_change_and_its_jacobian_agree() -> None:
    """Small steps of the pixels move the changed embedding as A J, with B below it, says."""
    weights, images = RNG.standard_normal((6, 12)), RNG.standard_normal((40, 3, 2, 2))
    embed = images.reshape(40, 12) @ weights.T
    step = 0.3 * RNG.standard_normal((40, 3, 2, 2))
    for change in (
        iv.unchanged(6), iv.whitened(embed), iv.projected(6, 3), iv.with_pixels(embed, images, 0.5),
    ):  # fmt: skip
        moved = change.rows((images + step).reshape(40, 12) @ weights.T, images + step) - change.rows(
            embed, images
        )
        matrix = change.jacobian(torch.from_numpy(weights)).numpy()
        assert np.allclose(moved, step.reshape(40, 12) @ matrix.T)


def test_whitening_makes_the_covariance_the_identity() -> None:
    bank = RNG.standard_normal((500, 4)) @ np.diag([1, 2, 3, 4.0])
    assert np.allclose(np.cov(iv.whitened(bank).rows(bank, bank).T), np.eye(4), atol=0.02)


def test_projection_is_orthonormal_and_lowers_the_rank_to_its_size() -> None:
    change = iv.projected(64, 8, seed=1)
    assert np.allclose(change.matrix @ change.matrix.T, np.eye(8))
    matrix = torch.from_numpy(RNG.standard_normal((1, 64, 300)))
    assert iv.jer_of(matrix, change) <= 8 < iv.jer_of(matrix, iv.unchanged(64))
    with pytest.raises(InputError, match="keeps 1 to 4"):
        iv.projected(4, 5)


def test_pixels_are_appended_at_the_stated_share_of_the_length() -> None:
    bank, images = 7 * RNG.standard_normal((200, 5)), RNG.standard_normal((200, 3, 4, 4))
    rows = iv.with_pixels(bank, images, 0.3).rows(bank, images)
    own, added = ((part**2).sum(1).mean() for part in (rows[:, :5], rows[:, 5:]))
    assert np.sqrt(added / own) == pytest.approx(0.3)


def test_unchanged_jer_is_the_effective_rank_of_the_top_singular_values() -> None:
    matrices = torch.from_numpy(RNG.standard_normal((2, 20, 50)))
    exact = [effective_rank(np.linalg.svd(m.numpy(), compute_uv=False)[:8]) for m in matrices]
    assert iv.jer_of(matrices, iv.unchanged(20), k=8) == pytest.approx(np.mean(exact), rel=1e-2)


def test_every_change_is_measured_and_an_untrained_map_binds_better_than_its_mean() -> None:
    torch.manual_seed(0)
    module = build_backbone("resnet").eval().requires_grad_(False)
    plan = protocol.read().benchmark.model_copy(update={"k": 8})
    found = iv.apply(module, 32, plan, trials=60, images=1)
    assert set(found) == {
        "unchanged", "whitened", "map", *(f"projected-{n}" for n in iv.PROJECTIONS),
        *(f"pixels-{s:g}" for s in iv.PIXEL_SHARES),
    }  # fmt: skip
    assert found["map"]["accuracy"] > found["unchanged"]["accuracy"]
    assert all(1 <= told["jer"] <= 8 and 0 <= told["swap"] <= 1 for told in found.values())
