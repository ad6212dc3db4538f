"""Temperature search: which value wins, and the whole path from fit to validation curve on planted data."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bindery.decomposition import GeodesicDecomposition, LinearDecomposition, noise_weights
from bindery.errors import InputError
from bindery.openworld import Candidates, image_scores, seen_unseen_curve
from bindery.scores import FactorScorer, score_images
from bindery.temperature import (
    TEMPERATURES,
    curve_objective,
    predict_objects,
    search_temperature,
    weighted_fit,
    worst_group_objective,
)

ATTRIBUTES, OBJECTS = [f"a{i}" for i in range(4)], [f"o{i}" for i in range(5)]
GRID = [(a, o) for a in ATTRIBUTES for o in OBJECTS]
SEEN = [pair for i, pair in enumerate(GRID) if i % 5 != (i // 5) % 5]  # every value occurs, four pairs unseen


def images_of(pairs: list[tuple[str, str]], noise: float, seed: int) -> np.ndarray:
    """Unit rows: a common cone, one fixed direction a value, and noise."""
    planted = np.random.default_rng(0).standard_normal((10, 24))
    rows = 6 * planted[9] + [planted[int(a[1])] + planted[4 + int(o[1])] for a, o in pairs]
    rows = rows + noise * np.random.default_rng(seed).standard_normal((len(pairs), 24))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


TRAIN_PAIRS = [SEEN[i] for i in np.random.default_rng(1).integers(len(SEEN), size=400)] + SEEN
VAL_PAIRS = [GRID[i] for i in np.random.default_rng(2).integers(len(GRID), size=300)]
TRAIN, VAL = images_of(TRAIN_PAIRS, 2.5, 3), images_of(VAL_PAIRS, 2.0, 4)
COSINES = np.random.default_rng(5).normal(0.25, 0.03, len(TRAIN_PAIRS))


class TestChoice:
    def test_grid_of_the_paper(self) -> None:
        assert_allclose(TEMPERATURES, np.arange(1, 31) / 100)

    @pytest.mark.parametrize("prefer, winner", [("first", 2.0), ("last", 3.0)])
    def test_ties(self, prefer: str, winner: float) -> None:
        found = search_temperature(
            lambda t: f"model {t}",
            lambda model: {"model 1": 0.1, "model 2": 0.5, "model 3": 0.5, "model 4": 0.2}[model],
            temperatures=[1, 2, 3, 4],
            prefer=prefer,  # type: ignore[arg-type]
        )
        assert (found.temperature, found.value, found.model) == (winner, 0.5, f"model {winner:.0f}")
        assert found.table["value"].tolist() == [0.1, 0.5, 0.5, 0.2]

    def test_errors(self) -> None:
        with pytest.raises(InputError, match="empty"):
            search_temperature(lambda t: t, lambda model: model, temperatures=[])
        with pytest.raises(InputError, match=r"temperature 0\.2 is nan"):
            search_temperature(lambda t: t, lambda model: float("nan"), temperatures=[0.2])


@pytest.mark.parametrize(
    "model",
    [
        GeodesicDecomposition(),
        GeodesicDecomposition(fit="least_squares"),
        LinearDecomposition(),
        LinearDecomposition(normalize=True, fit="least_squares"),
    ],
    ids=lambda model: f"{model.kind}-{model.normalize}-{model.get_params()['fit']}",
)
@pytest.mark.parametrize("world", ["open", "closed"])
def test_factor_scores_are_those_of_the_composed_embeddings(model: LinearDecomposition, world: str) -> None:
    candidates = (
        Candidates.open_world(ATTRIBUTES, OBJECTS, SEEN)
        if world == "open"
        else Candidates.closed_world(SEEN, VAL_PAIRS)
    )
    fitted = model.fit(TRAIN, *zip(*TRAIN_PAIRS, strict=True))
    table = fitted.compose(*zip(*candidates.pairs, strict=True))
    plain = image_scores(VAL @ table.T, candidates, VAL_PAIRS)
    scores = score_images(VAL, FactorScorer(fitted, candidates), VAL_PAIRS)
    assert_array_equal(scores.seen_best, plain.seen_best)
    assert_array_equal(scores.unseen_best, plain.unseen_best)
    assert_allclose(scores.true_score, plain.true_score, atol=1e-12)
    assert seen_unseen_curve(scores).auc == pytest.approx(seen_unseen_curve(plain).auc, abs=1e-12)


def test_classification_search_equals_fits_by_hand() -> None:
    candidates = Candidates.open_world(ATTRIBUTES, OBJECTS, SEEN)
    attributes, objects = zip(*TRAIN_PAIRS, strict=True)
    objective = curve_objective(VAL, VAL_PAIRS, candidates)
    fit = weighted_fit(GeodesicDecomposition(), TRAIN, attributes, objects, COSINES)
    found = search_temperature(fit, objective, temperatures=[0.01, 0.05, 0.3])
    for temperature, value in found.table.itertuples(index=False):
        weights = noise_weights(TRAIN_PAIRS, "softmax", values=COSINES, temperature=temperature)
        model = GeodesicDecomposition().fit(TRAIN, attributes, objects, weights=weights)
        table = model.compose(*zip(*candidates.pairs, strict=True))
        assert value == pytest.approx(
            seen_unseen_curve(image_scores(VAL @ table.T, candidates, VAL_PAIRS)).auc, abs=1e-12
        )
    assert found.value == found.table["value"].max() > 0.15  # chance is 1/20 a pair
    assert objective(found.model) == found.value


def test_robustness_search_uses_the_object_alone() -> None:
    fit = weighted_fit(GeodesicDecomposition(), TRAIN, *zip(*TRAIN_PAIRS, strict=True), COSINES)
    objects = [o for _, o in VAL_PAIRS]
    objective = worst_group_objective(VAL, objects, VAL_PAIRS)
    found = search_temperature(fit, objective, temperatures=[0.05, 0.3], prefer="last")
    predicted = predict_objects(found.model, VAL)
    right = [guess == true for guess, true in zip(predicted, objects, strict=True)]
    groups = {
        pair: [hit for hit, at in zip(right, VAL_PAIRS, strict=True) if at == pair] for pair in VAL_PAIRS
    }
    assert found.value == min(np.mean(hits) for hits in groups.values())
    assert np.mean(right) > 0.5  # chance is 1/5
