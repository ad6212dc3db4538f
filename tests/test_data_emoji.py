"""The emoji pack, the compositor and the four offline sets made of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bindery import data
from bindery.data.backgrounds import NUISANCE, PLACES, paint
from bindery.data.compositor import Composed, Recipe, compose
from bindery.data.pack import PACKS, EmojiPack, emoji_pack
from bindery.errors import DataError, InputError

TONES = {"light", "medium-light", "medium", "medium-dark", "dark"}


def test_pack_grids_are_complete() -> None:
    """Roles: woman and man in five tones wherever a style draws the role; duos 5 x 5; colours 9 x 3 x 5."""
    pack = emoji_pack()
    roles: dict[tuple[str, str], set] = {}
    for drawing in pack.select("roles"):
        cell = drawing.factors["gender"], drawing.factors["tone"]
        roles.setdefault((drawing.style, drawing.base), set()).add(cell)
    assert all(cells == {(g, t) for g in ("woman", "man") for t in TONES} for cells in roles.values())
    assert len({role for _, role in roles}) >= 57
    assert len({style for style, _ in roles}) == 5
    duos: dict[tuple[str, str], set] = {}
    for drawing in pack.select("duos"):
        cell = drawing.factors["left"], drawing.factors["right"]
        duos.setdefault((drawing.style, drawing.base), set()).add(cell)
    assert all(cells == {(a, b) for a in TONES for b in TONES} for cells in duos.values())
    assert len(duos) >= 50
    assert len(pack.select("colours")) == 9 * 3 * 5
    kinds = {d.factors["kind"] for d in pack.select("birds")}
    assert kinds == {"landbird", "waterbird"} and len(pack.select("birds")) >= 90


def test_pack_is_small_licensed_and_credited() -> None:
    pack = emoji_pack()
    assert pack.path.stat().st_size <= 15e6
    licences = {drawing.licence for drawing in pack.drawings}
    assert licences == {"CC-BY-4.0", "Apache-2.0", "CC-BY-SA-4.0", "MIT"}
    names = set(pack._archive.namelist())
    assert {f"LICENSES/{licence}.txt" for licence in licences} <= names
    assert all(style in pack.credits for style in pack.styles)


def test_every_drawing_can_be_read_and_no_two_of_a_style_are_alike() -> None:
    pack = emoji_pack()
    seen: dict[bytes, str] = {}
    for drawing in pack.drawings:
        sprite = pack.sprite(drawing)
        assert sprite.mode == "RGBA" and max(sprite.size) <= pack.side
        assert max(sprite.size) >= pack.side - 2, f"{drawing.id} does not fill its cell"
        key = drawing.style.encode() + sprite.tobytes()
        assert key not in seen, f"{drawing.id} equals {seen.get(key)}"
        seen[key] = drawing.id


def test_left_and_right_tones_are_where_the_labels_say() -> None:
    """From (light, dark) to (dark, light) the left half darkens, the right lightens, the outline stays."""
    pack = emoji_pack()
    by = {(d.style, d.base, d.factors["left"], d.factors["right"]): d for d in pack.select("duos")}
    for style, base in {key[:2] for key in by}:
        one, other = (
            np.asarray(pack.sprite(by[style, base, *tones]), dtype=float)
            for tones in (("light", "dark"), ("dark", "light"))
        )
        assert one.shape == other.shape
        change = (one - other)[..., :3].mean(axis=-1) * ((one[..., 3] > 127) & (other[..., 3] > 127))
        middle = change.shape[1] // 2
        assert change[:, :middle].sum() > 0 > change[:, middle:].sum(), (style, base)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder: (folder / "emoji.zip").unlink(), "emoji.zip is missing"),
        (lambda folder: (folder / "emoji.sha256").unlink(), "emoji.sha256 is missing"),
        (lambda folder: (folder / "emoji.zip").write_bytes(b"PK"), "damaged: sha256"),
        (lambda folder: (folder / "emoji.sha256").write_bytes(b""), "damaged: sha256"),
        (lambda folder: (folder / "emoji.sha256").write_bytes(b"\xff\xfe"), "damaged: sha256"),
    ],
)
def test_missing_or_corrupt_pack_is_one_clear_line(tmp_path: Path, harm, message: str) -> None:
    for name in ("emoji.zip", "emoji.sha256"):
        shutil.copy(PACKS / name, tmp_path / name)
    harm(tmp_path)
    with pytest.raises(DataError, match=message) as caught:
        EmojiPack(tmp_path / "emoji.zip")
    assert "\n" not in str(caught.value) and "git checkout" in str(caught.value)


@pytest.mark.parametrize("kind", [*NUISANCE, *PLACES])
def test_backgrounds_are_seeded_and_the_same_picture_at_every_size(kind: str) -> None:
    def at(size: int, seed: int) -> np.ndarray:
        return np.asarray(paint(kind, size, np.random.default_rng(seed)), dtype=float)

    assert at(96, 1).shape == (96, 96, 3)
    assert (at(96, 1) == at(96, 1)).all()
    assert (at(96, 1) != at(96, 2)).any()
    small = np.asarray(Image.fromarray(at(192, 1).astype(np.uint8)).reduce(4), dtype=float)
    coarse = np.asarray(Image.fromarray(at(96, 1).astype(np.uint8)).reduce(2), dtype=float)
    assert np.abs(small - coarse).mean() < 6


def test_drawings_stay_inside_the_frame() -> None:
    """A red figure on the border would differ from the bare background painted by the same generator."""
    red = Image.new("RGBA", (90, 60), (255, 0, 0, 255))
    for seed in range(60):
        for background in ("plain", "land"):
            image = np.asarray(compose(Recipe("x", background, "k", 0, seed), red, 64), dtype=int)
            is_red = (image[..., 0] > 200) & (image[..., 1] < 60) & (image[..., 2] < 60)
            assert is_red.sum() > 0.1 * 64 * 64 * 0.4
            edge = np.concatenate([is_red[0], is_red[-1], is_red[:, 0], is_red[:, -1]])
            assert not edge.any(), (seed, background)


def test_variants_of_a_cell_are_distinct_and_repeatable() -> None:
    options = {"n": 30, "size": 32, "roles": ["cook"], "tones": ["dark"], "seed": 4}
    first, again = data.load("emoji-roles", **options), data.load("emoji-roles", **options)
    pixels = [image.tobytes() for image in first.images]
    assert len(set(pixels)) == 30
    assert pixels == [image.tobytes() for image in again.images]
    assert first.image_hashes() == again.image_hashes()
    assert set(first.labels["background"]) == set(NUISANCE)
    other = data.load("emoji-roles", **{**options, "seed": 5})
    assert not set(other.image_hashes()) & set(first.image_hashes())


def test_fewer_images_a_pair_are_a_part_of_more() -> None:
    few = data.load("emoji-roles", n=3, size=32, roles=["cook", "pilot"])
    many = data.load("emoji-roles", n=12, size=32, roles=["cook", "pilot"])
    assert set(few.image_hashes()) < set(many.image_hashes())
    assert (many.describe() == 12).all(axis=None)


def test_keys_know_size_and_drawing() -> None:
    recipe = Recipe("twemoji/woman-cook-dark-skin-tone", "plain", "k", 0, 0)
    other = Recipe("twemoji/man-cook-dark-skin-tone", "plain", "k", 0, 0)
    keys = {Composed([r], size).content_key(0) for r in (recipe, other) for size in (32, 64)}
    assert len(keys) == 4


def test_no_drawing_in_training_and_test_not_even_recoloured() -> None:
    roles = data.load("emoji-roles", size=32)
    split = roles.split(seed=1)
    ids = [recipe.drawing.rsplit("/", 1) for recipe in roles.images.recipes]
    outlines = [f"{style}/{name.removesuffix('-skin-tone')}" for style, name in ids]
    for tone in sorted(TONES, key=len, reverse=True):  # what is left has no tone in its name
        outlines = [outline.removesuffix(f"-{tone}") for outline in outlines]
    train, test = ({outlines[i] for i in part} for part in (split.train, split.test))
    assert train and test and not train & test
    assert len(split.unseen_pairs) == 128  # 40 % of 5 x 64


def test_person_makes_gender_part_of_the_object() -> None:
    roles = data.load("emoji-roles", n=10, size=32, roles=6).with_pair("tone", "person")
    assert roles.labels["role"].nunique() == 6
    assert roles.describe().shape == (5, 12)


def test_duo_twins_differ_only_in_who_has_which_tone() -> None:
    duos = data.load("emoji-duos", n=8, size=48)
    for twin, rows in duos.labels.groupby("twin").groups.items():
        pairs = [(duos.labels["left"][i], duos.labels["right"][i]) for i in rows]
        if len(pairs) == 1:
            assert pairs[0][0] == pairs[0][1], twin
            continue
        assert len(pairs) == 2 and pairs[0] == pairs[1][::-1]
        one, other = (duos.images.recipes[i] for i in rows)
        assert (one.key, one.variant, one.background) == (other.key, other.variant, other.background)
    assert (duos.describe() == 8).all(axis=None)


def test_twins_share_every_background_pixel() -> None:
    duos = data.load(
        "emoji-duos", n=2, size=64, styles=["twemoji"], duos=["women-holding-hands"], equal=False
    )
    groups = duos.labels.groupby("twin").groups
    for rows in groups.values():
        one, other = (np.asarray(duos.images[int(i)], dtype=int) for i in rows)
        changed = (one != other).any(axis=-1)
        assert 0.005 < changed.mean() < 0.5
        corners = np.concatenate([changed[0], changed[-1], changed[:, 0], changed[:, -1]])
        assert not corners.any()


@pytest.mark.parametrize("spurious", [0.95, 0.5])
def test_birds_have_the_link_in_training_only(spurious: float) -> None:
    birds = data.load("emoji-birds", n=10, size=32, spurious=spurious)
    split = birds.split(by="official").check()
    own = {"landbird": "land", "waterbird": "water"}
    labels = birds.labels.assign(own=birds.labels["kind"].map(own) == birds.labels["place"])
    for kind, rows in labels.iloc[split.train].groupby("kind"):
        assert rows["own"].mean() == pytest.approx(spurious, abs=0.5 / len(rows) + 1e-9), kind
    for part in (split.val, split.test):
        assert (labels.iloc[part].groupby("kind")["own"].mean() == 0.5).all()
        assert set(labels.iloc[part]["kind"]) == set(own)
    species = [set(labels["species"].iloc[part]) for part in (split.train, split.val, split.test)]
    assert not species[0] & species[1] and not species[0] & species[2] and not species[1] & species[2]


def test_colours_and_a_small_choice() -> None:
    few = data.load(
        "emoji-colours", n=2, size=32, colours=["red", "blue"], shapes=["circle"], styles=["noto"]
    )
    assert len(few) == 4 and set(few.labels["style"]) == {"noto"}
    image = few.images[0]
    assert image.size == (32, 32) and image.mode == "RGB"


@pytest.mark.parametrize(
    ("key", "options", "message"),
    [
        ("emoji-role", {}, "did you mean 'emoji-roles'"),
        ("emoji-roles", {"sise": 32}, "did you mean 'size'"),
        ("emoji-roles", {"styles": ["twemoj"]}, "did you mean 'twemoji'"),
        ("emoji-roles", {"roles": ["pylot"]}, "did you mean 'pilot'"),
        ("emoji-roles", {"roles": 0}, "roles must lie in 1"),
        ("emoji-roles", {"n": 0}, "at least 1 image a pair"),
        ("emoji-roles", {"size": 4}, "at least 16 pixels"),
        ("emoji-birds", {"spurious": 1.5}, "spurious"),
        ("emoji-colours", {"styles": []}, "no drawing is left"),
    ],
)
def test_bad_requests_are_told(key: str, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        data.load(key, **options)
