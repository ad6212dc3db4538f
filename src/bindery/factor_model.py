"""The estimator that both decompositions share: labels in, directions out, combinations composed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bindery.additive import by_least_squares, by_means
from bindery.checks import real, same_length
from bindery.errors import InputError
from bindery.labels import Labels, by_factor, look_up, read_labels
from bindery.noise_weights import image_shares
from bindery.rows import Array

Floats = NDArray[np.float64]
Fit = Literal["means", "least_squares"]


class Decomposition(ABC, BaseEstimator):
    """What both decompositions share: everything but the space in which directions add."""

    kind: str
    normalize: bool

    context_: Floats
    """(D,) base point of the directions: the mean of the training embeddings."""
    directions_: dict[str, Floats]
    """Factor -> (number of values, D), rows in the order of ``classes_``."""
    intercept_: Floats
    """(D,) added to every sum of directions; 0 unless least squares met an incomplete grid."""
    classes_: dict[str, NDArray[np.str_]]
    """Factor -> sorted names of its values."""
    combinations_: list[tuple[str, ...]]
    """The Z combinations that occurred in training."""
    combination_tangents_: Floats
    """(Z, D) weighted mean of the training embeddings of each combination, seen from ``context_``."""
    combination_mass_: Floats
    """(Z,) weight of each combination; sums to 1."""

    # scikit-learn reads a parameter from the attribute of the same name, but `fit` is also the method:
    # the choice is therefore kept under another name.
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters, by name."""
        stored = {"fit": "_fit"}
        return {name: getattr(self, stored.get(name, name)) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; an unknown name raises InputError."""
        if unknown := set(params) - set(self._get_param_names()):
            raise InputError(f"unknown parameter {sorted(unknown)[0]!r}; known: {self._get_param_names()}")
        for name, value in params.items():
            setattr(self, "_fit" if name == "fit" else name, value)
        return self

    def fit(
        self,
        X: ArrayLike,
        labels: Labels | Sequence[str],
        objects: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Estimate the context and one direction for each value.

        Parameters
        ----------
        X : (N, D) array
            Embeddings, float32 or float64; unit rows for the geodesic decomposition.
        labels : mapping factor -> N strings, or the N attributes when ``objects`` is given
            Any number of factors >= 1; two in the shorthand ``fit(X, attributes, objects)``.
        objects : sequence of N strings, optional
            The second factor of the shorthand.
        weights : (N,) array, optional
            Weight of each image >= 0, see `bindery.noise_weights`; equal by default. Divided by their sum
            within a combination when ``weighting="pair"``.

        Raises
        ------
        InputError
            Rows that are not finite (or not unit), lengths that differ, a combination with no weight, or,
            for least squares, combinations that do not determine the directions (components named).

        Source: Paper G, Prop. 1, Prop. 2 and Eq. 11.
        """
        self._check_choices()
        factors = read_labels(by_factor(labels, objects))
        points = real(X, "X")
        same_length(X=points, labels=factors.row_combination)
        shares = image_shares(factors, weights, self.weighting)
        mass = np.bincount(factors.row_combination, shares).astype(np.float64)
        self.context_, totals = self._centre(points, shares, factors.row_combination, len(mass))
        self.n_features_in_ = totals.shape[1]
        self.dtype_ = points.dtype if points.dtype == np.float32 else np.dtype(np.float64)
        self.combination_mass_, self.combinations_ = mass, factors.names
        self.combination_tangents_ = totals / mass[:, None]
        self.classes_ = factors.classes
        solve = by_means if self._fit == "means" else by_least_squares
        self.intercept_, self.directions_ = solve(self.combination_tangents_, mass, factors)
        return self

    def compose(
        self,
        labels: Labels | Sequence[str],
        objects: Sequence[str] | None = None,
        *,
        scale: Mapping[str, float] | None = None,
    ) -> Array:
        """Embeddings of M combinations, seen in training or not.

        Parameters
        ----------
        labels : mapping factor -> M values, or the M attributes when ``objects`` is given
            A factor left out contributes nothing, as in ``Exp(v_o)``.
        objects : sequence of M strings, optional
            Values of the second factor in the shorthand ``compose(attributes, objects)``.
        scale : mapping factor -> float, optional
            Multiplies the directions of a factor: ``{"attribute": 0.5}`` gives ``Exp(0.5 v_a + v_o)``.

        Returns
        -------
        (M, D) array
            dtype of the training embeddings.

        Raises
        ------
        InputError
            A factor or value that was not in training (nearest name told), or lengths that differ.

        Source: Paper G, Eq. 11; scaled terms: supplementary.
        """
        return self._place(self.tangents(labels, objects, scale=scale))

    def tangents(
        self,
        labels: Labels | Sequence[str],
        objects: Sequence[str] | None = None,
        *,
        scale: Mapping[str, float] | None = None,
    ) -> Floats:
        """What `compose` places: intercept plus directions, (M, D) float64; same arguments."""
        check_is_fitted(self)
        given = by_factor(labels, objects)
        if objects is not None:
            given = dict(zip(self._two_factors(), given.values(), strict=True))
        unknown = [factor for factor in (*given, *(scale or {})) if factor not in self.classes_]
        if unknown:
            raise InputError(f"unknown factor {unknown[0]!r}; this model has {', '.join(self.classes_)}")
        terms = []
        for factor in given:
            codes = look_up(factor, given[factor], self.classes_[factor])
            terms.append((scale or {}).get(factor, 1.0) * self.directions_[factor][codes])
        same_length(**dict(zip(given, terms, strict=True)))
        return self.intercept_ + sum(terms)

    def compose_objects(self, *objects: Sequence[str]) -> Array:
        """Embeddings of objects alone, ``Exp(v_o)``, or together, ``Exp(v_o1 + v_o2 + ...)``.

        Parameters
        ----------
        *objects : sequences of M strings
            Values of the second factor; one sequence an object in the composite.

        Returns
        -------
        (M, D) array

        Source: Paper G, Sec. 4 (group robustness uses ``Exp(v_o)``; Fig. 5 shows pairs of objects).
        """
        check_is_fitted(self)
        factor = self._two_factors()[1]
        if not objects:
            raise InputError("give at least one sequence of objects")
        same_length(**{f"sequence {i + 1}": names for i, names in enumerate(objects)})
        terms = [self.directions_[factor][look_up(factor, names, self.classes_[factor])] for names in objects]
        return self._place(self.intercept_ + sum(terms))

    @property
    def attribute_directions_(self) -> Floats:
        """(A, D) directions of the first of two factors."""
        return self.directions_[self._two_factors()[0]]

    @property
    def object_directions_(self) -> Floats:
        """(O, D) directions of the second of two factors."""
        return self.directions_[self._two_factors()[1]]

    def _two_factors(self) -> list[str]:
        factors = list(self.classes_)
        if len(factors) != 2:
            raise InputError(f"attribute and object need two factors; this model has {', '.join(factors)}")
        return factors

    def _check_choices(self) -> None:
        for name, allowed in (("fit", ("means", "least_squares")), ("weighting", ("pair", "image"))):
            if (value := self.get_params()[name]) not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")

    @abstractmethod
    def _centre(
        self, points: Array, shares: Floats, groups: NDArray[np.intp], n: int
    ) -> tuple[Floats, Floats]:
        """The context (D,), and the weighted sums over each group (n, D) of points seen from it."""

    @abstractmethod
    @abstractmethod
    def _place(self, tangents: Floats) -> Array:
        """Sums of directions (M, D) as embeddings (M, D)."""
