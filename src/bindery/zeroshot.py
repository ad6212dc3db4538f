"""Zero-shot classification by class names, as open_clip does it: the ImageNet covariate of chapter 13.

A class is the mean direction of its name in every template; an image belongs to the class of largest cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bindery.binding import wilson
from bindery.checks import row_list, same_length
from bindery.data.images import Files
from bindery.encoders import Encoder, embed
from bindery.errors import DataError, InputError
from bindery.prompts import zero_shot_scores

Template = Callable[[str], str]
TextEncoder = Callable[[Sequence[str]], NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """Scores (N, C) and labels (N,) of N images; a tie for a place shares its credit."""

    scores: NDArray[np.floating]
    labels: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.labels)

    def credit(self, k: int = 1) -> NDArray[np.float64]:
        """(N,) chance that the label is among the k best when ties break at random.

        Raises InputError unless 1 <= k <= C.
        """
        if not 1 <= k <= self.scores.shape[1]:
            raise InputError(f"k must lie between 1 and the number of classes; got {k}")
        own = np.take_along_axis(self.scores, self.labels[:, None], axis=1)
        above, level = (self.scores > own).sum(axis=1), (self.scores == own).sum(axis=1)
        return np.clip((k - above) / level, 0.0, 1.0)

    def accuracy(self, k: int = 1) -> float:
        """Mean credit: top-k accuracy; a constant scorer gets k / C."""
        return float(self.credit(k).mean())

    def interval(self, k: int = 1) -> tuple[float, float]:
        """95 % Wilson interval of the top-k accuracy."""
        return wilson(float(self.credit(k).sum()), len(self))


def class_directions(
    encode_text: TextEncoder, classnames: Sequence[str], templates: Sequence[Template | str]
) -> NDArray[np.float64]:
    """One unit vector a class: the normalised mean of the unit embeddings of its prompts.

    Parameters
    ----------
    encode_text : (prompts) -> (M, D) array
    classnames : C names
    templates : functions of a name, or texts with ``{}`` where the name goes

    Returns
    -------
    (C, D) array

    Raises
    ------
    InputError
        No class, no template, or prompts of a class that cancel.

    Source: Radford et al. 2021, Sec. 3.1.4; open_clip's ``build_zero_shot_classifier``.
    """
    if not classnames or not templates:
        raise InputError("zero-shot classification needs at least one class and one template")
    prompts = [_fill(template, name) for name in classnames for template in templates]
    rows = np.asarray(encode_text(prompts), dtype=np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    means = rows.reshape(len(classnames), len(templates), -1).mean(axis=1)
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    if len(flat := np.flatnonzero(~(norms[:, 0] > 1e-12))):
        raise InputError(f"the prompts of {classnames[flat[0]]!r} have no common direction")
    return means / norms


def zero_shot(
    encoder: Encoder,
    images: Sequence[object] | NDArray[np.floating],
    labels: ArrayLike,
    classnames: Sequence[str] | None = None,
    templates: Sequence[Template | str] | None = None,
    *,
    batch_size: int = 32,
    progress: bool = True,
) -> ZeroShot:
    """Zero-shot scores of images, ImageNet's classes and the 80 OpenAI templates by default.

    Parameters
    ----------
    encoder : Encoder
        With a text side.
    images : images, or their (N, D) embeddings by this encoder
    labels : (N,) whole numbers in [0, C)
    classnames, templates
        See `class_directions`; by default ``open_clip.IMAGENET_CLASSNAMES`` and
        ``open_clip.OPENAI_IMAGENET_TEMPLATES``.

    Raises
    ------
    InputError
        Numbers of images and labels differ, a label is out of range (rows told), or no text side.
    """
    import open_clip

    names = open_clip.IMAGENET_CLASSNAMES if classnames is None else classnames
    texts = open_clip.OPENAI_IMAGENET_TEMPLATES if templates is None else templates
    wanted = np.asarray(labels, dtype=np.intp)
    same_length(images=images, labels=wanted)
    outside = np.flatnonzero((wanted < 0) | (wanted >= len(names)))
    if len(outside):
        raise InputError(f"labels of rows {row_list(outside)} are not in 0 to {len(names) - 1}")
    directions = class_directions(encoder.encode_text, names, texts)
    if isinstance(images, np.ndarray) and images.ndim == 2:
        rows: NDArray[np.floating] = images
    else:
        rows = embed(encoder, images, batch_size=batch_size, progress=progress)
    return ZeroShot(zero_shot_scores(rows, directions), wanted)


def imagenet_labels(files: Files) -> NDArray[np.intp]:
    """Class numbers of ImageNet images that lie in one folder a class, named by WordNet id.

    Raises
    ------
    DataError
        An image lies in a folder that is no class of ImageNet-1k (a flat folder tells no classes).
    """
    from timm.data import ImageNetInfo

    number = {name: index for index, name in enumerate(ImageNetInfo("imagenet-1k").label_names())}
    parents = [Path(path).parent.name for path in files.paths]
    if unknown := next((name for name in parents if name not in number), None):
        raise DataError(
            f"the folder {unknown!r} is no class of ImageNet-1k; put the validation images into one folder a "
            "class, named by WordNet id (n01440764 and so on)"
        )
    return np.array([number[name] for name in parents], dtype=np.intp)


def _fill(template: Template | str, name: str) -> str:
    return template.format(name) if isinstance(template, str) else template(name)
