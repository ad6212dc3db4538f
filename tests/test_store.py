"""The store never returns what it did not compute for exactly this content, and loses nothing."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import nn

from bindery import store as store_module
from bindery.encoders import Card, Encoder, Preprocess, embed
from bindery.errors import BinderyError, InputError
from bindery.store import Store, pixel_hash

SIDE = 8


def tiny(seed: int = 0, mean: float = 0.5, name: str = "tiny") -> Encoder:
    """A linear encoder of 8-pixel images to 5 numbers."""
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 5)).eval().requires_grad_(False)
    preprocess = Preprocess(size=SIDE, mean=(mean,) * 3, std=(0.5,) * 3)
    card = Card(
        name=name,
        family="other",
        loader="file",
        architecture="linear",
        feature="output",
        dim=5,
        preprocess=preprocess,
    )
    return Encoder(name, card, module, preprocess, weights="custom")


class Images:
    """A lazy data set that notes which images were asked for, and can fail at one of them."""

    name = "noise"

    def __init__(self, n: int, fail_at: int = -1, seed: int = 0) -> None:
        self.pixels = np.random.default_rng(seed).integers(0, 256, (n, SIDE, SIDE, 3), dtype=np.uint8)
        self.fail_at, self.asked = fail_at, list[int]()

    @property
    def images(self) -> Images:
        return self

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        if index == self.fail_at:
            raise OSError("image file is truncated")
        self.asked.append(index)
        return self.pixels[index]

    def image_hashes(self) -> list[str]:
        return [pixel_hash(image) for image in self.pixels]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(store_module, "CHUNK_ROWS", 16)
    monkeypatch.setenv("BINDERY_CACHE", str(tmp_path / "cache"))


def chunk_files(root: Path) -> list[Path]:
    return sorted(root.rglob("*.npy"))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 50])
@pytest.mark.parametrize("batch_size", [1, 7, 16, 64])
def test_equals_plain_embedding_and_is_read_back_without_images(
    tmp_path: Path, n: int, batch_size: int
) -> None:
    data, encoder = Images(n), tiny()
    direct = embed(encoder, data.pixels, batch_size=batch_size, progress=False)
    first = Store(tmp_path).embeddings(encoder, data, batch_size=batch_size, progress=False)
    np.testing.assert_allclose(first, direct, rtol=1e-5, atol=1e-6)
    assert sorted(data.asked) == list(range(n))
    data.asked.clear()
    again = Store(tmp_path).embeddings(encoder, data, progress=False)
    np.testing.assert_array_equal(again, first)
    assert data.asked == []
    assert again.dtype == np.float32


def test_works_on_any_fsspec_root() -> None:
    data = Images(20)
    first = Store("memory://embeddings").embeddings(tiny(), data, progress=False)
    data.asked.clear()
    np.testing.assert_array_equal(
        Store("memory://embeddings").embeddings(tiny(), data, progress=False), first
    )
    assert data.asked == []


def test_interrupted_extraction_goes_on_where_it_stopped(tmp_path: Path) -> None:
    broken = Images(60, fail_at=41)
    with pytest.raises(InputError, match="image 41: image file is truncated"):
        Store(tmp_path).embeddings(tiny(), broken, batch_size=4, progress=False)
    assert len(chunk_files(tmp_path)) == 2  # rows 0..31 were complete
    mended = Images(60)
    rows = Store(tmp_path).embeddings(tiny(), mended, batch_size=4, progress=False)
    assert sorted(mended.asked) == list(range(32, 60))
    np.testing.assert_allclose(rows, embed(tiny(), mended.pixels, progress=False), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_damaged_chunk_is_found_told_and_computed_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    data = Images(40)
    rows = Store(tmp_path).embeddings(tiny(), data, progress=False)
    victim = chunk_files(tmp_path)[1]
    content = bytearray(victim.read_bytes())
    content[-1] ^= 1
    victim.write_bytes({"flip": bytes(content), "cut": bytes(content[:-9]), "empty": b""}[damage])
    data.asked.clear()
    with caplog.at_level(logging.WARNING):
        again = Store(tmp_path).embeddings(tiny(), data, progress=False)
    np.testing.assert_array_equal(again, rows)
    assert sorted(data.asked) == list(range(16, 32))
    assert "rows 16 to 31 are damaged" in caplog.text


def test_remains_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    data = Images(20)
    Store(tmp_path).embeddings(tiny(), data, progress=False)
    leftover = chunk_files(tmp_path)[0].parent / "000001-abc.npy.123.partial"
    leftover.write_bytes(b"half")
    Store(tmp_path).embeddings(tiny(), data, progress=False)
    assert not leftover.exists()


def changed_code() -> Encoder:
    return replace(tiny(), extra_code="edited")


@pytest.mark.parametrize(
    ("encoder", "data", "reason"),
    [
        (tiny(seed=1), Images(20), "weights"),
        (tiny(mean=0.4), Images(20), "preprocessing"),
        (changed_code(), Images(20), "code"),
        (tiny(), Images(20, seed=1), "images"),
        (tiny(), Images(19), "images"),
        (tiny(name="other"), Images(20), "nothing is stored"),
    ],
)
def test_any_change_misses_and_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, encoder: Encoder, data: Images, reason: str
) -> None:
    Store(tmp_path).embeddings(tiny(), Images(20), progress=False)
    data.asked.clear()
    with caplog.at_level(logging.INFO, logger="bindery.store"):
        rows = Store(tmp_path).embeddings(encoder, data, progress=False)
    if encoder.name == "tiny":
        assert f"differs in {reason}\n" in caplog.text
        assert len(data.asked) == len(data)
    else:  # a name is no content: the rows are there already
        assert data.asked == []
    np.testing.assert_allclose(rows, embed(encoder, data.pixels, progress=False), rtol=1e-5, atol=1e-6)


def test_order_of_images_is_content(tmp_path: Path) -> None:
    pixels = list(Images(6).pixels)
    forward = Store(tmp_path).embeddings(tiny(), pixels, progress=False)
    backward = Store(tmp_path).embeddings(tiny(), pixels[::-1], progress=False)
    np.testing.assert_allclose(backward, forward[::-1], rtol=1e-5, atol=1e-6)


def test_list_of_pil_images(tmp_path: Path) -> None:
    pixels = Images(5).pixels
    pictures = [Image.fromarray(image) for image in pixels]
    np.testing.assert_array_equal(
        Store(tmp_path).embeddings(tiny(), pictures, progress=False),
        Store(tmp_path).embeddings(tiny(), list(pixels), progress=False),
    )


def test_pixel_hash_knows_the_shape() -> None:
    flat = np.zeros((2, 8, 3), np.uint8)
    assert pixel_hash(flat) != pixel_hash(flat.reshape(4, 4, 3))


def test_two_processes_share_one_computation(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys, time
        sys.path.insert(0, sys.argv[1])
        from test_store import Images, Store, tiny
        class Slow(Images):
            def __getitem__(self, index):
                with open(sys.argv[3], "a") as log:
                    log.write(f"{index}\\n")
                time.sleep(0.02)
                return super().__getitem__(index)
        print(Store(sys.argv[2]).embeddings(tiny(), Slow(60), batch_size=8, progress=False).sum())
    """)
    noted = tmp_path / "asked"
    arguments = [sys.executable, "-c", script, str(Path(__file__).parent), str(tmp_path / "root"), str(noted)]
    both = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    sums = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sums[0] == sums[1] != ""
    assert sorted(map(int, noted.read_text().split())) == list(range(60))


def test_no_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no images"):
        Store(tmp_path).embeddings(tiny(), [])
    with pytest.raises(InputError, match="not one NoneType"):
        Store(tmp_path).embeddings(tiny(), None)


def test_unusable_root_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(BinderyError, match="cannot use the embedding store"):
        Store(tmp_path / "file" / "inside")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user who can be denied writing")
def test_read_only_root_is_one_clear_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(BinderyError, match="make it writable"):
        Store(tmp_path).embeddings(tiny(), Images(3), progress=False)


def test_files_of_others_in_an_entry_are_left_alone(tmp_path: Path) -> None:
    store, encoder, images = Store(tmp_path), tiny(), Images(3)
    rows = store.embeddings(encoder, images, progress=False)
    (entry,) = (path for path in tmp_path.iterdir() if path.is_dir())
    strange = [entry / "notes.npy", entry / f"000009-{'0' * 64}.npy"]
    for path in strange:
        path.write_bytes(b"?")
    np.testing.assert_array_equal(store.embeddings(encoder, images, progress=False), rows)
    assert all(path.exists() for path in strange)


def test_unknown_protocol_is_one_clear_line() -> None:
    with pytest.raises(InputError, match="nope://x is no place for an embedding store"):
        Store("nope://x")
