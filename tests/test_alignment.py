"""First-order response, split of the covariance, and gradients of the losses, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bindery import alignment as al
from bindery.errors import InputError
from bindery.zoo import gradients as gr
from bindery.zoo.objectives.supervised import Supervised
from bindery.zoo.train import Config, Pool, build, draw_batch

RNG = np.random.default_rng(0)
TINY = Config("vicreg", images=128, per_step=64, scenes=128, size=16, bfloat16=False)


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool.draw(TINY)


class Quadratic(torch.nn.Module):
    """z = W x + c (a x)^2, whose first order is known."""

    def __init__(self, bend: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.from_numpy(RNG.standard_normal((4, 12))))
        self.bend = bend

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        flat = images.flatten(1)
        return flat @ self.weight.T + self.bend * flat[:, :4] ** 2


def test_a_linear_encoder_has_no_error_and_a_bent_one_an_error_that_grows_with_the_step() -> None:
    image, steps = torch.randn(3, 2, 2), torch.randn(50, 3, 2, 2)
    assert al.respond(al.in_double(Quadratic(0.0)), image, steps).covariance_error < 1e-12
    bent = al.in_double(Quadratic(0.3))
    errors = [al.respond(bent, image, size * steps).error for size in (1e-4, 1e-2, 1.0)]
    assert errors[0] < 1e-4 and errors[1] == pytest.approx(100 * errors[0], rel=0.1) and errors[2] > 0.05
    with pytest.raises(InputError, match="two steps"):
        al.respond(bent, image, steps[0])


def test_sampling_error_of_a_covariance_is_the_stated_one() -> None:
    root = np.diag([3, 2, 1, 1, 0.5])
    covariance = root @ root
    errors = []
    for _ in range(400):
        drawn = np.cov((RNG.standard_normal((60, 5)) @ root).T)
        errors.append(np.linalg.norm(drawn - covariance) ** 2 / np.linalg.norm(covariance) ** 2)
    assert al.sampling_error(covariance, 60) == pytest.approx(np.sqrt(np.mean(errors)), rel=0.06)


def test_split_finds_both_parts_and_their_sum_is_the_total() -> None:
    between, within = np.diag([4.0, 1.0, 0.0]), np.diag([0.0, 1.0, 2.0])
    image = RNG.standard_normal((40_000, 3)) @ np.sqrt(between)
    a, b = (image + RNG.standard_normal(image.shape) @ np.sqrt(within) for _ in range(2))
    parts = al.split(a, b)
    assert np.allclose(parts.between, between, atol=0.1) and np.allclose(parts.within, within, atol=0.05)
    assert parts.within_share == pytest.approx(3 / 8, abs=0.02)
    total = (np.cov(a.T) + np.cov(b.T)) / 2
    assert np.allclose(parts.between + parts.within, total, atol=1e-3)


@pytest.mark.parametrize("name", ["vicreg", "simclr", "supervised", "clip-bag", "mae"])
def test_gradients_are_the_change_of_the_loss_under_a_common_shift(name: str, pool: Pool) -> None:
    config = replace(TINY, objective=name)
    state = build(config)
    backbone, objective = state.backbone.eval().requires_grad_(False), state.objective
    rows = gr.loss_gradients(backbone, objective, config, pool, batches=1)
    assert rows.shape == (64, backbone.dim)
    shift = torch.from_numpy(np.sign(rows) * RNG.random(rows.shape)).float()  # uphill, so that it shows

    class Shifted(gr._Watched):
        size = 0.0

        def feature_map(self, images: torch.Tensor) -> torch.Tensor:
            return super().feature_map(images) + self.size * shift[:, :, None, None]

    losses = []
    for size in (2e-4, -2e-4):
        moved = Shifted(backbone).eval()
        moved.size = size
        batch = draw_batch(pool, config, gr.condition(config.condition), gr.FRESH, objective.views)
        with torch.no_grad():
            losses.append(float(objective.loss(moved, batch)))
    slope = (losses[0] - losses[1]) / 4e-4
    assert (rows * shift.numpy()).sum() == pytest.approx(slope, rel=0.02)


def test_labels_bound_the_rank_and_decorrelation_does_not(pool: Pool) -> None:
    state = build(replace(TINY, objective="supervised"))
    backbone = state.backbone.eval().requires_grad_(False)
    rows = gr.loss_gradients(backbone, state.objective, state.config, pool, batches=4)
    span = gr.Span.of(rows)
    assert (span.values > 1e-5 * span.values[0]).sum() == Supervised.n_labels < backbone.dim
    free = build(TINY)
    encoder = free.backbone.eval().requires_grad_(False)
    wide = gr.loss_gradients(encoder, free.objective, TINY, pool, batches=4)
    assert (gr.Span.of(wide).values > 1e-5 * gr.Span.of(wide).values[0]).sum() > 100


def test_fitted_heads_lower_the_loss_and_leave_the_encoder_alone(pool: Pool) -> None:
    config = replace(TINY, objective="byol")
    backbone = build(config).backbone.eval().requires_grad_(False)
    before = [p.clone() for p in backbone.state_dict().values()]
    once, again = (gr.fit_heads(backbone, config, pool, steps=8) for _ in range(2))
    first = gr.fit_heads(backbone, config, pool, steps=1)
    assert all(torch.equal(a, b) for a, b in zip(before, backbone.state_dict().values(), strict=True))
    assert all(torch.equal(a, b) for a, b in zip(once.parameters(), again.parameters(), strict=True))
    batch = draw_batch(pool, config, gr.condition("photometric"), gr.FRESH, 2)
    with torch.no_grad():
        assert once.loss(backbone, batch) < first.loss(backbone, batch)
    with pytest.raises(InputError, match="at least one step"):
        gr.fit_heads(backbone, config, pool, steps=0)


def test_span_counts_and_weighs_directions() -> None:
    rows = np.zeros((6, 4))
    rows[:3, 0], rows[3:, 1] = 1, [1, -1, 1]
    span = gr.Span.of(rows)
    assert span.effective == pytest.approx(2) and span.count(0.99) == 2 and span.count(0.4) == 1
    assert span.seen(np.diag([1.0, 2.0, 3.0, 4.0])) == pytest.approx(0.3)
