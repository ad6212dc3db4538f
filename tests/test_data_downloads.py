"""Verified downloads, against a server on this machine."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import logging
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bindery import data
from bindery.data import downloads, where
from bindery.errors import DataError, InputError


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A folder and the address under which its files can be fetched; an empty cache."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("BINDERY_CACHE", str(tmp_path / "cache"))
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def entry(monkeypatch: pytest.MonkeyPatch, **fields: object) -> None:
    told = {"credit": "c", "contents": "files", "where": "its page", **fields}
    monkeypatch.setattr(where, "sources", lambda: {"set": told})
    monkeypatch.setattr(downloads, "sources", lambda: {"set": told})


def tarball(path: Path, **files: str) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))


def test_listed_files_are_checked_and_kept(served, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, url = served
    sums = {}
    for name in ("a/1.txt", "b/2.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
        sums[name] = hashlib.sha256(name.encode()).hexdigest()
    entry(monkeypatch, base=url, checksums="x")
    monkeypatch.setattr(downloads, "read_checksums", lambda _: sums)
    (folder / "b/2.txt").write_text("changed at the source")
    with pytest.raises(DataError, match=r"2\.txt does not have the expected sha256"):
        data.download("set", progress=False)
    (folder / "b/2.txt").write_text("b/2.txt")
    (folder / "a/1.txt").unlink()  # fetched before, so not asked for again
    target = data.download("set", progress=False)
    assert (target / "a/1.txt").read_text() == "a/1.txt"
    data.verify("set", target)
    (target / "a/1.txt").write_text("damaged")
    with pytest.raises(DataError, match=r"1\.txt is damaged or changed"):
        data.verify("set", target)


def test_archive_sha256_is_recorded_said_and_checked_later(
    served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder, url = served
    tarball(folder / "set.tar.gz", inner__1="one")
    entry(monkeypatch, archives=[url + "set.tar.gz"])
    with caplog.at_level(logging.WARNING):
        target = data.download("set", progress=False)
    assert "gives no sha256; recorded" in caplog.text
    assert (target / "inner" / "1").read_text() == "one"
    assert data.download("set", progress=False) == target
    # Fetched anew after it changed at its source: refused.
    for path in sorted(target.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    target.rmdir()
    (target.parent / "archives" / "set.tar.gz").unlink()
    tarball(folder / "set.tar.gz", inner__1="two")
    with pytest.raises(DataError, match="expected sha256"):
        data.download("set", progress=False)


def test_archives_cannot_write_outside(served, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, url = served
    tarball(folder / "set.tar.gz", **{"..__..__evil": "x"})
    entry(monkeypatch, archives=[url + "set.tar.gz"])
    with pytest.raises(DataError, match="cannot be unpacked"):
        data.download("set", progress=False)


def test_absent_files_accounts_and_names_are_told(served, monkeypatch: pytest.MonkeyPatch) -> None:
    _, url = served
    with pytest.raises(InputError, match="no data set 'nothing'"):
        data.download("nothing")
    entry(monkeypatch)
    with pytest.raises(DataError, match="its page"):
        data.download("set")
    entry(monkeypatch, archives=[url + "none.zip"])
    with pytest.raises(DataError, match="cannot fetch"):
        data.download("set", progress=False)


def test_committed_checksums_are_complete() -> None:
    cue = downloads.read_checksums("cue-conflict.sha256")
    assert len(cue) == 1280 and all(len(digest) == 64 for digest in cue.values())
    assert len(downloads.read_checksums("sugar-crepe.sha256")) == 7
    for key, told in where.sources().items():
        assert {"credit", "contents", "where"} <= set(told), key
