"""Render the committed emoji pack from five open-licence emoji sets.

Run it once when the sets or the content change; readers of the book never need it::

    python tools/make_emoji_pack.py FOLDER_WITH_NPM_PACKAGES

The folder holds the unpacked packages named in ``STYLES`` (``npm pack @iconify-json/twemoji@1.2.5`` and so
on, each unpacked into a folder called like its style).  Rendering needs ``resvg_py`` (0.5.0 was used), which
only this tool uses: it is deliberately not in ``requirements.lock``.  The same inputs and the same versions
of resvg_py and Pillow give the same bytes.

The drawings of one role (woman and man, five tones), one two-person type or one kind of shape lie side by
side in one WebP strip of square cells: outlines are lossless, colours are coded at quality ``QUALITY``.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import resvg_py
from PIL import Image

PACKS = Path(__file__).resolve().parents[1] / "src" / "bindery" / "data" / "packs"
SIDE, QUALITY = 96, 82
TONES = ("light", "medium-light", "medium", "medium-dark", "dark")
STYLES = {
    "twemoji": ("@iconify-json/twemoji@1.2.5", "CC-BY-4.0", "Twitter and contributors (jdecked/twemoji)"),
    "noto": ("@iconify-json/noto@1.2.9", "Apache-2.0", "Google (googlefonts/noto-emoji)"),
    "openmoji": ("@iconify-json/openmoji@1.2.29", "CC-BY-SA-4.0", "OpenMoji, HfG Schwaebisch Gmuend"),
    "fluent-emoji-flat": ("@iconify-json/fluent-emoji-flat@1.2.6", "MIT", "Microsoft (fluentui-emoji)"),
    "fluent-emoji": ("@iconify-json/fluent-emoji@1.2.7", "MIT", "Microsoft (fluentui-emoji)"),
}
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "brown", "black", "white")
WATER_BIRDS = ("duck", "swan", "flamingo", "goose", "penguin")
LAND_BIRDS = (
    "eagle", "owl", "parrot", "peacock", "rooster", "turkey", "dove", "dodo", "chicken", "baby-chick",
    "front-facing-baby-chick", "hatching-chick", "bird", "black-bird",
)  # fmt: skip
# Woman and man count as one drawing when their mean difference (0-255, on the union of both) is below this.
SAME_DRAWING = 2.0

Cell = tuple[str, dict[str, str]]
Strip = tuple[str, str, list[Cell]]


class IconSet:
    """One unpacked package: names, aliases and SVG bodies."""

    def __init__(self, folder: Path, style: str) -> None:
        self.style = style
        self.data = json.loads((folder / style / "icons.json").read_text())

    def resolve(self, name: str) -> str | None:
        """The name of the icon that ``name`` stands for; None when absent or only a mirrored copy."""
        while name not in self.data["icons"]:
            alias = self.data.get("aliases", {}).get(name)
            if alias is None or set(alias) != {"parent"}:
                return None
            name = alias["parent"]
        return name

    def toned(self, base: str, *tones: str) -> str:
        """The icon name of ``base`` with the tone of each person."""
        suffix = "" if self.style.startswith("fluent") else "-skin-tone"
        return "-".join([base, *(f"{tone}{suffix}" for tone in tones)])

    def sprite(self, name: str) -> Image.Image:
        """The drawing trimmed to its outline, centred in a transparent square of ``SIDE`` pixels."""
        icon = self.data["icons"][self.resolve(name)]
        width = icon.get("width", self.data.get("width", 16))
        height = icon.get("height", self.data.get("height", 16))
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">{icon["body"]}</svg>'
        )
        zoom = 2 * SIDE / max(width, height)
        png = resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, skip_system_fonts=True)
        image = Image.open(io.BytesIO(bytes(png))).convert("RGBA")
        image = image.crop(image.getchannel("A").point(lambda alpha: 255 * (alpha > 8)).getbbox())
        ratio = SIDE / max(image.size)
        size = (max(1, round(image.width * ratio)), max(1, round(image.height * ratio)))
        image = image.resize(size, Image.Resampling.LANCZOS)
        square = Image.new("RGBA", (SIDE, SIDE))
        square.paste(image, ((SIDE - size[0]) // 2, (SIDE - size[1]) // 2))
        return square


def roles(sets: list[IconSet]) -> list[str]:
    """Roles drawn as woman and man in all tones in all styles, aliases of another role left out."""
    first = sets[0]
    suffix = "-medium-dark-skin-tone"
    icons = (name for name in first.data["icons"] if name.startswith("woman-") and name.endswith(suffix))
    names = {name.removeprefix("woman-").removesuffix(suffix) for name in icons}
    found = []
    for role in sorted(names):
        needed = [(icons, icons.toned(f"{gender}-{role}", tone)) for icons in sets
                  for gender in ("woman", "man") for tone in TONES]  # fmt: skip
        if all(icons.resolve(name) for icons, name in needed):
            found.append(role)
    return found


def role_strips(icons: IconSet, names: list[str]) -> Iterator[Strip]:
    """One strip a role: woman and man, five tones each."""
    for role in names:
        cells = [
            (icons.toned(f"{gender}-{role}", tone), {"role": role, "gender": gender, "tone": tone})
            for gender in ("woman", "man")
            for tone in TONES
        ]
        yield "roles", role, cells


def duo_strips(icons: IconSet) -> Iterator[Strip]:
    """One strip a two-person type: 5 x 5 tones, left person first."""
    marker = "-light-skin-tone-dark-skin-tone"
    for name in sorted(n for n in icons.data["icons"] if n.endswith(marker) and "medium" not in n):
        base = name.removesuffix(marker)
        cells = []
        for left in TONES:
            for right in TONES:
                same = base.removesuffix("-person-person")
                icon = icons.toned(base, left, right) if left != right else icons.toned(same, left)
                cells.append((icon, {"duo": base, "left": left, "right": right}))
        if all(icons.resolve(icon) for icon, _ in cells):
            yield "duos", base, cells


def other_strips(icons: IconSet) -> Iterator[Strip]:
    """Colours x shapes (one strip a shape) and the birds (one strip)."""
    for shape in ("circle", "square", "heart"):
        cells = []
        for colour in COLOURS:
            large = shape == "square" and colour in ("black", "white")
            icon = f"{colour}-large-square" if large else f"{colour}-{shape}"
            cells.append((icon, {"colour": colour, "shape": shape}))
        yield "colours", shape, cells
    birds = [(bird, {"species": bird, "kind": "waterbird"}) for bird in WATER_BIRDS]
    birds += [(bird, {"species": bird, "kind": "landbird"}) for bird in LAND_BIRDS]
    yield "birds", "birds", [cell for cell in birds if icons.resolve(cell[0])]


def difference(one: Image.Image, other: Image.Image) -> float:
    """Mean absolute difference over the union of both drawings, 0 to 255."""
    a, b = (np.asarray(image, dtype=float) for image in (one, other))
    a, b = (x * x[..., 3:] / 255 for x in (a, b))
    union = (a[..., 3] > 0) | (b[..., 3] > 0)
    return float(np.abs(a - b)[union].mean())


def left_first(duo: list[Image.Image]) -> bool:
    """Whether (light, dark) is lighter left and darker right than (dark, light), in the same outline."""
    a, b = (np.asarray(duo[i], dtype=float) for i in (len(TONES) - 1, len(TONES) * (len(TONES) - 1)))
    change = (a - b)[..., :3].mean(axis=-1) * ((a[..., 3] > 127) & (b[..., 3] > 127))
    middle = SIDE // 2
    same_outline = float(np.abs(a[..., 3] - b[..., 3]).mean()) < 1
    return same_outline and change[:, :middle].sum() > 0 > change[:, middle:].sum()


def unfit(kind: str, sprites: list[Image.Image], n_fresh: int) -> str | None:
    """Why a strip is left out of the pack; None when it is used."""
    if kind == "roles" and min(difference(sprites[i], sprites[i + 5]) for i in range(5)) < SAME_DRAWING:
        return "woman and man are one drawing"
    if n_fresh == 0 or (kind in ("roles", "duos") and n_fresh < len(sprites)):
        return "some drawings also stand for another name"
    if kind == "duos" and not left_first(sprites):
        return "the first tone is not the left person's"
    return None


def render(
    icons: IconSet, names: list[str], archive: zipfile.ZipFile, seen: dict[str, str]
) -> list[dict[str, Any]]:
    """Render every strip of one style into the archive; returns the manifest entries."""
    strips = [*role_strips(icons, names), *other_strips(icons)]
    if not icons.style.startswith("fluent"):
        strips += duo_strips(icons)
    entries: list[dict[str, Any]] = []
    for kind, base, cells in strips:
        sprites = [icons.sprite(name) for name, _ in cells]
        digests = [hashlib.sha256(icons.style.encode() + sprite.tobytes()).hexdigest() for sprite in sprites]
        fresh = [i for i, d in enumerate(digests) if d not in seen and digests.count(d) == 1]
        if reason := unfit(kind, sprites, len(fresh)):
            print(f"left out: {icons.style} {base} ({reason})")
            continue
        cells, sprites, digests = ([x[i] for i in fresh] for x in (cells, sprites, digests))
        strip = np.concatenate([np.asarray(sprite) for sprite in sprites], axis=1)
        stream = io.BytesIO()
        Image.fromarray(strip).save(stream, "WEBP", quality=QUALITY, alpha_quality=100, method=5)
        file = f"strips/{icons.style}/{kind}-{base}.webp"
        store(archive, file, stream.getvalue())
        for index, ((name, factors), digest) in enumerate(zip(cells, digests, strict=True)):
            identity = f"{icons.style}/{name}"
            seen[digest] = identity
            entries.append(
                {"id": identity, "set": kind, "style": icons.style, "base": base, "factors": factors,
                 "licence": STYLES[icons.style][1], "file": file, "cell": index}
            )  # fmt: skip
        print(f"{icons.style} {kind} {base}: {len(cells)} drawings, {stream.tell()} bytes", flush=True)
    return entries


def store(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Add a file with a fixed date, so that the bytes of the archive depend on nothing but the content."""
    info = zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_STORED if name.endswith(".webp") else zipfile.ZIP_DEFLATED
    archive.writestr(info, data, compresslevel=9)


def credits() -> str:
    """The credit text that travels with the pack."""
    lines = ["The drawings of this pack were rendered from these emoji sets; each keeps its own licence.", ""]
    for style, (package, licence, author) in STYLES.items():
        lines.append(f"{style}: (c) {author}; {licence} (LICENSES/{licence}.txt); npm {package}.")
    lines += [
        "",
        f"Changes: rasterised, trimmed and scaled to {SIDE} pixels, coded as WebP (quality {QUALITY}).",
        "The OpenMoji renders are shared under CC BY-SA 4.0, as is anything adapted from them.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path, help="folder with the unpacked npm packages")
    folder = parser.parse_args().packages
    sets = [IconSet(folder, style) for style in STYLES]
    names = roles(sets)
    print(len(names), "roles:", ", ".join(names))
    target = PACKS / "emoji.zip"
    entries: list[dict[str, Any]] = []
    seen: dict[str, str] = {}
    partial = target.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w") as archive:
        for icons in sets:
            entries += render(icons, names, archive, seen)
        keys = ("package", "licence", "author")
        styles = {style: dict(zip(keys, told, strict=True)) for style, told in STYLES.items()}
        manifest = {"version": 1, "side": SIDE, "tones": TONES, "styles": styles, "drawings": entries}
        store(archive, "manifest.json", json.dumps(manifest, separators=(",", ":")).encode())
        store(archive, "CREDITS.txt", credits().encode())
        for licence in sorted((PACKS / "LICENSES").glob("*.txt")):
            store(archive, f"LICENSES/{licence.name}", licence.read_bytes())
    partial.replace(target)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    (PACKS / "emoji.sha256").write_text(f"{digest}  emoji.zip\n")
    (PACKS / "CREDITS.txt").write_text(credits())
    print(f"{len(entries)} drawings, {target.stat().st_size / 1e6:.1f} MB, sha256 {digest}")


if __name__ == "__main__":
    main()
