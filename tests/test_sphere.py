"""The sphere against closed forms, 60-digit arithmetic and pymanopt."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymanopt.manifolds import Sphere
from scipy.stats import ortho_group

from bindery.errors import BinderyError, InputError
from bindery.frechet import frechet_mean as mean_of
from bindery.sphere import FrechetMean, distance, exp, frechet_mean, log, transport, unit
from bindery.tangent import angle_over_sine

seeds = st.integers(0, 2**32 - 1)
dims = st.integers(2, 40)
angles = st.one_of(st.floats(1e-9, 1e-3), st.floats(1e-3, 3.0), st.floats(3.0, np.pi - 1e-6))
few = settings(max_examples=60, deadline=None, derandomize=True)


def frame(seed: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """A unit vector and a unit tangent at it."""
    rng = np.random.default_rng(seed)
    base = unit(rng.normal(size=dim))
    tangent = rng.normal(size=dim)
    return base, unit(tangent - (tangent @ base) * base)


def cloud(seed: int, n: int, dim: int, spread: float) -> np.ndarray:
    """Unit rows around a random centre; ``spread`` about the tangent of their angle to it."""
    rng = np.random.default_rng(seed)
    return unit(unit(rng.normal(size=dim)) + spread * rng.normal(size=(n, dim)) / np.sqrt(dim))


def exact_angle(x: np.ndarray, y: np.ndarray) -> mpmath.mpf:
    """The angle in 60 digits between the directions of two float vectors."""
    with mpmath.workdps(60):
        a, b = ([mpmath.mpf(float(v)) for v in row] for row in (x, y))
        na, nb = (mpmath.sqrt(sum(v * v for v in row)) for row in (a, b))
        chord = mpmath.sqrt(sum((p / na - q / nb) ** 2 for p, q in zip(a, b, strict=True)))
        cochord = mpmath.sqrt(sum((p / na + q / nb) ** 2 for p, q in zip(a, b, strict=True)))
        return 2 * mpmath.atan2(chord, cochord)


@few
@given(seeds, dims, angles)
def test_angle_and_log_are_exact_from_a_nanoradian_to_the_antipode(seed: int, dim: int, angle: float) -> None:
    base, direction = frame(seed, dim)
    point = unit(np.cos(angle) * base + np.sin(angle) * direction)
    truth = float(exact_angle(base, point))
    tangent = log(point, base)
    assert abs(np.linalg.norm(tangent) - truth) <= 1e-6 * truth
    assert abs(distance(point, base) - truth) <= 1e-6 * truth
    assert abs(tangent @ base) <= 1e-12 * max(1.0, truth)
    conditioning = 1e-15 * (1 / min(angle, np.pi - angle) + 10)
    assert np.linalg.norm(tangent / truth - direction) <= 4 * conditioning


@few
@given(seeds, dims, angles)
def test_log_inverts_exp(seed: int, dim: int, angle: float) -> None:
    base, direction = frame(seed, dim)
    back = log(exp(angle * direction, base), base)
    assert np.linalg.norm(back - angle * direction) <= 1e-6 * angle + 1e-9 * (np.pi - angle < 1e-3)


@few
@given(seeds, dims)
def test_exp_inverts_log_on_whole_batches(seed: int, dim: int) -> None:
    points = cloud(seed, 7, dim, 2.0)
    np.testing.assert_allclose(exp(log(points, points[0]), points[0]), points, atol=1e-13)


@few
@given(seeds, dims)
def test_distance_is_a_metric(seed: int, dim: int) -> None:
    x, y, z = (cloud(seed, 3, dim, 5.0)[[i]] for i in range(3))
    assert distance(x, y) == distance(y, x)
    assert distance(x, x) == 0
    assert distance(x, z) <= distance(x, y) + distance(y, z) + 1e-14
    assert 0 <= distance(x, y) <= np.pi


@few
@given(seeds, st.integers(2, 12))
def test_everything_turns_with_a_rotation(seed: int, dim: int) -> None:
    points, turn = cloud(seed, 9, dim, 1.0), ortho_group.rvs(dim, random_state=seed)
    base, end = points[0], points[1]
    turned = points @ turn
    tangents = log(points, base)
    np.testing.assert_allclose(log(turned, base @ turn), tangents @ turn, atol=1e-11)
    np.testing.assert_allclose(distance(turned, base @ turn), distance(points, base), atol=1e-13)
    np.testing.assert_allclose(
        transport(tangents @ turn, base @ turn, end @ turn), transport(tangents, base, end) @ turn, atol=1e-11
    )


@few
@given(seeds, dims, st.floats(0, 3.1))
def test_transport_is_an_isometry_and_comes_back(seed: int, dim: int, angle: float) -> None:
    start, direction = frame(seed, dim)
    end = exp(angle * direction, start)
    rng = np.random.default_rng(seed + 1)
    tangents = rng.normal(size=(4, dim))
    tangents -= (tangents @ start)[:, None] * start
    moved = transport(tangents, start, end)
    scale = 1 + np.abs(tangents).max() ** 2
    np.testing.assert_allclose(moved @ moved.T, tangents @ tangents.T, atol=1e-12 * scale)
    np.testing.assert_allclose(moved @ end, 0, atol=1e-12 * scale)
    np.testing.assert_allclose(transport(moved, end, start), tangents, atol=1e-11 * scale)
    # the velocity of a geodesic stays its velocity
    np.testing.assert_allclose(
        transport(direction, start, end), -np.sin(angle) * start + np.cos(angle) * direction, atol=1e-11
    )


def test_transport_to_the_same_point_changes_nothing() -> None:
    base, direction = frame(3, 5)
    np.testing.assert_allclose(transport(direction, base, base), direction, atol=1e-15)


def test_zero_tangents_and_coincident_points_are_legal() -> None:
    base, _ = frame(0, 6)
    np.testing.assert_array_equal(exp(np.zeros((2, 6)), base), [base, base])
    np.testing.assert_array_equal(log(np.stack([base, base]), base), np.zeros((2, 6)))


@pytest.mark.parametrize("dim", [3, 50, 768])
def test_pymanopt_agrees_in_the_mid_range(dim: int) -> None:
    sphere, points = Sphere(dim), cloud(dim, 4, dim, 1.0)
    base, end = points[0], points[1]
    for point in points[1:]:
        tangent = sphere.log(base, point)
        np.testing.assert_allclose(log(point, base), tangent, atol=1e-12)
        np.testing.assert_allclose(exp(tangent, base), sphere.exp(base, tangent), atol=1e-13)
        assert distance(point, base) == pytest.approx(sphere.dist(base, point), abs=1e-13)
    # pymanopt's transport is by projection: only the part across the geodesic is the same
    across = log(points[2], base)
    along = unit(log(end, base))
    across -= (across @ along) * along
    np.testing.assert_allclose(transport(across, base, end), sphere.transport(base, end, across), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(dtype: type) -> None:
    points = cloud(1, 5, 8, 1.0).astype(dtype)
    tangents = log(points, points[0])
    outputs = (tangents, exp(tangents, points[0]), distance(points, points[0]), unit(3 * points))
    assert all(array.dtype == dtype for array in outputs)
    assert transport(tangents, points[0], points[1]).dtype == dtype
    assert frechet_mean(points).point.dtype == dtype


def test_float32_keeps_small_angles_that_arccos_loses() -> None:
    base, direction = frame(0, 768)
    angle = 1e-3
    point = (np.cos(angle) * base + np.sin(angle) * direction).astype(np.float32)
    base = base.astype(np.float32)
    assert distance(point, base) == pytest.approx(angle, rel=1e-5)
    naive = np.arccos(np.clip(np.float32(point @ base), -1, 1))
    assert abs(naive - angle) > 1e-2 * angle


def test_norms_that_are_a_little_off_do_not_count_as_angle() -> None:
    base, direction = frame(0, 64)
    point = exp(1e-6 * direction, base)
    assert distance(base, 1.00005 * base) < 1e-15
    assert distance(point, 1.00005 * base) == pytest.approx(1e-6, rel=1e-8)
    assert np.linalg.norm(log(1.00005 * point, base)) == pytest.approx(1e-6, rel=1e-8)


def test_blocks_do_not_change_the_result() -> None:
    points = cloud(5, 2000, 300, 1.0)  # more than one block of 1 MiB
    np.testing.assert_allclose(log(points, points[3])[1500:], log(points[1500:], points[3]), atol=1e-15)
    bases = points[::-1]
    np.testing.assert_allclose(log(points, bases)[1999], log(points[1999], bases[1999]), atol=1e-15)


def test_angle_over_sine_is_smooth_across_its_series() -> None:
    theta = np.array([1e-8, 1e-3, 0.01413, 0.01415, 0.5, 2.0])
    np.testing.assert_allclose(angle_over_sine(np.cos(theta)), theta / np.sin(theta), rtol=2e-14)


class TestMean:
    @few
    @given(seeds, dims, st.floats(1e-6, 3.1))
    def test_of_two_points_is_the_midpoint(self, seed: int, dim: int, angle: float) -> None:
        a, direction = frame(seed, dim)
        b = exp(angle * direction, a)
        result = frechet_mean(np.stack([a, b]))
        np.testing.assert_allclose(result.point, unit(a + b), atol=1e-12 / (np.pi - angle))
        assert result.max_angle == pytest.approx(angle / 2, rel=1e-6, abs=1e-9)
        assert result.unique

    @few
    @given(seeds, dims, st.floats(0.0, 1.0))
    def test_of_two_weighted_points_divides_the_arc(self, seed: int, dim: int, share: float) -> None:
        a, direction = frame(seed, dim)
        result = frechet_mean(np.stack([a, exp(direction, a)]), [1 - share, share])
        np.testing.assert_allclose(result.point, exp(share * direction, a), atol=1e-9)

    @pytest.mark.parametrize("spread", [0.5, 1.0, 2.0, 5.6])
    def test_of_wide_clouds_reaches_the_gradient_norm(self, spread: float) -> None:
        points = cloud(0, 500, 768, spread)  # median angles 27 to 80 degrees
        result = frechet_mean(points)
        assert np.linalg.norm(log(points, result.point).mean(axis=0)) <= 1e-10
        assert result.gradient_norm <= 1e-10
        assert result.n_iter <= 10
        assert result.max_angle == pytest.approx(distance(points, result.point).max(), abs=1e-9)

    def test_is_a_minimum_of_the_mean_squared_angle(self) -> None:
        points, weights = cloud(2, 40, 5, 1.0), np.random.default_rng(2).random(40)
        point = frechet_mean(points, weights).point
        here = weights @ distance(points, point) ** 2
        rng = np.random.default_rng(3)
        for _ in range(20):
            aside = rng.normal(size=5)
            aside -= (aside @ point) * point
            assert weights @ distance(points, exp(1e-3 * aside, point)) ** 2 > here

    def test_of_identical_points_is_that_point(self) -> None:
        base, _ = frame(0, 9)
        for dtype in (np.float32, np.float64):
            result = frechet_mean(np.tile(base.astype(dtype), (5, 1)))
            np.testing.assert_allclose(result.point, base, atol=np.finfo(dtype).eps)
            assert result.max_angle < 1e-6 and result.unique
        assert frechet_mean(base).point == pytest.approx(base, abs=1e-15)

    @few
    @given(seeds)
    def test_ignores_order_scale_of_weights_and_weightless_rows(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        points, weights, order = cloud(seed, 30, 6, 1.0), rng.random(30), rng.permutation(30)
        point = frechet_mean(points, weights).point
        np.testing.assert_allclose(frechet_mean(points[order], 7 * weights[order]).point, point, atol=1e-9)
        padded = frechet_mean(np.vstack([points, -points[:1]]), np.append(weights, 0.0))
        np.testing.assert_allclose(padded.point, point, atol=1e-9)
        assert padded.max_angle == pytest.approx(distance(points, point).max(), abs=1e-8)

    def test_weightless_rows_do_not_count_in_a_tight_cloud(self) -> None:
        base, direction = frame(0, 5)
        points = np.stack([base, exp(1e-5 * direction, base), exp(2 * direction, base)])
        assert frechet_mean(points, [1, 1, 0]).max_angle == pytest.approx(5e-6, rel=1e-6)

    @few
    @given(seeds, st.integers(2, 12))
    def test_turns_with_a_rotation(self, seed: int, dim: int) -> None:
        points, turn = cloud(seed, 20, dim, 0.7), ortho_group.rvs(dim, random_state=seed)
        np.testing.assert_allclose(
            frechet_mean(points @ turn).point, frechet_mean(points).point @ turn, atol=1e-8
        )

    def test_wide_float32_matches_float64(self) -> None:
        points = cloud(4, 300, 64, 3.0)
        exact = frechet_mean(points).point
        np.testing.assert_allclose(frechet_mean(points.astype(np.float32)).point, exact, atol=3e-6)
        tight = frechet_mean(points.astype(np.float32), tol=1e-10)
        assert tight.gradient_norm <= 1e-10

    def test_full_steps_rescue_a_cloud_that_is_not_round(self) -> None:
        # nearly all spread along one great circle: the round Newton step overshoots there
        rng = np.random.default_rng(0)
        angle = rng.uniform(-1.5, 1.5, 400)
        rows = np.zeros((400, 60))
        rows[:, 0], rows[:, 1] = np.cos(angle), np.sin(angle)
        result = frechet_mean(unit(rows + 0.01 * rng.normal(size=rows.shape)))
        assert result.gradient_norm <= 1e-10

    def test_rows_beyond_a_quarter_turn_deny_uniqueness(self) -> None:
        rng = np.random.default_rng(1)
        result = frechet_mean(unit(rng.normal(size=(60, 3))), max_iter=5000)
        assert result.max_angle > np.pi / 2
        assert not result.unique

    def test_far_rows_keep_their_digits(self) -> None:
        # one light row 1e-5 short of the antipode of the heavy one
        base, direction = frame(7, 4)
        points = np.stack([base, exp((np.pi - 1e-5) * direction, base)])
        share = 0.01
        result = frechet_mean(points, [1 - share, share])
        np.testing.assert_allclose(result.point, exp(share * (np.pi - 1e-5) * direction, base), atol=1e-8)

    def test_stopping_early_raises_or_warns(self) -> None:
        points = cloud(0, 50, 10, 3.0)
        with pytest.raises(BinderyError, match=r"gradient norm .* after 1 steps"):
            frechet_mean(points, max_iter=1)
        with pytest.warns(RuntimeWarning, match="raise max_iter"):
            result = frechet_mean(points, max_iter=1, on_fail="warn")
        assert isinstance(result, FrechetMean) and result.gradient_norm > 1e-10

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1, 2], "points has 3, weights has 2"),
            ([1, -1, 1], "row 1 is not"),
            ([0, 0, 0], "not all be zero"),
            ([1, np.nan, 1], "row 1 is not"),
            ([[1, 1, 1]], r"must be \(N,\)"),
        ],
    )
    def test_refuses_weights_that_do_not_fit(self, weights: list, message: str) -> None:
        with pytest.raises(InputError, match=message):
            frechet_mean(np.eye(3), weights)

    def test_two_opposite_points_have_no_mean(self) -> None:
        base, _ = frame(0, 4)
        with pytest.raises(InputError, match="row 1 is the antipode"):
            mean_of(np.stack([base, -base]))

    def test_refuses_no_points(self) -> None:
        with pytest.raises(InputError, match="no points"):
            frechet_mean(np.empty((0, 4)))


class TestErrors:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_antipode_names_its_row(self, dtype: type) -> None:
        points = cloud(0, 1000, 16, 0.5).astype(dtype)
        base = points[0].copy()
        points[417] = -base
        with pytest.raises(InputError, match="row 417 is the antipode"):
            log(points, base)
        with pytest.raises(InputError, match="antipode of start in row 0"):
            transport(np.zeros(16, dtype), base, -base)
        assert distance(base, -base) == pytest.approx(np.pi)

    @pytest.mark.parametrize("bad", [[["a", "b"]], [[1.0], [1.0, 2.0]], None, [[1j, 0j]], [[object()]]])
    def test_what_is_no_array_of_numbers_is_told(self, bad: object) -> None:
        with pytest.raises(InputError, match="points must be an array of real numbers"):
            frechet_mean(bad)  # type: ignore[arg-type]

    def test_unknown_choice_is_told_even_when_it_does_not_matter(self) -> None:
        with pytest.raises(InputError, match="on_fail must be"):
            frechet_mean(cloud(0, 10, 4, 0.5), on_fail="ignore")  # type: ignore[arg-type]

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_rows_that_are_not_finite_are_named(self, bad: float) -> None:
        points = cloud(0, 10, 4, 0.5)
        points[3, 2] = bad
        for call in (lambda: log(points, points[0]), lambda: distance(points, points[0])):
            with pytest.raises(InputError, match="rows 3 hold NaN"):
                call()
        with pytest.raises(InputError, match="rows 3 hold NaN"):
            frechet_mean(points)
        with pytest.raises(InputError, match="rows 3 hold NaN"):
            exp(points, points[0])

    def test_rows_that_are_not_unit_are_named(self) -> None:
        points = cloud(0, 10, 4, 0.5)
        points[[2, 7]] *= 3
        with pytest.raises(InputError, match=r"row 2, 7 of 10 have norm 3 \(the first\)"):
            log(points, points[0])
        with pytest.raises(InputError, match="base must have unit norm"):
            exp(np.zeros(4), points[2])

    def test_tangents_must_be_tangent(self) -> None:
        with pytest.raises(InputError, match="row 0 is not"):
            exp(np.eye(3), np.eye(3)[0])

    def test_zero_has_no_direction(self) -> None:
        with pytest.raises(InputError, match="row 1 has no direction"):
            unit(np.array([[1.0, 0], [0, 0]]))

    def test_shapes_must_agree(self) -> None:
        with pytest.raises(InputError, match="x is"):
            distance(np.eye(3), np.eye(3)[:2])
        with pytest.raises(InputError, match=r"\(N, D\)"):
            unit(np.ones((2, 2, 2)))
