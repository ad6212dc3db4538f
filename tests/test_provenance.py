from __future__ import annotations

import hashlib
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindery.errors import InputError
from bindery.provenance import (
    Provenance,
    _commit_of,
    commit,
    environment_parameters,
    sha256_file,
    sha256_json,
    versions,
)


def git(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_sha256_file_is_that_of_its_bytes(tmp_path):
    path = tmp_path / "block.bin"
    path.write_bytes(bytes(range(256)) * 9000)
    assert sha256_file(path) == hashlib.sha256(path.read_bytes()).hexdigest()


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.booleans(), min_size=2))
def test_key_order_does_not_matter_but_values_do(mapping):
    reversed_keys = dict(reversed(list(mapping.items())))
    assert sha256_json(mapping) == sha256_json(reversed_keys)
    first = next(iter(mapping))
    assert sha256_json(mapping) != sha256_json({**mapping, first: [mapping[first]]})


def test_numpy_values_hash_as_plain_ones():
    assert sha256_json({"a": np.float64(0.5), "b": np.arange(3)}) == sha256_json({"b": [0, 1, 2], "a": 0.5})


@pytest.mark.parametrize("value", [float("nan"), {"a": {1, 2}}, object()])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(InputError):
        sha256_json(value)


def test_versions_are_sorted_and_absent_packages_left_out():
    found = versions(["numpy", "no-such-package-here", "bindery"])
    assert list(found) == ["bindery", "numpy"]
    assert found["numpy"] == np.__version__


def checkout(root):
    (root / "notebooks").mkdir(parents=True)
    (root / "_toc.yml").write_text("")


def test_commit_clean_dirty_and_foreign(tmp_path, monkeypatch):
    monkeypatch.delenv("BINDERY_COMMIT", raising=False)
    root = tmp_path / "project"
    checkout(root)
    (root / "page.md").write_text("a")
    monkeypatch.setenv("BINDERY_ROOT", str(root))
    assert commit() == "unknown"
    for arguments in (["init"], ["add", "page.md"], ["commit", "-m", "first"]):
        git(root, *arguments)
    _commit_of.cache_clear()
    clean = commit()
    assert len(clean) == 10 and int(clean, 16) >= 0
    (root / "page.md").write_text("b")
    _commit_of.cache_clear()
    assert commit() == f"{clean}-dirty"
    inside = root / "unpacked"
    checkout(inside)
    monkeypatch.setenv("BINDERY_ROOT", str(inside))
    assert commit() == "unknown", "the commit of an enclosing repository is not ours"
    monkeypatch.setenv("BINDERY_COMMIT", "abc")
    assert commit() == "abc"


def test_provenance_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("BINDERY_CHAPTER", "05_compositional_classification")
    monkeypatch.setenv("BINDERY_PROFILE", "smoke")
    monkeypatch.setenv("BINDERY_COMMIT", "abc")
    monkeypatch.setenv("BINDERY_PARAMETERS", '{"n_images": 8, "seed": 3}')
    told = Provenance.current()
    assert (told.chapter, told.profile, told.commit, told.seed) == (
        "05_compositional_classification",
        "smoke",
        "abc",
        3,
    )
    assert told == Provenance.current({"seed": 3, "n_images": 8})
    assert told.parameters != Provenance.current({"seed": 3, "n_images": 9}).parameters
    assert Provenance.model_validate_json(told.model_dump_json()) == told


@pytest.mark.parametrize("text", ["[1]", "{", "3"])
def test_broken_parameters_variable_is_named(monkeypatch, text):
    monkeypatch.setenv("BINDERY_PARAMETERS", text)
    with pytest.raises(InputError, match="BINDERY_PARAMETERS"):
        environment_parameters()
