"""A reader's own encoder from a file, and the text side of vision-language models."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from bindery.encoders import cards, embed, load
from bindery.encoders.text import TextSide, tokenizer
from bindery.errors import DataError, InputError

HEAD = """
import torch
from torch import nn
from torchvision import transforms
from bindery.encoders import Card, Encoder, Preprocess

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, 6)).eval()
"""
GOOD = {
    "settings": "def make():\n    return net(), Preprocess(size=32)\n",
    "function": (
        "def make():\n    steps = [transforms.Resize((32, 32)), transforms.ToTensor()]\n"
        "    return net(), transforms.Compose(steps)\n"
    ),
    "encoder": (
        "def make():\n    p = Preprocess(size=32)\n"
        "    card = Card(name='mine', family='other', loader='file', architecture='net', feature='output',"
        " dim=6, preprocess=p)\n    return Encoder('mine', card, net(), p, weights='custom')\n"
    ),
}
BAD = {
    "def make():\n    return net()\n": "must return \\(module, preprocess\\) or an Encoder; got Sequential",
    "def make():\n    return net().train(), Preprocess(size=32)\n": "training mode",
    "def make():\n    return net().double(), Preprocess(size=32)\n": "cannot run",
    "def make():\n    return 1 / 0\n": "make failed: ZeroDivisionError",
    "def make():\n    raise SystemExit(3)\n": "make failed: SystemExit",
    "def make(:\n": "is not valid Python: invalid syntax",
    "\0": "is not valid Python",
    "def make():\n    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 0)).eval(), Preprocess(size=32)\n": (
        "must map .* to \\(2, D\\); got \\(2, 0\\)"
    ),
    "def other():\n    return net()\n": "no function 'make'; it has net, other",
    "def make():\n    return net(), transforms.ToTensor()\n": "square",
    "def make():\n    return nn.Linear(5, 2).eval(), Preprocess(size=32)\n": "cannot run",
}


def write(folder: Path, body: str) -> str:
    path = folder / "mine.py"
    path.write_text(HEAD + body)
    return f"{path}:make"


@pytest.mark.parametrize("kind", list(GOOD))
def test_own_encoder_embeds(tmp_path: Path, kind: str) -> None:
    encoder = load(write(tmp_path, GOOD[kind]))
    rows = embed(encoder, [Image.new("RGB", (40, 50), colour) for colour in ("red", "green")], progress=False)
    assert rows.shape == (2, 6) and encoder.dim == 6 and encoder.input_size == 32
    assert encoder.weights == "custom" and not encoder.has_text
    assert not np.allclose(rows[0], rows[1])


def test_fingerprint_follows_the_file(tmp_path: Path) -> None:
    first = load(write(tmp_path, GOOD["function"])).fingerprint
    assert load(write(tmp_path, GOOD["function"])).fingerprint == first
    assert load(write(tmp_path, GOOD["function"] + "\nSCALE = 2\n")).fingerprint != first


@pytest.mark.parametrize(("body", "told"), BAD.items())
def test_what_is_no_encoder_is_refused(tmp_path: Path, body: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        load(write(tmp_path, body))


def test_a_file_without_a_function_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names no function"):
        load(write(tmp_path, GOOD["settings"]).removesuffix(":make"))


def test_own_encoder_has_no_random_weights(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="makes its own weights"):
        load(write(tmp_path, GOOD["settings"]), weights="random")


def test_text_side_of_a_clip_model() -> None:
    encoder = load("clip-rn50", weights="random")
    prompts = ["a photo of a cat", "a photo of a dog", "wet asphalt"]
    rows = encoder.encode_text(prompts)
    assert encoder.has_text and rows.shape == (3, encoder.dim) and rows.dtype == np.float32
    np.testing.assert_allclose(encoder.encode_text(prompts, batch_size=1), rows, rtol=1e-4, atol=1e-5)
    assert not np.allclose(rows[0], rows[1])
    assert encoder.logit_scale == pytest.approx(1 / 0.07, rel=1e-5)  # CLIP's start value
    assert encoder.logit_bias == 0
    for wrong in ([], [""], "a photo", [3]):
        with pytest.raises(InputError, match="non-empty list"):
            encoder.encode_text(wrong)  # type: ignore[arg-type]


def test_encoder_without_text_says_so() -> None:
    encoder = load("efficientnet-lite0")
    assert not encoder.has_text
    with pytest.raises(InputError, match="efficientnet-lite0 has no text side"):
        encoder.encode_text(["a photo"])


@pytest.mark.skipif(importlib.util.find_spec("transformers") is not None, reason="transformers is installed")
def test_missing_tokenizer_is_told() -> None:
    with pytest.raises(DataError, match="needs the package transformers"):
        tokenizer(cards()["siglip-vit-b16"])


def test_learnt_bias_is_read() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.logit_scale = torch.nn.Parameter(torch.tensor(2.0))
            self.logit_bias = torch.nn.Parameter(torch.tensor(-10.0))

    side = TextSide(Model(), lambda texts: torch.zeros(len(texts), 1))
    assert (side.logit_scale, side.logit_bias) == (pytest.approx(np.exp(2)), -10)
