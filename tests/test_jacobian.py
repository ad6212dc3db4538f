"""Jacobian: closed forms and planted spectra first, then finite differences and torch.func, then refusals."""

from __future__ import annotations

import numpy as np
import pytest
import timm
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import jacfwd, jacrev, jvp, vmap

from bindery.encoders import load
from bindery.errors import InputError
from bindery.jacobian import (
    KINDS,
    DenseMap,
    check_derivative,
    differentiable,
    directions,
    effective_rank,
    estimate,
    full_jacobian,
    gaussian_rank,
    jer,
    k_curve,
    linearize,
    noise_images,
    rank_free_of_k,
    rounds_curve,
    singular_values,
    value_errors,
)
from bindery.jacobian.attention import attention
from bindery.jacobian.products import Linearization
from bindery.jacobian.target import make_target

SIZE = 16
INPUTS = 3 * SIZE * SIZE


class Linear(nn.Module):
    """An encoder whose Jacobian is the given (D, M) matrix everywhere."""

    def __init__(self, matrix: Tensor) -> None:
        super().__init__()
        self.matrix = nn.Parameter(matrix.float())
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) @ self.matrix.T


def with_spectrum(s: np.ndarray, dim: int = 64, inputs: int = INPUTS, seed: int = 0) -> Tensor:
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((dim, len(s))))[0]
    right = np.linalg.qr(rng.standard_normal((inputs, len(s))))[0]
    return torch.from_numpy(left * s @ right.T)


def small_cnn(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    body = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Conv2d(8, 12, 3, stride=2),
        nn.BatchNorm2d(12, affine=False), nn.GELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(48, 24),
    )  # fmt: skip
    for part in body:
        if isinstance(part, nn.BatchNorm2d):  # statistics that a wrong formula would not survive
            part.running_mean.uniform_(-1, 1)
            part.running_var.uniform_(0.5, 2)
    return body.eval()


def small_vit(**options: object) -> nn.Module:
    torch.manual_seed(0)
    base = {"img_size": SIZE, "patch_size": 4, "embed_dim": 36, "depth": 2, "num_heads": 3, "num_classes": 0}
    return timm.create_model("vit_tiny_patch16_224", **(base | options)).eval()


@pytest.fixture()
def image() -> Tensor:
    return next(noise_images(1, SIZE, seed=3))


# ----------------------------------------------------------------- effective ranks


@pytest.mark.parametrize(("kind", "expected"), [("pr", 17.74), ("entropy", 22.11), ("pr_variance", 9.50)])
def test_geometric_spectrum(kind, expected):
    assert effective_rank(0.9 ** np.arange(32), kind) == pytest.approx(expected, abs=0.005)


def test_geometric_spectrum_closed_form():
    q, k = 0.9, 32
    pr = (1 - q**k) / (1 - q) * (1 + q) / (1 + q**k)
    assert effective_rank(q ** np.arange(k), "pr") == pytest.approx(pr, rel=1e-12)
    variance = (1 - q ** (2 * k)) / (1 - q**2) * (1 + q**2) / (1 + q ** (2 * k))
    assert effective_rank(q ** np.arange(k), "pr_variance") == pytest.approx(variance, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_rank_of_flat_and_single_spectra(kind):
    assert effective_rank(np.full(32, 3.0), kind) == pytest.approx(32)
    assert effective_rank([5.0] + [0.0] * 31, kind) == pytest.approx(1)
    assert effective_rank([2.0] * 4 + [0.0] * 28, kind) == pytest.approx(4)


@pytest.mark.parametrize("kind", KINDS)
def test_rank_ignores_scale_and_order(kind):
    s = np.random.default_rng(0).gamma(2.0, size=32)
    reference = effective_rank(s, kind)
    for scale in (1e-120, 1e-30, 1e30, 1e120):
        assert effective_rank(scale * s[::-1], kind) == pytest.approx(reference, rel=1e-10)


def test_kinds_are_ordered():
    # Renyi entropies fall with their order; squaring the values concentrates them.
    s = np.random.default_rng(1).gamma(1.0, size=32)
    assert effective_rank(s, "entropy") > effective_rank(s, "pr") > effective_rank(s, "pr_variance") > 1


@pytest.mark.parametrize("bad", [[], [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0], [[1.0, 2.0]]])
def test_rank_refuses(bad):
    with pytest.raises(InputError):
        effective_rank(bad)


def test_rank_refuses_unknown_kind():
    with pytest.raises(InputError, match="pr_variance"):
        effective_rank([1.0], "shannon")  # type: ignore[arg-type]


# ----------------------------------------------------------------- Gaussian closed forms


@pytest.mark.parametrize("dim", [48, 384, 2048])
def test_gaussian_jacobian_closed_forms(dim):
    rng = np.random.default_rng(dim)
    draws = [np.linalg.svd(rng.standard_normal((dim, 32)), compute_uv=False) for _ in range(24)]
    for kind in KINDS:
        values = np.array([effective_rank(s, kind) for s in draws])
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert gaussian_rank(32, dim, kind) == pytest.approx(values.mean(), abs=5 * error + 0.003 * 32)


def test_gaussian_pr_is_the_marchenko_pastur_moment():
    for dim in (512, 1024, 4096):
        assert gaussian_rank(32, dim, "pr") == pytest.approx(32 * (1 - 8 / dim), abs=6 * (32 / dim) ** 2)
    assert gaussian_rank(32, 384, "pr") == pytest.approx(gaussian_rank(384, 32, "pr"))
    # Square: the quarter-circle law, mean of s 8 / (3 pi).
    assert gaussian_rank(64, 64, "pr") == pytest.approx(64 * (8 / (3 * np.pi)) ** 2, rel=1e-8)


def test_published_gaussian_values():
    values = {384: (31.658, 29.47), 768: (31.831, 30.68), 2048: (31.937, 31.49)}
    for dim, (entropy, variance) in values.items():
        assert gaussian_rank(32, dim, "entropy") == pytest.approx(entropy, abs=6e-4)
        assert gaussian_rank(32, dim, "pr_variance") == pytest.approx(variance, abs=6e-3)


def test_gaussian_rank_refuses():
    with pytest.raises(InputError):
        gaussian_rank(0, 10)
    with pytest.raises(InputError):
        gaussian_rank(4, 10, "rank")  # type: ignore[arg-type]


def test_rank_free_of_k_recovers_the_whole_rank():
    # Known spectra, sketches of several widths: the truncated rank moves with k, this one must not.
    for s in (np.ones(50), np.exp(-np.arange(400) / 50)):
        whole = effective_rank(s, "pr_variance")
        for k in (16, 32, 64):
            rng = np.random.default_rng(k)
            ranks = [
                effective_rank(np.linalg.svd(s[:, None] * rng.standard_normal((len(s), k)))[1], "pr_variance")
                for _ in range(12)
            ]
            assert rank_free_of_k(np.array(ranks), k) == pytest.approx(whole, rel=0.08)


def test_rank_free_of_k_edges():
    assert rank_free_of_k(1.0, 32) == 1
    assert rank_free_of_k(32.0, 32) == float("inf")
    for bad in ((33.0, 32), (0.5, 32), (1.0, 1)):
        with pytest.raises(InputError):
            rank_free_of_k(*bad)


# ----------------------------------------------------------------- planted Jacobians


def test_sketch_reads_a_spectrum_planted_on_its_directions():
    s = 0.9 ** np.arange(32)
    probe = directions(INPUTS, 32, seed=5).numpy()
    left = np.linalg.qr(np.random.default_rng(0).standard_normal((64, 32)))[0]
    encoder = Linear(torch.from_numpy(left * s @ probe))
    found = singular_values(encoder, torch.randn(1, 3, SIZE, SIZE), method="sketch", seed=5)
    np.testing.assert_allclose(found.values, s, rtol=1e-5)
    assert effective_rank(found, "entropy") == pytest.approx(22.11, abs=0.005)


@pytest.mark.parametrize(("method", "oversample"), [("range_finder", 16), ("exact", 0)])
def test_planted_spectra(method, oversample, image):
    # Rank 48: with 16 directions beyond the 32 the range finder spans the whole range.
    for s in (0.9 ** np.arange(48), np.ones(48), np.r_[np.ones(4), np.zeros(44)], np.r_[1, np.zeros(47)]):
        found = singular_values(Linear(with_spectrum(s)), image, method=method, oversample=oversample)
        np.testing.assert_allclose(found.values, s[:32], rtol=1e-5, atol=2e-7)
        for kind in KINDS:
            assert effective_rank(found, kind) == pytest.approx(effective_rank(s[:32], kind), rel=1e-4)


def test_range_finder_without_oversampling_is_within_one_percent(image):
    for seed in range(4):
        found = singular_values(Linear(with_spectrum(0.9 ** np.arange(48))), image, seed=seed)
        assert effective_rank(found) == pytest.approx(17.74, rel=0.01)


def test_orthogonal_jacobian_has_full_rank_by_every_method(image):
    encoder = Linear(directions(INPUTS, INPUTS, 0))
    for method in ("sketch", "range_finder"):
        found = singular_values(encoder, image, method=method)
        np.testing.assert_allclose(found.values, 1, rtol=1e-5)
        assert effective_rank(found) == pytest.approx(32, rel=1e-6)


def test_tiny_jacobian_keeps_its_shape(image):
    # Networks with small LayerScale have |J v| / |f| near 1e-7.
    s = 1e-9 * 0.9 ** np.arange(40)
    for method in ("range_finder", "exact"):
        found = singular_values(Linear(with_spectrum(s)), image, method=method)
        assert effective_rank(found) == pytest.approx(17.74, abs=0.01)


def test_range_finder_is_exact_when_it_spans_the_output(image):
    encoder = Linear(with_spectrum(1 / np.arange(1.0, 21), dim=20))
    found = singular_values(encoder, image, k=20, rounds=0)
    np.testing.assert_allclose(found.values, 1 / np.arange(1.0, 21), rtol=1e-5)


def test_k_above_the_dimension_is_clipped_and_recorded(image):
    found = singular_values(Linear(with_spectrum(np.ones(10), dim=10)), image, k=32)
    assert (found.k, found.requested, found.clipped, len(found)) == (10, 32, True, 10)
    assert found.shape == (10, INPUTS)
    assert not singular_values(Linear(with_spectrum(np.ones(40))), image, k=32).clipped


def test_tall_jacobian_uses_forward_products(image):
    s = np.linspace(1, 2, 12)[::-1]
    matrix = with_spectrum(s, dim=400, inputs=12)
    linear = DenseMap(matrix)
    for method in ("range_finder", "exact"):
        np.testing.assert_allclose(estimate(linear, 32, method).values, s, rtol=1e-10)
    assert estimate(linear, 32, "exact").products == (12, 0)


# ----------------------------------------------------------------- convergence


def test_range_finder_improves_with_every_round_and_never_overshoots():
    matrix = DenseMap(with_spectrum(1 / np.arange(1.0, 257) ** 0.5, dim=256, inputs=600))
    curve = rounds_curve(matrix, k=32, rounds=6)
    finder = curve[curve.method == "range_finder"]
    # Subspace iteration gives Ritz values: below the exact ones, and rising.
    assert (np.diff(-finder.worst_value) > 0).all()
    assert finder.error_pr.abs().iloc[-1] < 0.01 < finder.error_pr.abs().iloc[0]
    assert curve[curve.method == "exact"].worst_value.item() == 0
    exact = estimate(matrix, 32, "exact").values
    for rounds in (0, 2, 5):
        assert (estimate(matrix, 32, rounds=rounds).values <= exact * (1 + 1e-12)).all()


def test_oversampling_helps():
    matrix = DenseMap(with_spectrum(1 / np.arange(1.0, 257) ** 0.5, dim=256, inputs=600))
    exact = estimate(matrix, 32, "exact").values
    errors = [
        np.abs(estimate(matrix, 32, oversample=p, rounds=1).values / exact - 1).max() for p in (0, 8, 32)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert len(estimate(matrix, 32, oversample=8)) == 32


def test_value_errors_and_k_curve():
    s = np.exp(-np.arange(120) / 30)
    matrix = DenseMap(with_spectrum(s, dim=120, inputs=500))
    table = value_errors(matrix, k=32, rounds=(0, 5))
    np.testing.assert_allclose(table["exact"], s[:32], rtol=1e-9)
    assert (table["rounds 5"] <= table["rounds 0"] + 1e-12).all()
    curve = k_curve(matrix, ks=(4, 16, 32, 64, 500))
    assert list(curve.k) == [4, 16, 32, 64, 120]
    assert curve.top_pr.is_monotonic_increasing and curve.saturation.is_monotonic_decreasing
    assert curve.top_pr.iloc[2] == pytest.approx(effective_rank(s[:32]))
    assert curve.r_hat.iloc[2] == pytest.approx(effective_rank(s, "pr_variance"), rel=0.25)
    with pytest.raises(InputError):
        k_curve(matrix, ks=())


def test_range_finder_returns_the_sketch_of_the_same_directions(image):
    encoder = small_cnn()
    finder = singular_values(encoder, image, k=16, seed=4)
    sketch = singular_values(encoder, image, k=16, method="sketch", seed=4)
    np.testing.assert_allclose(finder.sketch, sketch.values, rtol=1e-5)


# ----------------------------------------------------------------- products against other derivatives


@pytest.mark.parametrize("make", [small_cnn, small_vit])
def test_products_equal_jacrev(make, image):
    encoder = make().double()
    x = image.double()
    linear = linearize(encoder, x, chunk=3)
    with differentiable():
        reference = jacrev(lambda y: encoder(y)[0])(x).reshape(linear.shape)
    rng = torch.Generator().manual_seed(0)
    v = torch.randn(7, linear.shape[1], generator=rng, dtype=torch.float64)
    u = torch.randn(5, linear.shape[0], generator=rng, dtype=torch.float64)
    torch.testing.assert_close(linear.jvp(v), v @ reference.T, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(linear.vjp(u), u @ reference, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(full_jacobian(linear).matrix, reference, rtol=1e-10, atol=1e-12)
    exact = np.linalg.svd(reference.detach().numpy(), compute_uv=False)[:8]
    np.testing.assert_allclose(estimate(linear, 8, "exact").values, exact, rtol=1e-10)


@pytest.mark.parametrize("make", [small_cnn, small_vit])
def test_products_equal_finite_differences(make, image):
    encoder, x = make().double(), image.double()
    v = directions(INPUTS, 3, 0)
    step = 1e-6 * v.reshape(3, 3, SIZE, SIZE)
    with torch.no_grad():
        slope = (encoder(x + step) - encoder(x - step)) / 2e-6
    torch.testing.assert_close(linearize(encoder, x).jvp(v), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("method", ["sketch", "exact"])
def test_float32_values_are_within_1e5_of_float64(method, image):
    for encoder in (small_cnn(), small_vit()):
        k = 16
        single = singular_values(encoder, image, k, method)
        double = singular_values(encoder, image, k, method, dtype="float64")
        assert (single.dtype, double.dtype) == ("float32", "float64")
        np.testing.assert_allclose(single.values, double.values, rtol=1e-5)
        assert next(encoder.parameters()).dtype == torch.float32  # the copy, not the caller's network


def test_result_does_not_depend_on_the_chunk(image):
    encoder = small_vit()
    results = [singular_values(encoder, image, 8, rounds=1, chunk=c, check=False).values for c in (1, 3, 8)]
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], rtol=1e-4)


def test_chunk_follows_the_memory_cap(image):
    encoder = small_cnn()
    roomy, tight = linearize(encoder, image), linearize(encoder, image, memory_mb=0.1)
    assert roomy.chunk == 16 and 1 <= tight.chunk < 16


def test_same_seed_same_values_and_global_state_untouched(image):
    encoder = small_cnn()
    torch.manual_seed(11)
    before = torch.get_rng_state()
    first, second = (singular_values(encoder, image, 8, seed=2).values for _ in range(2))
    assert torch.equal(before, torch.get_rng_state())
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, singular_values(encoder, image, 8, rounds=0, seed=3).values, rtol=1e-9)


def test_directions_are_orthonormal_and_seeded():
    for inputs in (32, 100, 5000):
        v = directions(inputs, 32, seed=1)
        torch.testing.assert_close(v @ v.T, torch.eye(32, dtype=torch.float64), rtol=0, atol=1e-13)
    assert torch.equal(v, directions(5000, 32, seed=1))
    assert not torch.equal(v, directions(5000, 32, seed=2))
    with pytest.raises(InputError):
        directions(4, 5)


def test_directions_are_independent_of_the_noise_images():
    # Numpy's seeds 0 and (0, 0) are the same stream; a noise image must not be probed along itself.
    noise = next(noise_images(1, SIZE, seed=0)).flatten().double()
    for seed in (0, (0, 0), (0, 0, 0)):
        assert float((directions(INPUTS, 8, seed) @ noise).abs().max() / noise.norm()) < 5 / INPUTS**0.5


def test_unit_norming_removes_the_radial_direction(image):
    encoder = small_cnn()
    plain = linearize(encoder, image, dtype="float64")
    unit = linearize(encoder, image, unit=True, dtype="float64")
    with torch.no_grad():
        f = encoder.double()(image.double())[0]
    jacobian = full_jacobian(plain).matrix
    f = f.detach()
    expected = (jacobian - torch.outer(f, f @ jacobian) / f.dot(f)) / f.norm()
    torch.testing.assert_close(full_jacobian(unit).matrix, expected, rtol=1e-9, atol=1e-12)


# ----------------------------------------------------------------- depth


def test_block_of_a_transformer_is_its_class_token(image):
    encoder = small_vit(class_token=True, reg_tokens=2).double()
    captured = {}
    handle = encoder.blocks[0].register_forward_hook(lambda _m, _i, out: captured.update(out=out))
    point = image.double().requires_grad_(True)
    with differentiable():
        encoder(point)
        handle.remove()
        (cls,) = torch.autograd.grad(captured["out"][0, 0, 5], point, retain_graph=True)
        (mean,) = torch.autograd.grad(captured["out"][0, 3:, 5].mean(), point)  # class and two registers out
    u = torch.eye(36, dtype=torch.float64)[5:6]
    for token, expected in (("auto", cls), ("cls", cls), ("mean", mean)):
        found = linearize(encoder, image.double(), module="blocks.0", token=token).vjp(u)
        torch.testing.assert_close(found, expected.reshape(1, -1), rtol=1e-9, atol=1e-14)


def test_block_of_a_convolutional_network_is_averaged(image):
    encoder = small_cnn().double()
    linear = linearize(encoder, image.double(), module="3")
    with differentiable():
        reference = jacrev(lambda x: encoder[:4](x).mean((2, 3))[0])(image.double()).reshape(linear.shape)
    torch.testing.assert_close(full_jacobian(linear).matrix, reference, rtol=1e-9, atol=1e-13)
    forward = linear.jvp(directions(INPUTS, 2, 0))
    torch.testing.assert_close(forward, directions(INPUTS, 2, 0) @ reference.T, rtol=1e-9, atol=1e-13)


def test_an_unpooled_block_averages_to_the_pooled_one(image):
    encoder = small_cnn().double()
    pooled = full_jacobian(linearize(encoder, image.double(), module="3")).matrix
    whole = full_jacobian(linearize(encoder, image.double(), module="3", token="all"), limit=10_000).matrix
    channels = len(pooled)
    assert len(whole) > channels
    torch.testing.assert_close(
        whole.reshape(channels, -1, whole.shape[1]).mean(1), pooled, rtol=1e-9, atol=1e-13
    )


def test_blocks_leave_no_hooks(image):
    encoder = small_vit()
    singular_values(encoder, image, 4, "sketch", module="blocks.0")
    assert not any(part._forward_hooks for part in encoder.modules())


def test_unknown_block_names_the_nearest(image):
    with pytest.raises(InputError, match=r"blocks\.1"):
        singular_values(small_vit(), image, module="block.1")
    with pytest.raises(InputError, match="plain function"):
        singular_values(lambda x: x.flatten(1), image, module="blocks.1")
    with pytest.raises(InputError, match="no class token"):
        singular_values(
            small_vit(class_token=False, global_pool="avg"), image, module="blocks.0", token="cls"
        )


# ----------------------------------------------------------------- images


def test_jer_over_images():
    encoder = small_cnn()
    result = jer(encoder, noise_images(5, SIZE), k=16, progress=False)
    assert result.n == 5 and not result.stopped
    assert result.mean == pytest.approx(np.mean([effective_rank(s) for s in result.spectra]))
    assert result.standard_error == pytest.approx(np.std(result.values, ddof=1) / 5**0.5)
    table = result.table()
    assert list(table.pr) == pytest.approx(list(result.values))
    assert {f"sketch_{kind}" for kind in KINDS} | set(KINDS) <= set(table.columns)
    assert result.r_hat == pytest.approx(rank_free_of_k(table.sketch_pr_variance.to_numpy(), 16))
    assert result.spectra[0].seed != result.spectra[1].seed


def test_jer_stops_when_the_error_is_small():
    drawn = []

    def images():
        for index, noise in enumerate(noise_images(40, SIZE)):
            drawn.append(index)
            yield noise

    result = jer(small_cnn(), images(), k=8, method="sketch", tolerance=0.5, least=4, progress=False)
    assert result.stopped and result.standard_error < 0.5 and 4 <= result.n < 40
    assert len(drawn) == result.n
    short = jer(small_cnn(), noise_images(2, SIZE), k=8, tolerance=1e-9, progress=False)
    assert not short.stopped


def test_jer_of_one_image_has_no_error(image):
    result = jer(small_cnn(), [image], k=8, method="exact", progress=False)
    assert np.isnan(result.standard_error) and np.isnan(result.r_hat) and result.mean > 1


def test_jer_refuses():
    with pytest.raises(InputError, match="no images"):
        jer(small_cnn(), [], progress=False)
    with pytest.raises(InputError, match="kind"):
        jer(small_cnn(), noise_images(1, SIZE), kind="erank", progress=False)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tolerance"):
        jer(small_cnn(), noise_images(1, SIZE), tolerance=0.0, progress=False)


def test_noise_images_are_standard_normal():
    noise = next(noise_images(1, 64, seed=1))
    assert (
        noise.shape == (1, 3, 64, 64)
        and abs(float(noise.mean())) < 0.05
        and abs(float(noise.std()) - 1) < 0.03
    )


# ----------------------------------------------------------------- the derivative is checked


class Silent(nn.Module):
    """Half of the network under inference mode: forward mode returns zeros for it without a word."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.body, self.whole = nn.Linear(INPUTS, 12), whole

    def forward(self, x: Tensor) -> Tensor:
        seen = self.body(x.flatten(1))
        with torch.inference_mode():
            hidden = self.body(x.flatten(1)).clone()
        return hidden if self.whole else torch.cat([seen, hidden.clone()], 1)


class Detached(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(1)[:, :20]
        return flat * flat.detach()


class Kink(nn.Module):
    """Identity, and a rectifier whose argument float32 rounds to zero: open in float64, shut in float32."""

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(1)
        return torch.cat([flat, 0.02 * torch.relu(flat[:, :1] + flat[:, 1:2] - 1)], dim=1)


class SlightlyWrong(torch.autograd.Function):
    """Identity with a derivative that is one per cent too large."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        pass

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return 1.01 * gradient

    @staticmethod
    def jvp(ctx, tangent: Tensor) -> Tensor:
        return 1.01 * tangent


def test_a_kink_within_rounding_passes_the_self_check_and_a_wrong_derivative_does_not():
    point = torch.zeros(1, 3, 2, 2)
    point[0, 0, 0] = torch.tensor([1.0, 2.0**-25])
    assert 2e-3 < check_derivative(Kink().eval(), point, seed=2).finite_difference < 3e-2
    assert check_derivative(Kink().eval(), point, seed=2, dtype="float64").finite_difference < 1e-6
    with pytest.raises(InputError, match="differs from the float64 slope"):
        check_derivative(lambda x: SlightlyWrong.apply(x.flatten(1)), point)


def test_equal_pixels_that_tie_in_a_max_pool_pass_the_self_check():
    flat = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 3, 32, 32))).float()
    flat[..., :4, :4] = 0.25
    network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2), nn.Flatten()).eval().requires_grad_(False)
    assert 2e-3 < check_derivative(network, flat).finite_difference < 0.1


@pytest.mark.parametrize("encoder", [Silent(True), Silent(False), Detached()])
def test_silent_zeros_are_refused(encoder, image):
    with pytest.raises(InputError):
        singular_values(encoder.eval(), image, 8, "sketch")


def test_random_output_is_refused(image):
    with pytest.raises(InputError, match="random"):
        singular_values(lambda x: x.flatten(1)[:, :9] * torch.randn(9, dtype=x.dtype), image, 8)


def test_constant_output_is_refused(image):
    constant = nn.Linear(INPUTS, 5)
    nn.init.zeros_(constant.weight)
    for check in (True, False):
        with pytest.raises(InputError, match="depend on"):
            singular_values(nn.Sequential(nn.Flatten(), constant).eval(), image, 4, check=check)
    with pytest.raises(InputError, match="depend on"):
        singular_values(lambda x: torch.ones(1, 4), image, 4, check=False)


def test_check_reports_small_errors(image):
    for encoder in (small_cnn(), small_vit()):
        found = check_derivative(encoder, image)
        assert found.adjoint_gap < 1e-4 and found.finite_difference < 1e-4


def test_check_without_float64_uses_the_adjoint(image):
    def single_only(x: Tensor) -> Tensor:
        if x.dtype != torch.float32:
            raise TypeError("float32 only")
        return x.flatten(1)[:, :10] ** 3

    found = check_derivative(single_only, image)
    assert np.isnan(found.finite_difference) and found.adjoint_gap < 1e-5


# ----------------------------------------------------------------- refusals


def test_training_mode_is_refused(image):
    encoder = small_cnn()
    encoder[4].train()
    with pytest.raises(InputError, match="4 is in training mode"):
        singular_values(encoder, image)


def test_wrong_inputs_are_refused(image):
    encoder = small_vit()
    with pytest.raises(InputError, match="refuses an input of shape"):
        singular_values(encoder, torch.randn(1, 3, SIZE + 3, SIZE + 3))
    for bad in (255 * torch.rand(1, 3, SIZE, SIZE), torch.full((1, 3, SIZE, SIZE), float("nan"))):
        with pytest.raises(InputError, match="normalised"):
            singular_values(encoder, bad)
    for bad in (torch.zeros(1, 3, SIZE, SIZE, dtype=torch.uint8), torch.randn(2, 3, SIZE, SIZE)):
        with pytest.raises(InputError, match="one normalised"):
            singular_values(encoder, bad)
    with pytest.raises(InputError, match="preprocess"):
        singular_values(encoder, np.zeros((SIZE, SIZE, 3), np.uint8))
    with pytest.raises(InputError, match="encoder"):
        singular_values("resnet50", image)


def test_outputs_that_are_no_embedding_are_refused(image):
    with pytest.raises(InputError, match="pool"):
        singular_values(nn.Conv2d(3, 4, 3).eval(), image)
    with pytest.raises(InputError, match="NaN"):
        singular_values(lambda x: torch.log(-x.flatten(1).abs()), image)


def test_wrong_parameters_are_refused(image):
    encoder = small_cnn()
    for options in ({"k": 0}, {"rounds": -1}, {"oversample": -1}, {"method": "power"}, {"chunk": -1}):
        with pytest.raises(InputError):
            singular_values(encoder, image, **options)
    with pytest.raises(InputError, match="GiB"):
        estimate(DenseMap(torch.zeros(2000, 2100)), 4, "exact")
    with pytest.raises(InputError, match="length"):
        linearize(encoder, image).jvp(torch.zeros(2, 5))


# ----------------------------------------------------------------- encoders


def test_encoder_brings_its_preprocess_and_its_checks():
    encoder = load("timm:vit_tiny_patch16_224", weights="random", seed=1)
    photo = np.random.default_rng(0).integers(0, 256, (240, 260, 3), dtype=np.uint8)
    by_image = singular_values(encoder, photo, 2, "sketch")
    by_tensor = singular_values(encoder.module, encoder.preprocess([photo]), 2, "sketch", check=False)
    np.testing.assert_array_equal(by_image.values, by_tensor.values)
    assert by_image.shape == (encoder.dim, 3 * encoder.input_size**2)
    with pytest.raises(InputError, match="reads"):
        singular_values(encoder, torch.randn(1, 3, 64, 64))
    with pytest.raises(InputError, match="PIL image"):
        singular_values(encoder, "photo.png")
    block = singular_values(encoder, photo, 2, "sketch", module=encoder.blocks()[0], check=False)
    assert block.shape[0] == 192


# ----------------------------------------------------------------- switches


def switches() -> tuple[bool, bool, bool, bool]:
    cuda = torch.backends.cuda
    return (
        torch.backends.mha.get_fastpath_enabled(), cuda.flash_sdp_enabled(),
        cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled(),
    )  # fmt: skip


@pytest.mark.parametrize("fast", [True, False])
def test_switches_are_restored_also_after_an_error(fast):
    outside = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(fast)
    try:
        before = switches()
        with differentiable():
            assert not torch.backends.mha.get_fastpath_enabled()
            assert not torch.backends.cuda.flash_sdp_enabled()
        assert switches() == before
        with pytest.raises(RuntimeError), differentiable():
            raise RuntimeError
        assert switches() == before
    finally:
        torch.backends.mha.set_fastpath_enabled(outside)


@pytest.mark.parametrize("outer", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_the_callers_gradient_mode_does_not_matter(outer, image):
    encoder = small_vit()
    reference = singular_values(encoder, image, 8, rounds=1).values
    with outer():
        np.testing.assert_array_equal(singular_values(encoder, image, 8, rounds=1).values, reference)


def test_multi_head_attention_module(image):
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(48, 4, 64, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x.flatten(2).reshape(1, 16, 48)).mean(1)

    torch.manual_seed(0)
    found = check_derivative(Attention().eval().requires_grad_(False), image)
    assert found.finite_difference < 1e-4


def test_affine_batch_norm_equals_the_fused_one(image):
    encoder = small_cnn()
    with torch.no_grad():
        plain = encoder(image)
        with differentiable():
            torch.testing.assert_close(encoder(image), plain, rtol=1e-5, atol=1e-6)
            norm = nn.BatchNorm2d(3).train()  # batch statistics are left to torch
            torch.testing.assert_close(norm(image).mean((0, 2, 3)), torch.zeros(3), rtol=0, atol=1e-5)


@pytest.mark.parametrize("mask", [None, "float", "bool"])
def test_plain_attention_equals_the_fused_one(mask):
    rng = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 3, 5, 8, generator=rng, dtype=torch.float64) for _ in range(3))
    masks = {
        None: None,
        "float": torch.randn(5, 5, generator=rng, dtype=torch.float64),
        "bool": torch.eye(5) < 1,
    }
    for options in ({}, {"scale": 0.3}, {"is_causal": True} if mask is None else {}):
        plain = F.scaled_dot_product_attention(q, k, v, attn_mask=masks[mask], **options)
        with differentiable():
            lowered = F.scaled_dot_product_attention(q, k, v, attn_mask=masks[mask], **options)
        torch.testing.assert_close(lowered, plain, rtol=1e-12, atol=1e-13)


ATTENTION_SHAPES = [
    ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4)),
    ((1, 3, 5, 8),) * 3,
    ((6, 5, 8), (6, 4, 8), (6, 4, 8)),
]


@pytest.mark.parametrize("shapes", ATTENTION_SHAPES)
@pytest.mark.parametrize("masked", [True, False])
def test_attention_derivatives_equal_those_of_the_formula(shapes, masked):
    rng = torch.Generator().manual_seed(0)
    q, k, v = inputs = [torch.randn(*s, generator=rng, dtype=torch.float64) for s in shapes]
    mask = torch.randn(5, k.shape[-2], generator=rng, dtype=torch.float64) if masked else torch.zeros(())
    close = {"rtol": 1e-11, "atol": 1e-12}

    def formula(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(0.3 * q @ k.mT + mask, -1) @ v

    def ours(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(q, k, v, mask if masked else None, 0.3)

    tangents = [torch.randn(4, *t.shape, generator=rng, dtype=torch.float64) for t in inputs]
    expected = torch.stack([jvp(formula, (q, k, v), each)[1] for each in zip(*tangents, strict=True)])
    found = vmap(lambda *each: jvp(ours, (q, k, v), each)[1])(*tangents)  # directions folded
    torch.testing.assert_close(found, expected, **close)
    single = jvp(ours, (q, k, v), tuple(t[0] for t in tangents))[1]
    torch.testing.assert_close(single, expected[0], **close)
    for index in range(3):  # one of the three depends on the image, the others do not
        alone = [t if i == index else torch.zeros_like(t) for i, t in enumerate(tangents)]
        expected = torch.stack([jvp(formula, (q, k, v), each)[1] for each in zip(*alone, strict=True)])

        def partial(x: Tensor, index: int = index) -> Tensor:
            return ours(*(x if i == index else t for i, t in enumerate((q, k, v))))

        found = vmap(lambda t: jvp(partial, (inputs[index],), (t,))[1])(tangents[index])  # noqa: B023
        torch.testing.assert_close(found, expected, **close)

    gradients = []
    for function in (formula, ours):
        leaves = [t.clone().requires_grad_() for t in inputs]
        output = function(*leaves)
        weights = torch.linspace(-1, 2, 3 * output.numel()).double().reshape(3, *output.shape)
        batched = torch.autograd.grad(output, leaves, weights, is_grads_batched=True, retain_graph=True)
        gradients.append([*batched, *torch.autograd.grad(output, leaves, weights[1])])
    for expected, found in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, **close)


def test_attention_vectorised_over_images_too():
    rng = torch.Generator().manual_seed(0)
    images = torch.randn(3, 1, 6, 8, generator=rng, dtype=torch.float64)

    def norm(x: Tensor) -> Tensor:
        return attention(x, 2 * x, x.sin(), None, 0.3).square().sum()

    def formula(x: Tensor) -> Tensor:
        return (torch.softmax(0.6 * x @ x.mT, -1) @ x.sin()).square().sum()

    for transform in (jacrev, jacfwd):
        expected = torch.stack([jacrev(formula)(x) for x in images])
        torch.testing.assert_close(vmap(transform(norm))(images), expected, rtol=1e-10, atol=1e-12)


def test_a_mask_that_depends_on_the_image_is_differentiated():
    x = torch.randn(1, 1, 5, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def function(x: Tensor) -> Tensor:
        bias = (x @ x.mT).sin()
        return F.scaled_dot_product_attention(x, x, x, attn_mask=bias).sum(-1).flatten()

    def formula(x: Tensor) -> Tensor:
        return (torch.softmax(x @ x.mT * 8**-0.5 + (x @ x.mT).sin(), -1) @ x).sum(-1).flatten()

    with differentiable():
        linear = Linearization(lambda x: function(x)[None], x, 5)
    expected = jacrev(formula)(x).reshape(5, -1)
    torch.testing.assert_close(full_jacobian(linear).matrix, expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(linear.jvp(torch.eye(40)).T, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("affine", [True, False])
def test_plain_layer_norm_equals_the_fused_one(affine):
    x = torch.randn(4, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = (
        (torch.linspace(-1, 2, 7).double(), torch.linspace(3, 1, 7).double()) if affine else (None, None)
    )

    def norm(y: Tensor) -> Tensor:
        return F.layer_norm(y, (7,), *weights, eps=1e-3)

    value, reference = norm(x), jacrev(norm)(x)
    with differentiable():
        torch.testing.assert_close(norm(x), value, rtol=1e-12, atol=1e-14)
        forward, backward = jacfwd(norm)(x), jacrev(norm)(x)
    torch.testing.assert_close(forward, reference, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(backward, reference, rtol=1e-10, atol=1e-12)


def test_target_is_reused_and_the_graph_recorded_once(image):
    calls = []

    class Counting(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            calls.append(1)
            return x.flatten(1)[:, :40].sin()

    linear = make_target(Counting().eval()).linearize(image)
    assert isinstance(linear, Linearization)
    calls.clear()
    for _ in range(3):
        linear.vjp(torch.eye(40))
    assert len(calls) == 1
