"""Labels by factor as integers: names, codes, and the combinations that occur."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from bindery.checks import row_list, same_length
from bindery.errors import InputError

Codes = NDArray[np.intp]
Labels = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Factors:
    """N rows labelled by F factors, and the Z combinations that occur among them."""

    classes: dict[str, NDArray[np.str_]]
    """Sorted names of each factor."""
    combinations: Codes
    """(Z, F) the combinations that occur, as codes into ``classes``, sorted."""
    row_combination: Codes
    """(N,) the combination of each row, in [0, Z)."""

    @property
    def names(self) -> list[tuple[str, ...]]:
        """The Z combinations in words."""
        columns = [values[self.combinations[:, i]] for i, values in enumerate(self.classes.values())]
        return [tuple(str(part) for part in row) for row in zip(*columns, strict=True)]

    def design(self) -> NDArray[np.float64]:
        """(Z, 1 + sum(|Z_i| - 1)) design of the additive model whose directions sum to 0 in each factor."""
        columns = [np.ones((len(self.combinations), 1))]
        for i, values in enumerate(self.classes.values()):
            code = np.vstack([np.eye(len(values) - 1), -np.ones(len(values) - 1)])
            columns.append(code[self.combinations[:, i]])
        return np.hstack(columns)

    def components(self) -> list[list[str]]:
        """Sets of values, as ``factor=value``, that are linked by combinations; one when all are."""
        sizes = [len(values) for values in self.classes.values()]
        nodes = self.combinations + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        links = np.vstack([nodes[:, [0, i]] for i in range(nodes.shape[1])])
        graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(sum(sizes),) * 2)
        count, member = connected_components(graph, directed=False)
        words = np.array([f"{factor}={value}" for factor, names in self.classes.items() for value in names])
        return [words[member == component].tolist() for component in range(count)]


def read_labels(labels: Labels) -> Factors:
    """Names and codes of labels by factor.

    Parameters
    ----------
    labels : mapping (a DataFrame will do)
        Factor name -> N strings, at least one factor.

    Raises
    ------
    InputError
        No factor, different lengths, no rows, or a label that is not a string (rows told).
    """
    columns = {factor: np.asarray(values, dtype=object) for factor, values in by_factor(labels).items()}
    if not columns or not same_length(**columns):
        raise InputError("labels must name at least one factor and hold at least one row")
    classes, codes = {}, []
    for factor, values in columns.items():
        wrong = [row for row, value in enumerate(values) if not isinstance(value, str)]
        if wrong:
            raise InputError(f"labels of {factor} must be strings; rows {row_list(wrong)} are not")
        code, names = pd.factorize(values, sort=True)
        classes[factor] = np.asarray(names, dtype=str)
        codes.append(code.astype(np.intp))
    shape = tuple(len(names) for names in classes.values())
    flat, row_combination = np.unique(np.ravel_multi_index(codes, shape), return_inverse=True)
    return Factors(classes, np.stack(np.unravel_index(flat, shape), axis=1), row_combination)


def by_factor(labels: Labels | Sequence[str], objects: Sequence[str] | None = None) -> Labels:
    """The shorthand ``(attributes, objects)`` as labels by factor; a mapping passes through."""
    if isinstance(labels, pd.DataFrame):
        labels = {str(factor): labels[factor].tolist() for factor in labels}
    if isinstance(labels, Mapping):
        if objects is not None:
            raise InputError("give labels by factor, or attributes and objects, not both")
        return labels
    if objects is None:
        raise InputError("attributes alone are not enough: give objects too, or a mapping factor -> values")
    return {"attribute": labels, "object": objects}


def look_up(factor: str, values: Sequence[str], known: NDArray[np.str_]) -> Codes:
    """Codes of ``values`` among the ``known`` names of a factor.

    Raises InputError for a value that was not in the training data, with the nearest name that was.
    """
    if isinstance(values, str):
        raise InputError(f"{factor} must be a sequence of names, not the single string {values!r}")
    code = {str(name): index for index, name in enumerate(known)}
    if missing := [value for value in values if value not in code]:
        near = difflib.get_close_matches(str(missing[0]), code, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(list(code)[:8])} ..."
        raise InputError(f"{factor} {missing[0]!r} never occurred in training{hint}")
    return np.array([code[value] for value in values], dtype=np.intp)
