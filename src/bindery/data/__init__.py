"""Labelled image sets: offline emoji compositions, photographs, and readers of the papers' data sets."""

from bindery.data.composition import CompositionDataset
from bindery.data.downloads import download, verify
from bindery.data.image_sets import coco_images, imagenet_val, sugar_crepe
from bindery.data.layouts import true_layout
from bindery.data.pack import EmojiPack, emoji_pack
from bindery.data.photographs import photograph_crops, photographs
from bindery.data.registry import keys, load
from bindery.data.splits import Split

__all__ = [
    "CompositionDataset",
    "EmojiPack",
    "Split",
    "coco_images",
    "download",
    "emoji_pack",
    "imagenet_val",
    "keys",
    "load",
    "photograph_crops",
    "photographs",
    "sugar_crepe",
    "true_layout",
    "verify",
]
