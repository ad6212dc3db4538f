"""The objectives of the zoo, by name; seven families of Paper S, reconstruction, and a positive control."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any

from bindery.errors import InputError
from bindery.zoo.backbone import Backbone
from bindery.zoo.objectives.base import Batch, Objective
from bindery.zoo.objectives.clustering import SwAV
from bindery.zoo.objectives.contrastive import MoCoV3, SimCLR
from bindery.zoo.objectives.decorrelation import BarlowTwins, VICReg
from bindery.zoo.objectives.distillation import BYOL, DINO
from bindery.zoo.objectives.language import CLIP, BagCLIP, LanguageObjective, SigLIP
from bindery.zoo.objectives.reconstruction import Autoencoder, MaskedAutoencoder
from bindery.zoo.objectives.supervised import BoundLabels, Supervised

OBJECTIVES: dict[str, type[Objective]] = {
    objective.name: objective
    for objective in (
        BarlowTwins, VICReg, SimCLR, MoCoV3, BYOL, DINO, SwAV, MaskedAutoencoder,
        BagCLIP, CLIP, SigLIP, Supervised, Autoencoder, BoundLabels,
    )
}  # fmt: skip


def objective_class(name: str) -> type[Objective]:
    """The class of that name; raises InputError with the choices and the nearest one."""
    if name not in OBJECTIVES:
        near = get_close_matches(name, OBJECTIVES, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise InputError(f"unknown objective {name!r}{hint}; choose one of {', '.join(OBJECTIVES)}")
    return OBJECTIVES[name]


def build_objective(name: str, backbone: Backbone, **options: Any) -> Objective:
    """A fresh objective for a backbone.

    Raises
    ------
    InputError
        Unknown objective or option (choices listed).
    """
    chosen = objective_class(name)
    known = [parameter for parameter in inspect.signature(chosen).parameters if parameter != "backbone"]
    if unknown := [option for option in options if option not in known]:
        raise InputError(f"{name} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    return chosen(backbone, **options)


__all__ = [
    "OBJECTIVES",
    "Batch",
    "LanguageObjective",
    "Objective",
    "build_objective",
    "objective_class",
]
