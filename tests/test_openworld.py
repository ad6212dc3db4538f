"""Seen–unseen curves by hand, by brute force, by the authors' evaluator; factorised scores by definition."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from bindery.errors import InputError
from bindery.openworld import (
    Candidates,
    ImageScores,
    binned_curve,
    bootstrap_curve,
    image_scores,
    seen_unseen_curve,
)
from bindery.scores import FactorScorer, TableScorer, score_images

REFERENCE = Path(__file__).parent / "reference" / "gde_parity.json"
SHARED = Path(__file__).parents[2] / "shared" / "reference" / "gde_parity.json"


def brute_force(table: np.ndarray, candidates: Candidates, pairs: list[tuple[str, str]]) -> dict[str, float]:
    """The curve by re-ranking the whole table at a bias inside every interval between possible switches."""
    true = candidates.index(pairs)
    is_seen = candidates.seen[true]
    table = np.where(candidates.allowed, table, -1e10)
    seen_max = table[:, candidates.seen].max(axis=1)
    unseen_max = table[:, ~candidates.seen].max(axis=1)
    switches = np.unique(seen_max - unseen_max)
    biases = np.r_[switches[0] - 1, (switches[:-1] + switches[1:]) / 2, switches[-1] + 1]
    points = []
    for bias in biases:
        right = (table + np.where(candidates.seen, 0, bias)).argmax(axis=1) == true
        points.append((right[is_seen].mean(), right[~is_seen].mean()))
    seen, unseen = np.array(points).T
    means = [2 * s * u / (s + u) if s + u else 0.0 for s, u in points]
    area = sum((seen[i] + seen[i + 1]) / 2 * (unseen[i + 1] - unseen[i]) for i in range(len(seen) - 1))
    return {
        "auc": area,
        "best_harmonic_mean": max(means),
        "best_seen": seen.max(),
        "best_unseen": unseen.max(),
        "pair_accuracy": (table.argmax(axis=1) == true).mean(),
    }


def random_case(
    seed: int, n: int = 60, *, ties: bool = False
) -> tuple[np.ndarray, Candidates, list[tuple[str, str]]]:
    rng = np.random.default_rng(seed)
    attributes, objects = ["a", "b", "c"], ["p", "q", "r", "s"]
    grid = [(a, o) for a in attributes for o in objects]
    chosen = rng.permutation(len(grid))
    candidates = Candidates.open_world(attributes, objects, [grid[i] for i in chosen[:5]])
    pairs = [grid[i] for i in rng.integers(len(grid), size=n - 2)] + [grid[chosen[0]], grid[chosen[-1]]]
    table = rng.standard_normal((n, len(grid)))
    table[np.arange(n), candidates.index(pairs)] += 0.8
    return np.round(table * 4) / 4 if ties else table, candidates, pairs  # quarters: differences are exact


class TestByHand:
    """Four pairs, six images; every number below was worked out on paper."""

    candidates = Candidates.open_world(["new", "old"], ["boat", "clock"], [("new", "boat"), ("old", "clock")])
    # order of candidates: new boat (seen), new clock, old boat, old clock (seen)
    table = np.array(
        [
            [0.9, 0.1, 0.2, 0.3],  # new boat: right until the bias passes 0.9 - 0.2 = 0.7
            [0.5, 0.4, 0.1, 0.2],  # new boat: right until 0.1
            [0.6, 0.3, 0.2, 0.1],  # old clock: never right (new boat wins); switches at 0.3
            [0.6, 0.2, 0.4, 0.1],  # old boat: right from 0.2
            [0.3, 0.7, 0.2, 0.1],  # new clock: right from -0.4
            [
                0.8,
                0.3,
                0.2,
                0.1,
            ],  # old boat: never right (new clock is its best unseen pair); switches at 0.5
        ]
    )
    pairs = (
        ("new", "boat"),
        ("new", "boat"),
        ("old", "clock"),
        ("old", "boat"),
        ("new", "clock"),
        ("old", "boat"),
    )

    def test_points(self) -> None:
        curve = seen_unseen_curve(image_scores(self.table, self.candidates, self.pairs))
        # switches in order: -0.4 (image 4 won), 0.1 (1 lost), 0.2 (3 won), 0.3, 0.5, 0.7 (0 lost)
        assert_allclose(curve.unseen * 3, [0, 1, 1, 2, 2, 2, 2])
        assert_allclose(curve.seen * 3, [2, 2, 1, 1, 1, 1, 0])
        assert_allclose(curve.bias, [-np.inf, -0.15, 0.15, 0.25, 0.4, 0.6, np.inf])

    def test_summaries(self) -> None:
        curve = seen_unseen_curve(image_scores(self.table, self.candidates, self.pairs))
        assert curve.auc == pytest.approx(1 / 3 * 2 / 3 + 1 / 3 * 1 / 3)
        assert curve.best_harmonic_mean == pytest.approx(4 / 9)  # (2/3, 1/3) and (1/3, 2/3) alike
        assert curve.best_bias == pytest.approx(-0.15)  # the smaller of the two
        assert curve.best_seen == pytest.approx(2 / 3)
        assert curve.best_unseen == pytest.approx(2 / 3)
        # bias 0 predicts: new boat, new boat, new boat, new boat, new clock, new boat
        assert curve.pair_accuracy == pytest.approx(3 / 6)
        assert curve.attribute_accuracy == pytest.approx(3 / 6)
        assert curve.object_accuracy == pytest.approx(5 / 6)
        assert (curve.n_seen, curve.n_unseen) == (3, 3)

    def test_binned(self) -> None:
        curve = binned_curve(image_scores(self.table, self.candidates, self.pairs))
        assert_allclose(curve.bias, [-0.4001, 0.1999, 1000])
        assert_allclose(curve.seen * 3, [2, 1, 0])
        assert_allclose(curve.unseen * 3, [0, 1, 2])

    def test_one_row(self) -> None:
        frame = seen_unseen_curve(image_scores(self.table, self.candidates, self.pairs)).to_frame()
        assert len(frame) == 1
        assert frame.loc[0, "auc"] == pytest.approx(1 / 3)
        assert frame.loc[0, "kind"] == "exact"


class TestExactCurve:
    @settings(max_examples=60, deadline=None)
    @given(seed=st.integers(0, 10_000), n=st.integers(4, 80), ties=st.booleans())
    def test_equals_brute_force_also_with_ties(self, seed: int, n: int, ties: bool) -> None:
        table, candidates, pairs = random_case(seed, n, ties=ties)
        curve = seen_unseen_curve(image_scores(table, candidates, pairs))
        for name, value in brute_force(table, candidates, pairs).items():
            assert getattr(curve, name) == pytest.approx(value, abs=1e-12), name

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 10_000), ties=st.booleans())
    def test_order_of_images_does_not_matter(self, seed: int, ties: bool) -> None:
        table, candidates, pairs = random_case(seed, ties=ties)
        order = np.random.default_rng(seed).permutation(len(table))
        here = seen_unseen_curve(image_scores(table, candidates, pairs))
        there = seen_unseen_curve(image_scores(table[order], candidates, [pairs[i] for i in order]))
        assert_allclose(here.seen, there.seen, atol=1e-12)
        assert_allclose(here.unseen, there.unseen, atol=1e-12)

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 10_000), shift=st.integers(-64, 64))
    def test_a_constant_added_to_all_scores_does_not_matter(self, seed: int, shift: int) -> None:
        table, candidates, pairs = random_case(seed)
        table = np.round(table * 1024) / 1024  # exact in binary, so that adding loses nothing
        here = seen_unseen_curve(image_scores(table, candidates, pairs))
        there = seen_unseen_curve(image_scores(table + shift, candidates, pairs))
        assert here.to_frame().equals(there.to_frame())

    def test_a_bias_between_the_points_gives_the_point(self) -> None:
        table, candidates, pairs = random_case(3)
        scores = image_scores(table, candidates, pairs)
        curve = seen_unseen_curve(scores)
        for bias, seen, unseen in list(zip(curve.bias, curve.seen, curve.unseen, strict=True))[1:-1:5]:
            right = scores.predict(bias) == scores.true
            assert right[scores.is_seen].mean() == pytest.approx(seen)
            assert right[~scores.is_seen].mean() == pytest.approx(unseen)

    def test_perfect_scores_fill_the_square(self) -> None:
        _, candidates, pairs = random_case(0)
        curve = seen_unseen_curve(image_scores(np.eye(12)[candidates.index(pairs)], candidates, pairs))
        assert (curve.auc, curve.best_harmonic_mean, curve.pair_accuracy) == (1, 1, 1)

    def test_equal_scores_go_to_the_first_candidate(self) -> None:
        candidates = Candidates.open_world(["a", "b"], ["p"], [("b", "p")])
        scores = image_scores(np.zeros((2, 2)), candidates, [("a", "p"), ("b", "p")])
        assert_array_equal(scores.predict(0.0), [0, 0])


class TestBinned:
    def test_never_above_the_exact_area_when_every_bias_is_kept(self) -> None:
        # With fewer than 40 right images no bias is skipped, and each kept point lies just before a rise.
        for seed in range(40):
            table, candidates, pairs = random_case(seed, 50)
            scores = image_scores(table, candidates, pairs)
            assert binned_curve(scores).auc <= seen_unseen_curve(scores).auc + 1e-12

    @pytest.mark.parametrize("count, kept", [(5, 5), (39, 39), (40, 20), (59, 30), (60, 20)])
    def test_number_of_biases(self, count: int, kept: int) -> None:
        candidates = Candidates.open_world(["a", "b"], ["p"], [("b", "p")])
        table = np.c_[np.linspace(0, 1, count + 1), np.zeros(count + 1)]
        pairs = [("a", "p")] * count + [("b", "p")]
        assert len(binned_curve(image_scores(table, candidates, pairs)).bias) == kept + 1

    def test_no_unseen_image_ever_right(self) -> None:
        candidates = Candidates.open_world(["a", "b", "c"], ["p"], [("b", "p")])
        scores = image_scores(np.array([[0, 0, 1.0], [0, 1.0, 0]]), candidates, [("a", "p"), ("b", "p")])
        curve = binned_curve(scores)
        assert curve.auc == 0
        assert_array_equal(curve.bias, [1000])


@pytest.mark.skipif(
    not (REFERENCE.exists() or SHARED.exists()),
    reason="gde_parity.json is neither in tests/reference nor shared",
)
def test_parity_with_the_authors_evaluator() -> None:
    stored = json.loads((REFERENCE if REFERENCE.exists() else SHARED).read_text())[
        "E_evaluator_random_scores"
    ]
    train, val, test, labels = (
        [tuple(pair) for pair in stored[key]] for key in ("train_pairs", "val_pairs", "test_pairs", "labels")
    )
    closed = stored["closed"]
    candidates = Candidates.closed_world(train, test, val)
    assert candidates.pairs == [tuple(pair) for pair in closed["candidate_pairs"]]
    scores = image_scores(closed["scores"], candidates, labels)
    assert [candidates.pairs[i] for i in scores.predict()] == [tuple(p) for p in closed["unbiased_pair_pred"]]
    curve = binned_curve(scores)
    bias, seen, unseen, mean = np.array(closed["curve_bias_seen_unseen_hm"]).T
    assert_array_equal(curve.bias, bias)
    assert_array_equal(curve.seen, seen)
    assert_array_equal(curve.unseen, unseen)
    assert_array_equal(curve.harmonic_mean, mean)
    metrics = closed["metrics"]
    assert curve.auc == metrics["auc"]
    assert curve.best_harmonic_mean == metrics["best_harmonic_mean"]
    assert (curve.best_seen, curve.best_unseen) == (metrics["best_seen_acc"], metrics["best_unseen_acc"])
    assert (curve.attribute_accuracy, curve.object_accuracy) == (metrics["attr_acc"], metrics["obj_acc"])
    assert curve.pair_accuracy == metrics["unbiased_pair_acc"]


class TestBootstrap:
    def test_covers_the_value_and_narrows_with_n(self) -> None:
        widths = []
        for n in (80, 1280):
            scores = image_scores(*random_case(1, n))
            table = bootstrap_curve(scores, draws=200).table.set_index("metric")
            assert (table["ci_low"] <= table["ci_high"]).all()
            assert table.loc["auc", "ci_low"] < table.loc["auc", "value"] < table.loc["auc", "ci_high"]
            widths.append(table.loc["auc", "ci_high"] - table.loc["auc", "ci_low"])
        assert 2 < widths[0] / widths[1] < 8  # sixteen times the images: a quarter of the width

    def test_pair_accuracy_interval_matches_the_binomial_error(self) -> None:
        scores = image_scores(*random_case(2, 1500))
        samples = bootstrap_curve(scores, draws=400, seed=1).samples["pair_accuracy"]
        rate = samples.mean()
        assert samples.std() == pytest.approx(np.sqrt(rate * (1 - rate) / 1500), rel=0.2)

    def test_same_seed_same_band_and_band_falls(self) -> None:
        scores = image_scores(*random_case(4, 200))
        first, second = (bootstrap_curve(scores, draws=50, seed=7) for _ in range(2))
        assert_array_equal(first.low, second.low)
        assert (np.diff(first.high) <= 1e-12).all()
        assert (first.low <= first.high).all()


def planted_model(kind: str, *, normalize: bool = False, seed: int = 0) -> SimpleNamespace:
    """Directions of 5 attributes (stored unsorted) and 7 objects in 16 dimensions, and an intercept."""
    rng = np.random.default_rng(seed)
    base = rng.standard_normal(16)
    base /= np.linalg.norm(base)

    def tangent(n: int, size: float) -> np.ndarray:
        rows = rng.standard_normal((n, 16)) * size / 4
        return rows - np.outer(rows @ base, base)

    return SimpleNamespace(
        kind=kind,
        normalize=normalize,
        context_=base,
        intercept_=tangent(1, 0.2)[0],
        classes_={"attribute": [f"a{i}" for i in (3, 1, 0, 4, 2)], "object": [f"o{i}" for i in range(7)]},
        directions_={"attribute": tangent(5, 0.6), "object": tangent(7, 0.9)},
    )


def composites(model: SimpleNamespace, candidates: Candidates) -> np.ndarray:
    """Every candidate's embedding, by the definition."""
    rows = []
    for a, o in candidates.pairs:
        v = model.intercept_ + model.directions_["attribute"][model.classes_["attribute"].index(a)]
        v = v + model.directions_["object"][model.classes_["object"].index(o)]
        if model.kind == "geodesic":
            length = np.linalg.norm(v)
            rows.append(np.cos(length) * model.context_ + np.sin(length) / length * v)
        else:
            rows.append(model.context_ + v)
            if model.normalize:
                rows[-1] = rows[-1] / np.linalg.norm(rows[-1])
    return np.array(rows)


WORLDS = {
    "open": Candidates.open_world(
        [f"a{i}" for i in range(5)],
        [f"o{i}" for i in range(7)],
        [(f"a{i % 5}", f"o{i % 7}") for i in range(12)],
    ),
    "closed": Candidates.closed_world(
        [(f"a{i % 5}", f"o{i % 7}") for i in range(12)],
        [("a4", "o0"), ("a0", "o6"), ("a2", "o5")],
        [("a3", "o0")],
    ),
}


def unit_images(n: int, seed: int = 1) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, 16)) + planted_model("linear").context_ * 3
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def labels_in(candidates: Candidates, n: int) -> list[tuple[str, str]]:
    allowed = np.flatnonzero(candidates.allowed)
    return [candidates.pairs[i] for i in np.random.default_rng(2).choice(allowed, n)]


def assert_same(here: ImageScores, there: ImageScores) -> None:
    for name in ("true", "seen_best", "unseen_best"):
        assert_array_equal(getattr(here, name), getattr(there, name))
    for name in ("true_score", "seen_score", "unseen_score"):
        assert_allclose(getattr(here, name), getattr(there, name), atol=1e-13)


class TestFactorScores:
    @pytest.mark.parametrize("world", WORLDS)
    @pytest.mark.parametrize("kind, normalize", [("geodesic", False), ("linear", False), ("linear", True)])
    def test_equal_the_plain_float64_table(self, kind: str, normalize: bool, world: str) -> None:
        model, candidates = planted_model(kind, normalize=normalize), WORLDS[world]
        images, pairs = unit_images(1500), labels_in(candidates, 1500)  # more than one chunk
        table = composites(model, candidates)
        plain = image_scores(images @ table.T, candidates, pairs)
        assert_same(score_images(images, FactorScorer(model, candidates), pairs), plain)
        assert_same(score_images(images, TableScorer(table, candidates), pairs), plain)

    def test_near_ties_are_settled_in_float64(self) -> None:
        model = planted_model("geodesic")
        objects = model.directions_["object"]
        objects[1] = objects[0] + 1e-10 * objects[2]  # far below float32's resolution
        candidates = WORLDS["open"]
        images, pairs = unit_images(400), labels_in(candidates, 400)
        plain = image_scores(images @ composites(model, candidates).T, candidates, pairs)
        assert_same(score_images(images, FactorScorer(model, candidates), pairs), plain)

    def test_float32_images_are_used_as_they_are(self) -> None:
        model, candidates = planted_model("geodesic"), WORLDS["open"]
        images, pairs = unit_images(300).astype(np.float32), labels_in(candidates, 300)
        plain = image_scores(images.astype(np.float64) @ composites(model, candidates).T, candidates, pairs)
        assert_same(score_images(images, FactorScorer(model, candidates), pairs), plain)

    def test_zero_directions_are_legal(self) -> None:
        model = planted_model("geodesic")
        for factor in model.directions_.values():
            factor[:] = 0
        model.intercept_[:] = 0
        scores = score_images(
            unit_images(5), FactorScorer(model, WORLDS["open"]), labels_in(WORLDS["open"], 5)
        )
        assert_allclose(scores.seen_score, unit_images(5) @ model.context_)


class TestErrors:
    def test_pair_outside_the_candidates(self) -> None:
        with pytest.raises(InputError, match=r"image 1 has the pair \('a3', 'o0'\)"):
            WORLDS["closed"].index([("a0", "o0"), ("a3", "o0")])

    def test_unknown_attribute(self) -> None:
        candidates = Candidates.open_world(["a0", "zebra"], ["o0"], [("a0", "o0")])
        with pytest.raises(InputError, match="attribute 'zebra' was not in the training data"):
            FactorScorer(planted_model("geodesic"), candidates)

    def test_no_unseen_candidate(self) -> None:
        with pytest.raises(InputError, match="no unseen pair"):
            Candidates.open_world(["a"], ["p"], [("a", "p")])

    def test_only_seen_labels(self) -> None:
        scores = image_scores(np.zeros((1, 35)), WORLDS["open"], [("a0", "o0")])
        for curve in (seen_unseen_curve, binned_curve):
            with pytest.raises(InputError, match="no image has unseen pairs"):
                curve(scores)

    def test_images_not_unit_or_not_finite(self) -> None:
        scorer = FactorScorer(planted_model("geodesic"), WORLDS["open"])
        images = unit_images(4)
        with pytest.raises(InputError, match=r"row 2 of 4 has norm 3"):
            score_images(images * [[1], [1], [3], [1]], scorer, labels_in(WORLDS["open"], 4))
        images[1, 3] = np.nan
        with pytest.raises(InputError, match="1 hold NaN"):
            score_images(images, scorer, labels_in(WORLDS["open"], 4))

    def test_lengths(self) -> None:
        with pytest.raises(InputError, match="images has 3, pairs has 2"):
            score_images(unit_images(3), TableScorer(np.ones((35, 16)), WORLDS["open"]), [("a0", "o0")] * 2)
        with pytest.raises(InputError, match="34 rows for 35 candidates"):
            TableScorer(np.ones((34, 16)), WORLDS["open"])
        with pytest.raises(InputError, match="scores must be"):
            image_scores(np.zeros((2, 3)), WORLDS["open"], [("a0", "o0")])

    def test_zero_composite_cannot_be_normalised(self) -> None:
        model = planted_model("linear", normalize=True)
        model.directions_["attribute"][:] = 0
        model.directions_["object"][:] = 0
        model.intercept_ = -model.context_
        with pytest.raises(InputError, match="is zero and has no direction"):
            FactorScorer(model, WORLDS["open"])
