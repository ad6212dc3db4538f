"""Exercises: their sources, their checks, and what a student gets.

``plain`` says which answers can be checked, ``checking`` runs checks, ``exercises`` reads
``notebooks/exercises/`` and derives the students' copies. The checks lie in ``checks/``, one file an exercise.
"""

from __future__ import annotations

from bindery.course.checking import CheckFailed, check

__all__ = ["CheckFailed", "check"]
