"""Grades one submission in a process of its own, so that an answer that makes a check hang or swell hurts no other.

``python -m bindery.course.grader.judge``: a JSON job on the first line of standard input, the submission's bytes
after it; one JSON line out for the exercise, then one a part.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bindery.course.checking import Ask, Part, load_checks, run_checks
from bindery.course.grader.answers import Answers
from bindery.course.grader.sandbox import Limits, SandboxError
from bindery.course.grader.submissions import parse
from bindery.errors import BinderyError

_MEMORY = 4 << 30
_OWN_FAULT = re.compile(r"^(This answer cannot be checked: \w+):.*", re.DOTALL)


def main() -> None:
    """Read the job and answer it."""
    with os.fdopen(os.dup(1), "w", buffering=1) as out:
        os.dup2(2, 1)  # what a check prints is no answer
        _bound()
        job = json.loads(sys.stdin.buffer.readline())
        try:
            _judge(job, sys.stdin.buffer.read(), lambda **told: print(json.dumps(told), file=out, flush=True))
        except BinderyError as error:
            print(json.dumps({"trouble": str(error)}), file=out)


def _bound() -> None:
    """Die with the grader, and fail rather than fill the memory."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, ctypes.c_ulong(signal.SIGTERM), 0, 0, 0)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > _MEMORY:
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, hard))


def _judge(job: dict[str, Any], content: bytes, tell: Any) -> None:
    exercise, cells, problem = parse(job["name"], content, job["known"])
    if not exercise:
        tell(
            exercise="",
            parts=[],
            problem=problem or "No exercise is named in the notebook or its file's name.",
        )
        return
    private = Path(job["private"]) if job["private"] else None
    parts = load_checks(exercise, private)
    tell(exercise=exercise, parts=[[part.title, part.points] for part in parts], problem=problem)
    if problem:
        return
    hidden = [Path(path) for path in job["hidden"]]
    limits, shut = (
        Limits(**job["limits"]),
        {"isolated": job["isolated"], "hidden": hidden, "core": job["core"]},
    )
    with Answers(cells, limits, **shut) as answers:
        for index in range(job["start"], len(parts)):
            # The parts before it stand in as empty ones: a part's inputs depend on its place.
            row = [*[Part(0, "", _nothing)] * index, parts[index]]
            outcome = run_checks(row, answers, exercise=exercise, seed=job["seed"])[-1]
            if answers.trouble:
                raise SandboxError(answers.trouble)
            # Of a check's own exception the kind is enough: its message may quote the check or a teacher's path.
            tell(got=outcome.got, sentence=_OWN_FAULT.sub(r"\1.", outcome.sentence or ""))
    tell(printed=answers.printed)


def _nothing(ask: Ask, rng: np.random.Generator) -> None:
    pass


if __name__ == "__main__":
    main()
