"""Attribute binding after Paper S: which of eight images repeats the query's shape -> place assignment?

A query shows two objects, one red and one green; each of the eight candidates shows two objects, one blue
and one yellow, so colour carries no information and chance is 1/8. The paper states three kinds of distractor
but no counts (its Sec. 3); the counts here are this project's convention:

=============  =====  ===============================================================================
kind           count  what it shows
=============  =====  ===============================================================================
target         1      both shapes in their cells
swap           1      (a) same shapes, same cells, exchanged: only the link differs
moved          2      (a) same shapes, both in other cells
part-shape     1      (c) one object right, in the other's cell a wrong shape
part-place     1      (c) one object right, the other's shape in a wrong cell
different      2      (b) both shapes and both cells differ
=============  =====  ===============================================================================

A code that knows which shapes and which places occur but not their link (a *bag*) ties target and swap and
rejects the rest: it scores .5 in both the eight-way task and the swap choice. Only a swap choice above .5 is
evidence of binding.
"""

from __future__ import annotations

from bindery.binding.baselines import oracle, pixel_code
from bindery.binding.controls import FACTORS, FactorTrials, factor_retrieval, factor_trials, linear_probe
from bindery.binding.pairs import (
    SameDifferentResult,
    TwinResult,
    auroc,
    best_threshold,
    same_different,
    twin_choice,
)
from bindery.binding.score import BindingResult, embed_scenes, evaluate, wilson
from bindery.binding.stimuli import CHANCE, KINDS, Mode, SceneImages, Trials, trials

__all__ = [
    "CHANCE",
    "FACTORS",
    "KINDS",
    "BindingResult",
    "FactorTrials",
    "Mode",
    "SameDifferentResult",
    "SceneImages",
    "Trials",
    "TwinResult",
    "auroc",
    "best_threshold",
    "embed_scenes",
    "evaluate",
    "factor_retrieval",
    "factor_trials",
    "linear_probe",
    "oracle",
    "pixel_code",
    "same_different",
    "trials",
    "twin_choice",
    "wilson",
]
