"""Loading, embedding and identity of encoders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from skimage import data as photographs
from torch import nn

from bindery.encoders import Card, Encoder, Preprocess, check_encoders, embed, load, load_card
from bindery.encoders import fingerprint as fp
from bindery.encoders.guards import check_output
from bindery.errors import DataError, InputError

# Class numbers of ImageNet-1k that are right for a photograph: cats; cups and espresso; rockets.
IMAGENET = {"chelsea": range(281, 286), "coffee": (504, 925, 967, 968, 969), "rocket": (657, 744, 812)}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BINDERY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BINDERY_REHEARSE", raising=False)


@pytest.fixture(scope="module")
def lite0() -> Encoder:
    return load("efficientnet-lite0")


def photo(name: str) -> Image.Image:
    return Image.fromarray(getattr(photographs, name)())


def crops(n: int, side: int = 150) -> list[Image.Image]:
    """Seeded pieces of natural photographs."""
    rng = np.random.default_rng(0)
    sources = [photo(name) for name in ("chelsea", "coffee", "rocket", "astronaut")]
    pieces = []
    for index in range(n):
        source = sources[index % len(sources)]
        left, top = rng.integers(0, source.width - side), rng.integers(0, source.height - side)
        pieces.append(source.crop((left, top, left + side, top + side)))
    return pieces


@pytest.mark.parametrize("size", ["0", "1", "2"])
def test_real_weights_recognise_real_photographs(size: str) -> None:
    """The file's own ImageNet head on our embeddings: a wrong mapping would not survive."""
    from bindery.encoders import weights

    encoder = load(f"efficientnet-lite{size}")
    path = weights.find(encoder.card)
    assert path is not None
    checkpoint = torch.load(path, weights_only=True)
    rows = torch.from_numpy(embed(encoder, [photo(name) for name in IMAGENET], progress=False))
    logits = rows @ checkpoint["_fc.weight"].T + checkpoint["_fc.bias"]
    for name, guesses in zip(IMAGENET, logits.topk(5, dim=1).indices.tolist(), strict=True):
        assert set(guesses) & set(IMAGENET[name]), name
    assert encoder.weights == "pretrained" and rows.shape == (3, encoder.dim)


@pytest.mark.parametrize("spec", ["efficientnet-lite0", "timm:vit_tiny_patch16_224"])
def test_batch_size_does_not_change_the_result(spec: str, lite0: Encoder) -> None:
    encoder = lite0 if spec == lite0.name else load(spec, weights="random")
    images = crops(24)
    whole = embed(encoder, images, batch_size=24, progress=False)
    for batch_size, n in ((7, 24), (1, 4)):
        other = embed(encoder, images[:n], batch_size=batch_size, progress=False)
        assert np.abs(other - whole[:n]).max() <= 1e-5 * np.abs(whole).max()


def test_rows_follow_images_and_pixels_may_be_arrays(lite0: Encoder) -> None:
    images = crops(5)
    rows = embed(lite0, images, batch_size=2, progress=False)
    np.testing.assert_allclose(embed(lite0, images[::-1], progress=False), rows[::-1], atol=1e-4)
    arrays = [np.asarray(image) for image in images]
    np.testing.assert_allclose(embed(lite0, arrays, progress=False), rows, atol=1e-4)
    assert rows.dtype == np.float32
    assert not np.allclose(np.linalg.norm(rows, axis=1), 1, atol=0.1)  # never unit-normed


def test_random_weights_follow_the_seed_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, again, other = (load("timm:resnet18", weights="random", seed=seed) for seed in (3, 3, 4))
    assert torch.equal(torch.get_rng_state(), before)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.weights == "random"


def test_uncropped_shows_the_edge_and_is_another_encoder_to_the_store(lite0: Encoder) -> None:
    plain = np.full((224, 224, 3), 90, np.uint8)
    framed = plain.copy()
    framed[:8] = framed[-8:] = 255
    whole = lite0.uncropped()
    assert torch.equal(lite0.preprocess([plain]), lite0.preprocess([framed]))
    assert not torch.equal(whole.preprocess([plain]), whole.preprocess([framed]))
    assert whole.fingerprint != lite0.fingerprint and whole.weights == lite0.weights
    custom = replace(lite0, preprocess=lambda images: torch.zeros(len(images), 3, 224, 224))
    assert custom.uncropped() is custom


def test_fingerprint_knows_weights_preprocessing_and_code(lite0: Encoder) -> None:
    moved = replace(lite0, preprocess=Preprocess(size=224, crop=0.9))
    edited = replace(lite0, extra_code="x")
    pooled = replace(lite0, card=lite0.card.model_copy(update={"pooling": "max"}))
    prints = {lite0.fingerprint, moved.fingerprint, edited.fingerprint, pooled.fingerprint}
    assert len(prints) == 4
    assert replace(lite0, name="renamed").fingerprint == lite0.fingerprint


def test_code_hash_ignores_comments_and_not_code() -> None:
    plain = fp.normal_form("def f(x):\n    return x + 1\n")
    assert plain == fp.normal_form('# why\ndef f(x):\n    """Doc."""\n\n    return (x + 1)\n')
    assert plain != fp.normal_form("def f(x):\n    return x + 2\n")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("eficientnet-lite0", "did you mean efficientnet-lite0"),
        ("zzz", "cards: .*clip-vit-l14"),
        ("timm:resnet5", "nearest: resnet50"),
        ("timm:resnet18.nope", "timm has no model 'resnet18.nope'"),
        ("open_clip:ViT-B-32/opnai", "tags of ViT-B-32: openai"),
        ("open_clip:ViT-B-33/openai", "write open_clip:MODEL/TAG; nearest models: ViT-B-32"),
        ("open_clip:ViT-B-32/openai", "use open_clip:ViT-B-32-quickgelu/openai"),
        ("open_clip:ViT-B-32-quickgelu/laion2b_s34b_b79k", "tags of ViT-B-32-quickgelu"),
        ("nowhere.py:make", "no file nowhere.py"),
        (Path("mine.py"), "named by text"),
    ],
)
def test_unknown_names_and_gelu_mismatch_are_refused(spec: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        load(spec, weights="pretrained")


def test_gelu_mismatch_in_a_card_is_refused() -> None:
    from bindery.encoders import cards

    card = cards()["clip-vit-b32"].model_copy(update={"architecture": "ViT-B-32"})
    with pytest.raises(InputError, match="QuickGELU"):
        load_card(card, weights="random")


@pytest.mark.parametrize(
    ("spec", "blocks", "shape"),
    [
        ("timm:vit_tiny_patch16_224", [f"blocks.{k}" for k in range(12)], (1, 197, 192)),
        ("timm:resnet18", [f"layer{k}" for k in range(1, 5)], (1, 512, 7, 7)),
        ("timm:convnext_atto", [f"stages.{k}" for k in range(4)], (1, 320, 7, 7)),
    ],
)
def test_blocks_name_submodules_in_order(spec: str, blocks: list[str], shape: tuple[int, ...]) -> None:
    encoder = load(spec, weights="random")
    assert encoder.blocks() == blocks
    seen: list[tuple[int, ...]] = []
    last = encoder.module.get_submodule(blocks[-1])
    hook = last.register_forward_hook(lambda module, inputs, output: seen.append(tuple(output.shape)))
    encoder.module(torch.zeros(1, 3, 224, 224))
    hook.remove()
    assert seen == [shape]


def test_register_tokens_do_not_enter_the_mean() -> None:
    card = Card(
        name="registers", family="other", loader="timm", architecture="vit_small_patch14_reg4_dinov2",
        feature="pooled", pooling="avg", dim=384,
    )  # fmt: skip
    module = load_card(card, weights="random").module
    images = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    tokens = module.forward_features(images)  # type: ignore[operator]
    assert tokens.shape[1] == 1 + 4 + 16 * 16
    expected = module.fc_norm(tokens[:, 5:].mean(dim=1))  # type: ignore[operator]
    torch.testing.assert_close(module(images), expected)


def flat(side: int = 8, out: int = 4) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * side * side, out)).eval()


class Odd(nn.Module):
    """An encoder with one chosen fault."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault, self.inner = fault, flat()

    def forward(self, images: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        rows: torch.Tensor = self.inner(images)
        return {
            "tuple": (rows, rows),
            "map": rows[:, :, None],
            "double": rows.double(),
            "nan": rows / 0 * 0,
            "constant": torch.ones_like(rows),
        }[self.fault]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("tuple", "got tuple"),
        ("map", "to \\(2, D\\)"),
        ("double", "float32"),
        ("nan", "NaN"),
        ("constant", "does not depend on its input"),
    ],
)
def test_outputs_that_are_no_embeddings_are_refused(fault: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        check_output("odd", Odd(fault).eval(), 8, 0)


def test_train_mode_and_wrong_length_are_refused() -> None:
    with pytest.raises(InputError, match="training mode"):
        check_output("flat", flat().train(), 8, 0)
    with pytest.raises(InputError, match="length 4, its card says 5"):
        check_output("flat", flat(), 8, 5)
    assert check_output("flat", flat(), 8, 0) == 4


@pytest.mark.parametrize(
    ("tensor", "told"),
    [
        (torch.zeros(1, 3, 200, 200), "reads \\(B, 3, 224, 224\\)"),
        (torch.zeros(3, 224, 224), "reads \\(B, 3, 224, 224\\)"),
        (torch.zeros(1, 3, 224, 224, dtype=torch.uint8), "normalised floats"),
        (torch.full((1, 3, 224, 224), 200.0), "largest magnitude here is 200"),
        (torch.full((1, 3, 224, 224), float("nan")), "largest magnitude here is nan"),
    ],
)
def test_wrong_size_and_range_are_refused(lite0: Encoder, tensor: torch.Tensor, told: str) -> None:
    with pytest.raises(InputError, match=told):
        lite0.check_input(tensor)


def test_gaussian_noise_is_a_legal_input(lite0: Encoder) -> None:
    lite0.check_input(torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(0)))


@pytest.mark.parametrize(
    ("image", "told"),
    [
        (np.zeros((8, 8, 3), np.float32), "image 1: .*uint8 array in 0..255; got float32"),
        (np.zeros((8, 8), np.uint8), "image 1: .*shape \\(8, 8\\)"),
        (Image.new("RGBA", (8, 8)), "image 1: .*transparency"),
    ],
)
def test_wrong_images_are_refused_by_number(
    lite0: Encoder, image: Image.Image | NDArray[np.uint8], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        embed(lite0, [Image.new("RGB", (8, 8)), image], progress=False)


def test_truncated_jpeg_is_refused_by_number(lite0: Encoder, tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    photo("coffee").save(path)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(InputError, match=r"image 0: .*truncated"):
        embed(lite0, [Image.open(path)], progress=False)


def test_grey_and_palette_images_are_read_as_rgb(lite0: Encoder) -> None:
    grey = photo("coffee").convert("L")
    rows = embed(lite0, [grey, grey.convert("RGB")], progress=False)
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-5)


def test_empty_list_and_batch_size_zero_are_refused(lite0: Encoder) -> None:
    with pytest.raises(InputError, match="no images"):
        embed(lite0, [], progress=False)
    with pytest.raises(InputError, match="batch_size"):
        embed(lite0, crops(1), batch_size=0, progress=False)
    with pytest.raises(InputError, match="not one Image; a single image goes in a list"):
        embed(lite0, crops(1)[0], progress=False)
    with pytest.raises(InputError, match="seed must lie in 0"):
        load("efficientnet-lite0", weights="random", seed=2**70)


@pytest.mark.parametrize("resize", ["shortest", "squash"])
@pytest.mark.parametrize("shape", [(50, 80), (80, 50), (1, 300), (224, 224), (700, 500)])
def test_preprocessing_agrees_with_torchvision(shape: tuple[int, int], resize: str) -> None:
    from torchvision import transforms as tv

    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, (*shape, 3), dtype=np.uint8))
    ours = Preprocess(size=224, crop=0.875, resize=resize)  # type: ignore[arg-type]
    first = tv.Resize((224, 224), tv.InterpolationMode.BICUBIC)
    if resize == "shortest":
        first = tv.Resize(256, tv.InterpolationMode.BICUBIC)
    theirs = tv.Compose([first, tv.CenterCrop(224), tv.ToTensor(), tv.Normalize(ours.mean, ours.std)])
    torch.testing.assert_close(ours([image])[0], theirs(image))


def test_check_encoders_tells_the_state_of_every_card() -> None:
    table = {row.name: row for row in check_encoders()}
    assert len(table) == 31
    for size in "012":
        row = table[f"efficientnet-lite{size}"]
        assert (row.lock, row.present, row.verified) == ("package", True, True)
    assert table["barlow-twins-rn50"].present is False  # the cache of this test is empty
    assert table["barlow-twins-rn50"].lock == "not yet recorded"


def test_weights_choice_is_checked() -> None:
    with pytest.raises(InputError, match="'pretrained' or 'random'"):
        load("efficientnet-lite0", weights="none")  # type: ignore[arg-type]


def test_missing_weights_say_where_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    def unplugged(*_: object, **__: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(torch.hub, "download_url_to_file", unplugged)
    with pytest.raises(
        DataError, match=r"barlow-twins-rn50 .*dl.fbaipublicfiles.com.*no route to host.*'random'"
    ):
        load("barlow-twins-rn50")
