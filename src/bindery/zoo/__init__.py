"""Tiny encoders trained from scratch on scenes: same network, data and budget, only the objective differs.

``load("vicreg")`` gives a shipped encoder, ``train.train(Config("vicreg"))`` makes one in about a minute.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "CONDITIONS": "augment",
    "OBJECTIVES": "objectives",
    "ZooCard": "release",
    "card": "release",
    "cards": "release",
    "load": "release",
    "save": "release",
    "Config": "train",
    "Pool": "train",
    "Trained": "train",
    "build": "train",
}
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
]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that the command line starts without torch.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
