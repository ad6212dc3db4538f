"""A card says what an encoder is: data in a TOML file, no code.

The files under ``cards/`` hold one family each: a ``[defaults]`` table, then one table an encoder.
"""

from __future__ import annotations

import difflib
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bindery.encoders.preprocess import Preprocess
from bindery.errors import BinderyError, InputError

Family = Literal[
    "contrastive",
    "variance-decorrelation",
    "clustering",
    "self-distillation",
    "masked",
    "vision-language",
    "supervised",
    "masked-finetuned",
    "zoo",
    "other",
]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Weights(_Strict):
    """Where the pretrained numbers lie and how their names map onto the architecture.

    Exactly one of ``package`` (an importable package that carries ``file``), ``hub`` (a Hugging Face
    repository), ``url``.
    """

    package: str = ""
    hub: str = ""
    url: str = ""
    file: str = ""
    tag: str = ""
    """The open_clip tag the weights belong to."""
    entry: str = ""
    """Key of the checkpoint under which the tensors lie, when not at the top."""
    prefix: str = ""
    """Only keys with this prefix belong to the encoder; it is removed."""
    drop: tuple[str, ...] = ()
    """Heads that are no part of the encoder, as prefixes after ``prefix`` is removed."""
    by_order: bool = False
    """Same tensors in the same order under other names; kinds and shapes are checked."""
    position_antialias: bool = True
    """Whether a position embedding of another grid is resampled with antialiasing."""

    @model_validator(mode="after")
    def _one_place(self) -> Weights:
        if sum(map(bool, (self.package, self.hub, self.url))) != 1:
            raise ValueError("weights need exactly one of package, hub, url")
        return self

    @property
    def place(self) -> str:
        """One line for people."""
        return self.url or (f"hub {self.hub}" if self.hub else f"package {self.package.replace('_', '-')}")


class Card(_Strict):
    """What must be known to load an encoder and to read its numbers.

    ``dim`` is the length of the embedding and ``parameters_m`` the size of the image side in millions;
    0 means "not known before loading". ``suite`` names the collections the encoder belongs to:
    ``paper-s`` (the reconstructed suite of 26), ``paper-g``, ``offline``.
    """

    name: str
    family: Family
    objective: str = ""
    loader: Literal["timm", "open_clip", "checkpoint", "package", "zoo", "file"]
    architecture: str
    feature: Literal["cls", "pooled", "projected", "output"]
    pooling: Literal["token", "avg", "map", "attention", ""] = ""
    """How tokens or places become one vector; "avg" leaves class and register tokens out."""
    activation: Literal["relu", "relu6", "gelu", "quickgelu", "swiglu", ""] = ""
    dim: int = Field(default=0, ge=0)
    parameters_m: float = Field(default=0.0, ge=0)
    preprocess: Preprocess = Preprocess()
    weights: Weights | None = None
    text: bool = False
    licence: str = "unknown"
    suite: tuple[str, ...] = ()
    note: str = ""

    @property
    def input_size(self) -> int:
        """Side of the square input in pixels."""
        return self.preprocess.size


def parse_cards(text: str, origin: str) -> dict[str, Card]:
    """Cards by name from one TOML file; raises BinderyError naming the card and the field at fault."""
    try:
        tables: dict[str, dict[str, Any]] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BinderyError(f"{origin} is not valid TOML: {error}") from error
    defaults = tables.pop("defaults", {})
    found = {}
    for name, fields in tables.items():
        try:
            found[name] = Card.model_validate({"name": name, **defaults, **fields})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the card"
            raise BinderyError(f"{origin}: card {name!r}, {where}: {first['msg']}") from error
    return found


@cache
def cards() -> dict[str, Card]:
    """Every card of the project by name, in the order of the files."""
    found: dict[str, Card] = {}
    folder = resources.files("bindery.encoders") / "cards"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".toml"):
            found |= parse_cards(file.read_text(encoding="utf-8"), file.name)
    return found


def suite(name: str) -> list[Card]:
    """The cards of a collection: ``paper-s``, ``paper-g`` or ``offline``."""
    members = [card for card in cards().values() if name in card.suite]
    if not members:
        known = sorted({member for card in cards().values() for member in card.suite})
        raise InputError(f"no suite {name!r}; there are {', '.join(known)}")
    return members


def card(name: str) -> Card:
    """The card called ``name``; raises InputError with the nearest names."""
    if name in cards():
        return cards()[name]
    near = difflib.get_close_matches(name, cards(), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"cards: {', '.join(cards())}."
    raise InputError(
        f"no encoder called {name!r}; {hint} "
        "Also understood: timm:NAME, open_clip:MODEL/TAG, path/to/file.py:function, zoo:NAME"
    )
