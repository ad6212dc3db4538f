"""SugarCrepe, ARO and Winoground in the layouts in which their authors publish them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

from bindery import data
from bindery.captions.items import CaptionItems, numbered
from bindery.data import where
from bindery.data.images import Files, ImageSequence
from bindery.errors import DataError, InputError

Box = tuple[int, int, int, int]


def sugar_crepe(
    root: str | Path | None = None,
    *,
    images: str | Path | bool | None = None,
    check_counts: bool = True,
) -> CaptionItems:
    """SugarCrepe's 7,511 pairs in seven categories; answers are clustered by photograph.

    Parameters
    ----------
    root : path, optional
        The folder with the seven .json files; else found as `bindery.data.sugar_crepe` does.
    images : path or bool, optional
        The folder of COCO val2017, True to look for it where data lie, None or False for captions only.

    Source: Hsieh et al. 2023.
    """
    table = data.sugar_crepe(root, check_counts=check_counts)
    names = table["filename"].tolist()
    number, first = numbered(names)
    pictures = None
    if images is not None and images is not False:
        pictures = data.coco_images([names[row] for row in first], None if images is True else images)
    return CaptionItems(
        name="sugar-crepe",
        true=tuple(table["caption"]),
        false=tuple(table["negative_caption"]),
        category=tuple(table["category"]),
        image=number,
        cluster=np.array(names),
        images=pictures,
    )


def aro(
    task: Literal["relation", "attribution"], root: str | Path | None = None, *, images: bool = True
) -> CaptionItems:
    """ARO's Visual Genome pairs; the image is the part of the photograph inside the item's box.

    The category is the relation, or the two attributes joined by "_", as in ARO's own report, which averages
    over categories. Answers are clustered by photograph.

    Parameters
    ----------
    root : path, optional
        The folder with ``visual_genome_<task>.json`` and ``images/``.
    images : bool
        False for captions only.

    Source: Yüksekgönül et al. 2023.
    """
    if task not in ("relation", "attribution"):
        raise InputError(f"ARO's tasks here are relation and attribution; got {task!r}")
    folder = where.find("aro", root)
    (path,) = where.require("aro", folder, f"visual_genome_{task}.json")
    keys = ["image_path", "bbox_x", "bbox_y", "bbox_w", "bbox_h", "true_caption", "false_caption"]
    entries = _entries(path, [*keys, "relation_name" if task == "relation" else "attributes"])
    boxes = [(e["image_path"], *(int(e[key]) for key in keys[1:5])) for e in entries]
    number, first = numbered(boxes)
    pictures: Boxes | None = None
    if images:
        where.require("aro", folder, "images")
        chosen = [boxes[row] for row in first]
        pictures = Boxes(
            [folder / "images" / name for name, *_ in chosen], [_corners(*b[1:]) for b in chosen]
        )
    return CaptionItems(
        name=f"aro-{task}",
        true=tuple(e["true_caption"] for e in entries),
        false=tuple(e["false_caption"] for e in entries),
        category=tuple(
            e["relation_name"] if task == "relation" else "_".join(e["attributes"][:2]) for e in entries
        ),
        image=number,
        cluster=np.array([e["image_path"] for e in entries]),
        images=pictures,
    )


def winoground(root: str | Path | None = None, *, images: bool = True) -> CaptionItems:
    """Winoground's examples, two questions each (image 0, image 1), clustered by example.

    Feed the answers to `bindery.captions.fourfold` for the text, image and group scores. The category is the
    collapsed tag (Object, Relation, Both).

    Parameters
    ----------
    root : path, optional
        The folder with ``examples.jsonl`` and ``images/``, or with a ``data/`` that has them.

    Source: Thrush et al. 2022.
    """
    folder = where.find("winoground", root)
    folder = folder / "data" if (folder / "data").is_dir() else folder
    (path,) = where.require("winoground", folder, "examples.jsonl")
    entries = _entries(path, ["id", "image_0", "image_1", "caption_0", "caption_1", "collapsed_tag"])
    names = [str(e[key]) for e in entries for key in ("image_0", "image_1")]
    number, first = numbered(names)
    pictures = None
    if images:
        where.require("winoground", folder, "images")
        pictures = Files([_with_suffix(folder / "images" / names[row]) for row in first])
    return CaptionItems(
        name="winoground",
        true=tuple(e[key] for e in entries for key in ("caption_0", "caption_1")),
        false=tuple(e[key] for e in entries for key in ("caption_1", "caption_0")),
        category=tuple(str(e["collapsed_tag"]) for e in entries for _ in range(2)),
        image=number,
        cluster=np.array([str(e["id"]) for e in entries for _ in range(2)]),
        images=pictures,
    )


@dataclass
class Boxes(ImageSequence):
    """Parts of image files: (left, top, right, bottom) of each, in pixels."""

    paths: Sequence[Path]
    corners: Sequence[Box]

    def __len__(self) -> int:
        return len(self.paths)

    def image(self, index: int) -> Image.Image:
        return Files([self.paths[index]])[0].crop(self.corners[index])


def _corners(x: int, y: int, width: int, height: int) -> Box:
    return x, y, x + width, y + height


def _with_suffix(path: Path) -> Path:
    """The published list names images without their suffix."""
    return path if path.suffix else path.with_name(f"{path.name}.png")


def _entries(path: Path, keys: Sequence[str]) -> list[dict[str, Any]]:
    """The entries of a .json list or a .jsonl file, every one with these keys."""
    try:
        text = path.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line.strip()]
        entries = [json.loads(line) for line in lines] if path.suffix == ".jsonl" else json.loads(text)
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read ({error}); get it again") from error
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{path.name} holds no list of examples; get it again")
    for row, entry in enumerate(entries):
        lacking = [key for key in keys if not isinstance(entry, dict) or key not in entry]
        if lacking:
            raise DataError(f"{path.name}: example {row} has no {lacking[0]!r}; get the published file")
    return entries
