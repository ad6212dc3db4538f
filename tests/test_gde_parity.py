"""Agreement with the functions released by the authors of Paper G, where those are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bindery.decomposition import GeodesicDecomposition, LinearDecomposition, noise_weights, pair_cosines
from bindery.errors import InputError
from bindery.sphere import distance, exp, frechet_mean, log, transport

TOLERANCE = 5e-6
REFERENCE: dict[str, Any] = json.loads((Path(__file__).parent / "reference" / "gde_parity.json").read_text())
GRID, MAPS = REFERENCE["A_full_grid_3x4_d8"], REFERENCE["D_pure_functions"]
PAIRS = [tuple(pair) for pair in GRID["inputs"]["pairs"]]
IMAGES = np.array(GRID["inputs"]["embeddings"])
BASE = np.array(MAPS["base_point"])

CASES = ["uniform_within_pair", "no_weights_per_image", "clip_T0.05", "clip_T0.02", "siglip_T0.02"]


def weights_of(case: str) -> np.ndarray | None:
    texts = {tuple(pair): vector for pair, vector in GRID["inputs"]["text_by_pair"]}
    order = {pair: row for row, pair in enumerate(texts)}
    cosines = pair_cosines(IMAGES, np.array(list(texts.values())), [order[pair] for pair in PAIRS])
    name, _, temperature = case.partition("_T")
    if name not in ("clip", "siglip"):
        return None
    kind = "softmax" if name == "clip" else "sigmoid"
    return noise_weights(PAIRS, kind, values=cosines, temperature=float(temperature))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_and_composites(case: str, dtype: type) -> None:
    reference = GRID[case]["float64"]
    weighting = "image" if case.startswith("no_weights") else "pair"
    attributes, objects = zip(*PAIRS, strict=True)
    images, weights = IMAGES.astype(dtype), weights_of(case)
    geodesic = GeodesicDecomposition(weighting=weighting).fit(images, attributes, objects, weights)
    linear = LinearDecomposition(weighting=weighting).fit(images, attributes, objects, weights)
    everything = tuple(zip(*reference["all_pairs"], strict=True))
    ours = {
        "intrinsic_mean": geodesic.context_,
        "log_map_of_inputs": log(images, geodesic.context_),
        "gde_attr_dir": geodesic.attribute_directions_,
        "gde_obj_dir": geodesic.object_directions_,
        "gde_composed": geodesic.compose(*everything),
        "gde_objects_only": geodesic.compose_objects(reference["objs_sorted"]),
        "gde_two_objects_o0_o1": geodesic.compose_objects(["o0"], ["o1"]),
        "lde_context": linear.context_,
        "lde_attr_dir": linear.attribute_directions_,
        "lde_obj_dir": linear.object_directions_,
        "lde_composed": linear.compose(*everything),
        "lde_objects_only": linear.compose_objects(reference["objs_sorted"]),
    }
    for name, value in ours.items():
        np.testing.assert_allclose(value, reference[name], atol=TOLERANCE, err_msg=name)
    tight = 1e-8 if dtype == np.float64 else TOLERANCE
    np.testing.assert_allclose(geodesic.context_, reference["independent_converged_mean"], atol=tight)
    assert list(geodesic.classes_["attribute"]) == reference["attrs_sorted"]
    assert list(geodesic.classes_["object"]) == reference["objs_sorted"]


@pytest.mark.parametrize("case", ["clip_T0.05", "clip_T0.02", "siglip_T0.02"])
def test_noise_weights(case: str) -> None:
    np.testing.assert_allclose(weights_of(case), GRID[case]["float64"]["weights"], atol=TOLERANCE)


def test_exp_and_log_where_the_authors_are_right() -> None:
    np.testing.assert_allclose(log(np.array(MAPS["points"])[:2], BASE), MAPS["log"][:2], atol=TOLERANCE)
    np.testing.assert_allclose(exp(np.array(MAPS["tangent"])[:2], BASE), MAPS["exp"][:2], atol=TOLERANCE)
    np.testing.assert_allclose(
        frechet_mean(np.array(MAPS["points"])[:2]).point, MAPS["independent_mean_two_points"], atol=1e-12
    )


def test_right_answers_where_the_authors_have_none() -> None:
    # released: Exp of a zero tangent is NaN; it is the base point
    assert MAPS["exp"][2] == [None] * 4
    np.testing.assert_array_equal(exp(np.array(MAPS["tangent"])[2], BASE), BASE)
    # released: Log of the base and of its antipode are both about 0; the antipode has no Log
    assert np.abs(MAPS["log"][3]).max() < 1e-7
    np.testing.assert_array_equal(log(BASE, BASE), 0)
    with pytest.raises(InputError, match="row 3 is the antipode"):
        log(np.array(MAPS["points"]), BASE)
    # released: the mean of identical points is NaN
    assert MAPS["mean_of_identical_points_authors"] == [None] * 4
    np.testing.assert_allclose(frechet_mean(np.tile(BASE, (3, 1))).point, BASE, atol=1e-15)


def test_transport_keeps_lengths_as_the_released_one_does_not() -> None:
    moved = MAPS["parallel_transport"]
    assert abs(moved["norms_after"][1] / moved["norms_before"][1] - 1) > 0.05
    vectors, end = np.array(moved["vectors"]), np.array(moved["to"])
    ours = transport(vectors, BASE, end)
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), moved["norms_before"], atol=1e-12)
    np.testing.assert_allclose(ours @ end, 0, atol=1e-12)
    # along the geodesic itself the tangent is known: it points away from the start
    np.testing.assert_allclose(transport(log(end, BASE), BASE, end), -log(BASE, end), atol=1e-12)
    assert distance(BASE, end) > 0.1


def test_softmax_of_large_cosines_does_not_overflow() -> None:
    assert None in GRID["overflow_demo_T0.01"]["authors_weights_float32"]
    weights = noise_weights(PAIRS, "softmax", values=np.full(len(PAIRS), 0.964), temperature=0.001)
    counts = {pair: PAIRS.count(pair) for pair in PAIRS}
    np.testing.assert_allclose(weights, [1 / counts[pair] for pair in PAIRS])
