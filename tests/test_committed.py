"""Committed embeddings: complete, of the weights in the lock, and equal to what the images give where they are here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bindery import committed
from bindery.data import load as load_images
from bindery.data.cue_conflict import cue_conflict_labels, names_sha256
from bindery.encoders import embed, load
from bindery.errors import DataError
from bindery.paths import shared_data

ENCODERS = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")


@pytest.mark.parametrize("name", ENCODERS)
def test_every_image_has_a_finite_row_by_the_locked_weights(name: str) -> None:
    encoder = load(name)
    rows = committed.read("cue-conflict", name, names_sha256(), encoder.weights_sha256)
    assert rows.shape == (len(cue_conflict_labels()), encoder.dim)
    assert np.isfinite(rows).all() and (np.linalg.norm(rows, axis=1) > 0).all()
    assert "CC-BY-4.0" in committed.about("cue-conflict", name)["credit"]


@pytest.mark.skipif(shared_data("cue-conflict") is None, reason="the cue-conflict images are not here")
def test_rows_are_those_of_the_images() -> None:
    images, listed = load_images("cue-conflict"), cue_conflict_labels()
    place = {ids: i for i, ids in enumerate(images.sources.itertuples(index=False, name=None))}
    wanted = [0, 333, 777, 1279]
    order = [place[ids] for ids in listed.sources.iloc[wanted].itertuples(index=False, name=None)]
    encoder = load("efficientnet-lite0")
    fresh = embed(encoder, images.subset(order).images, progress=False)
    kept = committed.read("cue-conflict", encoder.name, names_sha256())[wanted]
    assert np.abs(fresh - kept).max() <= 2**-10 * np.abs(fresh).max()  # float16 keeps eleven bits


def test_other_weights_other_images_and_absence_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="other weights"):
        committed.read("cue-conflict", "efficientnet-lite0", names_sha256(), "0" * 64)
    with pytest.raises(DataError, match="other images"):
        committed.read("cue-conflict", "efficientnet-lite0", "0" * 64)
    with pytest.raises(
        DataError, match=r"no committed embeddings of cue-conflict by resnet18 .*efficientnet-lite0"
    ):
        committed.read("cue-conflict", "resnet18", names_sha256())
    monkeypatch.setattr(committed, "results_dir", lambda: tmp_path)
    path = committed.path_of("cue-conflict", "broken")
    path.parent.mkdir()
    path.write_bytes(b"not a tensor")
    with pytest.raises(DataError, match="is damaged"):
        committed.read("cue-conflict", "broken", names_sha256())


def test_pixels_of_the_label_only_set_say_what_is_missing() -> None:
    with pytest.raises(DataError, match="cue-conflict"):
        cue_conflict_labels().images[0]
