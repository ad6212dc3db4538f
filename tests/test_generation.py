"""The unCLIP path with a stand-in pipeline: scaling, arguments, seeds; and what is said when it cannot run."""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from bindery import generation
from bindery.errors import DataError, InputError


class FakePipeline:
    """Records its calls and gives blank images."""

    device, dtype = torch.device("cpu"), torch.float32

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, **arguments: Any) -> Any:
        arguments["noise"] = torch.randn(3, generator=arguments.pop("generator"))
        self.calls.append(arguments)
        images = [Image.new("RGB", (4, 4)) for _ in range(arguments["num_images_per_prompt"])]
        return types.SimpleNamespace(images=images)


@pytest.fixture
def points() -> np.ndarray:
    rows = np.random.default_rng(0).standard_normal((3, generation.DIM))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_typical_norm_is_the_mean_length() -> None:
    assert generation.typical_norm([[3.0, 4.0], [0.0, 1.0]]) == pytest.approx(3.0)
    with pytest.raises(InputError, match="embedding 1 is zero"):
        generation.typical_norm([[1.0, 0.0], [0.0, 0.0]])


def test_points_are_scaled_and_arguments_arrive(points: np.ndarray) -> None:
    pipeline = FakePipeline()
    images = generation.imagine(
        pipeline, points, norm=17.5, n=2, prompt="x", noise_level=3, guidance_scale=4.0, steps=7
    )
    assert [len(each) for each in images] == [2, 2, 2]
    assert len(pipeline.calls) == 3
    for call, point in zip(pipeline.calls, points, strict=True):
        sent = call["image_embeds"]
        assert sent.shape == (1, generation.DIM)
        assert float(sent.norm()) == pytest.approx(17.5, rel=1e-5)
        assert sent[0].numpy() == pytest.approx(17.5 * point, abs=1e-5)
        assert call["prompt"] == "x"
        assert call["noise_level"] == 3
        assert call["guidance_scale"] == 4.0
        assert call["num_inference_steps"] == 7
        assert "image" not in call


def test_every_point_starts_from_the_same_noise_and_seeds_differ(points: np.ndarray) -> None:
    pipeline = FakePipeline()
    generation.imagine(pipeline, points[:2], norm=1.0, seed=4)
    generation.imagine(pipeline, points[:1], norm=1.0, seed=5)
    first, second, other = (call["noise"] for call in pipeline.calls)
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_wrong_points_are_refused(points: np.ndarray) -> None:
    pipeline = FakePipeline()
    with pytest.raises(InputError, match="768"):
        generation.imagine(pipeline, np.eye(5), norm=1.0)
    with pytest.raises(InputError, match="norm"):
        generation.imagine(pipeline, 3 * points, norm=1.0)
    with pytest.raises(InputError, match="positive"):
        generation.imagine(pipeline, points, norm=0.0)
    assert not pipeline.calls


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match="pip install diffusers transformers"):
        generation.load_pipeline()


def test_weights_are_looked_for_here_and_never_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    class Pipeline:
        @classmethod
        def from_pretrained(cls, model: str, **options: Any) -> Any:
            asked.update(options, model=model)
            raise OSError("no such snapshot\nmore lines")

    fake = types.ModuleType("diffusers")
    fake.StableUnCLIPImg2ImgPipeline = Pipeline  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "diffusers", fake)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    with pytest.raises(DataError, match="not on this machine") as told:
        generation.load_pipeline()
    assert "\n" not in str(told.value)
    assert generation.MODEL in str(told.value)
    assert asked["local_files_only"] is True
    assert asked["model"] == generation.MODEL
