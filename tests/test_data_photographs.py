"""The photographs inside scikit-image, and crops of them."""

from __future__ import annotations

import numpy as np

from bindery import data


def test_photographs_are_there_named_and_credited() -> None:
    photographs = data.photographs()
    assert len(photographs) == len(photographs.names) == len(photographs.credits) == 12
    for image, credit in zip(photographs, photographs.credits, strict=True):
        assert image.mode == "RGB" and min(image.size) >= 300
        grey = np.ptp(np.asarray(image.resize((64, 64)), dtype=int), axis=-1).max() == 0
        assert grey == credit.endswith("(grey)")


def test_crops_are_seeded_distinct_and_a_prefix_of_more() -> None:
    few, many = data.photograph_crops(13, seed=2, size=48), data.photograph_crops(26, seed=2, size=48)
    assert len(few) == 13 and few[0].size == (48, 48)
    pixels = [image.tobytes() for image in many]
    assert len(set(pixels)) == 26
    assert [image.tobytes() for image in few] == pixels[:13]
    keys = [many.content_key(i) for i in range(26)]
    assert len(set(keys)) == 26
    assert few.content_key(5) == keys[5] != data.photograph_crops(13, seed=3, size=48).content_key(5)
