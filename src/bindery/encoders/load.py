"""One door to every encoder: `load`."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from typing import Literal

from torch import nn

from bindery.encoders import weights as files
from bindery.encoders.build import build, build_blank, image_side
from bindery.encoders.card import Card
from bindery.encoders.custom import load_custom
from bindery.encoders.encoder import Encoder, Origin
from bindery.encoders.guards import check_output
from bindery.encoders.mapping import load_into
from bindery.encoders.specs import resolve
from bindery.encoders.text import TextSide, tokenizer
from bindery.errors import DataError, InputError
from bindery.paths import cache_dir
from bindery.provenance import sha256_file

Choice = Literal["pretrained", "random"]


def load(spec: str, *, weights: Choice = "pretrained", seed: int = 0) -> Encoder:
    """The encoder that ``spec`` names, checked.

    Parameters
    ----------
    spec
        A card's name, ``timm:NAME``, ``open_clip:MODEL/TAG``, ``path/to/file.py:function`` or ``zoo:NAME``.
    weights
        "pretrained": the card's weights, verified against the lock. "random": the library's own
        initialisation from ``seed``, in eval mode (batch-norm statistics 0 and 1). With
        ``BINDERY_REHEARSE=1`` in the environment, "pretrained" means random weights that are written to a
        file and read back through the same code.
    seed
        Of the random initialisation.

    Raises
    ------
    InputError
        Unknown name (the nearest are told), QuickGELU mismatch, an output that is no embedding.
    DataError
        Weights missing, changed, damaged, or of another architecture.
    """
    if not isinstance(spec, str):
        raise InputError(f"an encoder is named by text, such as 'efficientnet-lite0'; got {spec!r}")
    if weights not in ("pretrained", "random"):
        raise InputError(f"weights must be 'pretrained' or 'random', not {weights!r}")
    if not 0 <= seed < 2**32:
        raise InputError(f"seed must lie in 0..{2**32 - 1}; got {seed!r}")
    if spec.startswith("zoo:"):
        return _from_zoo(spec.removeprefix("zoo:"), weights, seed)
    if spec.endswith(".py"):
        raise InputError(f"{spec} names no function; an own encoder is given as path/to/file.py:function")
    if ".py:" in spec:
        if weights == "random":
            raise InputError(f"{spec} makes its own weights; weights='random' is not possible for it")
        return load_custom(spec)
    return load_card(resolve(spec), weights=weights, seed=seed)


def load_card(card: Card, *, weights: Choice = "pretrained", seed: int = 0) -> Encoder:
    """`load` for a card at hand."""
    origin: Origin = weights
    if weights == "pretrained" and os.environ.get("BINDERY_REHEARSE", "") not in ("", "0"):
        origin = "rehearsal"
    digest = ""
    if origin == "random":
        model = build(card, seed)
    elif origin == "rehearsal":
        with tempfile.TemporaryDirectory(dir=cache_dir("rehearsal")) as folder:
            path = rehearsal_file(card, Path(folder), seed)
            digest = sha256_file(path)
            model = _from_file(card, path)
    else:
        path, digest = files.checked(card)
        model = _from_file(card, path)
    module = image_side(model, card)
    dim = check_output(card.name, module, card.input_size, card.dim)
    text, missing = _text_side(card, model)
    return Encoder(
        name=card.name,
        card=card.model_copy(update={"dim": dim}),
        module=module,
        preprocess=card.preprocess,
        weights=origin,
        seed=seed,
        text=text,
        text_missing=missing,
        weights_sha256=digest,
        whole=model,
    )


def rehearsal_file(card: Card, folder: Path, seed: int = 0) -> Path:
    """Random weights of a card's architecture in a safetensors file, named as its checkpoint names them."""
    from safetensors.torch import save_file

    prefix = card.weights.prefix if card.weights else ""
    state = build(card, seed).state_dict()
    path = folder / f"{card.name.replace('/', '-').replace(':', '-')}.safetensors"
    save_file({f"{prefix}{key}": value.contiguous() for key, value in state.items()}, path)
    return path


def _from_file(card: Card, path: Path) -> nn.Module:
    model = build_blank(card)
    load_into(model, card, files.read(path), path.name)
    return model


def _text_side(card: Card, model: nn.Module) -> tuple[TextSide | None, str]:
    if not card.text:
        return None, ""
    try:
        return TextSide(model, tokenizer(card)), ""
    except DataError as error:
        return None, str(error)


def _from_zoo(name: str, weights: Choice, seed: int) -> Encoder:
    try:
        zoo = importlib.import_module("bindery.zoo")
    except ModuleNotFoundError as error:
        raise InputError(f"zoo:{name} needs bindery.zoo, which this installation lacks") from error
    encoder = zoo.load(name, weights=weights, seed=seed)
    assert isinstance(encoder, Encoder)
    return encoder
