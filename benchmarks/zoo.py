"""Cost of one encoder: training at the default budget (60 CPU seconds wanted) and evaluation (15 wanted)."""

from __future__ import annotations

import time
from dataclasses import replace

import torch

from benchmarks import Row, row
from bindery import measurement, protocol
from bindery.zoo.backbone import build_backbone
from bindery.zoo.train import Config, Pool, train

STEPS = 12


def _training(objective: str, bfloat16: bool, pool: Pool, config: Config) -> float:
    """CPU seconds of a whole training, from a few steps."""
    short = replace(config, objective=objective, bfloat16=bfloat16, images=STEPS * config.per_step)
    started = time.process_time()
    train(short, pool=pool, progress=False)
    return (time.process_time() - started) * config.steps / STEPS


def run() -> list[Row]:
    """Rows: the quickest and the slowest kind of objective, bfloat16 beside float32, and one evaluation."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    plan = protocol.read()
    config = replace(plan.config("simclr", "photometric", 0), scenes=2048)
    pool = Pool.draw(config)
    _training("simclr", True, pool, config)  # the first steps compile kernels
    rows = []
    for objective in ("simclr", "clip-phrase"):
        fast, plain = (_training(objective, low, pool, config) for low in (True, False))
        note = f"CPU s for {config.images:,} images in bfloat16 beside float32; at most 60 wanted"
        rows.append(row(f"train {objective}", fast, plain, note))
    module = build_backbone("resnet").eval().requires_grad_(False)
    told = measurement.measure(module, config.size, plan.benchmark)
    seconds = float(told["evaluation_cpu_s"])
    rows.append(row("evaluate", seconds, 15.0, "CPU s; limit 15"))
    torch.set_num_threads(threads)
    return rows
