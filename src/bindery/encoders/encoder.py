"""What every task sees of an encoder, whatever made it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from bindery.encoders import fingerprint as fp
from bindery.encoders.card import Card
from bindery.encoders.guards import check_input
from bindery.encoders.preprocess import ImageLike, Preprocess
from bindery.encoders.text import TextSide
from bindery.errors import InputError

Origin = Literal["pretrained", "random", "rehearsal", "custom"]
# Where libraries keep the consecutive parts of a network, below the image tower.
_CONTAINERS = ("blocks", "trunk.blocks", "transformer.resblocks", "stages", "trunk.stages")


@dataclass(frozen=True, eq=False)
class Encoder:
    """A frozen image encoder.

    ``module`` maps a normalised (B, 3, H, W) float32 tensor to (B, D) float32 embeddings, in eval mode,
    without gradients of its parameters. ``weights`` says where the numbers come from; random, rehearsal
    (random weights that went through a file) and pretrained encoders never mix in one statistic.
    """

    name: str
    card: Card
    module: nn.Module
    preprocess: Callable[[Sequence[ImageLike]], torch.Tensor]
    weights: Origin
    seed: int = 0
    text: TextSide | None = None
    text_missing: str = ""
    """Why there is no text side, for models that should have one."""
    weights_sha256: str = ""
    """Hash of the weight file; empty when the weights came from memory."""
    extra_code: str = ""
    """Hash of code outside the library that the result depends on."""
    whole: nn.Module | None = field(default=None, repr=False)
    """The network whose tensors are hashed, when it is more than ``module``."""

    @property
    def dim(self) -> int:
        """D, the length of an embedding."""
        return self.card.dim

    @property
    def input_size(self) -> int:
        """Side of the square input in pixels."""
        return self.card.input_size

    @property
    def has_text(self) -> bool:
        """Whether `encode_text` can be called."""
        return self.text is not None

    def encode_text(self, prompts: Sequence[str], batch_size: int = 128) -> NDArray[np.float32]:
        """(N, D) float32 text embeddings, not unit-normed; InputError for an encoder without text."""
        return self._text_side().encode(prompts, batch_size)

    @property
    def logit_scale(self) -> float:
        """Factor of the cosine in the training logits."""
        return self._text_side().logit_scale

    @property
    def logit_bias(self) -> float:
        """Added to the scaled cosine (SigLIP); 0 otherwise."""
        return self._text_side().logit_bias

    def _text_side(self) -> TextSide:
        if self.text is None:
            raise InputError(
                f"{self.name} has no text side" + (f": {self.text_missing}" if self.text_missing else "")
            )
        return self.text

    def check_input(self, images: torch.Tensor) -> None:
        """Raise InputError unless ``images`` is what ``module`` reads: size, kind and range."""
        check_input(self.name, self.input_size, images)

    def uncropped(self) -> Encoder:
        """The same network seeing whole images: no centre crop, which would cut what stands at the edge.

        An encoder with a preprocessing of its own stays as it is.
        """
        if not isinstance(self.preprocess, Preprocess):
            return self
        return replace(self, preprocess=self.preprocess.model_copy(update={"crop": 1.0}))

    def blocks(self) -> list[str]:
        """Names of the consecutive blocks or stages, shallow first, for ``module.get_submodule``."""
        names = dict(self.module.named_modules())
        for container in _CONTAINERS:
            if container in names:
                return [f"{container}.{child}" for child, _ in names[container].named_children()]
        if "layer1" in names:
            return [f"layer{k}" for k in range(1, 5) if f"layer{k}" in names]
        lists = {
            n: m for n, m in names.items() if isinstance(m, nn.ModuleList | nn.Sequential) and len(m) > 1
        }
        if not lists:
            return [child for child, _ in self.module.named_children()]
        outermost = min(lists, key=lambda name: (name.count(".") if name else -1, -len(lists[name])))
        return [f"{outermost}.{child}".lstrip(".") for child, _ in lists[outermost].named_children()]

    @cached_property
    def fingerprint_parts(self) -> dict[str, str]:
        """sha256 of each thing an embedding depends on: weights, preprocessing, code."""
        weights = self.weights_sha256 or fp.tensor_hash(self.whole or self.module)
        code = {
            "library": fp.code_hash(),
            "versions": fp.versions(self.card.loader),
            "extra": self.extra_code,
        }
        architecture = {"card": _architecture(self.card), "module": str(self.module)}
        return {
            "weights": weights,
            "preprocessing": fp.preprocess_hash(self.preprocess),
            "code": fp.sha256_text(json.dumps(code | architecture, sort_keys=True)),
        }

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of weights, preprocessing and extractor code: equal fingerprints give equal embeddings."""
        return fp.sha256_text(json.dumps(self.fingerprint_parts, sort_keys=True))

    def __repr__(self) -> str:
        return f"Encoder({self.name}, {self.weights}, {self.input_size} px -> {self.dim})"


def _architecture(card: Card) -> dict[str, str | int]:
    return {
        "loader": card.loader,
        "architecture": card.architecture,
        "pooling": card.pooling,
        "size": card.input_size,
    }
