"""Typed, strict parameters of a chapter, read from its ``parameters`` cell without running it.

The cell holds annotated assignments, ``name: type = default  # help``. Types are int, float, str, bool,
``Literal[...]`` and ``list[...]`` of those. Papermill lets a misspelt name pass; here it fails.
"""

from __future__ import annotations

import ast
import difflib
import io
import json
import math
import re
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bindery.errors import InputError

_SCALARS: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
_TAG = "parameters"
_NO_VALUE = object()
_LARGEST = 2**32 - 1  # what NumPy and torch take as a seed


@dataclass(frozen=True)
class Type:
    """A declared type: a scalar name, ``Literal`` with its choices, or ``list`` with its item type."""

    name: str
    choices: tuple[Any, ...] = ()
    item: Type | None = None

    def __str__(self) -> str:
        if self.choices:
            return "one of " + ", ".join(str(choice) for choice in self.choices)
        return f"list of {self.item}" if self.item else self.name

    def check(self, value: Any) -> Any:
        """``value`` in this type (an int is taken for a declared float); raises TypeError otherwise.

        NaN and infinity are no values: no chapter asks for them, and JSON cannot hold them. Integers are
        counts, sizes and seeds, from 0 to 2**32 - 1.
        """
        if self.choices:
            for choice in self.choices:
                if value == choice and type(value) is type(choice):
                    return choice
        elif self.item:
            if isinstance(value, list | tuple):
                return [self.item.check(entry) for entry in value]
        elif self.name == "float" and type(value) is int:
            return float(value)
        elif type(value) is _SCALARS[self.name]:
            if isinstance(value, float) and not math.isfinite(value):
                raise TypeError
            if type(value) is int and not 0 <= value <= _LARGEST:
                raise OverflowError
            return value
        raise TypeError

    def read(self, text: str) -> Any:
        """The value that command-line ``text`` spells in this type; raises ValueError or TypeError."""
        if self.choices:
            return next((choice for choice in self.choices if str(choice) == text), _NO_VALUE)
        if self.item:
            entries = text.strip().removeprefix("[").removesuffix("]").split(",")
            return [self.item.read(entry.strip().strip("'\"")) for entry in entries if entry.strip()]
        if self.name == "bool":
            return {"true": True, "false": False}.get(text.lower(), _NO_VALUE)
        return _SCALARS[self.name](text)


@dataclass(frozen=True)
class Parameter:
    """One declared parameter: its name, type, default and the trailing comment as help."""

    name: str
    type: Type
    default: Any
    help: str = ""

    def check(self, value: Any) -> Any:
        """``value`` in the declared type; raises InputError naming what is expected."""
        try:
            return self.type.check(value)
        except OverflowError:
            raise self._out_of_range(value) from None
        except TypeError:
            raise InputError(f"parameter {self.name} must be {self.type}; got {value!r}") from None

    def read(self, text: str) -> Any:
        """Coerce command-line text by the declared type only; raises InputError naming what is expected."""
        try:
            return self.type.check(self.type.read(text))
        except OverflowError:
            raise self._out_of_range(text) from None
        except (ValueError, TypeError):
            expected = "true or false" if self.type.name == "bool" else str(self.type)
            raise InputError(f"parameter {self.name} must be {expected}; got {text!r}") from None

    def _out_of_range(self, value: object) -> InputError:
        return InputError(f"parameter {self.name}: an int lies in 0..{_LARGEST}; got {value!r}")


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """``"did you mean 'x'?"`` when a known name is close, else the list of known names."""
    names = sorted(known)
    if close := difflib.get_close_matches(name, names, n=1, cutoff=0.5):
        return f"did you mean {close[0]!r}?"
    return f"{what}: {', '.join(names)}" if names else f"there are no {what}"


def parse(source: str | Path) -> dict[str, Parameter]:
    """The parameters that a chapter declares, in order.

    Parameters
    ----------
    source : str or Path
        A percent ``.py`` or an ``.ipynb``: its text, or its path.

    Raises
    ------
    InputError
        Not exactly one cell is tagged ``parameters``, or a line in it is not a typed assignment.
    """
    text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
    cells = _ipynb_cells(text) if text.lstrip().startswith("{") else _percent_cells(text)
    if len(cells) != 1:
        raise InputError(f"a chapter needs exactly one cell tagged {_TAG!r}; found {len(cells)}")
    return parse_cell(cells[0])


def parse_cell(code: str) -> dict[str, Parameter]:
    """The parameters that one cell's code declares; imports and a docstring are allowed beside them."""
    try:
        statements = ast.parse(code).body
    except SyntaxError as error:
        raise InputError(
            f"the parameters cell is not valid Python: {error.msg}, line {error.lineno}"
        ) from None
    comments = _comments(code)
    declared: dict[str, Parameter] = {}
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        parameter = _declaration(node, comments.get(node.end_lineno or 0, ""))
        declared[parameter.name] = parameter
    return declared


def validate(
    declared: Mapping[str, Parameter], given: Mapping[str, Any], *, where: str = ""
) -> dict[str, Any]:
    """Every declared parameter with its value: the given one, checked, else the default.

    Raises
    ------
    InputError
        An unknown name (the nearest is suggested), or a value of the wrong type or outside the choices.
    """
    for name in given:
        if name not in declared:
            told = nearest(name, declared, "parameters")
            raise InputError(f"unknown parameter {name!r}{where}; {told}")
    return {name: p.check(given[name]) if name in given else p.default for name, p in declared.items()}


def read_assignments(
    declared: Mapping[str, Parameter], assignments: Iterable[str], *, where: str = ""
) -> dict[str, Any]:
    """``name=value`` strings as checked values, coerced by the declared type only."""
    given: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InputError(f"-p takes name=value; got {assignment!r}")
        if name not in declared:
            raise InputError(f"unknown parameter {name!r}{where}; {nearest(name, declared, 'parameters')}")
        given[name] = declared[name].read(text)
    return given


def _declaration(node: ast.stmt, help_text: str) -> Parameter:
    if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None):
        raise InputError(
            f"the parameters cell holds {ast.unparse(node)!r}; "
            "every line must read 'name: type = default  # help'"
        )
    name = node.target.id
    kind = _type(node.annotation, name)
    try:
        default = ast.literal_eval(node.value)
    except ValueError:
        raise InputError(
            f"parameter {name} needs a literal default, not {ast.unparse(node.value)!r}"
        ) from None
    parameter = Parameter(name, kind, None, help_text)
    return Parameter(name, kind, parameter.check(default), help_text)


def _type(node: ast.expr, name: str) -> Type:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body
    if isinstance(node, ast.Name) and node.id in _SCALARS:
        return Type(node.id)
    if isinstance(node, ast.Subscript):
        base = ast.unparse(node.value).rpartition(".")[2]
        if base == "Literal":
            choices = ast.literal_eval(node.slice)
            return Type("Literal", choices if isinstance(choices, tuple) else (choices,))
        if base == "list":
            return Type("list", item=_type(node.slice, name))
    raise InputError(
        f"parameter {name} has type {ast.unparse(node)!r}; "
        "expected int, float, str, bool, Literal[...] or list[...]"
    )


def _comments(code: str) -> dict[int, str]:
    """Line number to the comment that ends it."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}


def _ipynb_cells(text: str) -> list[str]:
    try:
        cells = json.loads(text)["cells"]
        return ["".join(cell["source"]) for cell in cells if _TAG in cell["metadata"].get("tags", [])]
    except (ValueError, KeyError, TypeError):
        raise InputError("the notebook is not valid JSON with cells; download it again") from None


def _percent_cells(text: str) -> list[str]:
    """Code of the tagged cells of a percent script; a marker line starts with ``# %%``."""
    parts = re.split(r"^# %%(.*)$", text, flags=re.MULTILINE)[1:]
    tagged = re.compile(rf"tags=\[[^\]]*[\"']{_TAG}[\"']")
    return [code for marker, code in zip(parts[::2], parts[1::2], strict=True) if tagged.search(marker)]
