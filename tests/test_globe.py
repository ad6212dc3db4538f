"""The pictures of the sphere: what is in front, and where the sheet lies."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bindery.globe import Globe


@pytest.fixture
def globe():
    figure, axis = plt.subplots()
    yield Globe(axis, view=(0, 0, 1), up=(0, 1, 0))
    plt.close(figure)


def test_seen_from_above_the_plane_is_the_page(globe: Globe) -> None:
    np.testing.assert_allclose(globe.frame, np.eye(3), atol=1e-12)


def test_hidden_parts_of_a_path_are_dotted(globe: Globe) -> None:
    angle = np.linspace(0, 2 * np.pi, 100)
    globe.path(np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=1), color="red")
    front, back = [line for line in globe.axis.lines if line.get_color() == "red"]
    assert back.get_linestyle() == ":" and back.get_linewidth() < front.get_linewidth()
    shown = [np.isfinite(line.get_xdata().astype(float)) for line in (front, back)]
    np.testing.assert_array_equal(shown[0], np.cos(angle) >= 0)
    np.testing.assert_array_equal(shown[0], ~shown[1])


def test_an_arc_stays_on_the_sphere_and_a_sheet_touches_it(globe: Globe) -> None:
    globe.arc([1, 0, 0], [0, 1, 0], color="blue")
    line = next(line for line in globe.axis.lines if line.get_color() == "blue" and line.get_linewidth() > 1)
    np.testing.assert_allclose(np.hypot(*line.get_data()), 1, atol=1e-12)
    touch = np.array([0.6, 0, 0.8])
    axes = globe.sheet(touch)
    np.testing.assert_allclose(axes @ touch, 0, atol=1e-12)
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)
