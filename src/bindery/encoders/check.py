"""What is on this machine, and whether it is what the lock says."""

from __future__ import annotations

from dataclasses import dataclass

from bindery.encoders import lock, weights
from bindery.encoders.card import Card, cards
from bindery.errors import DataError
from bindery.provenance import sha256_file


@dataclass(frozen=True)
class CardStatus:
    """One row of the table that ``bindery check-encoders`` prints."""

    name: str
    family: str
    lock: str
    """Who states the hash ("package", "publisher", "recorded at first use"), or "not yet recorded"."""
    present: bool
    verified: bool | None
    """None when there is nothing to compare."""
    size: int | None
    """Bytes of the file on this machine."""
    place: str
    note: str = ""


def check_encoders() -> list[CardStatus]:
    """The state of every card's weights; downloads nothing."""
    return [_status(card) for card in cards().values() if card.weights]


def _status(card: Card) -> CardStatus:
    assert card.weights is not None
    entry = lock.expected(card.name)
    origin = entry.origin if entry else "not yet recorded"
    note = ""
    try:
        path = weights.find(card, download=False)
    except DataError as error:
        path, note = None, str(error)
    if path is None:
        return CardStatus(card.name, card.family, origin, False, None, None, card.weights.place, note)
    verified = None
    if entry:
        verified = sha256_file(path) == entry.sha256
        note = "" if verified else "differs from the lock: delete or reinstall the file"
    return CardStatus(
        card.name, card.family, origin, True, verified, path.stat().st_size, card.weights.place, note
    )


def all_architectures() -> list[Card]:
    """One card for each distinct network and feature of the project, the smallest first.

    Encoders that differ in their weights alone share a network, hence its random-weights null.
    """
    distinct: dict[tuple[str, str, str, int], Card] = {}
    for card in sorted(cards().values(), key=lambda card: card.parameters_m):
        library = "open_clip" if card.loader == "open_clip" else "timm"
        distinct.setdefault((library, card.architecture, card.feature, card.input_size), card)
    return list(distinct.values())
