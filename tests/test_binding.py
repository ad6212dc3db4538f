"""Binding: known codes get their known scores, ties share credit, intervals match references."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from bindery import binding
from bindery import scenes as sc
from bindery.errors import InputError
from bindery.readouts import KNN, Cosine, LinearProbe, LocalPCA, Whitening, cosine


@pytest.fixture(scope="module")
def trials() -> binding.Trials:
    return binding.trials(200, seed=11)


def links(scenes: sc.Scenes) -> list[set[tuple[int, int]]]:
    return [
        {(int(s), int(c)) for s, c in zip(*row, strict=True)}
        for row in zip(scenes.shape, scenes.cell, strict=True)
    ]


def test_distractors_are_of_the_documented_kinds(trials: binding.Trials) -> None:
    found = links(trials.scenes)
    for t in range(len(trials)):
        query, *candidates = found[9 * t : 9 * t + 9]
        shapes, cells = ({link[i] for link in query} for i in (0, 1))
        assert len(shapes) == len(cells) == 2
        for kind, candidate in zip(binding.KINDS, candidates, strict=True):
            new_shapes, new_cells = ({link[i] for link in candidate} for i in (0, 1))
            told = (len(query & candidate), len(shapes & new_shapes), len(cells & new_cells))
            expected = {
                "target": (2, 2, 2), "swap": (0, 2, 2), "moved": (0, 2, 0), "part-shape": (1, 1, 2),
                "part-place": (1, 2, 1), "different": (0, 0, 0),
            }  # fmt: skip
            assert told == expected[kind], kind


def test_colours_are_disjoint_and_independent(trials: binding.Trials) -> None:
    colour = trials.scenes.colour.reshape(-1, 9, 2)
    assert set(colour[:, 0].ravel()) == set(sc.QUERY_COLOURS)
    assert set(colour[:, 1:].ravel()) == set(sc.CANDIDATE_COLOURS)
    assert (colour[..., 0] != colour[..., 1]).all()
    assert 0.35 < (colour[:, 0, 0] - colour[:, 1, 0] == -2).mean() < 0.65


def test_exact_keeps_coordinates_and_jitter_redraws_them() -> None:
    for mode in ("exact", "jitter"):
        t = binding.trials(50, seed=1, mode=mode)  # type: ignore[arg-type]
        grid = t.scenes.x.reshape(-1, 9, 2)
        assert np.array_equal(grid[:, 0], grid[:, 1]) == (mode == "exact")


@pytest.mark.parametrize(
    ("code", "accuracy", "swap"),
    [("shape", 1 / 5, 0.5), ("place", 1 / 3, 0.5), ("bag", 0.5, 0.5), ("bound", 1.0, 1.0)],
)
def test_oracle_codes_score_their_ceiling(
    trials: binding.Trials, code: str, accuracy: float, swap: float
) -> None:
    result = binding.evaluate(binding.oracle(trials.scenes, code), trials)  # type: ignore[arg-type]
    assert result.accuracy == pytest.approx(accuracy, abs=1e-12)
    assert result.swap == pytest.approx(swap, abs=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_constant_encoder_scores_exactly_an_eighth(trials: binding.Trials, level: float) -> None:
    result = binding.evaluate(lambda images: np.full((len(images), 5), level), trials, size=16)
    assert result.accuracy == 1 / 8
    assert set(result.against.values()) == {0.5}


def test_colour_alone_is_at_chance() -> None:
    many = binding.trials(4000, seed=2)
    result = binding.evaluate(sc.presence(many.scenes, "colour"), many)
    assert result.accuracy == 1 / 8
    assert not any(kind == "target" for kind in result.against)


def test_isoluminance_trap() -> None:
    """On grey, the luma of red vanishes; the same grey pixels bind on dark ground."""
    scores = {}
    for ground in sc.GROUNDS:
        t = binding.trials(150, seed=3, mode="exact", ground=ground)  # type: ignore[arg-type]
        scores[ground] = binding.evaluate(lambda x: binding.pixel_code(x, "grey"), t, size=24).swap
    assert scores["dark"] > scores["grey"] + 0.2


def test_silhouettes_solve_exact_trials() -> None:
    t = binding.trials(100, seed=4, mode="exact")
    result = binding.evaluate(
        lambda x: binding.pixel_code(x, "contrast", ground=sc.GROUNDS["dark"]), t, size=32
    )
    assert result.accuracy > 0.95


def test_scene_images_are_the_rendered_scenes_one_by_one(trials: binding.Trials) -> None:
    part = trials.scenes[:9]
    lazy = binding.SceneImages(part, 48)
    assert len(lazy) == 9
    for drawn, whole in zip(lazy, sc.to_pil(sc.render(part, 48)), strict=True):
        assert np.array_equal(np.asarray(drawn), np.asarray(whole))


def test_pil_and_array_embeddings_agree(trials: binding.Trials) -> None:
    part = binding.trials(20, seed=5)
    as_array = binding.evaluate(lambda x: x.mean((2, 3)), part, size=16)
    as_pil = binding.evaluate(
        lambda images: [np.asarray(i).mean((0, 1)) / 255 for i in images], part, size=16, images="pil"
    )
    assert np.allclose(as_array.similarities, as_pil.similarities, atol=1e-3)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (37, 100), (1, 600)])
def test_wilson_matches_statsmodels(successes: int, n: int) -> None:
    assert binding.wilson(successes, n) == pytest.approx(
        proportion_confint(successes, n, method="wilson"), abs=1e-9
    )


def test_threshold_and_auroc_match_plain_references() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, same = rng.integers(0, 8, 30) / 7, rng.random(30) < 0.5
        same[:2] = True, False
        best = max(((scores > t) == same).mean() for t in np.concatenate([[-np.inf], scores]))
        assert ((scores > binding.best_threshold(scores, same)) == same).mean() == pytest.approx(best)
        assert binding.auroc(scores, same) == pytest.approx(roc_auc_score(same, scores))


def test_same_different_is_perfect_for_a_bound_code_and_chance_for_noise(trials: binding.Trials) -> None:
    perfect = binding.same_different(binding.evaluate(binding.oracle(trials.scenes, "bound"), trials))
    assert perfect.out_of_sample == perfect.in_sample == perfect.auroc == 1
    many = binding.trials(2000, seed=6)
    noise = np.random.default_rng(0).normal(size=(9 * len(many), 16))
    chance = binding.same_different(binding.evaluate(noise, many))
    assert abs(chance.out_of_sample - 0.5) < 0.04 and abs(chance.auroc - 0.5) < 0.04
    assert chance.in_sample >= 0.5


def test_factor_trials_share_what_they_say() -> None:
    for factor in binding.FACTORS:
        t = binding.factor_trials(factor, 100, seed=7)
        values = sc.presence(t.scenes, factor).reshape(100, 9, -1)
        shared = (values[:, :1] * values[:, 1:]).sum(-1)
        assert (shared[:, 0] == 2).all() and (shared[:, 1:] < 2).all()
        perfect = binding.factor_retrieval(sc.presence(t.scenes, factor), t)
        assert perfect.accuracy == 1
        blind = binding.factor_retrieval(lambda x: np.ones((len(x), 2)), t, size=8)
        assert blind.accuracy == 1 / 8


def test_linear_probe_reads_what_is_there_and_nothing_else() -> None:
    train, test = (sc.training_scenes(600, seed=s, ground="dark") for s in (1, 2))
    scores = binding.linear_probe(sc.bag_labels(train), train, sc.bag_labels(test), test)
    assert min(scores[f] for f in binding.FACTORS) > 0.999
    assert 0.75 < scores["bound"] < 0.99  # a bag tells part of the link in scenes of one object
    noise = np.random.default_rng(0).normal(size=(2, 600, 8))
    assert abs(binding.linear_probe(noise[0], train, noise[1], test)["shape"] - 0.5) < 0.06


def test_readouts_agree_with_slow_references(trials: binding.Trials) -> None:
    rng = np.random.default_rng(0)
    bank, query, candidates = rng.normal(size=(40, 6)), rng.normal(size=(3, 6)), rng.normal(size=(3, 8, 6))

    def cos(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    knn, plain = KNN(bank, k=4)(query, candidates), Cosine()(query, candidates)
    for t in range(3):
        for c in range(8):
            near = sorted(bank, key=lambda row: -cos(candidates[t, c], row))[:4]
            assert knn[t, c] == pytest.approx(np.mean([cos(query[t], row) for row in near]))
            assert plain[t, c] == pytest.approx(cos(query[t], candidates[t, c]))
    full = LocalPCA(bank, k=39, rank=6)(query, candidates)
    for t in range(3):  # with all axes kept, the projection is a rotation about the neighbourhood's mean
        near = np.array(sorted(bank, key=lambda row: -cos(query[t], row))[:39]).mean(0)
        assert full[t, 0] == pytest.approx(cos(query[t] - near, candidates[t, 0] - near))


def test_whitening_undoes_a_linear_distortion_and_probe_finds_a_hidden_link(trials: binding.Trials) -> None:
    rng = np.random.default_rng(0)
    bank = rng.normal(size=(4000, 5)) @ rng.normal(size=(5, 5))
    white = Whitening(bank, shrinkage=1e-9).transform(bank)
    assert np.allclose(np.cov(white.T), np.eye(5), atol=1e-6)
    # A code in which the bag drowns the link: the cosine misses it, a probe fitted elsewhere reads it.
    held_out = sc.training_scenes(1500, seed=9, objects=(2, 2), ground="dark")

    def drowned(scenes: sc.Scenes) -> np.ndarray:
        noise = np.random.default_rng(len(scenes)).normal(size=(len(scenes), 1))
        return np.hstack([10 * binding.oracle(scenes, "bag"), 0.3 * sc.bound_labels(scenes), 4 * noise])

    codes = drowned(trials.scenes)
    plain = binding.evaluate(codes, trials)
    probe = LinearProbe(drowned(held_out), sc.bound_labels(held_out), alpha=1e-6)
    assert binding.evaluate(codes, trials, readout=probe).accuracy > 0.99 > plain.accuracy


def test_cosine_of_a_zero_row_is_zero() -> None:
    assert cosine(np.zeros((1, 3)), np.ones((1, 2, 3))).tolist() == [[0.0, 0.0]]


def twins(n_contents: int = 4) -> pd.DataFrame:
    tones = "abc"
    rows = [(c, x, y) for c in range(n_contents) for x in tones for y in tones]
    return pd.DataFrame(rows, columns=["content", "left", "right"]).astype(str)


def test_twin_choice_known_codes() -> None:
    labels = twins()
    left, right = (pd.get_dummies(labels[side]).to_numpy(float) for side in ("left", "right"))
    columns = {"first": "left", "second": "right", "content": "content"}
    bound = binding.twin_choice(np.hstack([left, right]), labels, **columns)
    bag = binding.twin_choice(left + right, labels, **columns)
    assert bound.accuracy == 1 and bag.accuracy == 0.5
    twice = binding.twin_choice(
        np.vstack([np.hstack([left, right]), np.zeros((36, 6))]), pd.concat([labels] * 2), **columns
    )
    assert twice == bound  # the first of several alike stands for them
    assert bound.n == 4 * 6 * 3  # contents x ordered unequal pairs x other contents
    assert bag.interval == (0.5, 0.5) and set(bag.by_content) == {"0", "1", "2", "3"}


def test_bad_input_is_refused_with_choices(trials: binding.Trials) -> None:
    result = binding.evaluate(np.ones((1800, 2)), trials)
    for call, told in (
        (lambda: binding.trials(0, seed=0), "at least one"),
        (lambda: binding.trials(3, seed=0, mode="wobble"), "exact or jitter"),  # type: ignore[arg-type]
        (lambda: binding.trials(3, seed=0, ground="pink"), "dark, grey"),  # type: ignore[arg-type]
        (lambda: binding.evaluate(np.ones((17, 2)), trials), "1800 embeddings"),
        (lambda: binding.evaluate(lambda x: np.full((len(x), 2), np.nan), trials, size=8), "NaN"),
        (lambda: binding.evaluate(lambda x: np.ones((3, 2)), trials, size=8), "lengths must agree"),
        (lambda: result.beats("target"), "swap"),
        (lambda: binding.wilson(4, 3), "successes"),
        (lambda: binding.factor_trials("size", seed=0), "shape, place"),
        (lambda: binding.pixel_code(np.ones((1, 3, 8, 8)), "contrast"), "ground"),
        (
            lambda: binding.twin_choice(
                np.ones((36, 2)), twins(), first="l", second="right", content="content"
            ),
            "'l'",
        ),
        (
            lambda: binding.twin_choice(
                np.ones((9, 2)), twins(1), first="left", second="right", content="content"
            ),
            "twins",
        ),
        (lambda: KNN(np.ones((3, 2)), k=9), "k must be"),
        (lambda: LocalPCA(np.ones((3, 2)), k=9), "rank"),
        (lambda: Whitening(np.ones((3, 2))), "no variance"),
    ):
        with pytest.raises(InputError, match=told):
            call()
