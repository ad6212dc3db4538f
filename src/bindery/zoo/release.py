"""Trained encoders as files: fp16 safetensors and a card that says how each was made."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bindery.encoders import fingerprint as fp
from bindery.encoders.card import Card
from bindery.encoders.encoder import Encoder
from bindery.encoders.guards import check_output
from bindery.encoders.preprocess import Preprocess
from bindery.encoders.text import TextSide
from bindery.errors import DataError, InputError
from bindery.provenance import commit, sha256_file
from bindery.scene_text import encode
from bindery.zoo.backbone import Backbone, build_backbone
from bindery.zoo.objectives import LanguageObjective, objective_class
from bindery.zoo.objectives.language import JOINT
from bindery.zoo.records import SHIPPED, ZooCard, card, cards, to_toml, variant_name
from bindery.zoo.text import TextTower
from bindery.zoo.train import Trained

JOINT_SUFFIX = "/joint"
__all__ = ["JOINT_SUFFIX", "SHIPPED", "ZooCard", "card", "cards", "load", "save", "ship", "variant_name"]


def save(trained: Trained, folder: Path, name: str | None = None) -> ZooCard:
    """Write ``name.safetensors`` (fp16) and ``name.toml``; heads are dropped, but for the text side."""
    config, name = trained.config, name or variant_name(trained.config)
    parts: dict[str, nn.Module] = {"backbone": trained.backbone}
    tensors: dict[str, Tensor] = {}
    if isinstance(trained.objective, LanguageObjective):
        parts |= {"project": trained.objective.project, "text": trained.objective.text}
        tensors["logit_scale"], tensors["logit_bias"] = trained.objective.logits()
    for prefix, module in parts.items():
        for key, tensor in module.state_dict().items():
            if tensor.is_floating_point():  # batch-norm counters are not needed
                tensors[f"{prefix}.{key}"] = tensor.to(torch.float16).contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.safetensors"
    save_file(tensors, path)
    kept = trained.losses[-20:]
    card = ZooCard(
        name=name,
        family=trained.objective.family,
        source=trained.objective.source,
        dim=trained.backbone.dim,
        parameters=sum(p.numel() for p in trained.backbone.parameters()),
        width=config.width or 0,
        steps=len(trained.losses),
        final_loss=sum(kept) / max(1, len(kept)),
        code_revision=commit(),
        sha256=sha256_file(path),
        bytes=path.stat().st_size,
        **{
            key: getattr(config, key)
            for key in (
                "objective", "condition", "backbone", "seed", "data_seed", "scenes", "size", "images",
                "per_step", "learning_rate", "weight_decay", "warmup", "bfloat16", "options",
            )
        },
    )  # fmt: skip
    path.with_suffix(".toml").write_text(to_toml(card), encoding="utf-8")
    return card


class _Joint(nn.Module):
    """Image side in the space shared with captions: the pooled feature, projected."""

    def __init__(self, backbone: Backbone, project: nn.Linear) -> None:
        super().__init__()
        self.backbone, self.project = backbone, project

    def forward(self, images: Tensor) -> Tensor:
        return self.project(self.backbone(images))


class _Text(nn.Module):
    """Text side in the form of open_clip's models."""

    def __init__(self, tower: TextTower) -> None:
        super().__init__()
        self.tower = tower
        self.logit_scale, self.logit_bias = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))

    def encode_text(self, tokens: Tensor) -> Tensor:
        return self.tower(tokens)


def _tensors(entry: ZooCard, folder: Path) -> dict[str, Tensor]:
    path = folder / f"{entry.name}.safetensors"
    if not path.exists():
        raise DataError(
            f"the weights {path.name} are missing; retrain with: bindery zoo retrain {entry.name}"
        )
    if sha256_file(path) != entry.sha256:
        raise DataError(
            f"the weights {path.name} differ from their card's sha256; restore the file or retrain it"
        )
    try:
        return {key: tensor.float() for key, tensor in load_file(path).items()}
    except SafetensorError as error:
        raise DataError(f"the weights {path.name} cannot be read: {error}") from error


def _fill(module: nn.Module, tensors: dict[str, Tensor], prefix: str) -> None:
    own = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
    missing = module.load_state_dict(own, strict=False)
    wanted = [key for key in missing.missing_keys if not key.endswith("num_batches_tracked")]
    if wanted or missing.unexpected_keys:
        raise DataError(f"the weights do not fit the network at {(wanted or missing.unexpected_keys)[0]!r}")


def load(
    name: str,
    *,
    weights: Literal["pretrained", "random"] = "pretrained",
    seed: int = 0,
    folder: Path | None = None,
) -> Encoder:
    """A zoo encoder, frozen, reading images in [0, 1] of its training size.

    Parameters
    ----------
    name
        A card's name: the pooled feature, the same point of the network for every objective. With "/joint"
        appended, a vision-language encoder's projected feature and its text side.
    weights
        "random": the untrained network of ``seed``, the null of that architecture.
    folder
        Where cards and weights lie; the shipped ones by default.

    Raises
    ------
    InputError
        Unknown name (nearest told), or "/joint" of an encoder without text.
    DataError
        Weights missing, damaged or changed.
    """
    plain = name.removesuffix(JOINT_SUFFIX)
    joint = plain != name
    entry = card(plain, folder)
    if joint and not issubclass(objective_class(entry.objective), LanguageObjective):
        raise InputError(
            f"{plain} was trained without text; only vision-language encoders have {JOINT_SUFFIX}"
        )
    if weights not in ("pretrained", "random"):
        raise InputError(f"weights must be 'pretrained' or 'random', not {weights!r}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        backbone = build_backbone(entry.backbone, entry.width or None)
        project, text = nn.Linear(entry.dim, JOINT, bias=False), _Text(TextTower(JOINT))
    tensors = _tensors(entry, folder or SHIPPED) if weights == "pretrained" else {}
    if tensors:
        _fill(backbone, tensors, "backbone.")
    if tensors and joint:
        _fill(project, tensors, "project.")
        _fill(text.tower, tensors, "text.")
        text.logit_scale.data, text.logit_bias.data = tensors["logit_scale"][0], tensors["logit_bias"][0]
    module: nn.Module = _Joint(backbone, project) if joint else backbone
    whole = nn.ModuleList([module, text]) if joint else module
    whole.eval().requires_grad_(False)
    dim = JOINT if joint else entry.dim
    check_output(f"zoo:{name}", module, entry.size, dim)
    return Encoder(
        name=f"zoo:{name}",
        card=_encoder_card(entry, name, dim, joint),
        module=module,
        preprocess=Preprocess(size=entry.size, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), resize="squash"),
        weights=weights,
        seed=entry.seed if weights == "pretrained" else seed,
        text=TextSide(text, lambda prompts: torch.from_numpy(encode(list(prompts)))) if joint else None,
        weights_sha256="" if weights == "random" else entry.sha256,
        extra_code=_code_hash(),
        whole=whole,
    )


def _code_hash() -> str:
    here = Path(__file__).parent
    return fp.sha256_text(
        "".join(fp.normal_form((here / part).read_text("utf-8")) for part in ("backbone.py", "text.py"))
    )


def _encoder_card(entry: ZooCard, name: str, dim: int, joint: bool) -> Card:
    return Card(
        name=f"zoo:{name}",
        family="zoo",
        objective=entry.objective,
        loader="zoo",
        architecture=f"{entry.backbone}{entry.width or ''}",
        feature="projected" if joint else "pooled",
        pooling="avg",
        activation="relu" if entry.backbone == "resnet" else "gelu",
        dim=dim,
        parameters_m=round(entry.parameters / 1e6, 3),
        preprocess=Preprocess(size=entry.size, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), resize="squash"),
        text=joint,
        licence="MIT",
        note=f"{entry.family}; {entry.condition}; seed {entry.seed}; {entry.images} images",
    )


def ship(
    names: list[str], source: Path, target: Path | None = None, limit: int = 12_000_000
) -> list[ZooCard]:
    """Copy runs ("vicreg-s0") from ``source`` to the shipped weights, under their names without the seed.

    Raises
    ------
    InputError
        A run that does not exist, or more than ``limit`` bytes in all; nothing is copied then.
    """
    target = target or SHIPPED
    chosen = [card(name, source) for name in names]
    if (total := sum(entry.bytes for entry in chosen)) > limit:
        raise InputError(f"the chosen weights take {total:,} bytes, more than the {limit:,} that are shipped")
    target.mkdir(parents=True, exist_ok=True)
    shipped = []
    for entry in chosen:
        renamed = entry.model_copy(update={"name": entry.name.removesuffix(f"-s{entry.seed}")})
        weights = (source / f"{entry.name}.safetensors").read_bytes()
        (target / f"{renamed.name}.safetensors").write_bytes(weights)
        (target / f"{renamed.name}.toml").write_text(to_toml(renamed), encoding="utf-8")
        shipped.append(renamed)
    return shipped
