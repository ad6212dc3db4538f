"""Points of CLIP's image space as photographs, by Stable Diffusion unCLIP; optional, never downloaded here.

Paper G inverts composed points with Stable Diffusion 2.1 unCLIP and publishes no code. Of its encoders only CLIP
ViT-L/14 has the 768 dimensions that one of the two published checkpoints takes, so that checkpoint is an inference;
norm, prompt, guidance, steps, noise level and seed are not stated either. They are arguments here.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from PIL import Image

from bindery.checks import finite_rows
from bindery.errors import DataError, InputError
from bindery.rows import unit_rows

MODEL = "stabilityai/stable-diffusion-2-1-unclip-small"
"""The checkpoint that is conditioned on CLIP ViT-L/14 image embeddings."""
DIM = 768
ENCODERS = ("clip-vit-l14", "open_clip:ViT-L-14/openai")
"""Encoders whose image space the checkpoint was trained on."""


def typical_norm(embeddings: ArrayLike) -> float:
    """Mean length of raw embeddings (N, D): the length that composed unit vectors are given back.

    The pipeline standardises un-normalised embeddings with stored means and deviations, so a unit vector would look to
    it like almost nothing.
    """
    norms = np.linalg.norm(finite_rows(embeddings, "embeddings"), axis=1)
    if not (norms > 0).all():
        raise InputError(f"embedding {int(np.argmin(norms))} is zero")
    return float(norms.mean())


def load_pipeline(model: str = MODEL, device: str | None = None) -> Any:
    """The unCLIP pipeline from weights already on this machine, in half precision on a GPU.

    Raises
    ------
    DataError
        The packages or the weights are not here; the message says how to get them.
    """
    if absent := [name for name in ("diffusers", "transformers") if importlib.util.find_spec(name) is None]:
        raise DataError(f"images by unCLIP need {' and '.join(absent)}; pip install {' '.join(absent)}")
    pipelines = importlib.import_module("diffusers").StableUnCLIPImg2ImgPipeline
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    kind = torch.float16 if where.startswith("cuda") else torch.float32
    try:
        pipeline = pipelines.from_pretrained(model, torch_dtype=kind, local_files_only=True)
    except (OSError, ValueError) as error:
        raise DataError(
            f"the weights of {model} are not on this machine ({str(error).splitlines()[0][:120]}); "
            f"get them with: huggingface-cli download {model}"
        ) from error
    return pipeline.to(where)


def imagine(
    pipeline: Any,
    points: ArrayLike,
    *,
    norm: float,
    n: int = 1,
    prompt: str = "",
    noise_level: int = 0,
    guidance_scale: float = 10.0,
    steps: int = 20,
    seed: int = 0,
) -> list[list[Image.Image]]:
    """``n`` images of each of M composed points.

    Parameters
    ----------
    pipeline
        From `load_pipeline`.
    points : (M, 768) array
        Unit vectors in the image space of CLIP ViT-L/14.
    norm : float
        Length they are scaled to; `typical_norm` of the training embeddings.
    n : int
        Images a point.
    prompt, noise_level, guidance_scale, steps
        Of the pipeline; the defaults are its own.
    seed : int
        Every point starts from the same noise, so that differences between images are differences between points.

    Returns
    -------
    list of M lists of n PIL images

    Raises
    ------
    InputError
        Points of another length or not unit, or a norm that is not positive.

    Source: Paper G, Sec. 5.3 and Fig. 5.
    """
    rows, _, _ = unit_rows(points, "points")
    if rows.shape[1] != DIM:
        raise InputError(f"{MODEL} takes embeddings of length {DIM}; got {rows.shape[1]}")
    if not norm > 0 or n < 1:
        raise InputError(f"norm must be positive and n at least 1; got {norm} and {n}")
    scaled = torch.from_numpy(norm * np.asarray(rows, dtype=np.float64)).to(pipeline.device, pipeline.dtype)
    images = []
    for row in scaled:
        result = pipeline(
            prompt=prompt,
            image_embeds=row[None],
            num_images_per_prompt=n,
            noise_level=noise_level,
            guidance_scale=guidance_scale,
            num_inference_steps=steps,
            generator=torch.Generator("cpu").manual_seed(seed),
        )
        images.append(list(result.images))
    return images
