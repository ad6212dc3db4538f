"""Scenes: equal areas, objects inside their cells, the seed decides, labels and captions tell the same."""

from __future__ import annotations

import numpy as np
import pytest

from bindery import scene_text
from bindery import scenes as sc
from bindery.errors import InputError


def one_object(shape: int, cell: int = 4, colour: int = 7, seed: int = 0, n: int = 1) -> sc.Scenes:
    rng = np.random.default_rng(seed)
    column = np.full((n, 1), 1)
    return sc.place(column * shape, column * colour, column * cell, sc.cell_geometry((n,), rng), np.zeros(3))


@pytest.mark.parametrize("shape", range(len(sc.SHAPES)), ids=sc.SHAPES)
def test_every_shape_covers_the_same_area(shape: int) -> None:
    scene = one_object(shape)
    ink = sc.render(scene, 256)[0, 0].sum() / sc.PALETTE[7, 0] / 256**2
    assert ink == pytest.approx(2.0 * float(scene.radius[0, 0]) ** 2, rel=0.02)


def test_anti_aliased_area_hardly_depends_on_size() -> None:
    scene = sc.training_scenes(50, seed=3, ground="dark")
    large, small = sc.render(scene, 256), sc.render(scene, 32)
    assert np.allclose(large.mean((2, 3)), small.mean((2, 3)), atol=2e-3)


def test_objects_never_leave_their_cell() -> None:
    for shape in range(len(sc.SHAPES)):
        for cell in range(9):
            image = sc.render(one_object(shape, cell, n=40, seed=cell), 96)[:, 0]
            row, column = divmod(cell, 3)
            outside = np.ones((96, 96), bool)
            outside[row * 32 : row * 32 + 32, column * 32 : column * 32 + 32] = False
            assert image[:, outside].max() < 0.55  # at most the soft half of an edge pixel


def test_object_is_drawn_in_its_colour_and_place() -> None:
    scene = one_object(0, cell=2, colour=0)
    image = sc.render(scene, 60)[0]
    x, y = int(scene.x[0, 0] * 60), int(scene.y[0, 0] * 60)
    assert np.allclose(image[:, y, x], sc.PALETTE[0])
    assert y < 20 and x >= 40


def test_seed_decides_and_chunks_do_not() -> None:
    first, again = sc.training_scenes(20, seed=5), sc.training_scenes(20, seed=5)
    assert np.array_equal(sc.render(first, 32), sc.render(again, 32, chunk=3))
    assert not np.array_equal(first.x, sc.training_scenes(20, seed=6).x)


def test_render_range_shape_and_order() -> None:
    scenes = sc.training_scenes(30, seed=0)
    images = sc.render(scenes, 24)
    assert images.shape == (30, 3, 24, 24) and images.dtype == np.float32
    assert images.min() >= 0 and images.max() <= 1
    assert np.array_equal(sc.render(scenes[[7, 3]], 24), images[[7, 3]])


def test_training_scenes_use_distinct_cells_and_the_stated_numbers() -> None:
    scenes = sc.training_scenes(500, seed=1, objects=(1, 4))
    counts = scenes.present.sum(1)
    assert set(counts) == {1, 2, 3, 4}
    assert np.array_equal(sc.presence(scenes, "place").sum(1), counts)
    assert (scenes.cell[~scenes.present] == -1).all()


def test_labels_agree_with_a_plain_loop() -> None:
    scenes = sc.training_scenes(40, seed=2)
    bag, bound = np.zeros((40, 23)), np.zeros((40, 54))
    for n in range(40):
        for k in range(4):
            if scenes.shape[n, k] >= 0:
                s, c, p = int(scenes.shape[n, k]), int(scenes.colour[n, k]), int(scenes.cell[n, k])
                bag[n, [s, 6 + c, 14 + p]] = 1
                bound[n, s * 9 + p] = 1
    assert np.array_equal(sc.bag_labels(scenes), bag)
    assert np.array_equal(sc.bound_labels(scenes), bound)


def test_captions_say_what_is_there() -> None:
    shape, colour, cell = np.array([[0, 1]]), np.array([[4, 2]]), np.array([[0, 4]])
    scene = sc.place(shape, colour, cell, sc.cell_geometry((1,), np.random.default_rng(0)), np.zeros(3))
    assert scene_text.captions(scene) == ["an orange disc at the top left and a blue ring at the centre"]
    assert scene_text.captions(scene, "bag") == ["blue orange disc ring top left centre"]


def test_bag_captions_of_swapped_scenes_are_equal_and_phrases_are_not() -> None:
    geometry = sc.cell_geometry((2,), np.random.default_rng(0))
    scenes = sc.place(
        np.array([[0, 1], [1, 0]]), np.array([[0, 0]] * 2), np.array([[0, 8]] * 2), geometry, np.zeros(3)
    )
    assert len(set(scene_text.captions(scenes, "bag"))) == 1
    assert len(set(scene_text.captions(scenes, "phrase"))) == 2


def test_tokens_and_text_are_inverse() -> None:
    scenes = sc.training_scenes(60, seed=4)
    rows = scene_text.tokens(scenes, rng=np.random.default_rng(0))
    assert np.array_equal(scene_text.encode(scene_text.decode(rows)), rows)
    starts = [text.startswith("an image of") for text in scene_text.decode(rows)]
    assert 10 < sum(starts) < 50


@pytest.mark.parametrize("kind", scene_text.PAIR_KINDS)
def test_caption_pairs_are_true_and_false(kind: str) -> None:
    scenes = sc.training_scenes(60, seed=4, objects=(2, 2))
    distinct = (scenes.shape[:, 0] != scenes.shape[:, 1]) & (scenes.colour[:, 0] != scenes.colour[:, 1])
    scenes = scenes[np.flatnonzero(distinct)]
    true, false = scene_text.caption_pairs(scenes, kind, seed=0)
    assert true == scene_text.captions(scenes)
    assert all(t != f for t, f in zip(true, false, strict=True))
    if kind.startswith("swap"):
        bags = [
            [sorted(w for w in text.split() if w not in ("a", "an")) for text in side]
            for side in (true, false)
        ]
        assert bags[0] == bags[1]
    scene_text.encode(false)


def test_bad_input_is_refused_with_choices() -> None:
    scenes = sc.training_scenes(3, seed=0)
    for call, told in (
        (lambda: sc.render(scenes, 4), "at least 8"),
        (lambda: sc.training_scenes(3, seed=0, objects=(0, 12)), "1 <= low"),
        (lambda: sc.training_scenes(3, seed=0, ground="pink"), "dark, grey"),  # type: ignore[arg-type]
        (lambda: sc.presence(scenes, "size"), "shape, colour"),
        (lambda: sc.signed_distance("star", np.zeros(1), np.zeros(1)), "disc"),
        (lambda: scene_text.encode(["a purple disc"]), "purple"),
        (lambda: scene_text.tokens(scenes, "poem"), "bag or phrase"),  # type: ignore[arg-type]
        (lambda: scene_text.caption_pairs(scenes, "swap_rel", seed=0), "swap_obj"),
        (lambda: scene_text.caption_pairs(scenes, "swap_obj", seed=0), "two objects"),
    ):
        with pytest.raises(InputError, match=told):
            call()
