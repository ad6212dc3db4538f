"""What a chapter's first cell calls: check the parameters, set the scene, hand out the ledger and figures.

A notebook is often run without Bindery's runner, by plain papermill or in Jupyter. Papermill only logs
a misspelt parameter and goes on with the default; :func:`start` refuses it, from inside the notebook.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import types
import warnings
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bindery.errors import InputError
from bindery.parameters import Parameter, nearest, parse, parse_cell

_STARTED = "_bindery_started"
_QUIET = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning)
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class RefusedError(InputError):
    """A refused parameter; a notebook shows the one line that matters, not the way through this module."""

    def _render_traceback_(self) -> list[str]:
        return [f"InputError: {self}"]


@dataclass(frozen=True)
class Chapter:
    """A started chapter: who it is, with which parameters, and where its records and figures go."""

    id: str
    profile: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def record(self, claim_id: str, value: Any, **details: Any) -> Any:
        """Record a measured value for a claim; see :func:`bindery.ledger.record`."""
        from bindery import ledger

        return ledger.record(claim_id, value, **details)

    def measure(self, name: str, value: Any, **details: Any) -> Any:
        """Store a named number that is no claim; see :func:`bindery.ledger.measure`."""
        from bindery import ledger

        return ledger.measure(name, value, **details)

    def figure(self, fig: Any, *, name: str, alt: str, caption: str) -> Any:
        """Show a captioned figure with alt text and provenance; see :func:`bindery.figures.finish`."""
        from bindery import figures

        return figures.finish(fig, name, alt, caption)

    def glue(self, name: str, value: Any) -> None:
        """Make ``value`` quotable in prose as ``{glue:text}`name```, so that no number is typed.

        A NumPy scalar becomes a Python number: its own text form cannot be formatted on the page.
        """
        from myst_nb import glue

        glue(name, value.item() if isinstance(value, np.generic) else value, display=False)


def start(namespace: MutableMapping[str, Any]) -> Chapter:
    """Check the parameters and return the chapter; call it as ``start(globals())`` after the parameters cell.

    Sets the figure style, fixes the thread count (``BINDERY_THREADS``, default 1, so that sums come out
    the same on every machine with as many cores) and silences deprecation noise.

    Raises
    ------
    RefusedError
        A name was injected that the chapter does not declare (the nearest is suggested), or a value has the
        wrong type.
    """
    try:
        declared = _declared(namespace)
        if not namespace.get(_STARTED):
            _refuse_unknown(declared, namespace)
        values = {name: p.check(namespace.get(name, p.default)) for name, p in declared.items()}
    except InputError as error:
        raise RefusedError(str(error)) from None
    namespace.update(values)
    namespace[_STARTED] = True
    chapter = Chapter(_chapter_id(namespace), os.environ.get("BINDERY_PROFILE", "interactive"), values)
    _set_scene(chapter)
    return chapter


def _declared(namespace: MutableMapping[str, Any]) -> dict[str, Parameter]:
    """Parameters from the cells run so far, or from the script when this is not a notebook."""
    history = namespace.get("In")
    if isinstance(history, list):
        for code in history:
            if _has_typed_assignment(code):
                return parse_cell(code)
        return {}
    script = namespace.get("__file__")
    return parse(Path(script)) if script and Path(script).is_file() else {}


def _has_typed_assignment(code: str) -> bool:
    try:
        return any(isinstance(node, ast.AnnAssign) for node in ast.parse(code).body)
    except SyntaxError:
        return False


def _refuse_unknown(declared: dict[str, Parameter], namespace: MutableMapping[str, Any]) -> None:
    known = set(declared) | _imported(namespace.get("In"))
    for name, value in namespace.items():
        if name in known or name.startswith("_") or _is_furniture(name, value):
            continue
        raise InputError(f"unknown parameter {name!r}; {nearest(name, declared, 'parameters')}")


def _imported(history: Any) -> set[str]:
    """Names that import statements of the cells run so far bind; a constant among them is no injected value."""
    names: set[str] = set()
    for code in history if isinstance(history, list) else []:
        try:
            tree = ast.parse(code)
        except SyntaxError:  # a cell magic
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def _is_furniture(name: str, value: Any) -> bool:
    """Modules, functions, ``from __future__`` features and IPython's own: not something a caller injects."""
    if name in {"In", "Out", "exit", "quit", "get_ipython"} or callable(value):
        return True
    return isinstance(value, types.ModuleType) or type(value).__module__ in {"__future__", "typing"}


def _chapter_id(namespace: MutableMapping[str, Any]) -> str:
    """From the runner; else the notebook's file name as Jupyter, VS Code or Python tells it."""
    if given := os.environ.get("BINDERY_CHAPTER"):
        return given
    known = (
        namespace.get("__vsc_ipynb_file__"),
        os.environ.get("JPY_SESSION_NAME"),
        namespace.get("__file__"),
    )
    return next((Path(str(name)).stem for name in known if name), "notebook")


def _set_scene(chapter: Chapter) -> None:
    os.environ.setdefault("BINDERY_CHAPTER", chapter.id)
    os.environ.setdefault("BINDERY_PROFILE", chapter.profile)
    os.environ["BINDERY_PARAMETERS"] = json.dumps(chapter.parameters, sort_keys=True)
    for category in _QUIET:
        warnings.simplefilter("ignore", category)
    _set_threads()
    from bindery import figures, ledger

    figures.style()
    ledger.begin()


def _set_threads() -> None:
    text = os.environ.get("BINDERY_THREADS", "1")
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"BINDERY_THREADS must be a whole number of at least 1; got {text!r}")
    os.environ.update(dict.fromkeys(_THREADS, text))
    from threadpoolctl import threadpool_limits

    threadpool_limits(int(text))
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(int(text))
