"""Hashes of all that an embedding depends on, so that no cache outlives what filled it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata, resources

import numpy as np
import torch
from torch import nn

from bindery.encoders.preprocess import ImageLike, Preprocess
from bindery.errors import BinderyError, InputError

MODULES = ("build.py", "embed.py", "mapping.py", "preprocess.py")
"""The modules of this package that decide what comes out."""

_LOADERS = {"open_clip": ("open_clip_torch", "timm")}


@cache
def code_hash(modules: tuple[str, ...] = MODULES) -> str:
    """sha256 of the modules' syntax trees: comments, docstrings and layout do not count."""
    digest = hashlib.sha256()
    for name in modules:
        text = (resources.files("bindery.encoders") / name).read_text(encoding="utf-8")
        digest.update(normal_form(text).encode())
    return digest.hexdigest()


def normal_form(text: str) -> str:
    """Source code without what cannot change a result."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return ast.dump(tree)


def versions(loader: str) -> str:
    """Versions of the libraries that compute: a new one may resize or initialise differently."""
    packages = ("torch", "pillow", *_LOADERS.get(loader, ("timm",)))
    return " ".join(f"{package}={metadata.version(package)}" for package in packages)


def tensor_hash(module: nn.Module) -> str:
    """sha256 of all parameters and buffers, names and shapes included."""
    digest = hashlib.sha256()
    for key, value in sorted(module.state_dict().items()):
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def preprocess_hash(preprocess: Callable[[Sequence[ImageLike]], torch.Tensor]) -> str:
    """Hash of the settings; of the result on fixed noise images when the function is the reader's own."""
    if isinstance(preprocess, Preprocess):
        return sha256_text(preprocess.model_dump_json())
    rng = np.random.default_rng(0)
    probes = [rng.integers(0, 256, size, dtype=np.uint8) for size in ((97, 131, 3), (512, 300, 3))]
    try:
        result = preprocess(probes)
    except BinderyError:
        raise
    except Exception as error:
        raise InputError(f"the preprocessing fails on a noise image: {error}") from error
    return hashlib.sha256(result.contiguous().numpy().tobytes()).hexdigest()


def sha256_text(text: str) -> str:
    """Hex sha256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _is_text(line: ast.stmt) -> bool:
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )
