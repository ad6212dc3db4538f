"""The text side of a vision-language model."""

from __future__ import annotations

import contextlib
import importlib.util
import io
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from bindery.encoders.card import Card
from bindery.errors import DataError, InputError

Tokenizer = Callable[[list[str]], torch.Tensor]


class TextSide:
    """Prompts to embeddings in the image's space, with the model's learnt scale and bias of the logits."""

    def __init__(self, model: nn.Module, tokenizer: Tokenizer) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @torch.no_grad()
    def encode(self, prompts: Sequence[str], batch_size: int = 128) -> NDArray[np.float32]:
        """(N, D) float32 embeddings of N prompts, not unit-normed; computed on the GPU when there is one."""
        if (
            isinstance(prompts, str)
            or not prompts
            or not all(isinstance(p, str) and p.strip() for p in prompts)
        ):
            raise InputError("prompts must be a non-empty list of non-empty strings")
        home = next(self.model.parameters()).device
        device = torch.device("cuda") if torch.cuda.is_available() else home
        rows = []
        try:
            self.model.to(device)
            for start in range(0, len(prompts), batch_size):
                tokens = self.tokenizer(list(prompts[start : start + batch_size])).to(device)
                rows.append(self.model.encode_text(tokens).float().cpu().numpy())  # type: ignore[operator]
        finally:
            self.model.to(home)
        return np.concatenate(rows)

    @property
    def logit_scale(self) -> float:
        """Factor of the cosine in the training logits (about 100 for CLIP)."""
        return float(self.model.logit_scale.detach().exp())  # type: ignore[operator]

    @property
    def logit_bias(self) -> float:
        """Added to the scaled cosine: 0 for CLIP, learnt (about -10 at the start) for SigLIP."""
        bias = getattr(self.model, "logit_bias", None)
        return 0.0 if bias is None else float(bias.detach())


def tokenizer(card: Card) -> Tokenizer:
    """open_clip's tokenizer for a card.

    CLIP's vocabulary ships with open_clip; SigLIP's lies on the hub and needs ``transformers``.

    Raises DataError saying what is missing.
    """
    import open_clip

    text = (open_clip.get_model_config(card.architecture) or {}).get("text_cfg", {})
    source = text.get("hf_tokenizer_name")
    if source and importlib.util.find_spec("transformers") is None:
        raise DataError(
            f"the tokenizer of {card.name} needs the package transformers (pip install transformers)"
        )
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return open_clip.get_tokenizer(card.architecture)
    except (OSError, ValueError) as error:
        raise DataError(f"the tokenizer of {card.name} could not be had from the hub ({source})") from error
