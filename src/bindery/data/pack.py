"""The committed pack of emoji drawings: checked against its sha256, then read strip by strip."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from bindery.errors import DataError

PACKS = Path(__file__).with_name("packs")


@dataclass(frozen=True)
class Drawing:
    """One transparent drawing of the pack."""

    id: str
    set: str
    style: str
    base: str
    factors: dict[str, str]
    licence: str
    file: str
    cell: int


class EmojiPack:
    """Drawings with transparent background, cut to their outline; the longest side is ``side`` pixels.

    Raises
    ------
    DataError
        The archive or its checksum file is missing, or the bytes are not what the checksum says.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or PACKS / "emoji.zip"
        data = self._verified()
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        manifest = json.loads(self._archive.read("manifest.json"))
        self.side: int = manifest["side"]
        self.tones: list[str] = manifest["tones"]
        self.styles: dict[str, dict[str, str]] = manifest["styles"]
        self.drawings = [Drawing(**entry) for entry in manifest["drawings"]]
        self.by_id = {drawing.id: drawing for drawing in self.drawings}
        self.credits = self._archive.read("CREDITS.txt").decode()
        self._strip = lru_cache(maxsize=64)(self._read_strip)

    def _verified(self) -> bytes:
        again = "restore it with: git checkout -- src/bindery/data/packs"
        recorded = self.path.with_suffix(".sha256")
        for path in (self.path, recorded):
            if not path.is_file():
                raise DataError(f"the emoji pack is incomplete: {path.name} is missing; {again}")
        data = self.path.read_bytes()
        expected = recorded.read_text(encoding="ascii", errors="replace").partition(" ")[0].strip()
        found = hashlib.sha256(data).hexdigest()
        if found != expected:
            raise DataError(
                f"the emoji pack {self.path.name} is damaged: "
                f"sha256 {found[:12]}…, expected {expected[:12] or 'nothing'}…; {again}"
            )
        self.sha256 = expected
        return data

    def _read_strip(self, file: str) -> tuple[Image.Image, ...]:
        with Image.open(io.BytesIO(self._archive.read(file))) as opened:
            pixels = np.array(opened.convert("RGBA"))
        # Colours coded next to nothing must not shine through: only the drawing itself counts.
        pixels[pixels[..., 3] < 8] = 0
        cells = np.split(pixels, pixels.shape[1] // self.side, axis=1)
        images = (Image.fromarray(np.ascontiguousarray(cell)) for cell in cells)
        return tuple(image.crop(image.getchannel("A").getbbox()) for image in images)

    def sprite(self, drawing: Drawing | str) -> Image.Image:
        """The drawing as PIL RGBA, cut to its outline."""
        found = self.by_id[drawing] if isinstance(drawing, str) else drawing
        return self._strip(found.file)[found.cell]

    def select(self, kind: str) -> list[Drawing]:
        """The drawings of one set: "roles", "duos", "colours" or "birds"."""
        return [drawing for drawing in self.drawings if drawing.set == kind]


@lru_cache(maxsize=1)
def emoji_pack() -> EmojiPack:
    """The committed pack, read and checked once a process."""
    return EmojiPack()
