"""An open-world evaluation at MIT-States size, and the temperature search, beside the published procedure."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch

from benchmarks import Row, row
from bindery.decomposition import GeodesicDecomposition
from bindery.openworld import Candidates, binned_curve, image_scores, seen_unseen_curve
from bindery.scores import FactorScorer, score_images
from bindery.temperature import TEMPERATURES, curve_objective, search_temperature, weighted_fit

N_ATTRIBUTES, N_OBJECTS, DIM = 115, 245, 768
N_SEEN, N_UNSEEN = 1262, 400
N_TRAIN, N_VAL, N_TEST = 30_338, 10_420, 12_995
SLICE = 128

Pairs = list[tuple[str, str]]


def run() -> list[Row]:
    """The rows of `make bench`: name, our seconds, reference seconds, ratio, note."""
    world = _World()
    return [_evaluation(world), _search(world)]


class _World:
    """Synthetic unit embeddings, 50 to 55 degrees from their mean as CLIP's are, with planted directions."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.attributes = [f"attribute{i:03d}" for i in range(N_ATTRIBUTES)]
        self.objects = [f"object{i:03d}" for i in range(N_OBJECTS)]
        self.directions = [rng.standard_normal((n, DIM)) for n in (N_ATTRIBUTES, N_OBJECTS)]
        self.cone = 6 * rng.standard_normal(DIM)
        grid = rng.permutation(N_ATTRIBUTES * N_OBJECTS)
        cover = [(i % N_ATTRIBUTES) * N_OBJECTS + i for i in range(N_OBJECTS)]  # every value is seen
        seen = list(dict.fromkeys([*cover, *grid.tolist()]))[:N_SEEN]
        self.seen = [self.pair(i) for i in seen]
        self.unseen = [self.pair(i) for i in grid if i not in set(seen)][:N_UNSEEN]
        self.candidates = Candidates.open_world(self.attributes, self.objects, self.seen)
        self.rng = rng

    def pair(self, i: int) -> tuple[str, str]:
        """Candidate number ``i`` of the full grid."""
        return self.attributes[i // N_OBJECTS], self.objects[i % N_OBJECTS]

    def images(self, n: int, pairs: Pairs) -> tuple[np.ndarray, Pairs]:
        """``n`` unit rows labelled by pairs drawn from ``pairs``."""
        labels = [pairs[i] for i in self.rng.integers(len(pairs), size=n)]
        index = self.candidates.index(labels)
        rows = self.rng.standard_normal((n, DIM), dtype=np.float32) * np.float32(8)
        rows += self.cone + self.directions[0][index // N_OBJECTS] + self.directions[1][index % N_OBJECTS]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows.astype(np.float32), labels


def _timed(call: Callable[[], Any], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times)


def _evaluation(world: _World) -> Row:
    train, train_pairs = world.images(4 * N_SEEN, world.seen)
    model = GeodesicDecomposition().fit(train, *zip(*train_pairs, strict=True))
    test, pairs = world.images(N_TEST, world.seen[:N_UNSEEN] + world.unseen)

    def ours() -> float:
        return seen_unseen_curve(score_images(test, FactorScorer(model, world.candidates), pairs)).auc

    seconds = _timed(ours)
    memory = _peak_mb(ours)
    table, sweep = _published(model, world.candidates, test, pairs)
    note = (
        f"{N_TEST:,} images x {len(world.candidates):,} pairs, exact, {memory:.0f} MB extra; reference: pair "
        f"table, then scores and 21 biases on {SLICE} images, the latter scaled by {N_TEST / SLICE:.0f}"
    )
    return row("open-world evaluation", seconds, table + sweep * N_TEST / SLICE, note)


def _published(model: Any, candidates: Candidates, images: np.ndarray, pairs: Pairs) -> tuple[float, float]:
    """Seconds of the published procedure, plainly: for its table of pairs, and for ``SLICE`` images' sweep.

    A sweep is the table of scores, then for each bias a copy, an addition under a mask, and the best pair.
    """
    images, pairs = images[:SLICE], pairs[:SLICE]
    names = list(zip(*candidates.pairs, strict=True))
    table = torch.from_numpy(model.compose(*names))
    biases = binned_curve(image_scores(images @ table.numpy().T, candidates, pairs)).bias
    seen, true = torch.from_numpy(candidates.seen), torch.from_numpy(candidates.index(pairs))

    def sweep() -> None:
        scores = torch.from_numpy(images) @ table.T
        unseen = ~seen.repeat(len(images), 1)
        for bias in np.resize(biases, 21):
            shifted = scores.clone()
            shifted[unseen] += float(bias)
            right = shifted.topk(1, dim=1).indices[:, 0] == true
            right[seen[true]].double().mean(), right[~seen[true]].double().mean()

    return _timed(lambda: model.compose(*names)), _timed(sweep)


def _search(world: _World) -> Row:
    train, train_pairs = world.images(N_TRAIN, world.seen)
    val, val_pairs = world.images(N_VAL, world.seen[:300] + world.unseen[:300])
    cosines = world.rng.normal(0.25, 0.03, N_TRAIN)
    fit = weighted_fit(GeodesicDecomposition(), train, *zip(*train_pairs, strict=True), cosines)
    objective = curve_objective(val, val_pairs, world.candidates)
    started = time.process_time()
    seconds = _timed(lambda: search_temperature(fit, objective), repeats=1)
    processor = time.process_time() - started
    table, sweep = _published(fit(0.1), world.candidates, val, val_pairs)
    scaled = len(TEMPERATURES) * (table + sweep * N_VAL / SLICE)
    note = (
        f"{len(TEMPERATURES)} fits on {N_TRAIN:,} images and evaluations on {N_VAL:,}, one run, "
        f"{processor:.0f} s of processor time; reference: evaluations only, a slice, scaled"
    )
    return row("temperature search", seconds, scaled, note)


def _peak_mb(call: Callable[[], Any]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


if __name__ == "__main__":
    for line in run():
        print(line)
