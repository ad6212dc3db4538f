"""The picture decoder: closed forms of its helpers, learning, early stop, determinism, clear errors."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from bindery.decoder import DrawingDecoder, canvas, on_ground, pixel_error, thumbnails
from bindery.errors import InputError


def toy(n: int = 120, size: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings whose first two coordinates are the grey levels of the left and right half of the picture."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 0.9, (n, 6)).astype(np.float32)
    y = np.empty((n, 1, size, size), np.float32)
    y[..., : size // 2], y[..., size // 2 :] = x[:, :1, None, None], x[:, 1:2, None, None]
    return x, y


def quick(**options: float) -> DrawingDecoder:
    """A decoder small enough for a test."""
    return DrawingDecoder(hidden=32, epochs=20, batch_size=12, learning_rate=5e-3, noise=0.0, **options)


def test_canvas_is_premultiplied_and_centred() -> None:
    drawing = Image.new("RGBA", (10, 5), (255, 0, 0, 255))
    pixels = canvas(drawing, 32)
    assert pixels.shape == (4, 32, 32)
    assert pixels[3].sum() == 30 * 15  # longest side 30, aspect kept
    rows, columns = np.flatnonzero(pixels[3].any(axis=1)), np.flatnonzero(pixels[3].any(axis=0))
    assert (columns[0], columns[-1]) == (1, 30)
    assert abs((rows[0] + rows[-1]) / 2 - 15.5) <= 1
    assert np.array_equal(pixels[0], pixels[3])
    assert not pixels[1].any()


def test_half_transparent_drawing_over_a_ground() -> None:
    pixels = canvas(Image.new("RGBA", (8, 8), (255, 0, 0, 128)), 16)
    shown = on_ground(pixels[None], ground=1.0)[0, 8, 8]
    assert shown == pytest.approx([1, 1 - 128 / 255, 1 - 128 / 255], abs=1e-6)
    assert on_ground(pixels[None], ground=0.25)[0, 0, 0] == pytest.approx([0.25] * 3)


def test_thumbnails_keep_a_plain_colour() -> None:
    found = thumbnails([Image.new("RGB", (50, 40), (51, 102, 255))], 16)
    assert found.shape == (1, 3, 16, 16)
    assert found[0, :, 3, 3] == pytest.approx([0.2, 0.4, 1.0])


def test_pixel_error_is_a_root_mean_square() -> None:
    truth = np.zeros((2, 1, 2, 2))
    found = truth.copy()
    found[1, 0, 0, 0] = 1
    assert pixel_error(found, truth) == pytest.approx([0, 0.5])
    with pytest.raises(InputError, match="one shape"):
        pixel_error(found, truth[:1])


def test_it_learns_what_the_embedding_tells_and_beats_the_mean_picture() -> None:
    x, y = toy()
    new_x, new_y = toy(seed=1)
    found = quick().fit(x, y).predict(new_x)
    assert found.shape == new_y.shape
    assert found.min() >= 0
    assert found.max() <= 1
    mean = np.broadcast_to(y.mean(axis=0), new_y.shape)
    assert pixel_error(found, new_y).mean() < 0.3 * pixel_error(mean, new_y).mean()


def test_unpredictable_pictures_become_their_mean() -> None:
    """Regression blurs: with two equally likely pictures for one embedding it draws neither."""
    x = np.tile(np.array([[1.0, 0.0]], np.float32), (80, 1))
    y = np.zeros((80, 1, 8, 8), np.float32)
    y[::2] = 1
    decoder = DrawingDecoder(hidden=16, epochs=25, batch_size=80, learning_rate=1e-2, noise=0.0)
    assert decoder.fit(x, y).predict(x[:1]) == pytest.approx(0.5, abs=0.05)


def test_early_stop_keeps_the_best_epoch() -> None:
    x, y = toy(32)
    rng = np.random.default_rng(3)
    wrong = rng.uniform(0, 1, y.shape).astype(np.float32)  # nothing learned on y helps here for long
    decoder = quick(patience=3).fit(x, y, validation=(x, wrong))
    history = decoder.history_
    assert decoder.best_epoch_ == int(history["validation"].idxmin())
    assert len(history) <= decoder.best_epoch_ + 1 + 3
    found = decoder.predict(x)
    assert np.mean((found - wrong) ** 2) == pytest.approx(history["validation"].min(), rel=1e-4)


def test_one_seed_one_decoder_and_the_global_generator_is_left_alone() -> None:
    import torch

    x, y = toy(32)
    before = torch.random.get_rng_state()
    first, second = (quick(seed=5).fit(x, y).predict(x) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, quick(seed=6).fit(x, y).predict(x))
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("x", "y", "told"),
    [
        (np.zeros((3, 2)), np.zeros((2, 1, 8, 8)), "length"),
        (np.zeros((2, 2)), np.zeros((2, 1, 9, 8)), "N, C, S, S"),
        (np.zeros((2, 2)), 255 * np.ones((2, 1, 8, 8)), r"\[0, 1\]"),
        (np.full((2, 2), np.nan), np.zeros((2, 1, 8, 8)), "finite"),
    ],
)
def test_bad_input_is_told(x: np.ndarray, y: np.ndarray, told: str) -> None:
    with pytest.raises(InputError, match=told):
        quick().fit(x, y)


def test_embeddings_of_another_length_are_refused() -> None:
    x, y = toy(16)
    with pytest.raises(InputError, match="length 6"):
        quick().fit(x, y).predict(x[:, :3])
