"""Profiles: one YAML each, chapter to parameters, checked against what the chapters declare."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from bindery.errors import InputError
from bindery.parameters import nearest, validate
from bindery.runner.chapters import ChapterSource


class Profile(BaseModel):
    """``defaults`` apply to every chapter that declares the name; ``chapters`` override them.

    ``rehearse`` overrides both in a rehearsal, so that a list of twenty encoders is walked with two.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    defaults: dict[str, Any] = {}
    chapters: dict[str, dict[str, Any]] = {}
    rehearse: dict[str, dict[str, Any]] = {}


def profile_names(notebooks: Path) -> list[str]:
    """The profiles that exist, by name."""
    return sorted(path.stem for path in (notebooks / "profiles").glob("*.yml"))


def load_profile(
    notebooks: Path, name: str, chapters: Mapping[str, ChapterSource], *, rehearse: bool = False
) -> dict[str, dict[str, Any]]:
    """The complete, checked parameters of every chapter under the profile.

    Raises
    ------
    InputError
        Unknown profile, chapter or parameter (the nearest names are told), or a wrong type or choice.
    """
    known = profile_names(notebooks)
    if name not in known:
        raise InputError(f"unknown profile {name!r}; profiles: {', '.join(known)}")
    where = f" in notebooks/profiles/{name}.yml"
    profile = _read(notebooks / "profiles" / f"{name}.yml", where)
    for chapter in [*profile.chapters, *profile.rehearse]:
        if chapter not in chapters:
            raise InputError(f"unknown chapter {chapter!r}{where}; {nearest(chapter, chapters, 'chapters')}")
    declared = {parameter for chapter in chapters.values() for parameter in chapter.parameters}
    for parameter in profile.defaults:
        if parameter not in declared:
            raise InputError(
                f"unknown parameter {parameter!r}{where}; {nearest(parameter, declared, 'parameters')}"
            )
    both = [_values(chapters, profile, where, rehearsal) for rehearsal in (False, True)]  # check both
    return both[rehearse]


def _values(
    chapters: Mapping[str, ChapterSource], profile: Profile, where: str, rehearse: bool
) -> dict[str, dict[str, Any]]:
    return {key: _chapter_values(chapter, profile, where, rehearse) for key, chapter in chapters.items()}


def _chapter_values(chapter: ChapterSource, profile: Profile, where: str, rehearse: bool) -> dict[str, Any]:
    shared = {name: value for name, value in profile.defaults.items() if name in chapter.parameters}
    given = shared | profile.chapters.get(chapter.id, {})
    given |= profile.rehearse.get(chapter.id, {}) if rehearse else {}
    try:
        return validate(chapter.parameters, given, where=f" of {chapter.id}")
    except InputError as error:
        raise InputError(f"{error} ({where.strip()})") from None


def _read(path: Path, where: str) -> Profile:
    try:
        return Profile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        told = " ".join(str(error).split())
        raise InputError(f"not valid YAML{where}: {told}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{field}{where}: {first['msg'].lower()}; expected 'defaults:', 'chapters:' and 'rehearse:'"
        ) from None
