"""What the text behind ``encoder=`` means."""

from __future__ import annotations

import difflib
from typing import Any

from bindery.encoders.build import refuse_gelu_mismatch
from bindery.encoders.card import Card, Weights, card
from bindery.encoders.preprocess import Preprocess
from bindery.errors import InputError


def resolve(spec: str) -> Card:
    """The card of a spec; one is made up for ``timm:`` and ``open_clip:`` names."""
    if spec.startswith("timm:"):
        return _timm_card(spec)
    if spec.startswith("open_clip:"):
        return _open_clip_card(spec)
    return card(spec)


def _timm_card(spec: str) -> Card:
    import timm

    name = spec.removeprefix("timm:")
    architecture = name.split(".")[0]
    try:
        native: Any = timm.get_pretrained_cfg(name) if timm.is_model(architecture) else None
    except RuntimeError:  # an architecture of timm, but no such tag
        native = None
    if native is None:
        near = difflib.get_close_matches(name, [*timm.list_models(), *timm.list_pretrained()], n=3)
        raise InputError(f"timm has no model {name!r}; nearest: {', '.join(near) or 'none'}")
    preprocess = Preprocess(
        size=native.input_size[-1],
        crop=native.crop_pct,
        interpolation="bilinear" if native.interpolation == "bilinear" else "bicubic",
        mean=native.mean,
        std=native.std,
    )
    return Card(
        name=spec,
        family="other",
        loader="timm",
        architecture=architecture,
        feature="output",
        preprocess=preprocess,
        weights=Weights(hub=native.hf_hub_id) if native.hf_hub_id else None,
        licence=native.license or "unknown",
    )


def _open_clip_card(spec: str) -> Card:
    import open_clip

    architecture, _, tag = spec.removeprefix("open_clip:").partition("/")
    known = open_clip.list_pretrained_tags_by_model(architecture)
    native = open_clip.get_pretrained_cfg(architecture, tag) if tag in known else None
    if native is None:
        models = difflib.get_close_matches(architecture, open_clip.list_models(), n=3, cutoff=0.3)
        told = (
            f"tags of {architecture}: {_few(known, tag)}" if known else f"nearest models: {', '.join(models)}"
        )
        raise InputError(
            f"open_clip has no {spec.removeprefix('open_clip:')!r}; write open_clip:MODEL/TAG; {told}"
        )
    hub, _, file = native.get("hf_hub", "").rpartition("/")
    config = open_clip.get_model_config(architecture)
    made = Card(
        name=spec,
        family="vision-language",
        loader="open_clip",
        architecture=architecture,
        feature="projected",
        activation="quickgelu" if config.get("quick_gelu") else "",
        preprocess=Preprocess(
            size=config["vision_cfg"]["image_size"],
            resize="squash" if native.get("resize_mode") == "squash" else "shortest",
            mean=native.get("mean", open_clip.OPENAI_DATASET_MEAN),
            std=native.get("std", open_clip.OPENAI_DATASET_STD),
        ),
        weights=Weights(hub=hub, file=file, tag=tag) if hub else Weights(url=native["url"], tag=tag),
        text=True,
    )
    refuse_gelu_mismatch(made)
    return made


def _few(known: list[str], wanted: str, most: int = 6) -> str:
    """The known names nearest to the wanted one, else the first, and how many more there are."""
    shown = difflib.get_close_matches(wanted, known, n=most, cutoff=0.4) or known[:most]
    more = len(known) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
