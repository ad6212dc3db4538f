"""Runs the checks of an exercise: properties of the answer on inputs drawn fresh from the class's seed.

A check never touches a student's objects. It asks (``ask("exp", tangents, base)``) and gets plain data back: in a
notebook from the function beside it, in the grader from another process.
"""

from __future__ import annotations

import copy
import importlib.util
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bindery.course.plain import Plain, plain
from bindery.errors import BinderyError, DataError, InputError

CHECKS = Path(__file__).resolve().parent / "checks"
_LONGEST = 300


class CheckFailed(BinderyError, AssertionError):
    """The answer lacks a property; the sentence says which. A notebook shows that sentence only."""

    def _render_traceback_(self) -> list[str]:
        return [f"CheckFailed: {self}"]


class Ask(Protocol):
    """Calls one of the student's functions by name with plain arguments; the answer is plain data."""

    def __call__(self, name: str, /, *args: Any, **kwargs: Any) -> Plain:
        """The function's answer; raises CheckFailed when there is none."""


@dataclass(frozen=True)
class Part:
    """One property, all or nothing: what it is worth, what it is called, and the function that tests it."""

    points: float
    title: str
    run: Callable[[Ask, np.random.Generator], None]


@dataclass(frozen=True)
class Outcome:
    """What a part gave: ``got`` of ``points``, and the sentence that says what is wrong, if anything is."""

    title: str
    points: float
    got: float
    sentence: str | None


def part(points: float, title: str) -> Callable[[Callable[[Ask, np.random.Generator], None]], Part]:
    """Make a function of (ask, rng) a part of its file's check, in the order of definition."""
    return lambda function: Part(points, title, function)


def expect(condition: object, sentence: str) -> None:
    """Raise CheckFailed with the sentence unless the condition holds."""
    if not condition:
        raise CheckFailed(sentence)


def numbers(answer: Plain, name: str, shape: tuple[int, ...] = ()) -> NDArray[np.float64]:
    """The answer as a real array of that shape; raises CheckFailed that tells what came instead.

    ``shape`` () is a single number; -1 in it stands for any length.
    """
    expected = f"an array of shape {shape}".replace("-1", "any") if shape else "a number"
    expect(answer is not None, f"{name} returns nothing; expected {expected}.")
    try:
        value = np.asarray(answer)
    except ValueError:
        raise CheckFailed(f"{name} returns rows of different lengths; expected {expected}.") from None
    expect(
        value.dtype.kind in "biuf", f"{name} returns something that is no real number; expected {expected}."
    )
    fits = value.ndim == len(shape) and all(
        want in (-1, got) for want, got in zip(shape, value.shape, strict=True)
    )
    came = f"an array of shape {value.shape}" if value.ndim else "a single number"
    expect(fits, f"{name} returns {came}; expected {expected}.")
    expect(not np.isnan(value).any(), f"{name} returns NaN.")
    return value.astype(np.float64)


def load_checks(exercise_id: str, private: Path | None = None) -> list[Part]:
    """The parts of an exercise's check; a file of its name in ``private`` stands in for the public one.

    Raises
    ------
    InputError
        No exercise of that name has a check.
    DataError
        The file cannot be run, or defines no part.
    """
    names = {path.stem for path in CHECKS.glob("[0-9]*.py")}
    own = private / f"{exercise_id}.py" if private is not None else None
    if "/" in exercise_id or not (exercise_id in names or (own and own.is_file())):
        raise InputError(f"there is no check for {exercise_id!r}; checks: {', '.join(sorted(names))}")
    path = own if own is not None and own.is_file() else CHECKS / f"{exercise_id}.py"
    spec = importlib.util.spec_from_file_location(f"_bindery_check_{exercise_id}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise DataError(f"the check {path.name} cannot be run: {_line(error)}") from error
    parts = [value for value in vars(module).values() if isinstance(value, Part)]
    if not parts:
        raise DataError(
            f"the check {path.name} has no part; decorate its functions with @part(points, title)"
        )
    return parts


def run_checks(parts: Sequence[Part], ask: Ask, *, exercise: str, seed: int) -> list[Outcome]:
    """Every part on its own, each with its own generator: no part's failure changes another's inputs."""
    outcomes = []
    for index, one in enumerate(parts):
        rng = np.random.default_rng((seed, zlib.crc32(exercise.encode()), index))
        sentence = _sentence(one, ask, rng)
        outcomes.append(Outcome(one.title, one.points, 0.0 if sentence else one.points, sentence))
    return outcomes


def _sentence(one: Part, ask: Ask, rng: np.random.Generator) -> str | None:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            one.run(ask, rng)
    except CheckFailed as failed:
        return str(failed) or "The check failed."
    except Exception as error:
        return f"This answer cannot be checked: {_line(error)}"
    return None


def check(exercise: str, namespace: Mapping[str, Any], seed: int = 0) -> None:
    """Check the answer that stands in a notebook; call it as ``check("02_exp_log", globals())``.

    Prints one line a part.

    Raises
    ------
    CheckFailed
        A part failed.
    """
    outcomes = run_checks(load_checks(exercise), local_ask(namespace), exercise=exercise, seed=seed)
    for outcome in outcomes:
        mark, told = ("✓", "") if outcome.sentence is None else ("✗", f"\n    {outcome.sentence}")
        print(f"{mark} {outcome.got:g}/{outcome.points:g}  {outcome.title}{told}")
    got, points = sum(o.got for o in outcomes), sum(o.points for o in outcomes)
    if got < points:
        failed = sum(o.sentence is not None for o in outcomes)
        raise CheckFailed(
            f"{got:g} of {points:g} points; {failed} of {len(outcomes)} checks say what is missing"
        )
    print(f"{got:g} of {points:g} points")


def local_ask(namespace: Mapping[str, Any]) -> Ask:
    """An ``ask`` that calls the functions of a namespace in this process, with copies of the arguments."""

    def ask(name: str, /, *args: Any, **kwargs: Any) -> Plain:
        function = namespace.get(name)
        expect(callable(function), f"There is no function {name}; keep the name that the task gives.")
        assert callable(function)
        try:
            answer = function(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        except Exception as error:
            raise CheckFailed(f"{name} raises {_line(error)}") from None
        try:
            return plain(answer)
        except InputError as error:
            raise CheckFailed(f"{name} returns something that cannot be checked: {error}.") from None

    return ask


def _line(error: Exception) -> str:
    """The exception's type and the first words of its message."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
