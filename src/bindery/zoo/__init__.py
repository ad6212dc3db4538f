"""Tiny encoders trained from scratch on scenes: same network, data and budget, only the objective differs.

``load("vicreg")`` gives a shipped encoder, ``train(Config("vicreg"))`` makes one in about a minute.
"""

from __future__ import annotations

from bindery.zoo.augment import CONDITIONS
from bindery.zoo.objectives import OBJECTIVES
from bindery.zoo.release import ZooCard, card, cards, load, save
from bindery.zoo.train import Config, Pool, Trained, build, train

__all__ = [
    "CONDITIONS",
    "OBJECTIVES",
    "Config",
    "Pool",
    "Trained",
    "ZooCard",
    "build",
    "card",
    "cards",
    "load",
    "save",
    "train",
]
