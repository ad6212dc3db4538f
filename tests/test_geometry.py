"""Geometry: closed forms on planted spectra, exact unbiasedness by enumeration, refusals."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bindery.errors import InputError
from bindery.geometry import (
    compare_geometry,
    effective_rank,
    isotropy,
    local_isotropy,
    participation_ratio,
    uniformity,
    value_against_n,
)


def with_spectrum(eigenvalues: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    """(n, D) rows with a mean far from zero whose scatter matrix has exactly these eigenvalues."""
    rng = np.random.default_rng(seed)
    dim = len(eigenvalues)
    left = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, dim))])[0][:, 1:]  # orthogonal to the ones
    right = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return left * np.sqrt(eigenvalues) @ right.T + 5 * rng.standard_normal(dim)


def spectrum(rows: np.ndarray) -> np.ndarray:
    """Eigenvalues by the definition: squared singular values of the centred matrix, in float64."""
    rows = rows.astype(np.float64)
    return np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2


SPECTRA = {
    "flat": np.ones(12),
    "geometric": 0.7 ** np.arange(12),
    "two of twelve": np.r_[1.0, 1.0, np.zeros(10)],
    "one of twelve": np.r_[3.0, np.zeros(11)],
}


class TestPlantedSpectra:
    @pytest.mark.parametrize("name", SPECTRA)
    @pytest.mark.parametrize("n", [13, 40])
    def test_closed_forms(self, name: str, n: int) -> None:
        values = SPECTRA[name]
        rows = with_spectrum(values, n)
        share = values[values > 0] / values.sum()
        root = np.sqrt(values[values > 0]) / np.sqrt(values).sum()
        assert participation_ratio(rows) == pytest.approx(1 / (12 * (share**2).sum()), rel=1e-10)
        assert isotropy(rows) == pytest.approx(1 - share.max(), abs=1e-10)
        assert effective_rank(rows) == pytest.approx(np.exp(-(share * np.log(share)).sum()), rel=1e-10)
        assert effective_rank(rows, of="singular_values") == pytest.approx(
            np.exp(-(root * np.log(root)).sum()), rel=1e-6
        )

    def test_rank_one_has_effective_rank_one(self) -> None:
        rows = np.outer(np.random.default_rng(0).standard_normal(500), np.ones(768))
        for of in ("variances", "singular_values"):
            assert effective_rank(rows, of=of) == pytest.approx(1, abs=1e-9)  # type: ignore[arg-type]

    @pytest.mark.parametrize("shape", [(300, 250), (250, 300), (1000, 8)])
    @pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-11), (np.float32, 1e-6)])
    def test_equal_the_svd_on_either_side(
        self, shape: tuple[int, int], dtype: type, tolerance: float
    ) -> None:
        rng = np.random.default_rng(1)
        rows = (rng.standard_normal(shape) * 0.98 ** np.arange(shape[1]) + 30).astype(dtype)
        values = spectrum(rows)
        expected = values.sum() ** 2 / (shape[1] * (values**2).sum())
        assert participation_ratio(rows) == pytest.approx(expected, rel=tolerance)
        assert isotropy(rows) == pytest.approx(1 - values[0] / values.sum(), rel=tolerance)


class TestInvariances:
    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 1000), scale=st.floats(0.01, 100))
    def test_shift_scale_rotation_order(self, seed: int, scale: float) -> None:
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((30, 6)) * [3, 2, 1, 1, 0.5, 0.1]
        rotation = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        moved = scale * rows[rng.permutation(30)] @ rotation + rng.standard_normal(6)
        for metric in (participation_ratio, isotropy, effective_rank, lambda x: local_isotropy(x, 5)):
            assert metric(moved) == pytest.approx(metric(rows), rel=1e-8)
        corrected = [participation_ratio(x, correction="finite-sample") for x in (rows, moved)]
        assert corrected[0] == pytest.approx(corrected[1], rel=1e-8)

    def test_plug_in_value_of_isotropic_data_is_about_n_over_n_plus_d(self) -> None:
        for n in (100, 500):
            value = participation_ratio(np.random.default_rng(n).standard_normal((n, 768)))
            assert value == pytest.approx((n - 1) / (n + 768), rel=0.005)


def parts(rows: np.ndarray) -> tuple[float, float]:
    """The two U-statistics by their definition: averages over distinct rows, no closed form."""
    n = len(rows)
    cross = {(i, j): (rows[i] - rows[j]) for i, j in permutations(range(n), 2)}
    square, trace = [], []
    for i, j, k, l in permutations(range(n), 4):
        square.append((cross[i, j] @ cross[k, l]) ** 2 / 4)
        trace.append((cross[i, j] @ cross[i, j]) * (cross[k, l] @ cross[k, l]) / 4)
    return float(np.mean(trace)), float(np.mean(square))


class TestCorrection:
    def test_equals_the_average_over_distinct_rows(self) -> None:
        for seed, (n, dim) in enumerate([(4, 2), (6, 3), (7, 11)]):
            rows = np.random.default_rng(seed).standard_t(3, size=(n, dim)) + 2
            numerator, denominator = parts(rows)
            assert participation_ratio(rows, correction="finite-sample") == pytest.approx(
                numerator / (dim * denominator), rel=1e-9
            )

    def test_its_parts_are_unbiased_exactly(self) -> None:
        # Every sample of four from a skewed, anisotropic three-point distribution, with its probability.
        points = np.array([[0.0, 0.0], [1.0, 0.2], [-2.0, 9.0]])
        chance = np.array([0.6, 0.3, 0.1])
        expected = np.zeros(2)
        for choice in product(range(3), repeat=4):
            expected += np.prod(chance[list(choice)]) * np.array(parts(points[list(choice)]))
        centred = points - chance @ points
        covariance = (centred * chance[:, None]).T @ centred
        assert_allclose(expected, [np.trace(covariance) ** 2, np.trace(covariance @ covariance)], rtol=1e-12)

    def test_heavy_tails_monte_carlo(self) -> None:
        rng = np.random.default_rng(0)
        scale = np.sqrt(0.9 ** np.arange(40))
        truth = (scale**2).sum() ** 2 / (40 * (scale**4).sum())
        plain, corrected = [], []
        for _ in range(300):
            rows = rng.laplace(size=(60, 40)) * scale
            plain.append(participation_ratio(rows))
            corrected.append(participation_ratio(rows, correction="finite-sample"))
        error = np.std(corrected) / np.sqrt(300)
        assert abs(np.mean(corrected) - truth) < 4 * error + 0.01 * truth  # a ratio of unbiased parts
        assert np.mean(plain) < 0.85 * truth

    def test_naive_factor_is_wrong_off_isotropy(self) -> None:
        scale = np.sqrt(0.8 ** np.arange(100))
        truth = (scale**2).sum() ** 2 / (100 * (scale**4).sum())
        rows = np.random.default_rng(3).standard_normal((200, 100)) * scale
        naive = participation_ratio(rows) * (200 + 100) / 200
        assert abs(naive / truth - 1) > 0.3
        assert participation_ratio(rows, correction="finite-sample") == pytest.approx(truth, rel=0.1)

    def test_needs_four_rows(self) -> None:
        with pytest.raises(InputError, match="four rows"):
            participation_ratio(np.eye(3), correction="finite-sample")


class TestLocal:
    def test_neighbourhoods_of_a_grid_line_have_no_second_direction(self) -> None:
        assert local_isotropy(np.outer(np.arange(30.0), [1, 2, 3]), 4) == pytest.approx(0, abs=1e-12)

    def test_two_distant_clusters_are_local(self) -> None:
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((200, 5))
        rows[100:] += 1e3
        assert isotropy(rows) < 0.01
        assert local_isotropy(rows, 20) > 0.5

    def test_by_hand(self) -> None:
        # Neighbours of each corner of a square with k = 3: the other three corners, spectrum 3 : 1.
        square = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
        assert local_isotropy(square, 3) == pytest.approx(1 / 4)
        assert local_isotropy(square, 3, formulation="participation_ratio") == pytest.approx(16 / 10 / 2)
        entropy = np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
        assert local_isotropy(square, 3, formulation="effective_rank") == pytest.approx(entropy / 2)

    def test_anchors_are_seeded(self) -> None:
        rows = np.random.default_rng(0).standard_normal((100, 4))
        here, there, other = (local_isotropy(rows, 5, anchors=10, seed=seed) for seed in (0, 0, 1))
        assert here == there != other

    def test_repeated_images(self) -> None:
        rows = np.repeat(np.random.default_rng(0).standard_normal((10, 3)), 8, axis=0)
        with pytest.raises(InputError, match=r"neighbours of row \d+ coincide; raise k"):
            local_isotropy(rows, 4)
        assert 0 < local_isotropy(rows, 20) < 1

    @pytest.mark.parametrize("k", [1, 10])
    def test_k_out_of_range(self, k: int) -> None:
        with pytest.raises(InputError, match="k must be"):
            local_isotropy(np.eye(10), k)


class TestUniformity:
    def test_equals_the_mean_over_pairs(self) -> None:
        rows = np.random.default_rng(0).standard_normal((1100, 3))  # more than one block
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        i, j = np.triu_indices(1100, 1)
        expected = np.log(np.exp(-2 * ((unit[i] - unit[j]) ** 2).sum(axis=1)).mean())
        assert uniformity(rows) == pytest.approx(expected, rel=1e-12)

    def test_extremes(self) -> None:
        assert uniformity(np.array([[1.0, 0], [2.0, 0]])) == pytest.approx(0)
        assert uniformity(np.array([[1.0, 0], [-3.0, 0]])) == pytest.approx(-8)


class TestAgainstN:
    def test_table(self) -> None:
        rows = np.random.default_rng(0).standard_normal((512, 64))
        table = value_against_n(rows)
        assert table["n"].tolist() == [32, 64, 128, 256, 512]
        assert (np.diff(table["mean"]) > 0).all()
        assert table["repeats"].tolist() == [5, 5, 5, 5, 1]
        assert_allclose(table["mean"], table["n"] / (table["n"] + 64), rtol=0.06)

    def test_the_corrected_value_does_not_move(self) -> None:
        rows = np.random.default_rng(1).standard_normal((800, 40)) * 0.9 ** np.arange(40)
        table = value_against_n(
            rows, lambda x: participation_ratio(x, correction="finite-sample"), [50, 200, 800], repeats=20
        )
        assert np.ptp(table["mean"]) < 0.08 * table["mean"].iloc[-1]

    def test_sizes_out_of_range(self) -> None:
        with pytest.raises(InputError, match="sizes must lie between 2 and"):
            value_against_n(np.eye(5), sizes=[6])


FEW = {"participation_ratio": participation_ratio}


class TestCompare:
    rows = np.random.default_rng(0).standard_normal((60, 8))
    ids = tuple(f"image{i}" for i in range(60))

    def test_one_row_an_encoder(self) -> None:
        table = compare_geometry({"a": self.rows, "b": self.rows[:, :4]}, self.ids)
        assert table[["encoder", "n", "dim"]].values.tolist() == [["a", 60, 8], ["b", 60, 4]]
        assert table.loc[1, "participation_ratio"] == participation_ratio(self.rows[:, :4])

    def test_order_of_images_is_free(self) -> None:
        ids = {"a": self.ids, "b": self.ids[::-1]}
        assert len(compare_geometry({"a": self.rows, "b": self.rows}, ids, metrics=FEW)) == 2

    def test_unequal_number_refused_unless_asked(self) -> None:
        sets, ids = {"a": self.rows, "b": self.rows[:50]}, {"a": self.ids, "b": self.ids[:50]}
        with pytest.raises(InputError, match="a has 60 images, b has 50"):
            compare_geometry(sets, ids, metrics=FEW)
        assert len(compare_geometry(sets, ids, metrics=FEW, allow_different_images=True)) == 2

    def test_other_images_refused(self) -> None:
        ids = {"a": self.ids, "b": [*self.ids[1:], "another"]}
        with pytest.raises(InputError, match="a and b saw different images"):
            compare_geometry({"a": self.rows, "b": self.rows}, ids, metrics=FEW)

    def test_ids_missing(self) -> None:
        with pytest.raises(InputError, match="b has 60 rows and no image ids"):
            compare_geometry({"a": self.rows, "b": self.rows}, {"a": self.ids})
        with pytest.raises(InputError, match="a has 60 rows and 59 image ids"):
            compare_geometry({"a": self.rows}, self.ids[1:])


class TestErrors:
    METRICS = (participation_ratio, isotropy, effective_rank)

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_zero_variance(self, metric: object, dtype: type) -> None:
        for value in (0.0, 0.1, 1e6 / 3):
            with pytest.raises(InputError, match="zero variance"):
                metric(np.full((77, 9), value, dtype=dtype))  # type: ignore[operator]

    @pytest.mark.parametrize("metric", [*METRICS, uniformity])
    def test_one_row_or_nan(self, metric: object) -> None:
        with pytest.raises(InputError, match="two rows or more"):
            metric(np.ones((1, 3)))  # type: ignore[operator]
        rows = np.random.default_rng(0).standard_normal((9, 3))
        rows[4, 1] = np.nan
        with pytest.raises(InputError, match="rows 4 hold NaN"):
            metric(rows)  # type: ignore[operator]

    def test_zero_row_has_no_direction(self) -> None:
        with pytest.raises(InputError, match="none of them zero"):
            uniformity(np.array([[0.0, 0], [1, 0]]))

    def test_unknown_choices(self) -> None:
        with pytest.raises(InputError, match="none or finite-sample"):
            participation_ratio(np.eye(4), correction="naive")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="variances or singular_values"):
            effective_rank(np.eye(4), of="both")  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [300, 9000])  # one block, two blocks
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_narrow_floats_far_from_the_origin_lose_no_more_than_their_own_rounding(n, dtype):
    rng = np.random.default_rng(n)
    rows = (rng.standard_normal((n, 24)) * np.linspace(0.2, 2, 24) + 900).astype(dtype)
    wide = rows.astype(np.float64)
    for metric in (
        participation_ratio,
        isotropy,
        lambda x: participation_ratio(x, correction="finite-sample"),
    ):
        assert metric(rows) == pytest.approx(metric(wide), rel=1e-6)
