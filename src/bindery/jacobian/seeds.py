"""Independent random streams for one seed: numpy gives seeds 0, (0,) and (0, 0) the same numbers."""

from __future__ import annotations

from typing import Literal

import numpy as np

Seed = int | tuple[int, ...]
_NAMES = {"noise": 0x6E6F697365, "check": 0x636865636B}


def generator(use: Literal["directions", "noise", "check"], seed: Seed) -> np.random.Generator:
    """A generator that depends on ``seed`` and ``use``; directions have the plain seed.

    A noise image that equalled the first direction would be probed along itself, where a network with norms
    hardly answers.
    """
    if use == "directions":
        return np.random.default_rng(seed)
    return np.random.default_rng((_NAMES[use], *(seed if isinstance(seed, tuple) else (seed,))))
