"""One trainer for every objective: same scenes, same views, same budget of images, same optimiser.

All randomness of a step is drawn from (data seed, seed, step), so that a run resumed from a checkpoint ends
in the same weights as one that was never stopped.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from bindery.errors import BinderyError, InputError
from bindery.scenes import Scenes, render, training_scenes
from bindery.zoo.augment import Condition, condition, view
from bindery.zoo.backbone import Backbone, build_backbone
from bindery.zoo.objectives import Batch, Objective, build_objective, objective_class


@dataclass(frozen=True)
class Config:
    """All that decides a training.

    ``images``: budget, counted in images the backbone is trained on; ``per_step`` of them a step, which are
    ``per_step / views`` scenes; ``scenes``: size of the pool; ``width``: None for the backbone's own.
    """

    objective: str
    condition: str = "photometric"
    seed: int = 0
    images: int = 65_536
    per_step: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    warmup: float = 0.05
    backbone: str = "resnet"
    width: int | None = None
    size: int = 32
    scenes: int = 20_000
    data_seed: int = 0
    bfloat16: bool = True
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        return self.images // self.per_step

    def check(self) -> None:
        """Raises InputError for an unknown objective or condition (choices listed) or budget."""
        condition(self.condition)
        views = objective_class(self.objective).views
        if self.per_step % views or self.per_step // views < 2:
            raise InputError(
                f"per_step={self.per_step} must hold at least two scenes of {views} view(s) each"
            )
        if self.images < self.per_step:
            raise InputError(f"a budget of {self.images} images is less than one step of {self.per_step}")
        if self.scenes < self.per_step // views:
            raise InputError(
                f"a pool of {self.scenes} scenes is smaller than one step's {self.per_step // views}"
            )
        if self.size % 8 or self.size < 16:
            raise InputError(
                f"scenes are trained on at a multiple of 8 pixels, at least 16; got size={self.size}"
            )


@dataclass
class Trained:
    """What a training leaves: the encoder, the objective with its heads, and the loss of every step."""

    config: Config
    backbone: Backbone
    objective: Objective
    losses: list[float]


@dataclass(frozen=True)
class Pool:
    """The training scenes and their images, (N, 3, size, size) uint8; share one between trainings."""

    scenes: Scenes
    images: Tensor
    key: tuple[int, int, int]

    @classmethod
    def draw(cls, config: Config) -> Pool:
        """Render the pool of a configuration."""
        scenes = training_scenes(config.scenes, seed=config.data_seed)
        images = torch.empty(config.scenes, 3, config.size, config.size, dtype=torch.uint8)
        for start in range(0, config.scenes, 2048):
            part = slice(start, start + 2048)
            images[part] = torch.from_numpy(
                np.round(255 * render(scenes[part], config.size)).astype(np.uint8)
            )
        return cls(scenes, images, (config.scenes, config.data_seed, config.size))


Callback = Callable[[int, Trained], None]


def build(config: Config) -> Trained:
    """The untrained encoder and heads; the backbone's weights depend on the seed, not on the objective."""
    config.check()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        backbone = build_backbone(config.backbone, config.width)
        backbone.to(memory_format=torch.channels_last)
        objective = build_objective(config.objective, backbone, **config.options)
    return Trained(config, backbone, objective, [])


def draw_batch(pool: Pool, config: Config, how: Condition, step: int, views: int) -> Batch:
    """The batch of one step, a function of (data seed, seed, step) only."""
    rng = np.random.default_rng([config.data_seed, config.seed, step])
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    rows = rng.choice(len(pool.scenes), config.per_step // views, replace=False)
    images, scenes = pool.images[torch.from_numpy(rows)].float() / 255, pool.scenes[rows]
    drawn = [view(images, scenes, how, generator) for _ in range(views)]
    shown, sight = [v for v, _ in drawn], [s for _, s in drawn]
    return Batch(shown, sight, generator, rng, config.bfloat16)


def learning_rate(config: Config, step: int) -> float:
    """Linear warm-up, then a cosine to zero."""
    warm = max(1, round(config.warmup * config.steps))
    if step < warm:
        return config.learning_rate * (step + 1) / warm
    return config.learning_rate * (1 + math.cos(math.pi * (step - warm) / max(1, config.steps - warm))) / 2


def train(
    config: Config,
    *,
    pool: Pool | None = None,
    checkpoint: Path | None = None,
    every: int = 50,
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Trained:
    """Train one encoder to the end of its budget.

    Parameters
    ----------
    pool
        Shared training images; drawn from the configuration when absent.
    checkpoint
        A file written every ``every`` steps and on interruption; when present, the run resumes from it and
        ends in the same weights. Deterministic for a seed on one machine and number of threads.
    callback
        Called with (step, state) every ``every`` steps and at the end, in evaluation mode.

    Raises
    ------
    InputError
        Unknown objective or condition, an impossible budget, or a checkpoint of another configuration.
    BinderyError
        The loss became NaN or infinite: training stops and names the step.
    """
    state = build(config)
    how, pool = condition(config.condition), pool or Pool.draw(config)
    if pool.key != (config.scenes, config.data_seed, config.size):
        raise InputError(f"the pool was drawn for (scenes, data seed, size) = {pool.key}, not for {config}")
    parameters = [*state.backbone.parameters(), *(p for p in state.objective.parameters() if p.requires_grad)]
    optimiser = torch.optim.AdamW(
        parameters, lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
    )
    if checkpoint is not None and checkpoint.exists():
        load_checkpoint(checkpoint, state, optimiser)
    bar = tqdm(
        total=config.steps,
        initial=len(state.losses),
        desc=f"{config.objective} {config.condition} seed {config.seed}",
        unit="step",
        disable=not sys.stderr.isatty() if progress is None else not progress,
    )
    try:
        with bar:
            for step in range(len(state.losses), config.steps):
                _step(state, optimiser, draw_batch(pool, config, how, step, state.objective.views), step)
                bar.set_postfix(loss=f"{state.losses[-1]:.4g}", refresh=False)
                bar.update()
                if (step + 1) % every == 0 or step + 1 == config.steps:
                    if checkpoint is not None:
                        save_checkpoint(checkpoint, state, optimiser)
                    if callback is not None:
                        _train_mode(state, False)
                        callback(step + 1, state)
    except KeyboardInterrupt:
        if checkpoint is not None:
            save_checkpoint(checkpoint, state, optimiser)
        raise
    _train_mode(state, False)
    return state


def _train_mode(state: Trained, on: bool) -> None:
    for module in (state.backbone, state.objective):
        module.train(on)


def _step(state: Trained, optimiser: torch.optim.Optimizer, batch: Batch, step: int) -> None:
    config = state.config
    _train_mode(state, True)
    for group in optimiser.param_groups:
        group["lr"] = learning_rate(config, step)
    loss = state.objective.loss(state.backbone, batch)
    value = float(loss.detach())
    if not math.isfinite(value):
        raise BinderyError(
            f"the loss of {config.objective} ({config.condition}, seed {config.seed}) is {value} at step "
            f"{step + 1} of {config.steps}; training stopped. Try a lower learning rate than "
            f"{config.learning_rate:g}, or bfloat16=False"
        )
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()
    state.objective.after_step(state.backbone, (step + 1) / config.steps)
    state.losses.append(value)


def save_checkpoint(path: Path, state: Trained, optimiser: torch.optim.Optimizer) -> None:
    """Write the state of a training; the file is replaced only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    modules: dict[str, nn.Module] = {"backbone": state.backbone, "objective": state.objective}
    held = {name: module.state_dict() for name, module in modules.items()}
    part = path.with_suffix(path.suffix + ".part")
    torch.save(
        {"config": asdict(state.config), "losses": state.losses, "optimiser": optimiser.state_dict(), **held},
        part,
    )
    part.replace(path)


def load_checkpoint(path: Path, state: Trained, optimiser: torch.optim.Optimizer) -> None:
    """Take up a training where ``path`` left it.

    Raises
    ------
    InputError
        The checkpoint is unreadable, or was written for another configuration (differing fields are told).
    """
    try:
        held = torch.load(path, weights_only=True)
        theirs = held["config"]
    except Exception as error:
        raise InputError(
            f"{path.name} is no checkpoint of a training ({error}); delete it to start anew"
        ) from error
    ours = asdict(state.config)
    differing = [name for name in ours if ours[name] != theirs.get(name)]
    if differing:
        told = ", ".join(f"{name}={theirs.get(name)!r} (here {ours[name]!r})" for name in differing)
        raise InputError(
            f"{path.name} is a checkpoint of another configuration: {told}; delete it or use its values"
        )
    state.backbone.load_state_dict(held["backbone"])
    state.objective.load_state_dict(held["objective"])
    optimiser.load_state_dict(held["optimiser"])
    state.losses[:] = held["losses"]


def with_options(config: Config, given: dict[str, Any]) -> Config:
    """``config`` with fields replaced by name; raises InputError for a name that it does not have."""
    known = [item.name for item in fields(Config)]
    if unknown := [name for name in given if name not in known]:
        raise InputError(f"a training has no setting {unknown[0]!r}; it has {', '.join(known)}")
    return replace(config, **given)
