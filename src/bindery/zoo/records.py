"""Cards of zoo encoders: how each was made, as TOML beside its weights."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from bindery.errors import DataError, InputError
from bindery.zoo.train import Config

SHIPPED = Path(__file__).parent / "weights"


class ZooCard(BaseModel):
    """How a zoo encoder was made; enough to make it again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    objective: str
    family: str
    source: str
    condition: str
    backbone: str
    width: int = 0
    dim: int
    parameters: int
    seed: int
    data_seed: int
    scenes: int
    size: int
    images: int
    steps: int
    per_step: int
    learning_rate: float
    weight_decay: float
    warmup: float
    bfloat16: bool
    options: dict[str, Any] = {}
    final_loss: float
    code_revision: str
    sha256: str
    bytes: int

    def config(self) -> Config:
        """The configuration that retrains it."""
        return Config(
            objective=self.objective, condition=self.condition, seed=self.seed, images=self.images,
            per_step=self.per_step, learning_rate=self.learning_rate, weight_decay=self.weight_decay,
            warmup=self.warmup, backbone=self.backbone, width=self.width or None, size=self.size,
            scenes=self.scenes, data_seed=self.data_seed, bfloat16=self.bfloat16, options=self.options,
        )  # fmt: skip


def variant_name(config: Config) -> str:
    """The name of a training without its seed: objective, then what differs from the default."""
    parts = [config.objective]
    if config.condition != "photometric":
        parts.append(config.condition)
    if config.backbone != "resnet":
        parts.append(config.backbone)
    if config.width is not None:
        parts.append(f"w{config.width}")
    if config.images > Config.images:
        parts.append(f"{config.images // 1024}k")
    parts += [f"{key}{value}" for key, value in sorted(config.options.items())]
    return "-".join(parts)


def to_toml(card: ZooCard) -> str:
    """The card as TOML text."""

    def value(item: Any) -> str:
        if isinstance(item, bool):
            return str(item).lower()
        if isinstance(item, dict):
            return "{ " + ", ".join(f"{key} = {value(v)}" for key, v in item.items()) + " }" if item else "{}"
        return f'"{item}"' if isinstance(item, str) else repr(item)

    return "".join(f"{key} = {value(item)}\n" for key, item in card.model_dump().items())


def cards(folder: Path | None = None) -> dict[str, ZooCard]:
    """The cards in a folder (the shipped ones by default), by name.

    Raises
    ------
    DataError
        A card that is not valid, told by file.
    """
    found = {}
    for path in sorted((folder or SHIPPED).glob("*.toml")):
        try:
            found[path.stem] = ZooCard.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, ValidationError) as error:
            raise DataError(f"{path.name} is no card of a zoo encoder: {error}") from error
    return found


def card(name: str, folder: Path | None = None) -> ZooCard:
    """The card of that name; raises InputError with the nearest names."""
    known = cards(folder)
    if name not in known:
        near = get_close_matches(name, known, 3) or list(known)
        raise InputError(
            f"the zoo has no encoder {name!r}; {'nearest' if known else 'it is empty'}: {', '.join(near)}"
        )
    return known[name]
