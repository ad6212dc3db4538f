"""The swap-antisymmetric part of two-object embeddings: the proposition, its corollaries, and the estimators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindery import beyond, slot_codes, sphere, swap, swap_values
from bindery import scenes as sc
from bindery.captions import scene_items
from bindery.encoders import load
from bindery.errors import InputError
from bindery.slot_codes import CODES, design, explain
from bindery.swap_captions import captions_row
from bindery.two_objects import COLOURS, SHAPES, arranged, duo_set, scene_set

seeds = st.integers(0, 2**32 - 1)


def grid(colours: int = 5, shapes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Attributes and objects (O, 4, 2) of all pairs of pairs."""
    pairs = [(a, b, c, d) for a in range(colours) for b in range(a) for c in range(shapes) for d in range(c)]
    rows = np.array(pairs)
    return arranged(rows[:, :2], rows[:, 2:])


def coded(code: str, rng: np.random.Generator, dim: int = 24, scale: float = 0.3) -> np.ndarray:
    """(O, 4, D) tangents of an additive code with random directions."""
    columns = design(code, *grid())
    return columns @ (scale * rng.standard_normal((columns.shape[-1], dim)))


def on_sphere(tangents: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Exp at a random point of tangents projected there, and the point."""
    base = sphere.unit(rng.standard_normal(tangents.shape[-1]))
    flat = tangents.reshape(-1, tangents.shape[-1])
    return sphere.exp(flat - np.outer(flat @ base, base), base), base


# ---------------------------------------------------------------- the proposition


@given(seeds, st.integers(3, 40), st.floats(0.01, 0.25))
@settings(max_examples=60, deadline=None)
def test_a_slot_free_code_does_not_know_an_exchange(seed: int, dim: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    points, base = on_sphere(coded("values, slot-free", rng, dim, scale), rng)
    rows = points.reshape(-1, 4, dim)
    for factor in ("attribute", "object"):
        assert np.allclose(rows, swap.exchange(rows, factor), atol=1e-12)
    logs = np.asarray(sphere.log(points, base)).reshape(-1, 4, dim)
    assert np.abs(swap.antisymmetric(logs)).max() < 1e-9


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_every_function_of_the_bag_is_symmetric_too(seed: int) -> None:
    """Not the sum alone: any map of how often each value occurs."""
    rng = np.random.default_rng(seed)
    counts = design("values, slot-free", *grid())
    hidden = np.tanh(counts @ rng.standard_normal((counts.shape[-1], 16)))
    assert not swap.antisymmetric(hidden @ rng.standard_normal((16, 8))).any()


@pytest.mark.parametrize(
    ("code", "held"),
    [
        ("values, slot-free", {"bag"}),
        ("values, slot-indexed", {"bag", "attribute in place", "object in place"}),
        ("pairs, slot-free", {"bag", "attribute with object"}),
        ("pairs, slot-indexed", {"bag", "attribute in place", "object in place", "attribute with object"}),
    ],
)
def test_each_code_lives_in_its_sectors(code: str, held: set[str]) -> None:
    rows = coded(code, np.random.default_rng(3))[:, :, None]
    energy = {name: float((part**2).mean()) for name, part in swap.sectors(rows).items()}
    assert {name for name, value in energy.items() if value > 1e-20} == held


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_sectors_add_up_and_are_orthogonal(seed: int) -> None:
    rows = np.random.default_rng(seed).standard_normal((7, 4, 3, 5))
    parts = swap.sectors(rows)
    for arrangement in range(4):
        signs = [swap.SECTORS[4][name][arrangement] for name in parts]
        assert np.allclose(
            rows[:, arrangement], sum(s * part for s, part in zip(signs, parts.values(), strict=True))
        )
    assert np.isclose((rows**2).sum() / 4, sum((part**2).sum() for part in parts.values()))
    both = swap.sectors(rows)["attribute in place"] + swap.sectors(rows)["attribute with object"]
    assert np.allclose(swap.antisymmetric(rows)[:, 0], both)


def test_exchanging_twice_changes_nothing() -> None:
    rows = np.random.default_rng(0).standard_normal((3, 4, 2, 2))
    for factor in ("attribute", "object"):
        assert np.array_equal(swap.exchange(swap.exchange(rows, factor), factor), rows)
        assert np.array_equal(
            swap.antisymmetric(swap.exchange(rows, factor), factor), -swap.antisymmetric(rows, factor)
        )


# ---------------------------------------------------------------- estimators


def noisy(signal: np.ndarray, noise: float, rng: np.random.Generator, renderings: int = 3) -> np.ndarray:
    return signal[:, :, None] + noise * rng.standard_normal((*signal.shape[:2], renderings, signal.shape[-1]))


def test_noise_is_not_counted_as_binding() -> None:
    rng = np.random.default_rng(1)
    found = [
        swap.shares(noisy(coded("values, slot-free", rng), 1.0, rng), flips=60).share() for _ in range(60)
    ]
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(60)
    naive = swap.antisymmetric(noisy(coded("values, slot-free", rng), 1.0, rng).mean(axis=2))
    assert (naive**2).sum(axis=-1).mean() > 1, "the plug-in value would have been all noise"


def test_known_shares_are_found_within_noise() -> None:
    rng = np.random.default_rng(2)
    signal = coded("pairs, slot-indexed", rng)
    clean = swap.shares(np.repeat(signal[:, :, None], 2, axis=2), flips=10)
    found = [swap.shares(noisy(signal, 0.8, rng), flips=10) for _ in range(40)]
    for name in clean.names:
        values = [divided.share(name) for divided in found]
        assert abs(np.mean(values) - clean.share(name)) < 4 * np.std(values) / np.sqrt(40) + 1e-3
    assert clean.rendering == pytest.approx(0, abs=1e-12)
    assert sum(clean.share(name) for name in clean.names) == pytest.approx(1)


def test_noise_floor_keeps_its_level() -> None:
    rng = np.random.default_rng(4)
    above = 0
    for trial in range(200):
        divided = swap.shares(noisy(coded("values, slot-free", rng, 6), 1.0, rng, 2), flips=100, seed=trial)
        above += divided.share() > divided.floor()
    assert above <= 22, "5 % of 200 are 10, and 22 or more have probability 1e-4"


def test_intervals_contain_the_value_and_shrink_with_contents() -> None:
    rng = np.random.default_rng(5)
    rows = noisy(coded("pairs, slot-indexed", rng), 0.5, rng)
    wide, narrow = swap.shares(rows[:15]), swap.shares(rows)
    low, high = narrow.interval()
    assert low < narrow.share() < high
    assert high - low < np.diff(wide.interval())[0]


def test_values_that_contents_share_widen_the_interval_to_its_level() -> None:
    """Energies with an effect of each colour and shape: over contents the level is missed, over values it is kept."""
    first, second = (part[:, 0] for part in grid(8, 8))
    rng, trials = np.random.default_rng(9), 150
    inside = {"contents": 0, "values": 0}
    for trial in range(trials):
        colour, shape = 0.3 * rng.standard_normal((2, 8))
        energy = 1 + colour[first].sum(axis=1) + shape[second].sum(axis=1)
        energy = energy + 0.1 * rng.standard_normal(len(energy))
        found = {
            "contents": swap.ratio_interval(energy, draws=200, seed=trial),
            "values": swap_values.crossed_interval(energy, 1.0, (first, second), draws=200, seed=trial),
        }
        for name, (low, high) in found.items():
            inside[name] += low < 1 < high
    assert inside["contents"] < 0.6 * trials
    assert inside["values"] > 0.85 * trials


def test_contents_with_values_of_their_own_are_drawn_as_contents() -> None:
    top, bottom = np.random.default_rng(10).uniform(1, 2, (2, 20))
    own = swap_values.crossed_interval(top, bottom, (np.arange(20),), draws=300, seed=4)
    assert own == pytest.approx(swap.ratio_interval(top, bottom, draws=300, seed=4))
    both = swap_values.crossed_interval(3 * bottom, bottom, (np.arange(20) % 5, np.arange(20) // 5))
    assert both == pytest.approx((3, 3)), "a ratio that is the same everywhere has no width"


def test_what_contents_share_is_told_by_the_set() -> None:
    colours, shapes = swap_values.factors(scene_set(2, seed=1))
    assert [len(np.unique(part)) for part in (colours, shapes)] == [len(COLOURS), len(SHAPES)]
    tones, drawings = swap_values.factors(duo_set(2, seed=3, styles=["noto"], duos=["handshake"]))
    assert tones.shape[1] == 2 and drawings.shape == (len(tones), 1)


def test_choices_tie_for_a_bag_and_are_right_for_a_code_that_binds() -> None:
    rng = np.random.default_rng(6)
    bag = np.repeat(coded("values, slot-free", rng)[:, :, None], 2, axis=2)
    bound = noisy(coded("pairs, slot-indexed", rng), 0.05, rng)
    assert np.array_equal(swap.nearest_twin(bag), np.full(len(bag), 0.5))
    assert swap.nearest_twin(bound).mean() > 0.99
    values = grid()
    assert explain("values, slot-free", bound, *values).choice(bound).mean() == 0.5
    assert explain("values, slot-indexed", bound, *values).choice(bound, "object").mean() > 0.7


@pytest.mark.parametrize("code", CODES)
def test_a_code_explains_itself_and_no_more_than_its_sectors(code: str) -> None:
    rng = np.random.default_rng(7)
    rows = noisy(coded(code, rng), 0.3, rng, 4)
    divided, values = swap.shares(rows), grid()
    found = {name: explain(name, rows, *values).share for name in CODES}
    assert found[code] == pytest.approx(1, abs=0.03)
    assert found["values, slot-free"] < 1 - divided.share() + 0.03
    assert found["values, slot-indexed"] < 1 - divided.share("attribute with object") + 0.03
    assert found["pairs, slot-free"] < 1 - divided.share("attribute in place", "object in place") + 0.03


def test_a_left_out_content_takes_no_part_in_its_prediction() -> None:
    rng = np.random.default_rng(8)
    rows, values = noisy(coded("pairs, slot-indexed", rng), 0.3, rng), grid()
    before = explain("pairs, slot-indexed", rows, *values, folds=len(rows)).predicted[11]
    rows[11] += 100
    after = explain("pairs, slot-indexed", rows, *values, folds=len(rows)).predicted[11]
    assert np.allclose(before, after)


# ---------------------------------------------------------------- images


def test_scenes_are_closed_under_both_exchanges_and_share_their_layout() -> None:
    found = scene_set(2, seed=1)
    contents, arrangements, renderings = found.shape
    assert (contents, arrangements) == (15 * 6, 4)
    scenes = found.scenes
    assert scenes is not None and len(scenes) == len(found.images) == contents * 4 * renderings
    shape = scenes.shape.reshape(contents, 4, renderings, 2)
    colour = scenes.colour.reshape(contents, 4, renderings, 2)
    assert np.array_equal(colour[:, 1], colour[:, 0, :, ::-1]) and np.array_equal(shape[:, 1], shape[:, 0])
    assert np.array_equal(shape[:, 2], shape[:, 0, :, ::-1]) and np.array_equal(colour[:, 2], colour[:, 0])
    assert np.array_equal(shape[:, :, 0], found.obj) and np.array_equal(colour[:, :, 0], found.attribute)
    for part in (scenes.x, scenes.y, scenes.radius):
        part = part.reshape(contents, 4, renderings, 2)
        assert np.ptp(part, axis=1).max() == 0 and np.ptp(part, axis=2).max() > 0
    bag = sc.bag_labels(scenes).reshape(contents, 4, renderings, -1)
    assert np.ptp(bag, axis=1).max() == 0, "an exchange keeps the bag"
    assert len(np.unique(bag[:, 0, 0], axis=0)) == contents, "and every content has its own"
    assert {sc.COLOURS[i] for i in np.unique(colour)} == set(COLOURS)
    assert {sc.SHAPES[i] for i in np.unique(shape)} == set(SHAPES)


def test_duos_come_with_their_twin_in_the_same_layout() -> None:
    found = duo_set(2, seed=3, size=64, styles=["noto"], duos=["handshake", "men-holding-hands"])
    assert found.shape == (20, 2, 2)
    assert np.array_equal(found.attribute[:, 1], found.attribute[:, 0, ::-1])
    image = np.stack([np.asarray(found.images[i], np.int16) for i in range(4)]).reshape(2, 2, 64, 64, 3)
    changed = np.abs(image[0] - image[1]).max(axis=-1) > 0
    assert changed.any(axis=(1, 2)).all() and changed.mean() < 0.5, "only the people's skin differs"


def test_a_bag_oracle_has_no_antisymmetric_part_and_slots_have_no_pairs() -> None:
    found = scene_set(2, seed=5)
    row = beyond.two_objects_row(sc.bag_labels(found.scenes), found, draws=50)
    assert abs(row["share_swap"]) < 1e-9 and row["twin_attribute"] == row["twin_object"] == 0.5
    slots = np.hstack(
        [np.eye(8)[found.scenes.colour].reshape(len(found.images), -1), sc.bound_labels(found.scenes)]
    )
    row = beyond.two_objects_row(slots, found, draws=50)
    assert row["share_swap"] > 0.3 and row["share_attribute_with_object"] < 0.02
    assert row["explained_values_slot_indexed"] > 0.98 > 0.7 > row["explained_values_slot_free"]
    assert row["twin_attribute"] == row["twin_object"] == 1


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: scene_set(1, seed=0), "at least two renderings"),
        (lambda: scene_set(2, seed=0, colours=["red"]), "at least two of red"),
        (lambda: scene_set(2, seed=0, shapes=["disc", "blob"]), "disc, ring"),
        (lambda: duo_set(2, seed=0, styles=["crayon"]), "no two contents"),
        (lambda: swap.tangents(np.ones((8, 3)), (2, 3, 2)), "2 or 4 arrangements"),
        (lambda: swap.tangents(np.ones((7, 3)), (2, 2, 2)), "needs 8 embeddings"),
        (lambda: swap.exchange(np.ones((2, 2, 2, 2)), "object"), "no exchange"),
        (lambda: design("bags", *grid()), "unknown code"),
        (lambda: swap_values.crossed_interval(np.ones(3), 1.0, ()), "at least one factor"),
        (lambda: swap_values.crossed_interval(np.ones(3), 1.0, (np.arange(4),)), "each of 3 contents"),
        (
            lambda: slot_codes.held_out(np.ones((3, 1, 1)), np.ones((3, 1, 2, 2)), folds=4),
            "folds must be 2 to 3",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        call()
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- captions


def test_captions_that_are_the_same_have_no_antisymmetric_part() -> None:
    items = scene_items(6, seed=1, kinds=("swap_obj", "swap_att"))
    encoder = load("zoo:clip-phrase/joint")
    twice = replace(items, false=items.true)
    row = captions_row(encoder, twice, draws=20)
    assert row["text_share"] == 0 and row["choice"] == 0.5 and row["n"] == 12
    both = captions_row(encoder, items, draws=20)
    exchanged = captions_row(encoder, replace(items, true=items.false, false=items.true), draws=20)
    assert 0 < both["text_share_low"] <= both["text_share"] <= both["text_share_high"] < 1
    assert exchanged["text_share"] == pytest.approx(both["text_share"])
    assert exchanged["choice"] == pytest.approx(1 - both["choice"])
