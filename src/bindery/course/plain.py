"""Plain data: the only kind of answer a check looks at.

An object of a student's own class can pretend anything (``__eq__`` that is always true, a shape that lies).
Plain data cannot: numbers, strings, lists, dictionaries and arrays, told by their exact type and copied.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bindery.errors import InputError

Plain = Any
"""None, bool, int, float, complex, str, list, dict with str keys, numeric or bool ndarray."""

_ATOMS = (type(None), bool, int, float, complex, str)
_DEPTH = 16
_KINDS = "biufc"
_SCALARS = tuple({kind for kind in np.sctypeDict.values() if np.dtype(kind).kind in _KINDS})


def plain(value: object) -> Plain:
    """Copy ``value`` into plain data: tuples become lists, NumPy scalars numbers, tensors arrays.

    Raises
    ------
    InputError
        Something in it is of another type, or it is nested more than 16 deep.
    """
    return _plain(value, _DEPTH)


def _plain(value: Any, depth: int) -> Plain:
    if depth == 0:
        raise InputError("lists inside lists inside lists: more than 16 deep; return something flatter")
    kind = type(value)
    if any(kind is atom for atom in _ATOMS):
        return value
    if kind is np.ndarray:
        return _array(value)
    if any(kind is scalar for scalar in _SCALARS):
        return np.array(value, dtype=_known(np.dtype(kind))).item()
    if kind is list or kind is tuple:
        return [_plain(entry, depth - 1) for entry in value]
    if kind is dict:
        return {_key(key): _plain(entry, depth - 1) for key, entry in value.items()}
    if (tensor := _tensor(value)) is not None:
        return tensor
    raise InputError(
        f"a {_name(kind)} is no plain data; return numbers, strings, lists, dictionaries or arrays"
    )


def _array(value: np.ndarray) -> np.ndarray:
    if value.dtype.kind not in _KINDS or value.dtype.names is not None:
        raise InputError(f"an array of dtype {value.dtype} is no plain data; return an array of numbers")
    return np.array(value, dtype=_known(value.dtype), copy=True, order="C")


def _known(dtype: np.dtype) -> np.dtype:
    """The type itself in native byte order; extended precision, which no file format carries, becomes double."""
    widest = {"f": 8, "c": 16}.get(dtype.kind, 8)
    return np.dtype(f"{dtype.kind}{min(dtype.itemsize, widest)}")


def _key(key: object) -> str:
    if type(key) is not str:
        raise InputError(f"a dictionary's keys must be strings; got a {_name(type(key))}")
    return key


def _tensor(value: Any) -> np.ndarray | None:
    torch = sys.modules.get("torch")
    if torch is None or (type(value) is not torch.Tensor and type(value) is not torch.nn.Parameter):
        return None
    return _array(torch.Tensor.detach(value).cpu().numpy())


def _name(kind: type) -> str:
    """A class's name, cut: it is a student's text."""
    return str(type.__getattribute__(kind, "__name__"))[:60]
