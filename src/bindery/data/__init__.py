"""Labelled image sets: offline emoji compositions, photographs, and readers of the papers' data sets."""

from bindery.data.composition import CompositionDataset
from bindery.data.pack import EmojiPack, emoji_pack
from bindery.data.photographs import photograph_crops, photographs
from bindery.data.registry import keys, load
from bindery.data.splits import Split

__all__ = [
    "CompositionDataset",
    "EmojiPack",
    "Split",
    "emoji_pack",
    "keys",
    "load",
    "photograph_crops",
    "photographs",
]
