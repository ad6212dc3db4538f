"""From a checkpoint to an architecture, key by key: nothing left over, nothing left random."""

from __future__ import annotations

import sys

import torch
from torch import nn

from bindery.encoders.card import Card, Weights
from bindery.encoders.weights import pretrained
from bindery.errors import DataError

Tensors = dict[str, torch.Tensor]
_SHOWN = 4


def load_into(model: nn.Module, card: Card, content: object, origin: str) -> None:
    """Copy a checkpoint into ``model``; every tensor must find its place and every place its tensor.

    Raises
    ------
    DataError
        Names (the first few missing and unexpected) or shapes do not agree.
    """
    tensors = select(content, pretrained(card), origin)
    if card.loader == "open_clip":
        tensors = _open_clip_names(model, tensors)
    elif pretrained(card).by_order and set(tensors) != set(model.state_dict()):
        tensors = by_order(tensors, model.state_dict(), origin)
    else:
        tensors = _timm_names(model, card, tensors)
    load_strict(model, tensors, card.name, origin)


def select(content: object, weights: Weights, origin: str) -> Tensors:
    """The encoder's tensors of a checkpoint: below ``entry``, under ``prefix``, without the dropped heads."""
    if weights.entry and not _is_flat(content):
        if not isinstance(content, dict) or weights.entry not in content:
            raise DataError(f"{origin} has no entry {weights.entry!r}; it is another kind of checkpoint")
        content = content[weights.entry]
    if not isinstance(content, dict) or not _is_flat(content):
        raise DataError(f"{origin} holds no flat table of tensors")
    inside = {
        key.removeprefix(weights.prefix): value
        for key, value in content.items()
        if key.startswith(weights.prefix)
    }
    if not inside:
        some = ", ".join(list(content)[:_SHOWN])
        raise DataError(f"{origin} has no key that starts with {weights.prefix!r}; its first keys: {some}")
    return {key: value for key, value in inside.items() if not key.startswith(weights.drop or ("\0",))}


def _is_flat(content: object) -> bool:
    return isinstance(content, dict) and all(isinstance(value, torch.Tensor) for value in content.values())


def by_order(tensors: Tensors, places: Tensors, origin: str) -> Tensors:
    """Rename by position; kinds (weight, bias, running_mean, …) must agree one by one."""
    if len(tensors) != len(places):
        raise DataError(f"{origin} holds {len(tensors)} tensors, the architecture has {len(places)}")
    renamed = dict(zip(places, tensors.values(), strict=True))
    for old, new in zip(tensors, places, strict=True):
        if old.rsplit(".", 1)[-1] != new.rsplit(".", 1)[-1]:
            raise DataError(f"{origin}: {old} cannot stand for {new}; the order of the tensors differs")
    return renamed


def load_strict(model: nn.Module, tensors: Tensors, name: str, origin: str) -> None:
    """``load_state_dict`` with every key and shape demanded, told in one line."""
    places = model.state_dict()
    missing = [key for key in places if key not in tensors and not key.endswith("num_batches_tracked")]
    unexpected = [key for key in tensors if key not in places]
    if missing or unexpected:
        raise DataError(
            f"{origin} does not fit {name}: {_few('missing', missing)}; {_few('unexpected', unexpected)}"
        )
    wrong = [key for key, value in tensors.items() if value.shape != places[key].shape]
    if wrong:
        told = f"{wrong[0]} has shape {tuple(tensors[wrong[0]].shape)}, not {tuple(places[wrong[0]].shape)}"
        raise DataError(f"{origin} does not fit {name}: {told} ({len(wrong)} tensors in all)")
    model.load_state_dict(tensors, strict=False)


def _few(label: str, keys: list[str]) -> str:
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return f"{label} {', '.join(keys[:_SHOWN])}{more}" if keys else f"nothing {label}"


def _timm_names(model: nn.Module, card: Card, tensors: Tensors) -> Tensors:
    """timm's own converter (old names, position embeddings of another grid) after dropping the head."""
    import timm

    native = timm.get_pretrained_cfg(card.architecture)
    heads = getattr(native, "classifier", None) or ()
    heads = (heads,) if isinstance(heads, str) else tuple(heads)
    tensors = {
        key: value for key, value in tensors.items() if not key.startswith(tuple(f"{h}." for h in heads))
    }
    convert = getattr(sys.modules[type(model).__module__], "checkpoint_filter_fn", None)
    if convert is None:
        return tensors
    if pretrained(card).position_antialias:
        return dict(convert(tensors, model))
    return dict(convert(tensors, model, antialias=False))


def _open_clip_names(model: nn.Module, tensors: Tensors) -> Tensors:
    """open_clip's own converter: foreign and older names, scalars, position embeddings of another grid."""
    from open_clip import factory

    tensors = factory.convert_state_dict(model, tensors)
    if "positional_embedding" in tensors and not hasattr(model, "positional_embedding"):
        tensors = factory.convert_to_custom_text_state_dict(tensors)
    places = model.state_dict()
    for scalar in ("logit_scale", "logit_bias"):
        if scalar in tensors and scalar in places:
            tensors[scalar] = tensors[scalar].reshape(places[scalar].shape)
    factory.resize_pos_embed(tensors, model)
    factory.resize_text_pos_embed(tensors, model)
    return dict(tensors)
