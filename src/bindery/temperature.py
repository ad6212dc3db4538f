"""The one free parameter of the noise weights, chosen on validation data as Paper G chooses it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone

from bindery.errors import InputError
from bindery.groups import group_accuracy
from bindery.noise_weights import SIGLIP_BIAS, noise_weights
from bindery.openworld import Curve, seen_unseen_curve
from bindery.rows import unit_rows
from bindery.scores import FactorScorer, score_images
from bindery.worlds import Candidates, ImageScores, Pair

TEMPERATURES: tuple[float, ...] = tuple(float(t) for t in np.linspace(0, 0.3, 31)[1:])
"""The paper's grid: 0.01, 0.02, ..., 0.30."""


@dataclass(frozen=True, eq=False)
class TemperatureSearch:
    """The chosen temperature, its validation value and model, and the whole grid (``table``)."""

    temperature: float
    value: float
    model: Any
    table: pd.DataFrame


def search_temperature(
    fit: Callable[[float], Any],
    objective: Callable[[Any], float],
    *,
    temperatures: Sequence[float] = TEMPERATURES,
    prefer: Literal["first", "last"] = "first",
) -> TemperatureSearch:
    """Fit at every temperature and keep the best validation value.

    Parameters
    ----------
    fit : temperature -> model
        Such as `weighted_fit`, which holds what does not depend on the temperature.
    objective : model -> float, larger is better
        Such as `curve_objective` (classification) or `worst_group_objective` (robustness).
    temperatures : sequence of floats
        Tried in this order.
    prefer : {"first", "last"}
        Which of several equal values wins. The paper keeps the first for classification and the last, so
        the largest temperature, for robustness.

    Raises
    ------
    InputError
        No temperature, or an objective that is not finite (temperature told).

    Source: Paper G, Sec. 4 (choice of t) and its released search scripts.
    """
    best: tuple[float, float, Any] | None = None
    values = []
    for temperature in temperatures:
        model = fit(temperature)
        value = float(objective(model))
        if not np.isfinite(value):
            raise InputError(f"the objective at temperature {temperature:g} is {value}; it must be finite")
        values.append(value)
        if best is None or value > best[1] or (prefer == "last" and value == best[1]):
            best = (temperature, value, model)
    if best is None:
        raise InputError("temperatures is empty; give at least one")
    table = pd.DataFrame({"temperature": list(temperatures), "value": values})
    return TemperatureSearch(*best, table)


def weighted_fit(
    model: Any,
    images: ArrayLike,
    attributes: Sequence[str],
    objects: Sequence[str],
    cosines: ArrayLike,
    *,
    kind: Literal["softmax", "sigmoid"] = "softmax",
    bias: float = SIGLIP_BIAS,
) -> Callable[[float], Any]:
    """A function temperature -> copy of ``model`` fitted on the training images with that noise distribution.

    ``cosines`` (N,) of each image with the text of its own pair (`bindery.decomposition.pair_cosines`) do not
    depend on the temperature and are computed once, by the caller. ``bias`` is what the encoder learned, for
    "sigmoid".
    """
    pairs = list(zip(attributes, objects, strict=True))

    def fit(temperature: float) -> Any:
        weights = noise_weights(pairs, kind, values=cosines, temperature=temperature, bias=bias)
        return clone(model).fit(images, attributes, objects, weights=weights)

    return fit


def curve_objective(
    images: ArrayLike,
    pairs: Sequence[Pair],
    candidates: Candidates,
    *,
    curve: Callable[[ImageScores], Curve] = seen_unseen_curve,
) -> Callable[[Any], float]:
    """A function model -> area under the seen–unseen curve of the validation images (exact by default)."""

    def objective(model: Any) -> float:
        return curve(score_images(images, FactorScorer(model, candidates), pairs)).auc

    return objective


def predict_objects(model: Any, images: ArrayLike) -> list[str]:
    """The object whose embedding ``Exp(v_o)`` has the largest product with the image, for N unit rows.

    Source: Paper G, Sec. 5 (group robustness: the class is the object, the attribute is spurious).
    """
    rows, _, _ = unit_rows(images, "images")
    objects = list(model.classes_)[1]
    names = [str(name) for name in model.classes_[objects]]
    best = (rows @ np.asarray(model.compose_objects(names)).T).argmax(axis=1)
    return [names[i] for i in best]


def worst_group_objective(
    images: ArrayLike, objects: Sequence[str], groups: Sequence[Hashable]
) -> Callable[[Any], float]:
    """A function model -> worst-group accuracy of the validation images, their class being the object."""
    return lambda model: group_accuracy(predict_objects(model, images), objects, groups).worst
