"""Embeddings on disk, keyed by content: change a weight, a pixel or the code, and the key changes.

An entry is a folder ``<root>/<key>/`` with ``about.json`` and chunks ``<number>-<sha256>.npy``. A chunk
appears whole or not at all, so an interrupted extraction goes on where it stopped; its name holds the hash of
its bytes, so damage is found when it is read.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from tqdm.auto import tqdm

from bindery.encoders import Encoder
from bindery.encoders.embed import compute_device, image_list, stream
from bindery.encoders.preprocess import ImageLike, as_rgb
from bindery.errors import BinderyError, InputError
from bindery.paths import cache_dir
from bindery.provenance import sha256_json

log = logging.getLogger(__name__)
CHUNK_ROWS = 256
_CHUNK = re.compile(r"(\d{6,})-([0-9a-f]{64})\.npy")
Rows = NDArray[np.float32]


class Store:
    """Embeddings of image sets by encoders, computed once.

    Parameters
    ----------
    root
        Folder or any fsspec URL; the cache folder by default. Processes on one machine may share it. For a
        remote root the lock is a file in the local cache, so two machines may do the same work twice.

    Raises
    ------
    BinderyError
        The folder cannot be written.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = str(root or cache_dir("embeddings"))
        try:
            self.files, self.folder = fsspec.core.url_to_fs(self.root)
        except (ValueError, ImportError) as error:  # no such protocol, or its package is not installed
            raise InputError(f"{self.root} is no place for an embedding store: {error}") from error
        try:
            self.files.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error

    def embeddings(
        self, encoder: Encoder, dataset: Any, *, batch_size: int = 32, progress: bool = True
    ) -> NDArray[np.float32]:
        """(N, D) float32 embeddings, not unit-normed, read from disk where they are there.

        Parameters
        ----------
        encoder : Encoder
        dataset : CompositionDataset, or a sequence of PIL images or (H, W, 3) uint8 arrays
            Row i of the result belongs to image i.
        batch_size, progress
            As in `bindery.encoders.embed`.
        """
        images = image_list(dataset)
        if len(images) == 0:
            raise InputError("no images to embed")
        about = _about(encoder, dataset)
        key = sha256_json(about["parts"])
        entry = _Entry(self.files, f"{self.folder}/{key}", len(images), encoder.dim)
        try:
            with self._locked(key):
                if not entry.exists():
                    log.info("%s: computing, %s", _title(about), self._why_missing(about))
                    entry.create(about)
                chunks, damaged = entry.read()
                for number in damaged:
                    span = entry.span(number)
                    log.warning(
                        "%s: stored rows %d to %d are damaged; computed again",
                        _title(about),
                        span[0],
                        span[-1],
                    )
                missing = [number for number in range(entry.n_chunks) if number not in chunks]
                bar = tqdm(
                    total=len(images), desc=encoder.name, unit="image", disable=not progress, leave=False
                )
                with bar:
                    bar.update(len(images) - sum(len(entry.span(number)) for number in missing))
                    for number, rows in _compute(entry, missing, encoder, images, batch_size, bar):
                        entry.write(number, rows)
                        chunks[number] = rows
        except OSError as error:
            raise self._unusable(error) from error
        return np.concatenate([chunks[number] for number in range(entry.n_chunks)])

    def _why_missing(self, about: dict[str, Any]) -> str:
        """In what the nearest stored entry of the same encoder and data differs."""
        differences: list[list[str]] = []
        for path in self.files.glob(f"{self.folder}/*/about.json"):
            try:
                other = json.loads(self.files.cat_file(path))
                if (other["encoder"], other["data"]) == (about["encoder"], about["data"]):
                    parts: dict[str, str] = other["parts"]
                    differences.append(
                        [name for name, value in about["parts"].items() if parts.get(name) != value]
                    )
            except (ValueError, KeyError, TypeError):
                continue  # half an entry explains nothing
        if not differences:
            return "since nothing is stored for this encoder and data"
        nearest = sorted(differences, key=len)[0]
        return f"since what is stored differs in {', '.join(nearest)}"

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        local = "file" in np.atleast_1d(self.files.protocol)
        lock = FileLock(Path(self.folder if local else cache_dir("locks")) / f"{key}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            log.info("another process is at work on these embeddings; waiting for it")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _unusable(self, error: OSError) -> BinderyError:
        return BinderyError(
            f"cannot use the embedding store {self.root} ({error.strerror or error}); "
            "make it writable, or set BINDERY_CACHE to a folder that is"
        )


@dataclass(frozen=True)
class _Entry:
    """The folder of one key: n rows of length dim in chunks."""

    files: Any
    folder: str
    n: int
    dim: int

    @property
    def n_chunks(self) -> int:
        return -(-self.n // CHUNK_ROWS)

    def span(self, number: int) -> range:
        return range(number * CHUNK_ROWS, min((number + 1) * CHUNK_ROWS, self.n))

    def exists(self) -> bool:
        return bool(self.files.exists(f"{self.folder}/about.json"))

    def create(self, about: dict[str, Any]) -> None:
        self.files.makedirs(self.folder, exist_ok=True)
        self._put("about.json", json.dumps(about, indent=1).encode())

    def read(self) -> tuple[dict[int, Rows], list[int]]:
        """Intact chunks, and the numbers of damaged ones; those and what a killed run left are removed."""
        chunks: dict[int, Rows] = {}
        damaged = []
        for path in sorted(map(str, self.files.ls(self.folder, detail=False))):
            name = path.rsplit("/", 1)[-1]
            if name.endswith(".partial"):
                self.files.rm_file(path)
            match = _CHUNK.fullmatch(name)
            if match is None or (number := int(match[1])) >= self.n_chunks:
                continue  # somebody else's file
            rows = _decode(self.files.cat_file(path), match[2])
            if rows is None or rows.shape != (len(self.span(number)), self.dim):
                damaged.append(number)
                self.files.rm_file(path)
            else:
                chunks[number] = rows
        return chunks, damaged

    def write(self, number: int, rows: Rows) -> None:
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(rows), allow_pickle=False)
        content = buffer.getvalue()
        self._put(f"{number:06d}-{hashlib.sha256(content).hexdigest()}.npy", content)

    def _put(self, name: str, content: bytes) -> None:
        partial = f"{self.folder}/{name}.{os.getpid()}.partial"
        self.files.pipe_file(partial, content)
        self.files.mv(partial, f"{self.folder}/{name}")


def pixel_hash(image: ImageLike) -> str:
    """Content key of one image: sha256 of its size and RGB pixels."""
    rgb = as_rgb(image)
    return hashlib.sha256(f"{rgb.size}".encode() + rgb.tobytes()).hexdigest()


def _about(encoder: Encoder, dataset: Any) -> dict[str, Any]:
    """What an entry holds; its ``parts`` make the key."""
    hashes = dataset.image_hashes() if hasattr(dataset, "image_hashes") else [pixel_hash(x) for x in dataset]
    parts = {
        **encoder.fingerprint_parts,
        "images": hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
        "dtype": "float32",
        "device": compute_device().type,
    }
    data = str(getattr(dataset, "name", "images"))
    return {
        "encoder": encoder.name,
        "weights": encoder.weights,
        "data": data,
        "n": len(hashes),
        "parts": parts,
    }


def _title(about: dict[str, Any]) -> str:
    return f"{about['encoder']} on {about['data']}"


def _compute(
    entry: _Entry, missing: list[int], encoder: Encoder, images: Any, batch_size: int, bar: Any
) -> Iterator[tuple[int, Rows]]:
    """The missing chunks in one pass over their images, each as soon as it is full."""
    wanted = [row for number in missing for row in entry.span(number)]
    blocks = stream(encoder, images, batch_size, wanted) if wanted else iter(())
    waiting = np.empty((0, entry.dim), np.float32)
    for number in missing:
        size = len(entry.span(number))
        while len(waiting) < size:
            block = next(blocks)
            waiting = np.concatenate([waiting, block])
            bar.update(len(block))
        yield number, waiting[:size]
        waiting = waiting[size:]


def _decode(content: bytes, digest: str) -> Rows | None:
    """The rows of a chunk, or None when its bytes are not those that were written."""
    if hashlib.sha256(content).hexdigest() != digest:
        return None
    rows: Rows = np.load(io.BytesIO(content), allow_pickle=False)
    return rows
