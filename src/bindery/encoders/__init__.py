"""Encoders: a card (data, not code) for each, one loader, one way to embed.

>>> from bindery.encoders import load, embed                                  # doctest: +SKIP
>>> embed(load("efficientnet-lite0"), images).shape                           # doctest: +SKIP
(24, 1280)
"""

from bindery.encoders.card import Card, Weights, card, cards, suite
from bindery.encoders.check import CardStatus, all_architectures, check_encoders
from bindery.encoders.embed import embed
from bindery.encoders.encoder import Encoder
from bindery.encoders.load import load, load_card
from bindery.encoders.preprocess import Preprocess
from bindery.encoders.specs import resolve

__all__ = [
    "Card",
    "CardStatus",
    "Encoder",
    "Preprocess",
    "Weights",
    "all_architectures",
    "card",
    "cards",
    "check_encoders",
    "embed",
    "load",
    "load_card",
    "resolve",
    "suite",
]
