"""The prompts of Paper G, word for word, and zero-shot scores.

Source: Paper G, Sec. 4 and the supplement; the authors' released code where the paper gives no wording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bindery.checks import finite_rows
from bindery.errors import InputError


def pair_prompt(attribute: str, object_: str) -> str:
    """Prompt of a pair (MIT-States, UT-Zappos): lower case, dots as spaces, underscores kept.

    >>> pair_prompt("Faux.Fur", "Shoes.Flats")
    'an image of a faux fur shoes flats'
    """
    return f"an image of a {attribute} {object_}".lower().replace(".", " ")


def pair_prompts(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """`pair_prompt` of each pair, in order."""
    return [pair_prompt(attribute, object_) for attribute, object_ in pairs]


@dataclass(frozen=True)
class GroupPrompts:
    """Prompts of a group-robustness task.

    ``classes`` holds one prompt for each class to be predicted; ``spurious`` several for each value of the
    spurious attribute. A group's prompt is a spurious one followed by the class's, or by the class's entry in
    ``ends`` where the two would not make a phrase.
    """

    classes: Mapping[str, str]
    spurious: Mapping[str, tuple[str, ...]]
    note: str = ""
    ends: Mapping[str, str] = field(default_factory=dict)

    def class_prompts(self) -> list[str]:
        """One prompt a class: the zero-shot classifier."""
        return list(self.classes.values())

    def group_prompts(self) -> list[tuple[str, str, str]]:
        """(spurious value, class, prompt): each spurious prompt joined with each class prompt."""
        return [
            (value, label, f"{background} {self.ends.get(label, foreground)}")
            for value, backgrounds in self.spurious.items()
            for background in backgrounds
            for label, foreground in self.classes.items()
        ]


WATERBIRDS = GroupPrompts(
    classes={
        "landbird": "This is a picture of a landbird.",
        "waterbird": "This is a picture of a waterbird.",
    },
    spurious={
        "land": (
            "This is a land background.",
            "This is a picture of a forest.",
            "This is a picture of a moutain.",
            "This is a picture of a wood.",
        ),
        "water": (
            "This is a water background.",
            "This is a picture of an ocean.",
            "This is a picture of a beach.",
            "This is a picture of a port.",
        ),
    },
    note="'moutain' is the released code's spelling, kept because it decides the embedding; a typo.",
)

CELEBA = GroupPrompts(
    classes={
        "blonde": "A photo of a celebrity with blond hair.",
        "dark": "A photo of a celebrity with dark hair.",
    },
    spurious={
        "female": ("A photo of a female.", "A photo of a female celebrity.", "A photo of a woman."),
        "male": ("A photo of a male.", "A photo of a male celebrity.", "A photo of a man."),
    },
)

# Not the paper's: for the rendered discs and rings, in the words that their encoders read.
SCENES = GroupPrompts(
    classes={shape: f"an image of a {shape}" for shape in ("disc", "ring")},
    spurious={colour: (f"an image of a {colour}", f"a {colour}") for colour in ("red", "green")},
    ends={shape: shape for shape in ("disc", "ring")},
)


def zero_shot_scores(
    images: ArrayLike, texts: ArrayLike, *, scale: float = 1.0, bias: float = 0.0
) -> NDArray[np.floating]:
    """Cosine of every image with every text, times ``scale``, plus ``bias``.

    Parameters
    ----------
    images : (N, D) array
    texts : (M, D) array
        Of the same encoder; neither needs unit norm.
    scale, bias
        The encoder's ``logit_scale`` and ``logit_bias`` when logits are wanted; neither changes a ranking.

    Returns
    -------
    (N, M) array.

    Raises
    ------
    InputError
        Lengths D differ, or a row is zero or not finite.
    """
    left, right = _unit(images, "images"), _unit(texts, "texts")
    if left.shape[1] != right.shape[1]:
        raise InputError(
            f"images and texts must come from one encoder; their embeddings have lengths {left.shape[1]} "
            f"and {right.shape[1]}"
        )
    scores: NDArray[np.floating] = scale * (left @ right.T) + bias
    return scores


def _unit(rows: ArrayLike, name: str) -> NDArray[np.floating]:
    array = finite_rows(rows, name)
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    if not norms.all():
        raise InputError(f"{name}: row {int(np.flatnonzero(norms == 0)[0])} is zero and has no direction")
    return array / norms
