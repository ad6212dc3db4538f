"""The table of pictures: what stands where, and what is refused."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from bindery.errors import InputError
from bindery.mosaic import mosaic

RED, GREEN = Image.new("RGB", (4, 4), "red"), np.full((6, 6, 3), (0.0, 1.0, 0.0))


def test_pictures_titles_and_frames_stand_in_their_cells() -> None:
    figure = mosaic(
        [[RED, GREEN], [None, RED]],
        left=["one", "two"],
        titles=["a", "b"],
        frames=[[("blue", "-"), None], [None, ("blue", "--")]],
    )
    (axis,) = figure.axes
    boxes = [tuple(np.round(image.get_extent(), 6)) for image in axis.get_images()]
    assert [box[0] for box in boxes] == [0, 1, 1]
    assert boxes[0][3] == boxes[1][3] < boxes[2][3]  # the second line is lower: y points down
    assert axis.get_ylim()[0] > axis.get_ylim()[1]
    assert [text.get_text() for text in axis.texts] == ["a", "b", "one", "two"]
    framed = [(patch.get_x(), patch.get_linestyle()) for patch in axis.patches]
    assert framed == [(0, "-"), (1, "--")]
    plt.close(figure)


def test_titles_of_every_line_make_room() -> None:
    plain, titled = mosaic([[RED], [RED]]), mosaic([[RED], [RED]], titles=[["x"], ["y\nz"]])
    tops = [[image.get_extent()[3] for image in figure.axes[0].get_images()] for figure in (plain, titled)]
    assert tops[1][1] - tops[1][0] > tops[0][1] - tops[0][0] == pytest.approx(1)
    plt.close("all")


def test_it_draws_on_given_axes() -> None:
    figure, axes = plt.subplots(1, 2)
    assert mosaic([[RED]], axis=axes[1]) is figure
    assert not axes[0].get_images()
    assert len(axes[1].get_images()) == 1
    plt.close(figure)


@pytest.mark.parametrize(
    ("lines", "options", "told"),
    [
        ([], {}, "at least one"),
        ([[RED]], {"left": ["a", "b"]}, "1 lines"),
        ([[RED]], {"frames": [[], []]}, "1 lines"),
    ],
)
def test_what_does_not_fit_is_refused(lines: list, options: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        mosaic(lines, **options)
