"""The reader's own encoder: ``path/to/file.py:function``.

The function is called without arguments and returns either an `Encoder`, or a pair ``(module, preprocess)``:
``module`` maps a normalised (B, 3, S, S) tensor to (B, D) float32 embeddings; ``preprocess`` is a
`bindery.encoders.Preprocess`, or any function from one PIL image to its (3, S, S) tensor. ::

    def make():
        net = timm.create_model("resnet18", num_classes=0).eval()
        return net, Preprocess(size=224, crop=0.875)
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import nn

from bindery.encoders.card import Card
from bindery.encoders.encoder import Encoder
from bindery.encoders.guards import check_output
from bindery.encoders.preprocess import ImageLike, Preprocess, as_rgb
from bindery.errors import BinderyError, InputError


@dataclass(frozen=True)
class Batched:
    """A function of one PIL image, made a function of many."""

    single: Callable[[Image.Image], torch.Tensor]

    def __call__(self, images: Sequence[ImageLike]) -> torch.Tensor:
        """(B, 3, S, S) float32 tensor."""
        return torch.stack([self.single(as_rgb(image)) for image in images]).float()


def load_custom(spec: str) -> Encoder:
    """The encoder that ``file.py:function`` makes.

    Raises
    ------
    InputError
        No such file or function, the function fails, or what it returns is no encoder.
    """
    file, _, function = spec.rpartition(":")
    path = Path(file)
    made = _call(path, function)
    code = hashlib.sha256(path.read_bytes()).hexdigest()
    if isinstance(made, Encoder):
        check_output(made.name, made.module, made.input_size, made.dim)
        return replace(made, extra_code=code)
    if not (
        isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], nn.Module) and callable(made[1])
    ):
        raise InputError(f"{spec} must return (module, preprocess) or an Encoder; got {type(made).__name__}")
    module, preprocess = made
    if module.training:
        raise InputError(f"{spec} returned a module in training mode; call .eval() before returning it")
    if not isinstance(preprocess, Preprocess):
        preprocess = Batched(preprocess)
    side = _side(spec, preprocess)
    dim = check_output(spec, module.requires_grad_(False), side, 0)
    name = f"{path.stem}:{function}"
    settings = preprocess if isinstance(preprocess, Preprocess) else Preprocess(size=side)
    card = Card(
        name=name,
        family="other",
        loader="file",
        architecture=function,
        feature="output",
        dim=dim,
        preprocess=settings,
    )
    return Encoder(name, card, module, preprocess, weights="custom", extra_code=code)


def _call(path: Path, function: str) -> Any:
    if not path.is_file():
        raise InputError(f"no file {path}; an own encoder is given as path/to/file.py:function")
    try:
        body = ast.parse(path.read_bytes(), path.name).body
    except (SyntaxError, ValueError) as error:  # ValueError: null bytes
        raise InputError(f"{path} is not valid Python: {error}") from error
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if function not in functions:
        raise InputError(f"{path} defines no function {function!r}; it has {', '.join(functions) or 'none'}")
    spec = importlib.util.spec_from_file_location(f"bindery_custom_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickling look a module up by its name
    try:
        spec.loader.exec_module(module)
        return getattr(module, function)()
    except BinderyError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{path}:{function} failed: {type(error).__name__}: {error}") from error


def _side(spec: str, preprocess: Callable[[Sequence[ImageLike]], torch.Tensor]) -> int:
    try:
        probe = preprocess([Image.new("RGB", (320, 240), (128, 128, 128))])
    except BinderyError:
        raise
    except Exception as error:
        raise InputError(f"the preprocessing of {spec} failed on a grey image: {error}") from error
    if probe.ndim != 4 or probe.shape[1] != 3 or probe.shape[2] != probe.shape[3]:
        raise InputError(
            f"the preprocessing of {spec} must give square (3, S, S) tensors; got {tuple(probe.shape[1:])}"
        )
    return int(probe.shape[-1])
