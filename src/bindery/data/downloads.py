"""Verified downloads, on request only: sha256 from the package, or recorded at the first download."""

from __future__ import annotations

import json
import logging
import shutil
import tarfile
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import pooch
from filelock import FileLock
from tqdm.auto import tqdm

from bindery.data.where import missing, sources
from bindery.errors import DataError, InputError
from bindery.paths import cache_dir
from bindery.provenance import sha256_file

log = logging.getLogger(__name__)
CHECKSUMS = Path(__file__).with_name("checksums")
LOCK = "downloads.lock.json"
WORKERS = 8


def download(key: str, *, progress: bool = True) -> Path:
    """Fetch data set ``key`` from its authors into the cache, check every file, and return its folder.

    A file whose sha256 the publisher gives is checked against it. Otherwise the sha256 of the first download
    is recorded in ``downloads.lock.json`` in the data cache, said so, and checked from then on.

    Raises
    ------
    InputError
        No such data set.
    DataError
        It cannot be fetched automatically (how to get it is told), the network fails, or a checksum differs.
    """
    if key not in sources():
        raise InputError(f"no data set {key!r}; known: {', '.join(sources())}")
    entry = sources()[key]
    target = cache_dir("data") / key
    with FileLock(str(cache_dir("data") / f"{key}.lock")):
        if target.is_dir():
            return target
        partial = cache_dir("data", f"{key}.partial")
        if "base" in entry:
            _files(key, entry["base"], read_checksums(entry["checksums"]), partial, progress)
        elif "archives" in entry:
            _archives(key, entry["archives"], partial, progress)
        else:
            raise DataError(missing(key))
        partial.rename(target)
    return target


@lru_cache(maxsize=8)
def read_checksums(name: str) -> dict[str, str]:
    """File name -> sha256 of a committed list in the form that ``sha256sum`` writes."""
    lines = (CHECKSUMS / name).read_text(encoding="utf-8").splitlines()
    return {file: digest for digest, file in (line.split(maxsplit=1) for line in lines if line.strip())}


def verify(key: str, folder: str | Path) -> None:
    """Check every file of a data set with known checksums; raises DataError naming the first that differs."""
    entry = sources().get(key, {})
    if "checksums" not in entry:
        raise InputError(f"no checksums are known for {key!r}")
    for name, expected in read_checksums(entry["checksums"]).items():
        path = Path(folder) / name
        if not path.exists():
            raise DataError(missing(key, f"{name} in {folder}"))
        if sha256_file(path) != expected:
            raise DataError(
                f"{path} is damaged or changed (sha256 differs from the published one); get it again"
            )


def _files(key: str, base: str, checksums: dict[str, str], folder: Path, progress: bool) -> None:
    """Many single files, each checked as it arrives; what is there already is kept."""
    pooch.get_logger().setLevel("WARNING")

    def fetch(item: tuple[str, str]) -> None:
        name, digest = item
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _retrieve(key, base + name, digest, path)

    with ThreadPoolExecutor(WORKERS) as pool:
        jobs: Iterable[None] = pool.map(fetch, checksums.items())
        for _ in tqdm(jobs, total=len(checksums), desc=key, disable=not progress):
            pass


def _archives(key: str, urls: list[str], folder: Path, progress: bool) -> None:
    """Archives, checked against the recorded sha256 and unpacked beside one another."""
    packed = cache_dir("data", "archives")
    for url in urls:
        path = packed / url.rsplit("/", 1)[-1]
        known = _recorded().get(url)
        _retrieve(key, url, known, path, progress)
        _unpack(path, folder)
        if known is None:
            digest = sha256_file(path)
            _record(url, digest)
            log.warning("%s: the publisher gives no sha256; recorded %s… in %s", path.name, digest[:12], LOCK)
    _settle(key, folder)


def _retrieve(key: str, url: str, digest: str | None, path: Path, progress: bool = False) -> None:
    try:
        pooch.retrieve(
            url, known_hash=f"sha256:{digest}" if digest else None, fname=path.name, path=path.parent,
            progressbar=progress,
        )  # fmt: skip
    except ValueError as error:  # pooch: the hash of the downloaded file differs
        raise DataError(
            f"{key}: {path.name} does not have the expected sha256; it changed at its source or on the way, "
            "try again later"
        ) from error
    except OSError as error:
        raise DataError(
            f"{key}: cannot fetch {url} ({error}); check the network, or {missing(key)}"
        ) from error


def _recorded() -> dict[str, str]:
    path = cache_dir("data") / LOCK
    return json.loads(path.read_text()) if path.exists() else {}


def _record(url: str, digest: str) -> None:
    path = cache_dir("data") / LOCK
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({**_recorded(), url: digest}, indent=1, sort_keys=True))
    partial.replace(path)


def _unpack(path: Path, folder: Path) -> None:
    try:
        if path.suffix == ".zip":
            shutil.unpack_archive(path, folder)
        else:
            shutil.unpack_archive(path, folder, filter="data")
    except (shutil.ReadError, tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
        raise DataError(f"{path} cannot be unpacked ({error}); delete it and try again") from error


def _settle(key: str, folder: Path) -> None:
    """Bring the unpacked archives of the two natural-split sets into the layout that the reader expects.

    The split archive holds both sets, in folders of its own; each image archive has one around its files.
    """
    own = {"ut-zappos": "ut-zap50k"}.get(key, key)
    if key == "mit-states":
        moves = {"release_dataset/images": "images"}
    elif key == "ut-zappos":
        moves = {"ut-zap50k-images": "images"}
    elif key == "waterbirds":
        moves = {"waterbird_complete95_forest2water2": "."}
    else:
        return
    for source, goal in moves.items():
        inner = folder / source
        if goal == "." and inner.is_dir():
            for path in inner.iterdir():
                path.rename(folder / path.name)
        elif inner.is_dir():
            inner.rename(folder / goal)
    for name in ("compositional-split-natural", "metadata_compositional-split-natural.t7"):
        found = next((p for p in sorted(folder.rglob(name)) if p.parent.name == own), None)
        if found is not None and not (folder / name).exists():
            found.rename(folder / name)
