"""Runs a student's code and answers calls. It is the student's process: nothing it says is believed.

``python -m bindery.course.grader.worker IN OUT MODE``: requests come on descriptor IN, answers go to OUT, one
codec message each. What the code prints goes to the ordinary output, which is another pipe.
"""

from __future__ import annotations

import io
import os
import random
import re
import sys
import types
from typing import Any

import numpy as np

import bindery.course
from bindery.course.grader import codec, seccomp
from bindery.course.plain import plain
from bindery.errors import InputError

_LONGEST = 300
_MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)


def main() -> None:
    """Serve requests until the pipe closes."""
    source, sink = int(sys.argv[1]), int(sys.argv[2])
    try:
        seccomp.install()
    except OSError:
        if sys.argv[3] == "isolated":
            raise
    vars(bindery.course)["check"] = _mute
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the student's code may use the old generator
    ours, theirs = sys.modules["__main__"], types.ModuleType("__main__")
    sys.modules["__main__"], namespace = theirs, vars(theirs)
    namespace.update(display=_mute, get_ipython=_mute)
    _send(sink, {"id": 0})
    while ours and (request := _receive(source)) is not None:
        reply = _load(namespace, request["cells"]) if "cells" in request else _call(namespace, request)
        _send(sink, {"id": request["id"], **reply})


class _Mute:
    """Stands in for what only works in a notebook: its own check, display, the shell and all its methods."""

    def __call__(self, *_: Any, **__: Any) -> _Mute:
        return self

    def __getattr__(self, name: str) -> _Mute:
        return self


_mute = _Mute()


def _load(namespace: dict[str, Any], cells: list[list[Any]]) -> dict[str, Any]:
    """Run the cells in order; one that raises does not keep the next from running."""
    errors = []
    for number, code in cells:
        try:
            exec(_compiled(code, f"<cell {number}>"), namespace)
        except BaseException as error:
            errors.append([number, _told(error)])
    return {"errors": errors[:20]}


def _compiled(code: str, name: str) -> types.CodeType:
    """The cell's code, without the lines that only a notebook understands if Python does not."""
    try:
        return compile(code, name, "exec")
    except SyntaxError:
        return compile(_MAGIC.sub(r"\1pass", code), name, "exec")


def _call(namespace: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    function = namespace.get(request["call"])
    if not callable(function):
        return {"missing": True}
    try:
        answer = function(*request["args"], **request["kwargs"])
    except BaseException as error:
        return {"raised": _told(error)}
    try:
        return {"answer": plain(answer)}
    except InputError as error:
        return {"unclear": str(error)[:_LONGEST]}
    except BaseException as error:
        return {"raised": _told(error)}


def _told(error: BaseException) -> str:
    """The exception's type and message, if it has the grace to say them."""
    try:
        return f"{type(error).__name__}: {error}"[:_LONGEST].removesuffix(": ")
    except BaseException:
        return "an exception that cannot be shown"


def _receive(source: int) -> dict[str, Any] | None:
    header = _exactly(source, codec.HEADER.size)
    if header is None:
        return None
    text, arrays = codec.sizes(header)
    return codec.decode(_exactly(source, text) or b"", _exactly(source, arrays) or b"")


def _exactly(source: int, length: int) -> bytes | None:
    buffer = io.BytesIO()
    while (missing := length - buffer.tell()) > 0:
        chunk = os.read(source, min(missing, 1 << 20))
        if not chunk:
            return None
        buffer.write(chunk)
    return buffer.getvalue()


def _send(sink: int, reply: dict[str, Any]) -> None:
    try:
        message = codec.encode(reply)
    except codec.GarbledError as error:
        message = codec.encode({"id": reply["id"], "unclear": f"{error}"})
    view = memoryview(message)
    while view:
        view = view[os.write(sink, view) :]


if __name__ == "__main__":
    main()
