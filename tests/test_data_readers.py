"""Readers on tiny folders in the true layout, and what they say about damaged or incomplete ones."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from bindery import data
from bindery.data import where
from bindery.data.cue_conflict import cue_conflict_labels
from bindery.data.group_sets import CELEBA, WATERBIRDS
from bindery.data.layouts import KINDS
from bindery.data.natural_pairs import COUNTS
from bindery.errors import BinderyError, DataError, InputError
from bindery.paths import shared_data

PAIRED = ["mit-states", "ut-zappos", "waterbirds", "celeba", "cue-conflict"]


def shared(name: str) -> Path:
    try:
        folder = shared_data(name)
    except BinderyError:
        folder = None
    if folder is None:
        pytest.skip(f"{name} is not on this machine (BINDERY_DATA)")
    return folder


def state(folder: Path) -> dict[str, str]:
    """Every file below a folder, with its hash."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("key", PAIRED)
def test_true_layouts_are_read_and_left_alone(tmp_path: Path, key: str) -> None:
    folder = data.true_layout(key, tmp_path / key)
    before = state(folder)
    found = data.load(key, root=folder, check_counts=False)
    n = {"cue-conflict": 16, "waterbirds": 12, "celeba": 12}.get(key, 8)
    assert len(found) == n and len(set(found.pairs())) == 4
    assert found.images[0].mode == "RGB" and len(set(found.image_hashes())) == n
    assert found.credit
    if key != "cue-conflict":
        split = found.split(by="official").check()
        assert len(split.train) and len(split.val) and len(split.test)
        natural = key in ("mit-states", "ut-zappos")
        assert bool(split.unseen_pairs) == natural
    assert state(folder) == before


@pytest.mark.parametrize("key", PAIRED)
def test_counts_other_than_published_are_refused(tmp_path: Path, key: str) -> None:
    folder = data.true_layout(key, tmp_path / key)
    with pytest.raises(DataError, match=r"expected [\d,]+; unpack it again, or pass check_counts=False"):
        data.load(key, root=folder)


def test_right_counts_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny layouts, counted by hand: 3 seen pairs and 1 unseen; every group once in every part."""
    monkeypatch.setitem(COUNTS, "mit-states", (2, 2, 3, 2, 3, 4, 3, 2, 3))
    assert len(data.load("mit-states", root=data.true_layout("mit-states", tmp_path / "m"))) == 8
    groups = [("land", "landbird"), ("land", "waterbird"), ("water", "landbird"), ("water", "waterbird")]
    for group in groups:
        monkeypatch.setitem(WATERBIRDS, group, (1, 1, 1))
    folder = data.true_layout("waterbirds", tmp_path / "w")
    assert len(data.load("waterbirds", root=folder)) == 12
    monkeypatch.setitem(WATERBIRDS, groups[0], (2, 1, 1))
    with pytest.raises(DataError, match="1 train images of land landbird, expected 2"):
        data.load("waterbirds", root=folder)


def test_tiny_cue_conflict_can_be_split_by_source(tmp_path: Path) -> None:
    found = data.load(
        "cue-conflict", root=data.true_layout("cue-conflict", tmp_path / "c"), check_counts=False
    )
    for seed in range(6):
        found.split(seed, val=0).check()
        found.split(seed).check()


def test_published_counts_agree_with_each_other() -> None:
    """Sums that the papers state separately."""
    assert [sum(group[i] for group in WATERBIRDS.values()) for i in range(3)] == [4795, 1199, 5794]
    assert [sum(group[i] for group in CELEBA.values()) for i in range(3)] == [162770, 19867, 19962]
    for attributes, objects, train, val, test, every, *_ in COUNTS.values():
        assert train + val // 2 + test // 2 == every <= attributes * objects


@pytest.mark.parametrize("key", [*PAIRED, "imagenet-val", "sugar-crepe", "coco"])
def test_rehearsal_needs_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("BINDERY_REHEARSE", "1")
    monkeypatch.setenv("BINDERY_CACHE", str(tmp_path))
    if key in PAIRED:
        assert len(set(data.load(key).pairs())) == 4
    elif key == "imagenet-val":
        assert len(data.imagenet_val(4)) == 4
    else:
        captions = data.sugar_crepe()
        assert captions["category"].nunique() == 7
        assert len(data.coco_images(captions["filename"])) == len(captions)


@pytest.mark.parametrize("key", ["mit-states", "waterbirds", "celeba"])
def test_absent_data_says_what_where_and_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("BINDERY_CACHE", str(tmp_path))
    monkeypatch.setenv("BINDERY_DATA", str(tmp_path / "none"))
    monkeypatch.delenv("BINDERY_REHEARSE", raising=False)
    with pytest.raises(DataError) as caught:
        data.load(key)
    message = str(caught.value)
    assert "\n" not in message and "not on this machine" in message and "BINDERY_DATA" in message
    assert where.sources()[key]["where"] in message
    assert ("bindery.data.download" in message) == (key != "celeba")
    with pytest.raises(DataError, match="no folder"):
        data.load(key, root=tmp_path / "nowhere")


def test_metadata_with_code_is_not_run(tmp_path: Path) -> None:
    folder = data.true_layout("mit-states", tmp_path / "m")
    mark = tmp_path / "was_run"

    class Trap:
        def __reduce__(self):
            return (Path.touch, (mark,))

    torch.save([Trap()], folder / "metadata_compositional-split-natural.t7")
    with pytest.raises(DataError, match="more than plain values"):
        data.load("mit-states", root=folder, check_counts=False)
    assert not mark.exists()
    torch.save({"image": 1}, folder / "metadata_compositional-split-natural.t7")
    with pytest.raises(DataError, match="list of dictionaries"):
        data.load("mit-states", root=folder, check_counts=False)


def test_images_are_found_under_spaces_and_in_the_publishers_tree(tmp_path: Path) -> None:
    folder = data.true_layout("mit-states", tmp_path / "m")
    (folder / "images" / "ripe_apple").rename(folder / "images" / "ripe apple")
    assert len(data.load("mit-states", root=folder, check_counts=False)) == 8
    shoes = data.true_layout("ut-zappos", tmp_path / "u")
    rows = torch.load(shoes / "metadata_compositional-split-natural.t7", weights_only=True)
    (shoes / "images" / "Boots" / "Ankle Boots").mkdir(parents=True)
    for i, row in enumerate(rows[:-1]):
        row["_image"] = f"Boots/Ankle Boots/{i}.5.jpg"
        (shoes / "images" / row["image"]).rename(shoes / "images" / row["_image"])
    torch.save(rows, shoes / "metadata_compositional-split-natural.t7")
    assert len(data.load("ut-zappos", root=shoes, check_counts=False)) == 8
    (shoes / "images" / rows[2]["_image"]).unlink()
    with pytest.raises(DataError, match="1 images below"):
        data.load("ut-zappos", root=shoes, check_counts=False)


def test_a_missing_list_or_a_bad_line_is_named(tmp_path: Path) -> None:
    folder = data.true_layout("ut-zappos", tmp_path / "u")
    pairs = folder / "compositional-split-natural" / "val_pairs.txt"
    pairs.write_text("Leather\n")
    with pytest.raises(DataError, match=r"line 1: expected 'attribute object'"):
        data.load("ut-zappos", root=folder, check_counts=False)
    pairs.unlink()
    with pytest.raises(DataError, match=r"val_pairs\.txt"):
        data.load("ut-zappos", root=folder, check_counts=False)


@pytest.mark.parametrize("key", ["waterbirds", "celeba"])
def test_prepared_group_folders_are_read(tmp_path: Path, key: str) -> None:
    folder = data.true_layout(key, tmp_path / key)
    published = data.load(key, root=folder, check_counts=False)
    hashes = published.image_hashes()
    for path, pair in zip(published.images.paths, published.pairs(), strict=True):
        goal = folder / "images" / "_".join(pair) / path.name
        goal.parent.mkdir(parents=True, exist_ok=True)
        path.rename(goal)
    prepared = data.load(key, root=folder, check_counts=False)
    assert prepared.pairs() == published.pairs()
    assert prepared.image_hashes() == hashes


def test_celeba_text_lists_equal_the_csv_lists(tmp_path: Path) -> None:
    folder = data.true_layout("celeba", tmp_path / "c")
    csv = data.load("celeba", root=folder, check_counts=False)
    table = pd.read_csv(folder / "list_attr_celeba.csv").set_index("image_id")
    lines = [str(len(table)), " ".join(table.columns)]
    lines += [
        f"{name}  " + "  ".join(map(str, row))
        for name, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    (folder / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    parts = pd.read_csv(folder / "list_eval_partition.csv")
    parts.to_csv(folder / "list_eval_partition.txt", sep=" ", header=False, index=False)
    for name in ("list_attr_celeba.csv", "list_eval_partition.csv"):
        (folder / name).unlink()
    inner = folder / "img_align_celeba"
    (inner / "img_align_celeba").rename(folder / "flat")
    inner.rmdir()
    (folder / "flat").rename(inner)
    text = data.load("celeba", root=folder, check_counts=False)
    assert text.pairs() == csv.pairs()
    assert (text.official == csv.official).all()


def test_missing_column_is_named(tmp_path: Path) -> None:
    folder = data.true_layout("waterbirds", tmp_path / "w")
    table = pd.read_csv(folder / "metadata.csv").drop(columns="place")
    table.to_csv(folder / "metadata.csv", index=False)
    with pytest.raises(DataError, match="no column 'place'"):
        data.load("waterbirds", root=folder, check_counts=False)


def test_cue_conflict_rejects_foreign_names(tmp_path: Path) -> None:
    folder = data.true_layout("cue-conflict", tmp_path / "c")
    Image.new("RGB", (8, 8)).save(folder / "cat" / "holiday.png")
    with pytest.raises(DataError, match=r"holiday.png: the name is not <shape><i>-<texture><j>.png"):
        data.load("cue-conflict", root=folder, check_counts=False)


def test_the_real_cue_conflict_set() -> None:
    found = data.load("cue-conflict", root=shared("cue-conflict"))
    assert len(found) == 1280 and (found.describe() == 5).all(axis=None)
    assert found.sources["content"].nunique() == 160 and found.sources["texture"].nunique() == 48
    split = found.split(seed=0, val=0)
    for kind in ("content", "texture"):
        ids = found.sources[kind]
        assert not set(ids.iloc[split.train]) & set(ids.iloc[split.test])
    assert split.test_unseen and found.images[0].size == (224, 224)


def test_the_real_sugar_crepe_captions() -> None:
    captions = data.sugar_crepe(shared("sugar-crepe"))
    assert len(captions) == 7511 and captions["filename"].nunique() == 1560
    data.verify("sugar-crepe", shared("sugar-crepe"))


def folder_of(root: Path, *names: str) -> Path:
    rng = np.random.default_rng(0)
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (9, 7, 3), dtype=np.uint8)).save(path)
    return root


def test_plain_folder(tmp_path: Path) -> None:
    """The same file name in two sub-folders is two images; the name is parted at its first underscore."""
    root = folder_of(tmp_path, "red_apple/1.png", "green_apple/1.png", "red_sports_car/1.png")
    found = data.load(str(root))
    assert sorted(found.pairs()) == [("green", "apple"), ("red", "apple"), ("red", "sports_car")]
    assert len(set(found.sources["file"])) == len(set(found.image_hashes())) == 3


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "no images in"),
        (("apple/1.png",), "'apple' in .* is not called <attribute>_<object>"),
        (("_apple/1.png",), "is not called"),
    ],
)
def test_bad_folders_are_told(tmp_path: Path, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        data.load(folder_of(tmp_path, *names))
    with pytest.raises(DataError, match="no folder"):
        data.load(tmp_path / "none")


def test_non_image_files_are_told(tmp_path: Path) -> None:
    root = folder_of(tmp_path, "red_apple/1.png", "green_pear/2.png")
    (root / "red_apple" / "notes.docx").write_text("x")
    (root / "red_apple" / "Thumbs.db").write_text("x")
    with pytest.warns(UserWarning, match=r"1 files in .* are not images and are left out: notes.docx"):
        assert len(data.load(root)) == 2


def test_damaged_images_are_named_or_skipped(tmp_path: Path) -> None:
    root = folder_of(tmp_path, "red_apple/1.jpg", "red_apple/2.jpg", "green_pear/3.jpg", "green_pear/4.jpg")
    whole = (root / "red_apple" / "2.jpg").read_bytes()
    (root / "red_apple" / "2.jpg").write_bytes(whole[: len(whole) // 2])
    (root / "green_pear" / "4.jpg").write_text("this is no picture")
    found = data.load(root)
    with pytest.raises(DataError, match=r"2.jpg is damaged"):
        [found.images[i] for i in range(4) if found.images.paths[i].name == "2.jpg"]
    with pytest.raises(DataError, match=r"4.jpg is not an image"):
        [found.images[i] for i in range(4) if found.images.paths[i].name == "4.jpg"]
    with pytest.warns(UserWarning, match=r"2 damaged images left out: .*4.jpg.*2.jpg"):
        assert len(data.load(root, bad="skip")) == 2
    with pytest.raises(InputError, match="bad must be"):
        data.load(root, bad="ignore")
    (root / "red_apple" / "5.jpg").symlink_to("nowhere.jpg")
    (root / "red_apple" / "6.jpg").symlink_to("6.jpg")
    with pytest.warns(UserWarning, match=r"4 damaged images left out: .*5.jpg.*6.jpg"):
        assert len(data.load(root, bad="skip")) == 2
    (root / "red_apple" / "1.jpg").unlink()
    with pytest.raises(DataError, match=r"1\.jpg is missing"):
        [found.images[i] for i in range(4) if found.images.paths[i].name == "1.jpg"]


def test_every_colour_mode_becomes_rgb(tmp_path: Path) -> None:
    values = np.full((6, 6), 40000, dtype=np.uint16)
    pictures = {
        "grey.png": Image.new("L", (6, 6), 99),
        "clear.png": Image.new("RGBA", (6, 6), (255, 0, 0, 0)),
        "print.jpg": Image.new("CMYK", (6, 6), (0, 0, 0, 0)),
        "palette.gif": Image.new("P", (6, 6), 3),
        "deep.png": Image.fromarray(values),
        "bit.png": Image.new("1", (6, 6), 1),
    }
    (tmp_path / "a_b").mkdir()
    for name, picture in pictures.items():
        picture.save(tmp_path / "a_b" / name)
    found = data.load(tmp_path)
    images = {path.name: found.images[i] for i, path in enumerate(found.images.paths)}
    assert all(image.mode == "RGB" for image in images.values())
    assert images["grey.png"].getpixel((0, 0)) == (99, 99, 99)
    assert images["clear.png"].getpixel((0, 0)) == (255, 255, 255)
    assert images["bit.png"].getpixel((0, 0)) == (255, 255, 255)
    assert images["deep.png"].getpixel((0, 0)) == (155, 155, 155)
    assert min(images["print.jpg"].getpixel((0, 0))) > 250


@pytest.mark.parametrize(
    ("key", "message"),
    [("mit-state", "did you mean 'mit-states'"), ("cue-conflct", "cue-conflict"), ("zzz", "known: ")],
)
def test_unknown_key_suggests_the_nearest(key: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        data.load(key)


def test_layouts_refuse_what_they_do_not_know(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no layout 'imagenet'"):
        data.true_layout("imagenet", tmp_path / "x")
    with pytest.raises(InputError, match="at least 8"):
        data.true_layout("coco", tmp_path / "x", 3)
    assert set(KINDS) <= set(where.sources())


def test_labels_without_pixels_are_those_of_the_images() -> None:
    """The published file list alone gives the labels, sources and content keys of the real set."""
    bare = cue_conflict_labels()
    assert len(bare) == 1280 and (bare.describe() == 5).all(axis=None)
    with pytest.raises(DataError, match="not on this machine"):
        bare.images[0]
    real = data.load("cue-conflict", root=shared("cue-conflict"))
    rows = {key: i for i, key in enumerate(real.image_hashes())}
    order = [rows[key] for key in bare.image_hashes()]
    assert sorted(order) == list(range(1280))
    assert bare.labels.equals(real.subset(order).labels)
    assert bare.sources.equals(real.subset(order).sources)
