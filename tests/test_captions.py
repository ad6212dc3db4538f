"""Ties and their rules, clustered errors, blind baselines and readers of caption benchmarks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from bindery import captions as cap
from bindery import data
from bindery.captions import scoring
from bindery.captions.items import CaptionItems, numbered
from bindery.data.images import Pictures
from bindery.encoders import load
from bindery.encoders.card import Card
from bindery.encoders.load import load_card
from bindery.errors import BinderyError, DataError, InputError
from bindery.paths import shared_data
from bindery.scene_text import PAIR_KINDS

TINY = Card(
    name="tiny-clip",
    family="vision-language",
    loader="open_clip",
    architecture="ViT-S-32",
    feature="projected",
    text=True,
)


def real_items() -> CaptionItems:
    try:
        folder = shared_data("sugar-crepe")
    except BinderyError:
        folder = None
    if folder is None:
        pytest.skip("sugar-crepe is not on this machine (BINDERY_DATA)")
    return cap.sugar_crepe(folder)


def toy(true: Sequence[str], false: Sequence[str], cluster: Sequence[str] | None = None) -> CaptionItems:
    n = len(true)
    names = np.array(cluster if cluster is not None else [str(i) for i in range(n)])
    return CaptionItems("toy", tuple(true), tuple(false), ("all",) * n, np.arange(n), names)


# ------------------------------------------------------------------ ties


def test_a_tie_is_half_right_and_the_public_rules_disagree_about_it() -> None:
    choice = cap.Choice([0.3, 0.2, 0.1, 0.2], [0.1, 0.2, 0.3, 0.2])
    assert choice.credit.tolist() == [1, 0.5, 0, 0.5] and choice.accuracy == 0.5
    assert list(choice.rules.values()) == [0.25, 0.75, 0.25]
    assert choice.tied.tolist() == [False, True, False, True]


def test_a_constant_scorer_has_no_opinion() -> None:
    choice = cap.Choice(np.ones(50), np.ones(50))
    assert choice.accuracy == 0.5 and choice.rules["argmax, true caption first"] == 1.0
    assert choice.rules["strict >"] == choice.rules["argmax, false caption first"] == 0.0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_rules_bracket_the_shared_credit(pairs: list[tuple[int, int]]) -> None:
    choice = cap.Choice(*zip(*pairs, strict=True))
    low, high, third = choice.rules.values()
    assert low == third and high - low == pytest.approx(choice.tied.mean())
    assert choice.accuracy == pytest.approx((low + high) / 2)
    mirrored = cap.Choice(choice.false, choice.true)
    assert choice.accuracy + mirrored.accuracy == pytest.approx(1)


def test_scores_that_are_not_finite_are_refused_with_their_rows() -> None:
    with pytest.raises(InputError, match="questions 1"):
        cap.Choice([0.0, np.nan], [1.0, 1.0])
    with pytest.raises(InputError, match="at least one"):
        cap.Choice([], [])
    with pytest.raises(InputError, match="lengths"):
        cap.Choice([1.0], [1.0, 2.0])


# ------------------------------------------------------------------ errors


def test_without_clusters_the_error_is_the_textbook_one() -> None:
    rng = np.random.default_rng(0)
    right = rng.random(400) < 0.7
    choice = cap.Choice(right.astype(float), 1 - right.astype(float))
    assert choice.standard_error == pytest.approx(right.std(ddof=1) / 20)
    assert choice.effective_n == pytest.approx(399, abs=1)


def test_repeating_every_question_on_its_image_adds_no_information() -> None:
    rng = np.random.default_rng(1)
    right = (rng.random(150) < 0.6).astype(float)
    once = cap.Choice(right, 1 - right)
    again = cap.Choice(np.repeat(right, 6), 1 - np.repeat(right, 6), np.repeat(np.arange(150), 6))
    assert again.standard_error == pytest.approx(once.standard_error)
    assert again.interval == pytest.approx(once.interval, abs=1e-3)
    pretended = cap.Choice(np.repeat(right, 6), 1 - np.repeat(right, 6))
    assert np.diff(pretended.interval) < 0.5 * np.diff(again.interval)


def test_clustered_interval_covers() -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(300):
        rates = rng.beta(2, 1, size=60)  # an image's own difficulty; mean 2/3
        right = (rng.random((60, 8)) < rates[:, None]).ravel().astype(float)
        low, high = cap.Choice(right, 1 - right, np.repeat(np.arange(60), 8)).interval
        covered += low <= 2 / 3 <= high
    assert 0.91 <= covered / 300 <= 0.985


def test_perfect_answers_keep_an_interval_of_the_clusters() -> None:
    choice = cap.Choice(np.ones(40), np.zeros(40), np.repeat(np.arange(10), 4))
    assert choice.effective_n == 10 and choice.interval[1] == pytest.approx(1)
    assert 0.6 < choice.interval[0] < 0.8
    single = cap.Choice([1.0, 0.0], [0.0, 1.0], ["a", "a"])
    assert np.isnan(single.standard_error) and single.effective_n == 1


def test_table_has_a_row_a_category_and_keeps_clusters() -> None:
    choice = cap.Choice([1, 1, 0, 0.5], [0, 0, 1, 0.5], ["x", "x", "y", "z"])
    table = choice.table(["b", "b", "a", "a"])
    assert list(table.index) == ["b", "a", "all"]
    assert table.loc["b", "clusters"] == 1 and table.loc["all", "clusters"] == 3
    assert table.loc["a", "accuracy"] == 0.25 and table.loc["a", "ties"] == 0.5


# ------------------------------------------------------------------ Winoground


def brute_force(own: np.ndarray, other: np.ndarray) -> list[float]:
    """The three scores of one example, over all orders in which ties can break."""
    values = np.concatenate([own, other])  # s00, s11, s10, s01
    counts, total = np.zeros(3), 0
    for tiebreak in itertools.permutations(range(4)):
        rank = np.empty(4, int)
        rank[np.lexsort((tiebreak, values))] = np.arange(4)
        s00, s11, s10, s01 = rank
        text, image = s00 > s10 and s11 > s01, s00 > s01 and s11 > s10
        counts += [text, image, text and image]
        total += 1
    return (counts / total).tolist()


@given(st.lists(st.integers(0, 2), min_size=4, max_size=4))
@settings(max_examples=81, deadline=None)
def test_group_score_is_the_chance_over_all_tie_breaks(values: list[int]) -> None:
    s00, s11, s10, s01 = map(float, values)
    table = cap.fourfold(cap.Choice([s00, s11], [s10, s01]))
    expected = brute_force(np.array([s00, s11]), np.array([s10, s01]))
    assert table.loc["group", "accuracy"] == pytest.approx(expected[2])
    if s00 != s11 and s10 != s01:  # the two comparisons then share no tie and are independent
        assert table["accuracy"].tolist() == pytest.approx(expected)


def test_fourfold_by_hand() -> None:
    # Example 0: all right. Example 1: text right, image wrong. Example 2: constant.
    true, false = [0.9, 0.8, 0.9, 0.3, 1, 1], [0.1, 0.2, 0.2, 0.25, 1, 1]
    table = cap.fourfold(cap.Choice(true, false))
    assert table.loc["text", "strict"] == pytest.approx(2 / 3)
    false[2] = 0.35  # the caption of image 1 now fits image 0 better than its own
    table = cap.fourfold(cap.Choice(true, false))
    assert table["strict"].tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 3])
    assert table.loc["group", "accuracy"] == pytest.approx((1 + 0 + 1 / 6) / 3)
    rng = np.random.default_rng(3)
    noise = cap.fourfold(cap.Choice(rng.random(40_000), rng.random(40_000)))
    assert noise["accuracy"].to_numpy() == pytest.approx(noise["chance"].to_numpy(), abs=0.01)
    with pytest.raises(InputError, match="two answers"):
        cap.fourfold(cap.Choice([1.0], [0.0]))


# ------------------------------------------------------------------ scores


def test_pair_scores_are_cosines_whatever_the_lengths() -> None:
    rng = np.random.default_rng(4)
    image, true, false = (rng.standard_normal((9, 16)) for _ in range(3))
    got = cap.pair_scores(3 * image, true, 0.1 * false)

    def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)

    assert got == pytest.approx(np.column_stack([cosine(image, true), cosine(image, false)]), abs=1e-6)


def test_half_precision_makes_ties_of_near_scores() -> None:
    rng = np.random.default_rng(5)
    image = rng.standard_normal((500, 256))
    true = image + rng.standard_normal((500, 256))
    false = true + 1e-3 * rng.standard_normal((500, 256))
    ties = {
        precision: cap.Choice(*cap.pair_scores(image, true, false, precision=precision).T).tied.mean()
        for precision in ("float32", "float16", "bfloat16")
    }
    assert ties["float32"] < 0.02 < ties["float16"] < ties["bfloat16"] and ties["bfloat16"] > 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a[:, :3], "one encoder"),
        (lambda a: a[:-1], "lengths"),
        (lambda a: np.vstack([a[:-1], np.zeros((1, a.shape[1]))]), "row 3 is zero"),
        (lambda a: np.vstack([a[:-1], np.full((1, a.shape[1]), np.nan)]), "finite"),
    ],
)
def test_bad_embeddings_are_refused(change, message: str) -> None:
    rows = np.ones((4, 5))
    with pytest.raises(InputError, match=message):
        cap.pair_scores(rows, rows, change(rows))
    with pytest.raises(InputError, match="precision"):
        cap.pair_scores(rows, rows, rows, precision="int8")  # type: ignore[arg-type]


def test_each_distinct_image_and_caption_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    asked: list[str] = []
    shown: list[int] = []
    axes = {"red": [1, 0, 0], "blue": [0, 1, 0], "red or blue": [1, 1, 0]}

    def encode_text(prompts: Sequence[str], batch_size: int) -> np.ndarray:
        asked.extend(prompts)
        return np.array([axes[prompt] for prompt in prompts], dtype=np.float32)

    def embed(encoder, images, **options) -> np.ndarray:  # type: ignore[no-untyped-def]
        shown.append(len(images))
        return np.array([[1, 0, 0], [0, 1, 0]], dtype=np.float32)

    monkeypatch.setattr(scoring, "embed", embed)
    items = CaptionItems(
        "toy",
        ("red", "blue", "red", "blue"),
        ("blue", "red", "red or blue", "red"),
        ("a",) * 4,
        np.array([0, 1, 0, 1]),
        np.array(list("rbrb")),
        Pictures(pictures),
    )
    choice = cap.score(SimpleNamespace(encode_text=encode_text), items, progress=False)  # type: ignore[arg-type]
    assert choice.accuracy == 1 and choice.n_clusters == 2
    assert sorted(asked) == ["blue", "red", "red or blue"] and shown == [2]
    blind = cap.score(SimpleNamespace(encode_text=lambda p, batch_size: np.ones((len(p), 3))), items)  # type: ignore[arg-type]
    assert blind.accuracy == 0.5


def test_open_clip_end_to_end_on_the_true_layout(tmp_path: Path) -> None:
    sugar, coco = (data.true_layout(key, tmp_path / key) for key in ("sugar-crepe", "coco"))
    items = cap.sugar_crepe(sugar, images=coco, check_counts=False).subset([0, 1, 9, 10])
    encoder = load_card(TINY, weights="random", seed=0)
    choice = cap.score(encoder, items, progress=False)
    assert len(choice) == 4 and 0 <= choice.accuracy <= 1
    torch.manual_seed(1)
    assert np.array_equal(cap.score(encoder, items, batch_size=1, progress=False).tied, choice.tied)
    with pytest.raises(InputError, match="no text side"):
        cap.score(load("efficientnet-lite0", weights="random"), items, progress=False)
    with pytest.raises(DataError, match="without its images"):
        cap.score(encoder, cap.sugar_crepe(sugar, check_counts=False), progress=False)


# ------------------------------------------------------------------ blind baselines


def test_shorter_caption_by_hand() -> None:
    choice = cap.shorter_caption(toy(["ab", "abc", "abcd"], ["abc", "abc", "abc"]))
    assert choice.credit.tolist() == [1, 0.5, 0]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("A cat on a mat.", "A mat on a cat", True),
        ("The man's dog", "The dog man's", True),
        ("A cat on a mat", "A cat on the mat", False),
        ("a cat", "a a cat", False),
    ],
)
def test_order_only_compares_words_with_their_counts(first: str, second: str, same: bool) -> None:
    assert cap.order_only(toy([first], [second])).tolist() == [same]


def test_bag_of_words_finds_a_tell_tale_word_and_ties_on_order() -> None:
    true = [f"a cat number {i}" for i in range(30)]
    false = [f"a cat number {i} not" for i in range(30)]
    assert cap.bag_of_words(toy(true, false)).accuracy == 1
    swapped = [" ".join(reversed(text.split())) for text in true]
    choice = cap.bag_of_words(toy(true, swapped))
    assert choice.tied.all() and choice.accuracy == 0.5


def test_bag_of_words_never_learns_from_the_image_it_judges() -> None:
    # Each image has a word of its own that tells: within the image it would be learnt, across images it cannot.
    true = [f"word{i} plain" for i in range(20) for _ in range(5)]
    false = [f"other{i} plain" for i in range(20) for _ in range(5)]
    cluster = [str(i) for i in range(20) for _ in range(5)]
    assert cap.bag_of_words(toy(true, false, cluster)).accuracy == 0.5
    leaky = cap.bag_of_words(toy(true, false, [str(i) for i in range(100)]))
    assert leaky.accuracy > 0.9
    with pytest.raises(InputError, match="folds"):
        cap.bag_of_words(toy(["a"], ["b"]))


def test_published_sugarcrepe_facts() -> None:
    """Shares that others counted in the official files (their definition of a word included)."""
    items = real_items()
    assert len(items) == 7511 and len(items.categories) == 7
    assert cap.shorter_caption(items.of("add_obj")).accuracy == pytest.approx(0.990, abs=5e-4)
    assert cap.shorter_caption(items.of("add_att")).accuracy == pytest.approx(0.996, abs=5e-4)
    assert cap.shorter_caption(items.of("replace_rel")).accuracy == pytest.approx(0.642, abs=5e-4)
    assert cap.order_only(items.of("swap_obj")).mean() == pytest.approx(0.669, abs=5e-4)
    assert cap.order_only(items.of("swap_att")).mean() == pytest.approx(0.613, abs=5e-4)
    assert items.of("replace_obj").counts()["images"].item() == 823


def test_blind_table_agrees_with_its_parts() -> None:
    items = real_items().subset(range(0, 7511, 12))
    table = cap.blind_table(items, folds=3)
    part = items.of("swap_att")
    assert list(table.index) == [*items.categories, "all"]
    assert table.loc["swap_att", "shorter"] == cap.shorter_caption(part).accuracy
    assert table.loc["swap_att", "order_blind_ceiling"] == 1 - cap.order_only(part).mean() / 2
    assert (table["shorter_low"] <= table["shorter"]).all() and (
        table["shorter"] <= table["shorter_high"]
    ).all()


# ------------------------------------------------------------------ items and readers


def test_subset_keeps_the_images_asked_about() -> None:
    pictures = Pictures([Image.new("RGB", (2, 2), (i, 0, 0)) for i in range(4)])
    items = CaptionItems(
        "x",
        tuple("abcd"),
        tuple("efgh"),
        tuple("uvuv"),
        np.array([3, 1, 0, 3]),
        np.array(list("wxyz")),
        pictures,
    )
    part = items.subset([3, 1])
    assert part.true == ("d", "b") and len(part.pictures()) == 2
    assert [part.pictures()[int(i)].getpixel((0, 0))[0] for i in part.image] == [3, 1]
    assert items.of("v").true == ("b", "d")
    with pytest.raises(InputError, match="it has u, v"):
        items.of("w")
    with pytest.raises(InputError, match="image 3 of 2"):
        CaptionItems(
            "x", ("a",), ("b",), ("c",), np.array([3]), np.array(["d"]), Pictures(pictures.images[:2])
        )


def test_numbered_by_first_occurrence() -> None:
    number, first = numbered(["b", "a", "b", "c"])
    assert number.tolist() == [0, 1, 0, 2] and first == [0, 1, 3]


def aro_folder(folder: Path) -> Path:
    (folder / "images").mkdir(parents=True)
    Image.new("RGB", (40, 30), "red").save(folder / "images" / "1.jpg")
    Image.new("RGB", (40, 30), "blue").save(folder / "images" / "2.jpg")
    box = {"bbox_x": 5, "bbox_y": 2, "bbox_w": 10, "bbox_h": 20}
    entries = [
        {"image_path": "1.jpg", "true_caption": "a on b", "false_caption": "b on a", **box},
        {"image_path": "1.jpg", "true_caption": "c on d", "false_caption": "d on c", **box},
        {"image_path": "1.jpg", "true_caption": "a by b", "false_caption": "b by a", **(box | {"bbox_x": 6})},
        {"image_path": "2.jpg", "true_caption": "a by c", "false_caption": "c by a", **box},
    ]
    relations = [entry | {"relation_name": entry["true_caption"].split()[1]} for entry in entries]
    attributes = [entry | {"attributes": ["old", "red"]} for entry in entries]
    (folder / "visual_genome_relation.json").write_text(json.dumps(relations))
    (folder / "visual_genome_attribution.json").write_text(json.dumps(attributes))
    return folder


def test_aro_crops_the_box_and_shares_equal_crops(tmp_path: Path) -> None:
    items = cap.aro("relation", aro_folder(tmp_path / "aro"))
    assert items.image.tolist() == [0, 0, 1, 2] and len(items.pictures()) == 3
    assert items.pictures()[0].size == (10, 20) and items.categories == ["on", "by"]
    assert len(np.unique(items.cluster)) == 2 and items.true[0] == "a on b" and items.false[0] == "b on a"
    assert cap.order_only(items).all()
    assert set(cap.aro("attribution", tmp_path / "aro", images=False).category) == {"old_red"}
    with pytest.raises(InputError, match="relation and attribution"):
        cap.aro("order", tmp_path)  # type: ignore[arg-type]
    (tmp_path / "aro" / "visual_genome_relation.json").write_text('[{"image_path": "1.jpg"}]')
    with pytest.raises(DataError, match="example 0 has no 'bbox_x'"):
        cap.aro("relation", tmp_path / "aro")


def test_winoground_makes_two_questions_of_an_example(tmp_path: Path) -> None:
    folder = tmp_path / "winoground" / "data"
    (folder / "images").mkdir(parents=True)
    lines = []
    for i in range(2):
        for j in range(2):
            Image.new("RGB", (4, 4), (i * 100, j * 100, 0)).save(folder / "images" / f"ex_{i}_img_{j}.png")
        lines.append({
            "id": i, "image_0": f"ex_{i}_img_0", "image_1": f"ex_{i}_img_1",
            "caption_0": f"a{i} b", "caption_1": f"b a{i}",
            "tag": "Noun", "secondary_tag": "", "num_main_preds": 1, "collapsed_tag": "Object",
        })  # fmt: skip
    (folder / "examples.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    items = cap.winoground(tmp_path / "winoground")
    assert items.true == ("a0 b", "b a0", "a1 b", "b a1") and items.false == ("b a0", "a0 b", "b a1", "a1 b")
    assert items.image.tolist() == [0, 1, 2, 3] and items.cluster.tolist() == ["0", "0", "1", "1"]
    assert items.pictures()[3].getpixel((0, 0)) == (100, 100, 0)
    with pytest.raises(DataError, match=r"examples\.jsonl"):
        cap.winoground(tmp_path)


def test_missing_sets_say_where_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BINDERY_DATA", str(tmp_path))
    monkeypatch.setenv("BINDERY_CACHE", str(tmp_path / "cache"))
    for call, told in ((cap.winoground, "winoground"), (lambda: cap.aro("relation"), "vgr_vga_images")):
        with pytest.raises(DataError, match=told):
            call()


# ------------------------------------------------------------------ scenes


def test_scene_items_are_true_and_false_by_construction() -> None:
    items = cap.scene_items(6, seed=3, size=16)
    assert len(items) == 6 * len(PAIR_KINDS) and len(items.pictures()) == len(items)
    assert items.pictures()[0].size == (16, 16)
    for category in items.categories:
        part = items.of(category)
        assert all(a != b for a, b in zip(part.true, part.false, strict=True))
        expected = 1.0 if category.startswith("swap") else 0.0
        assert cap.order_only(part).mean() == expected
    adds = [cap.shorter_caption(items.of(kind)).accuracy for kind in ("add_obj", "add_att")]
    assert adds == [1.0, 1.0]
    again = cap.scene_items(6, seed=3, size=16)
    assert again.true == items.true and again.pictures().content_key(7) == items.pictures().content_key(7)  # type: ignore[union-attr]
