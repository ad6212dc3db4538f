"""Architectures with their library's default initialisation, seeded."""

from __future__ import annotations

import difflib
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from bindery.encoders.card import Card
from bindery.errors import InputError


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's generator set to ``seed`` inside, and as it was outside."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


class _LeaveBlank(TorchFunctionMode):
    """Skips the drawing of random numbers: for networks whose every tensor is loaded afterwards."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.normal_, torch.Tensor.uniform_, torch.Tensor.erfinv_):
            return args[0]
        return func(*args, **(kwargs or {}))


def build_blank(card: Card) -> nn.Module:
    """`build` without the time of a random initialisation; parameters hold no meaningful numbers."""
    with _LeaveBlank():
        return build(card)


def build(card: Card, seed: int = 0, device: str = "cpu") -> nn.Module:
    """The whole network of a card with random weights: eval mode, float32, no gradients.

    For open_clip cards this is the model with both towers; `image_side` gives the part that embeds images.
    ``device="meta"`` gives shapes without memory.
    """
    with seeded(seed), torch.device(device):
        model = _open_clip(card, device) if card.loader == "open_clip" else _timm(card)
    return model.eval().requires_grad_(False)


def image_side(model: nn.Module, card: Card) -> nn.Module:
    """The part of `build`'s network that maps images to embeddings."""
    side = model.visual if card.loader == "open_clip" else model
    assert isinstance(side, nn.Module)
    return side


def _timm(card: Card) -> nn.Module:
    import timm

    if card.architecture == "resnet50x2":
        return _resnet50x2()
    if not timm.is_model(card.architecture):
        near = difflib.get_close_matches(card.architecture, timm.list_models(), n=3)
        raise InputError(f"timm has no model {card.architecture!r}; nearest: {', '.join(near) or 'none'}")
    options: dict[str, Any] = {"num_classes": 0}
    if card.pooling:
        options["global_pool"] = card.pooling
    # Vision transformers fix their grid at construction; DINOv2's default is 518 pixels.
    native = timm.get_pretrained_cfg(card.architecture)
    if native is not None and native.fixed_input_size and native.input_size[-1] != card.input_size:
        options["img_size"] = card.input_size
    return timm.create_model(card.architecture, pretrained=False, **options)


def _resnet50x2() -> nn.Module:
    """ResNet-50 with every channel count doubled, the stem included (VICReg, SwAV)."""
    from timm.models.resnet import Bottleneck, ResNet

    model: Any = ResNet(Bottleneck, (3, 4, 6, 3), num_classes=0, channels=(128, 256, 512, 1024))  # type: ignore[arg-type]
    # timm keeps the stem at 64 channels whatever the width; widen it and what reads it.
    model.conv1 = nn.Conv2d(3, 128, 7, stride=2, padding=3, bias=False)
    model.bn1 = nn.BatchNorm2d(128)
    first = model.layer1[0]
    first.conv1 = nn.Conv2d(128, 128, 1, bias=False)
    first.downsample[0] = nn.Conv2d(128, 512, 1, bias=False)
    model.init_weights()
    widened: nn.Module = model
    return widened


def _open_clip(card: Card, device: str) -> nn.Module:
    import open_clip

    if card.architecture not in open_clip.list_models():
        near = difflib.get_close_matches(card.architecture, open_clip.list_models(), n=3)
        raise InputError(
            f"open_clip has no model {card.architecture!r}; nearest: {', '.join(near) or 'none'}"
        )
    refuse_gelu_mismatch(card)
    root, level = logging.getLogger(), logging.getLogger().level
    root.setLevel(
        logging.ERROR
    )  # open_clip warns on the root logger that the weights are random: here on purpose
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return open_clip.create_model(
                card.architecture, pretrained=None, load_weights=False, pretrained_text=False, device=device
            )
    finally:
        root.setLevel(level)


def refuse_gelu_mismatch(card: Card) -> None:
    """Raise InputError when the weights were trained with one GELU and the architecture uses the other.

    The model then runs and its numbers look plausible, yet they are wrong.
    """
    import open_clip

    tag = card.weights.tag if card.weights else ""
    trained = open_clip.get_pretrained_cfg(card.architecture, tag) if tag else None
    config = open_clip.get_model_config(card.architecture) or {}
    if not trained or bool(trained.get("quick_gelu")) == bool(config.get("quick_gelu")):
        return
    bare = card.architecture.removesuffix("-quickgelu")
    right = f"{bare}-quickgelu" if trained.get("quick_gelu") else bare
    raise InputError(
        f"{tag!r} weights were trained {'with' if trained.get('quick_gelu') else 'without'} QuickGELU, but "
        f"{card.architecture} is built the other way; use open_clip:{right}/{tag}"
    )
