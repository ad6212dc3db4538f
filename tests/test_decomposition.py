"""Decomposable embeddings: what the propositions promise, then what must fail clearly."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bindery.decomposition import (
    GeodesicDecomposition,
    LinearDecomposition,
    additive_r2,
    noise_weights,
    pair_cosines,
)
from bindery.errors import InputError
from bindery.sphere import exp, frechet_mean, log, unit

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25, deadline=None, derandomize=True)
KINDS = [GeodesicDecomposition, LinearDecomposition]


def grid(*sizes: int) -> dict[str, list[str]]:
    """Labels of a complete grid, one row a cell; factors f0, f1, ..."""
    cells = list(itertools.product(*(range(size) for size in sizes)))
    return {f"f{i}": [f"{i}{cell[i]:02d}" for cell in cells] for i in range(len(sizes))}


def cloud(seed: int, n: int, dim: int = 12, spread: float = 0.8) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return unit(unit(rng.normal(size=dim)) + spread * rng.normal(size=(n, dim)) / np.sqrt(dim))


def decomposable(seed: int, labels: dict[str, list[str]], dim: int = 12) -> tuple[np.ndarray, dict[str, Any]]:
    """Rows Exp(v_z1 + ... + v_zs) with centred directions, and what they were made of."""
    rng = np.random.default_rng(seed)
    base = unit(rng.normal(size=dim))
    directions = {}
    for factor, values in labels.items():
        names = sorted(set(values))
        rows = 0.3 * rng.normal(size=(len(names), dim)) / np.sqrt(len(labels))
        rows -= rows.mean(axis=0)
        directions[factor] = dict(zip(names, rows - (rows @ base)[:, None] * base, strict=True))
    tangents = sum(np.array([directions[f][value] for value in labels[f]]) for f in labels)
    return exp(tangents, base), {"base": base, "directions": directions, "tangents": tangents}


def sparse_labels(seed: int, n_attributes: int = 5, n_objects: int = 6, share: float = 0.6) -> dict:
    """A connected incomplete grid: a path through all values, and some cells more."""
    rng = np.random.default_rng(seed)
    path = [(i % n_attributes, i % n_objects) for i in range(n_attributes * n_objects // 2)]
    path += [(a, (a + 1) % n_objects) for a in range(n_attributes)]
    free = [cell for cell in itertools.product(range(n_attributes), range(n_objects)) if cell not in path]
    extra = [cell for cell in free if rng.random() < share - 0.4]
    cells = sorted(set(path + extra))
    return {"attribute": [f"a{a}" for a, _ in cells], "object": [f"o{o}" for _, o in cells]}


class TestFullGrid:
    @few
    @given(seeds)
    def test_proposition_1_means_of_log_that_sum_to_zero(self, seed: int) -> None:
        labels = grid(3, 4)
        points = cloud(seed, 12)
        model = GeodesicDecomposition().fit(points, labels)
        base = frechet_mean(points).point
        tangents = log(points, base).reshape(3, 4, -1)
        np.testing.assert_allclose(model.directions_["f0"], tangents.mean(axis=1), atol=1e-9)
        np.testing.assert_allclose(model.directions_["f1"], tangents.mean(axis=0), atol=1e-9)
        for directions in model.directions_.values():
            np.testing.assert_allclose(directions.sum(axis=0), 0, atol=1e-8)
        np.testing.assert_array_equal(model.intercept_, 0)

    @few
    @given(seeds, st.sampled_from(KINDS), st.sampled_from([(5,), (3, 4), (2, 3, 4)]))
    def test_least_squares_agrees_with_means(self, seed: int, kind: type, sizes: tuple[int, ...]) -> None:
        labels = grid(*sizes)
        points = cloud(seed, len(labels["f0"]))
        means, squares = (kind(fit=fit).fit(points, labels) for fit in ("means", "least_squares"))
        for factor in labels:
            np.testing.assert_allclose(means.directions_[factor], squares.directions_[factor], atol=1e-8)
        np.testing.assert_allclose(squares.intercept_, 0, atol=1e-8)
        np.testing.assert_allclose(means.compose(labels), squares.compose(labels), atol=1e-8)

    @few
    @given(seeds, st.sampled_from(["means", "least_squares"]), st.sampled_from([(4,), (3, 4), (2, 3, 3)]))
    def test_lemma_1_directions_of_a_decomposable_set_are_found(
        self, seed: int, fit: str, sizes: tuple
    ) -> None:
        labels = grid(*sizes)
        points, truth = decomposable(seed, labels)
        model = GeodesicDecomposition(fit=fit).fit(points, labels)
        np.testing.assert_allclose(model.context_, truth["base"], atol=1e-9)
        for factor, names in model.classes_.items():
            expected = np.array([truth["directions"][factor][name] for name in names])
            np.testing.assert_allclose(model.directions_[factor], expected, atol=1e-8)
        np.testing.assert_allclose(model.compose(labels), points, atol=1e-8)

    @few
    @given(seeds)
    def test_no_other_directions_are_nearer_in_the_tangent_space(self, seed: int) -> None:
        labels = grid(3, 3)
        model = GeodesicDecomposition().fit(cloud(seed, 9), labels)
        target = model.combination_tangents_
        residual = model.tangents(labels) - target
        rng = np.random.default_rng(seed)
        for factor in labels:
            nudge = rng.normal(size=model.directions_[factor].shape)
            rows = np.searchsorted(model.classes_[factor], labels[factor])
            # at an optimum the residual is orthogonal to every change of the directions
            assert abs(np.sum(residual * nudge[rows])) < 1e-7
        assert np.sum(residual**2) <= np.sum(target**2)

    def test_the_linear_one_is_plain_averaging(self) -> None:
        labels, points = grid(3, 4), np.random.default_rng(0).normal(size=(12, 5))
        model = LinearDecomposition().fit(points, labels)
        cube = points.reshape(3, 4, 5)
        np.testing.assert_allclose(model.context_, points.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(
            model.compose(labels),
            (cube.mean(1)[:, None] + cube.mean(0) - points.mean(0)).reshape(12, 5),
            atol=1e-12,
        )

    def test_one_factor_gives_back_the_means(self) -> None:
        points = cloud(1, 6)
        labels = {"kind": list("aabbcc")}
        model = GeodesicDecomposition().fit(points, labels)
        expected = exp(log(points, model.context_).reshape(3, 2, -1).mean(axis=1), model.context_)
        np.testing.assert_allclose(model.compose({"kind": list("abc")}), expected, atol=1e-12)


class TestNoise:
    @few
    @given(seeds)
    def test_proposition_2_equals_fitting_the_denoised_points(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        labels = {factor: values * 3 for factor, values in grid(3, 4).items()}
        points, weights = cloud(seed, 36), rng.random(36) + 0.01
        noisy = GeodesicDecomposition().fit(points, labels, weights=weights)
        # Lemma 2: Exp of the weighted tangent means has the same intrinsic mean
        denoised = exp(noisy.combination_tangents_, noisy.context_)
        np.testing.assert_allclose(frechet_mean(denoised).point, noisy.context_, atol=1e-8)
        again = GeodesicDecomposition().fit(denoised, grid(3, 4))
        for factor in again.directions_:
            np.testing.assert_allclose(again.directions_[factor], noisy.directions_[factor], atol=1e-8)

    @few
    @given(seeds, st.sampled_from(KINDS), st.sampled_from(["means", "least_squares"]))
    def test_order_of_rows_and_scale_within_a_pair_do_not_matter(
        self, seed: int, kind: type, fit: str
    ) -> None:
        rng = np.random.default_rng(seed)
        sparse = sparse_labels(seed)
        labels = {factor: values * 2 for factor, values in sparse.items()}
        points, weights = cloud(seed, len(labels["object"])), rng.random(len(labels["object"])) + 0.1
        first = kind(fit=fit).fit(points, labels, weights=weights)
        order = rng.permutation(len(points))
        scale = {pair: rng.random() + 0.5 for pair in zip(*labels.values(), strict=True)}
        scaled = weights * [scale[pair] for pair in zip(*labels.values(), strict=True)]
        second = kind(fit=fit).fit(
            points[order], {f: [v[i] for i in order] for f, v in labels.items()}, weights=scaled[order]
        )
        np.testing.assert_allclose(second.compose(sparse), first.compose(sparse), atol=1e-8)

    def test_pair_weighting_ignores_counts_and_image_weighting_does_not(self) -> None:
        points = np.vstack([cloud(0, 12), cloud(0, 12)[:1], cloud(0, 12)[:1]])
        labels = {factor: [*values, values[0], values[0]] for factor, values in grid(3, 4).items()}
        once = GeodesicDecomposition().fit(cloud(0, 12), grid(3, 4))
        pair = GeodesicDecomposition().fit(points, labels)
        image = GeodesicDecomposition(weighting="image").fit(points, labels)
        np.testing.assert_allclose(pair.context_, once.context_, atol=1e-9)
        np.testing.assert_allclose(image.context_, frechet_mean(points).point, atol=1e-9)
        assert np.linalg.norm(image.context_ - once.context_) > 1e-3
        np.testing.assert_allclose(image.combination_mass_, [3 / 14] + [1 / 14] * 11)

    def test_weights_of_each_kind_sum_to_one_within_a_pair(self) -> None:
        rng = np.random.default_rng(0)
        pairs = [("a", "x"), ("b", "x"), ("a", "x"), ("a", "y"), ("b", "x"), ("a", "x")]
        values = rng.uniform(0, 0.4, 6)
        for kind, options in {
            "uniform": {},
            "given": {"values": values},
            "softmax": {"values": values, "temperature": 0.01},
            "sigmoid": {"values": values, "temperature": 0.02},
        }.items():
            weights = noise_weights(pairs, kind, **options)
            for pair in set(pairs):
                assert weights[[p == pair for p in pairs]].sum() == pytest.approx(1)
        sharp = noise_weights(pairs, "softmax", values=values, temperature=1e-6)
        assert sharp[[0, 2, 5]].max() == 1.0
        flat = noise_weights(pairs, "softmax", values=values, temperature=1e9)
        np.testing.assert_allclose(flat, noise_weights(pairs))
        cold = noise_weights(
            pairs, "sigmoid", values=values - 10, temperature=0.001
        )  # all sigmoids underflow
        assert np.isfinite(cold).all() and cold[[0, 2, 5]].sum() == pytest.approx(1)

    def test_softmax_is_the_formula(self) -> None:
        weights = noise_weights(["z", "z"], "softmax", values=[0.3, 0.1], temperature=0.1)
        assert weights[0] / weights[1] == pytest.approx(np.exp(2))

    def test_pair_cosines(self) -> None:
        np.testing.assert_allclose(pair_cosines(np.eye(3)[[0, 1]], np.eye(3), [0, 2]), [1, 0])


class TestSparseGrid:
    @few
    @given(seeds)
    def test_equation_11_means_over_available_pairs(self, seed: int) -> None:
        labels = sparse_labels(seed)
        points = cloud(seed, len(labels["object"]))
        model = GeodesicDecomposition().fit(points, labels["attribute"], labels["object"])
        tangents = log(points, frechet_mean(points).point)
        for i, name in enumerate(model.classes_["attribute"]):
            holds = np.array(labels["attribute"]) == name
            np.testing.assert_allclose(
                model.attribute_directions_[i], tangents[holds].mean(axis=0), atol=1e-8
            )

    @few
    @given(seeds, st.sampled_from(KINDS))
    def test_least_squares_completes_an_additive_grid_that_means_confound(
        self, seed: int, kind: type
    ) -> None:
        rng = np.random.default_rng(seed)
        labels = sparse_labels(seed)
        a, o = rng.normal(size=(5, 8)), rng.normal(size=(6, 8))
        points = np.array([a[int(x[1:])] + o[int(y[1:])] for x, y in zip(*labels.values(), strict=True)])
        if kind is GeodesicDecomposition:
            # additive in R^D is not additive in a tangent space: only the linear model is exact here
            points = unit(points * 0.2 + 3 * unit(rng.normal(size=8)))
        squares, means = (kind(fit=fit).fit(points, labels) for fit in ("least_squares", "means"))
        np.testing.assert_allclose(squares.directions_["attribute"].sum(axis=0), 0, atol=1e-10)
        everything = [
            list(x)
            for x in zip(
                *itertools.product([f"a{i}" for i in range(5)], [f"o{i}" for i in range(6)]), strict=True
            )
        ]
        truth = np.array([a[int(x[1:])] + o[int(y[1:])] for x, y in zip(*everything, strict=True)])
        if kind is LinearDecomposition:
            np.testing.assert_allclose(squares.compose(*everything), truth, atol=1e-9)
            assert np.abs(means.compose(*everything) - truth).max() > 0.05
        residual = [np.sum((m.tangents(labels) - m.combination_tangents_) ** 2) for m in (squares, means)]
        assert residual[0] <= residual[1]

    @few
    @given(seeds)
    def test_intercept_makes_partial_composites_free_of_gauge(self, seed: int) -> None:
        """Shift the gauge by hand: what `compose` says about objects alone must follow from Lemma 1 alone."""
        labels = sparse_labels(seed)
        model = GeodesicDecomposition(fit="least_squares").fit(cloud(seed, len(labels["object"])), labels)
        a, o = model.attribute_directions_, model.object_directions_
        shift = np.random.default_rng(seed).normal(size=a.shape[1])
        other_a, other_o = (
            a + shift,
            o - shift + model.intercept_,
        )  # the same fit, another gauge, no intercept
        mean_a, mean_o = other_a.mean(axis=0), other_o.mean(axis=0)
        tangents = mean_a + mean_o + (other_o - mean_o)
        expected = exp(tangents - (tangents @ model.context_)[:, None] * model.context_, model.context_)
        np.testing.assert_allclose(model.compose_objects(list(model.classes_["object"])), expected, atol=1e-9)
        assert np.linalg.norm(model.intercept_) > 1e-6

    def test_least_squares_masses_count(self) -> None:
        labels = sparse_labels(0)
        repeated = {f: values + values[:3] for f, values in labels.items()}
        points = cloud(0, len(labels["object"]) + 3)
        pair = LinearDecomposition(fit="least_squares").fit(points, repeated)
        image = LinearDecomposition(fit="least_squares", weighting="image").fit(points, repeated)
        design = pd.get_dummies(pd.DataFrame(repeated)).to_numpy(float)
        direct = design @ np.linalg.lstsq(design, points, rcond=None)[0]  # every image one equation
        np.testing.assert_allclose(image.compose(repeated), direct, atol=1e-10)
        assert np.abs(pair.compose(repeated) - direct).max() > 1e-3


class TestComposing:
    @pytest.fixture
    def model(self) -> GeodesicDecomposition:
        labels = grid(3, 4)
        return GeodesicDecomposition().fit(cloud(0, 12), labels["f0"], labels["f1"])

    def test_terms(self, model: GeodesicDecomposition) -> None:
        a, o, base = model.attribute_directions_, model.object_directions_, model.context_
        at = lambda v: exp(v - (v @ base) * base, base)  # noqa: E731
        np.testing.assert_allclose(model.compose(["001"], ["102"])[0], at(a[1] + o[2]), atol=1e-12)
        scaled = model.compose(["001"], ["102"], scale={"attribute": 0.5})
        np.testing.assert_allclose(scaled[0], at(0.5 * a[1] + o[2]), atol=1e-12)
        np.testing.assert_allclose(model.compose_objects(["102"])[0], at(o[2]), atol=1e-12)
        np.testing.assert_allclose(model.compose_objects(["102"], ["103"])[0], at(o[2] + o[3]), atol=1e-12)
        np.testing.assert_allclose(model.compose({"attribute": ["000"]})[0], at(a[0]), atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(model.compose(["001"] * 2, ["100", "101"]), axis=1), 1)

    def test_raw_and_unit_linear(self) -> None:
        labels = grid(3, 4)
        raw = LinearDecomposition().fit(cloud(0, 12), labels).compose(labels)
        unit_rows = LinearDecomposition(normalize=True).fit(cloud(0, 12), labels).compose(labels)
        assert np.abs(np.linalg.norm(raw, axis=1) - 1).max() > 1e-3
        np.testing.assert_allclose(unit_rows, unit(raw), atol=1e-12)

    def test_scores_factor(self, model: GeodesicDecomposition) -> None:
        image, length = cloud(5, 1)[0], np.linalg.norm(model.tangents(["001"], ["102"])[0])
        expected = np.cos(length) * (image @ model.context_) + np.sin(length) / length * (
            image @ (model.intercept_ + model.attribute_directions_[1] + model.object_directions_[2])
        )
        assert image @ model.compose(["001"], ["102"])[0] == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("kind", KINDS)
    def test_float32_in_float32_out(self, kind: type) -> None:
        labels = grid(3, 4)
        narrow = kind().fit(cloud(0, 12).astype(np.float32), labels)
        assert narrow.compose(labels).dtype == np.float32
        np.testing.assert_allclose(
            narrow.compose(labels), kind().fit(cloud(0, 12), labels).compose(labels), atol=2e-6
        )

    @pytest.mark.parametrize("kind", KINDS)
    def test_many_rows_cross_blocks(self, kind: type) -> None:
        labels = {factor: values * 100 for factor, values in grid(3, 4).items()}
        points = cloud(3, 1200, dim=400)  # two blocks of 1 MiB
        model = kind().fit(points, labels)
        seen = points if kind is LinearDecomposition else log(points, model.context_)
        cell = seen[np.arange(1200) % 12 == 5].mean(axis=0)
        cell = cell - model.context_ if kind is LinearDecomposition else cell
        np.testing.assert_allclose(model.combination_tangents_[5], cell, atol=1e-10)

    def test_single_cell_has_zero_directions_and_is_legal(self) -> None:
        model = GeodesicDecomposition().fit(cloud(0, 4), ["a"] * 4, ["x"] * 4)
        np.testing.assert_allclose(model.compose(["a"], ["x"])[0], model.context_, atol=1e-9)

    def test_dataframe_labels(self) -> None:
        labels = grid(3, 4)
        frame = GeodesicDecomposition().fit(cloud(0, 12), pd.DataFrame(labels))
        np.testing.assert_array_equal(
            frame.compose(pd.DataFrame(labels)),
            GeodesicDecomposition().fit(cloud(0, 12), labels).compose(labels),
        )


class TestAdditiveR2:
    def test_is_one_for_an_additive_set_and_predicts_held_out_pairs(self) -> None:
        _, truth = decomposable(0, grid(4, 5))
        share = additive_r2(truth["tangents"], grid(4, 5))
        assert share.in_sample == pytest.approx(1)
        assert share.held_out == pytest.approx(1)
        assert share.n_combinations == share.n_held_out == 20

    def test_held_out_equals_refitting_without_the_pair(self) -> None:
        labels, points = grid(4, 5), np.random.default_rng(0).normal(size=(20, 6))
        miss = base = 0.0
        for out in range(20):
            kept = [i for i in range(20) if i != out]
            model = LinearDecomposition(fit="least_squares").fit(
                points[kept], {f: [v[i] for i in kept] for f, v in labels.items()}
            )
            predicted = model.compose({f: [v[out]] for f, v in labels.items()})[0]
            miss += np.sum((points[out] - predicted) ** 2)
            base += np.sum((points[out] - points[kept].mean(axis=0)) ** 2)
        assert additive_r2(points, labels).held_out == pytest.approx(1 - miss / base, abs=1e-10)

    def test_noise_explains_its_degrees_of_freedom_and_predicts_nothing(self) -> None:
        rng = np.random.default_rng(1)
        share = additive_r2(rng.normal(size=(30, 4000)), grid(5, 6))
        assert share.in_sample == pytest.approx(share.null, abs=0.02)
        assert share.null == pytest.approx(9 / 29)
        assert share.held_out < 0

    def test_sources_do_not_predict_themselves(self) -> None:
        # every drawing of an object has its own look; the objects themselves have none
        rng = np.random.default_rng(2)
        labels: dict[str, list[str]] = {"attribute": [], "object": []}
        rows, sources = [], []
        look = rng.normal(size=(6, 4, 50))
        for a, o, drawing in itertools.product(range(5), range(6), range(4)):
            labels["attribute"].append(f"a{a}")
            labels["object"].append(f"o{o}")
            sources.append(f"o{o}-{drawing}")
            rows.append(look[o, drawing])
        points = np.array(rows)
        assert additive_r2(points, labels).held_out > 0.99
        assert additive_r2(points, labels, sources).held_out < 0.2

    def test_pairs_that_only_they_link_are_not_predicted(self) -> None:
        labels = {"attribute": ["a", "a", "b", "b", "c"], "object": ["x", "y", "x", "y", "x"]}
        share = additive_r2(np.random.default_rng(0).normal(size=(5, 3)), labels)
        assert (share.n_combinations, share.n_held_out) == (5, 4)

    def test_needs_two_sources_in_a_pair(self) -> None:
        with pytest.raises(InputError, match="one source only"):
            additive_r2(np.eye(4), grid(2, 2), groups=list("pqrs"))

    def test_needs_variance(self) -> None:
        with pytest.raises(InputError, match="at least two"):
            additive_r2(np.eye(3), {"kind": ["a"] * 3})


class TestErrors:
    def test_parts_that_nothing_links(self) -> None:
        attributes, objects = ["red", "red", "old", "old"], ["cube", "ball", "dog", "cat"]
        with pytest.raises(InputError, match=r"2 parts .*\{attribute=old, .* and \{attribute=red, "):
            GeodesicDecomposition(fit="least_squares").fit(np.eye(4), attributes, objects)
        with pytest.warns(UserWarning, match="mix the offsets"):
            LinearDecomposition().fit(np.eye(4), attributes, objects)

    def test_linked_but_undetermined(self) -> None:
        labels = {"p": ["a", "b", "a"], "q": ["x", "y", "y"], "r": ["u", "w", "u"]}
        with pytest.raises(InputError, match="fix 3 of 4 unknowns"):
            LinearDecomposition(fit="least_squares").fit(np.eye(3), labels)

    def test_unseen_values_are_named_with_the_nearest(self) -> None:
        model = GeodesicDecomposition().fit(np.eye(4), ["red", "red", "blue", "blue"], ["cube", "ball"] * 2)
        with pytest.raises(
            InputError, match=r"object 'cubes' never occurred in training; did you mean 'cube'"
        ):
            model.compose(["red"], ["cubes"])
        with pytest.raises(InputError, match="known are ball, cube"):
            model.compose_objects(["zzz"])
        with pytest.raises(InputError, match="unknown factor 'colour'"):
            model.compose({"colour": ["red"]})
        with pytest.raises(InputError, match="single string"):
            model.compose("red", "cube")
        with pytest.raises(InputError, match="attribute has 2, object has 1"):
            model.compose(["red", "blue"], ["cube"])

    @pytest.mark.parametrize("kind", KINDS)
    def test_bad_rows_and_lengths(self, kind: type) -> None:
        points = cloud(0, 4)
        with pytest.raises(InputError, match="X has 4, labels has 3"):
            kind().fit(points, ["a"] * 3, ["x"] * 3)
        with pytest.raises(InputError, match="attribute has 4, object has 3"):
            kind().fit(points, ["a"] * 4, ["x"] * 3)
        points[2, 1] = np.nan
        with pytest.raises(InputError, match="rows 2 hold NaN"):
            kind().fit(points, ["a"] * 4, ["x"] * 4)

    def test_rows_must_be_unit_on_the_sphere(self) -> None:
        with pytest.raises(InputError, match="row 0, 1 of 2 have norm 2"):
            GeodesicDecomposition().fit(2 * np.eye(2), ["a", "b"], ["x", "x"])

    def test_labels_must_be_strings(self) -> None:
        with pytest.raises(InputError, match="labels of object must be strings; rows 1 are not"):
            LinearDecomposition().fit(np.eye(2), ["a", "b"], ["x", None])  # type: ignore[list-item]

    def test_objects_are_needed_beside_attributes(self) -> None:
        with pytest.raises(InputError, match="give objects too"):
            LinearDecomposition().fit(np.eye(2), ["a", "b"])
        with pytest.raises(InputError, match="not both"):
            LinearDecomposition().fit(np.eye(2), {"k": ["a", "b"]}, ["x", "y"])

    def test_weights(self) -> None:
        fit = LinearDecomposition().fit
        with pytest.raises(InputError, match=r"\('b', 'x'\) has images but no weight"):
            fit(np.eye(2), ["a", "b"], ["x", "x"], weights=[1, 0])
        with pytest.raises(InputError, match="rows 1 are not"):
            fit(np.eye(2), ["a", "b"], ["x", "x"], weights=[1, -2])
        with pytest.raises(InputError, match="temperature must be positive"):
            noise_weights(["a"], "softmax", values=[0.1], temperature=0)
        with pytest.raises(InputError, match="needs values"):
            noise_weights(["a"], "softmax", temperature=1)
        with pytest.raises(InputError, match="takes no values"):
            noise_weights(["a"], values=[1])
        with pytest.raises(InputError, match="rows 0 are not"):
            noise_weights(["a"], "given", values=[np.nan])
        with pytest.raises(InputError, match="weights of a are all zero"):
            noise_weights(["a"], "given", values=[0])
        with pytest.raises(InputError, match="rows 0 are"):
            noise_weights(["a"], "given", values=[-1])
        with pytest.raises(InputError, match="kind must be"):
            noise_weights(["a"], "sofmax", values=[1])  # type: ignore[arg-type]

    def test_choices(self) -> None:
        with pytest.raises(InputError, match="fit must be one of means, least_squares"):
            LinearDecomposition(fit="mean").fit(np.eye(2), ["a", "b"], ["x", "x"])  # type: ignore[arg-type]
        with pytest.raises(InputError, match="weighting must be one of"):
            LinearDecomposition(weighting="x").fit(np.eye(2), ["a", "b"], ["x", "x"])  # type: ignore[arg-type]
        with pytest.raises(NotFittedError):
            GeodesicDecomposition().compose(["a"], ["x"])
        three = GeodesicDecomposition().fit(cloud(0, 8), grid(2, 2, 2))
        with pytest.raises(InputError, match="two factors; this model has f0, f1, f2"):
            three.compose_objects(["100"])

    def test_a_zero_composite_has_no_direction(self) -> None:
        model = LinearDecomposition(normalize=True).fit(np.array([[1.0, 0], [-1, 0]]), {"k": ["a", "b"]})
        model.directions_["k"][0] = 0
        with pytest.raises(InputError, match="composite 0 is zero"):
            model.compose({"k": ["a"]})


@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learn_conventions(kind: type) -> None:
    model = kind(fit="least_squares", weighting="image")
    copy = clone(model)
    assert copy.get_params() == model.get_params() and copy.get_params()["fit"] == "least_squares"
    assert "least_squares" in repr(model)
    model.set_params(fit="means", weighting="pair")
    labels = grid(2, 3)
    assert model.fit(cloud(0, 6), labels) is model
    with pytest.raises(InputError, match="unknown parameter 'fitt'"):
        model.set_params(fitt="means")
