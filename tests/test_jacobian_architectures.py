"""Forward, JVP and VJP agree on every kind of network the suite is made of, at reduced depth and size."""

from __future__ import annotations

import copy
from collections.abc import Callable

import open_clip
import pytest
import timm
import torch
from torch import nn

from bindery.encoders.build import seeded
from bindery.jacobian import check_derivative, differentiable, linearize, noise_images, singular_values


def from_timm(name: str, **options: object) -> Callable[[], nn.Module]:
    return lambda: timm.create_model(name, num_classes=0, **options)


def from_open_clip(name: str, **vision: object) -> Callable[[], nn.Module]:
    """The image side alone, with ``vision`` put in place of the configuration's values."""

    def make() -> nn.Module:
        config = copy.deepcopy(open_clip.get_model_config(name))
        config["vision_cfg"] |= vision
        kept = {key: config[key] for key in ("embed_dim", "vision_cfg", "quick_gelu") if key in config}
        vision_config = open_clip.model.CLIPVisionCfg(**kept["vision_cfg"])
        return open_clip.model._build_vision_tower(
            kept["embed_dim"], vision_config, kept.get("quick_gelu", False)
        )

    return make


# Block types, poolings, norms and position codes are the full architecture's; depth and size are reduced.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "resnet18": (from_timm("resnet18"), 64),
    "resnet50": (from_timm("resnet50", layers=(1, 1, 1, 1)), 64),
    "vit-tiny": (from_timm("vit_tiny_patch16_224", img_size=64, depth=2), 64),
    "deit": (from_timm("deit_small_patch16_224", img_size=64, depth=2), 64),
    "dinov2": (from_timm("vit_small_patch14_dinov2", img_size=56, depth=2), 56),
    "dinov2-registers": (from_timm("vit_small_patch14_reg4_dinov2", img_size=56, depth=2), 56),
    "beit": (from_timm("beit_base_patch16_224", img_size=64, depth=2, embed_dim=192, num_heads=3), 64),
    "beitv2": (from_timm("beitv2_base_patch16_224", img_size=64, depth=2, embed_dim=192, num_heads=3), 64),
    "eva02": (from_timm("eva02_tiny_patch14_224", img_size=56, depth=2), 56),
    "eva02-clip": (from_timm("eva02_base_patch16_clip_224", img_size=64, depth=2), 64),
    "convnext": (from_timm("convnext_atto", depths=(1, 1, 1, 1)), 64),
    "convnext-linear": (from_timm("convnext_tiny", depths=(1, 1, 1, 1), dims=(24, 48, 96, 192)), 64),
    "swin": (from_timm("swin_tiny_patch4_window7_224", img_size=56, depths=(2, 1, 1, 1)), 56),
    "efficientnet-lite": (from_timm("efficientnet_lite0"), 64),
    "siglip": (from_timm("vit_base_patch16_siglip_224", img_size=64, depth=1, embed_dim=96, num_heads=3), 64),
    "open-clip-vit": (from_open_clip("ViT-B-32-quickgelu", image_size=64, layers=2, width=192), 64),
    "open-clip-rn50": (from_open_clip("RN50", image_size=64, layers=[1, 1, 1, 1], width=32), 64),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_forward_jvp_and_vjp_agree(name):
    make, size = NETWORKS[name]
    with seeded(0):
        network = make().eval().requires_grad_(False)
        # Default initialisation switches residual branches off (LayerScale 1e-5, zero last norm).
        for parameter_name, parameter in network.named_parameters():
            if "gamma" in parameter_name or parameter_name.endswith("bn3.weight"):
                parameter.fill_(0.5)
    image = next(noise_images(1, size, seed=1))

    with torch.no_grad():
        plain = network(image)
        with differentiable():
            torch.testing.assert_close(network(image), plain, rtol=1e-4, atol=1e-5)

    # Slopes in float64: rounding to float32 moves activations across ReLU6's kinks.
    assert check_derivative(network, image).adjoint_gap < 1e-4
    assert check_derivative(network, image, dtype="float64").finite_difference < 1e-5

    linear = linearize(network, image)
    assert linear.shape == (plain.shape[1], image.numel())
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(2, linear.shape[1], generator=generator)
    u = torch.randn(3, linear.shape[0], generator=generator)
    forward, backward = u @ linear.jvp(v).T, linear.vjp(u) @ v.T
    torch.testing.assert_close(forward, backward, rtol=1e-3, atol=1e-4 * float(forward.abs().max()))


def test_blocks_of_every_kind_give_one_vector():
    for name, block in (
        ("swin", "layers.0"),
        ("dinov2-registers", "blocks.0"),
        ("open-clip-vit", "transformer.resblocks.0"),
    ):
        make, size = NETWORKS[name]
        with seeded(0):
            network = make().eval().requires_grad_(False)
        found = singular_values(network, next(noise_images(1, size)), 2, "sketch", module=block)
        width = {"swin": 96, "dinov2-registers": 384, "open-clip-vit": 192}[name]
        assert found.shape[0] == width
