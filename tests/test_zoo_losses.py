"""Each loss against a slow plain reference, its invariances, and what it says of a collapsed encoder."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from bindery.zoo.objectives.clustering import sinkhorn, swav_loss
from bindery.zoo.objectives.contrastive import info_nce, nt_xent
from bindery.zoo.objectives.decorrelation import barlow_loss, vicreg_loss
from bindery.zoo.objectives.distillation import byol_loss, dino_loss
from bindery.zoo.objectives.language import clip_loss, siglip_loss
from bindery.zoo.objectives.reconstruction import draw_mask, masked_loss


@pytest.fixture
def pair() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(9, 5, generator=generator, dtype=torch.float64)
    return a, a + 0.5 * torch.randn(9, 5, generator=generator, dtype=torch.float64)


def cos(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / math.sqrt(a @ a) / math.sqrt(b @ b))


def softmax(row: list[float]) -> list[float]:
    weights = [math.exp(v - max(row)) for v in row]
    return [w / sum(weights) for w in weights]


def test_barlow_matches_loops(pair: tuple[Tensor, Tensor]) -> None:
    a, b = (z.numpy() for z in pair)
    total = 0.0
    for i in range(5):
        for j in range(5):
            c = (
                np.mean((a[:, i] - a[:, i].mean()) * (b[:, j] - b[:, j].mean()))
                / a[:, i].std()
                / b[:, j].std()
            )
            total += (1 - c) ** 2 if i == j else 0.3 * c**2
    assert float(barlow_loss(*pair, weight=0.3)) == pytest.approx(total, rel=1e-4)


def test_barlow_ignores_scale_and_shift_and_is_zero_for_white_equal_views() -> None:
    white = torch.linalg.qr(torch.randn(40, 6, dtype=torch.float64))[0]
    white = torch.linalg.qr(torch.cat([torch.ones(40, 1, dtype=torch.float64), white], 1))[0][:, 1:]
    assert float(barlow_loss(white, 3 * white + 2, weight=1.0)) < 1e-3


def test_vicreg_matches_loops(pair: tuple[Tensor, Tensor]) -> None:
    a, b = (z.numpy() for z in pair)
    n, d = a.shape
    alike = sum((a[i, j] - b[i, j]) ** 2 for i in range(n) for j in range(d)) / (n * d)
    variance = covariance = 0.0
    for z in (a, b):
        centred = z - z.mean(0)
        for i in range(d):
            variance += max(0.0, 1 - math.sqrt((centred[:, i] ** 2).sum() / (n - 1) + 1e-4)) / d
            for j in range(d):
                if i != j:
                    covariance += ((centred[:, i] * centred[:, j]).sum() / (n - 1)) ** 2 / d
    expected = 3 * alike + 5 * variance / 2 + 7 * covariance
    assert float(vicreg_loss(*pair, 3, 5, 7)) == pytest.approx(expected)


def test_vicreg_variance_term_detects_collapse() -> None:
    collapsed = torch.ones(8, 4)
    assert float(vicreg_loss(collapsed, collapsed, 25, 25, 1)) == pytest.approx(25 * (1 - 0.01), rel=1e-5)


def test_nt_xent_matches_loops(pair: tuple[Tensor, Tensor]) -> None:
    rows = torch.cat(pair).numpy()
    n, total = len(pair[0]), 0.0
    for i in range(2 * n):
        others = [j for j in range(2 * n) if j != i]
        chances = softmax([cos(rows[i], rows[j]) / 0.2 for j in others])
        total -= math.log(chances[others.index((i + n) % (2 * n))])
    assert float(nt_xent(*pair, 0.2)) == pytest.approx(total / (2 * n))


def test_info_nce_matches_loops(pair: tuple[Tensor, Tensor]) -> None:
    q, k = (z.numpy() for z in pair)
    total = sum(-math.log(softmax([cos(q[i], key) / 0.3 for key in k])[i]) for i in range(len(q)))
    assert float(info_nce(*pair, 0.3)) == pytest.approx(2 * 0.3 * total / len(q))


def test_contrastive_losses_of_a_collapsed_encoder_are_those_of_guessing() -> None:
    collapsed, spread = torch.ones(8, 4), torch.randn(8, 4, generator=torch.Generator().manual_seed(2))
    assert float(nt_xent(collapsed, collapsed, 0.2)) == pytest.approx(math.log(15), rel=1e-5)
    assert float(nt_xent(spread, spread, 0.2)) < math.log(15)
    assert float(info_nce(collapsed, collapsed, 0.2)) == pytest.approx(0.4 * math.log(8), rel=1e-5)
    assert float(info_nce(spread, spread, 0.2)) < 0.4 * math.log(8)


def test_contrastive_losses_ignore_length(pair: tuple[Tensor, Tensor]) -> None:
    a, b = pair
    assert float(nt_xent(a, b, 0.2)) == pytest.approx(float(nt_xent(3 * a, 0.1 * b, 0.2)))
    assert float(clip_loss(a, b, torch.tensor(5.0))) == pytest.approx(
        float(clip_loss(2 * a, b, torch.tensor(5.0)))
    )


def test_byol_matches_loops_and_does_not_see_collapse(pair: tuple[Tensor, Tensor]) -> None:
    a, b = (z.numpy() for z in pair)
    assert float(byol_loss(*pair)) == pytest.approx(
        np.mean([2 - 2 * cos(x, y) for x, y in zip(a, b, strict=True)])
    )
    assert float(byol_loss(torch.ones(4, 3), torch.ones(4, 3))) == pytest.approx(0, abs=1e-6)


def test_dino_matches_loops(pair: tuple[Tensor, Tensor]) -> None:
    student, teacher = (z.numpy() for z in pair)
    centre, total = np.linspace(-1, 1, 5), 0.0
    for s, t in zip(student, teacher, strict=True):
        target, guess = softmax(list((t - centre) / 0.04)), softmax(list(s / 0.1))
        total -= sum(p * math.log(q) for p, q in zip(target, guess, strict=True))
    assert float(dino_loss(*pair, torch.from_numpy(centre))) == pytest.approx(total / len(student))


def test_sinkhorn_is_balanced_and_keeps_strong_preferences() -> None:
    scores = torch.randn(40, 8, generator=torch.Generator().manual_seed(1)).double() / 10
    plan = sinkhorn(scores, rounds=200)
    assert torch.allclose(plan.sum(1), torch.ones(40).double())
    assert torch.allclose(plan.sum(0), torch.full((8,), 5.0).double(), atol=1e-6)
    assert (sinkhorn(5 * torch.eye(6)).argmax(1) == torch.arange(6)).all()
    # A collapsed encoder is spread over all prototypes evenly, whatever its one score row says.
    assert torch.allclose(
        sinkhorn(torch.randn(1, 8).expand(16, 8), rounds=50), torch.full((16, 8), 1 / 8), atol=1e-5
    )


def test_swav_matches_loops(pair: tuple[Tensor, Tensor]) -> None:
    a, b = pair
    total = 0.0
    for scores, other in ((a, b), (b, a)):
        target = sinkhorn(other).numpy()
        for row, q in zip(scores.numpy(), target, strict=True):
            total -= (
                sum(w * math.log(p) for w, p in zip(q, softmax(list(row / 0.1)), strict=True)) / len(a) / 2
            )
    assert float(swav_loss(a, b)) == pytest.approx(total)


def test_clip_matches_loops(pair: tuple[Tensor, Tensor]) -> None:
    image, text = (z.numpy() for z in pair)
    n, total = len(image), 0.0
    for i in range(n):
        total -= math.log(softmax([4 * cos(image[i], t) for t in text])[i]) / (2 * n)
        total -= math.log(softmax([4 * cos(v, text[i]) for v in image])[i]) / (2 * n)
    assert float(clip_loss(*pair, torch.tensor(4.0).double())) == pytest.approx(total)


def test_siglip_matches_loops(pair: tuple[Tensor, Tensor]) -> None:
    image, text = (z.numpy() for z in pair)
    total = 0.0
    for i in range(len(image)):
        for j in range(len(text)):
            sign = 1 if i == j else -1
            total += math.log1p(math.exp(-sign * (4 * cos(image[i], text[j]) - 2)))
    value = siglip_loss(*pair, torch.tensor(4.0).double(), torch.tensor(-2.0).double())
    assert float(value) == pytest.approx(total / len(image))


def test_mask_hides_whole_patches_at_the_stated_ratio() -> None:
    hidden = draw_mask(10, 32, 0.6, torch.Generator().manual_seed(0)).float()
    patches = F.avg_pool2d(hidden, 4)
    assert set(patches.unique().tolist()) == {0.0, 1.0}
    assert (patches.sum((1, 2, 3)) == round(0.6 * 64)).all()


def test_masked_loss_counts_hidden_pixels_only() -> None:
    images = torch.full((2, 3, 8, 8), 0.35)  # the mean level: its target is zero
    predicted, hidden = torch.full((2, 3, 8, 8), 9.0), torch.zeros(2, 1, 8, 8, dtype=torch.bool)
    predicted[:, :, :4], hidden[:, :, :4] = 2.0, True
    assert float(masked_loss(predicted, images, hidden)) == pytest.approx(4.0)
