"""Parameters: what a cell declares, and that nothing else gets through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindery.errors import InputError
from bindery.parameters import Type, parse, parse_cell, read_assignments, validate

CELL = '''\
"""What can be set."""
from typing import Literal

n: int = 8  # images a pair
noise: float = -0.5
name: str = "a # b"  # quoted hash
quiet: bool = False
split: Literal["pair", "source"] = "source"  # what is held out
level: Literal[1, 2] = 1
sizes: list[int] = [1, 5]
names: "list[str]" = []
'''
PERCENT = f'# %% [markdown]\n# tags\n\n# %% tags=["parameters"]\n{CELL}\n# %%\nlater: int = 3\n'
DECLARED = parse_cell(CELL)


def test_every_type_default_and_help_is_read() -> None:
    assert {name: p.default for name, p in DECLARED.items()} == {
        "n": 8, "noise": -0.5, "name": "a # b", "quiet": False, "split": "source", "level": 1,
        "sizes": [1, 5], "names": [],
    }  # fmt: skip
    assert DECLARED["n"].help == "images a pair" and DECLARED["name"].help == "quoted hash"
    assert DECLARED["noise"].help == ""
    assert str(DECLARED["split"].type) == "one of pair, source"
    assert DECLARED["names"].type == Type("list", item=Type("str"))


def test_percent_script_and_notebook_declare_the_same(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "text"},
        {
            "cell_type": "code",
            "metadata": {"tags": ["x", "parameters"]},
            "source": CELL.splitlines(keepends=True),
        },
    ]
    notebook = tmp_path / "a.ipynb"
    notebook.write_text(json.dumps({"cells": cells}))
    assert parse(notebook) == parse(PERCENT) == DECLARED


@pytest.mark.parametrize("source", ["# %%\nn: int = 1\n", PERCENT + PERCENT, '{"cells": []}'])
def test_exactly_one_parameters_cell(source: str) -> None:
    with pytest.raises(InputError, match="exactly one cell tagged 'parameters'"):
        parse(source)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("n = 3", "name: type = default"),
        ("n: int", "name: type = default"),
        ("n: int = len('abc')", "literal default"),
        ("n: dict = {}", "expected int, float, str, bool, Literal"),
        ("n: int = 'three'", "parameter n must be int; got 'three'"),
        ("n: Literal['a'] = 'b'", "must be one of a"),
        ("n: int = ", "not valid Python"),
    ],
)
def test_a_line_that_declares_nothing_usable_is_refused(line: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_cell(line)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown parameter 'nois' of 03; did you mean 'noise'"):
        validate(DECLARED, {"nois": 1.0}, where=" of 03")
    with pytest.raises(InputError, match=r"unknown parameter 'qqqqq'.*parameters: level, n, "):
        validate(DECLARED, {"qqqqq": 1.0})
    with pytest.raises(InputError, match="there are no parameters"):
        validate({}, {"n": 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", True), ("n", 1.0), ("n", "1"), ("n", None), ("noise", "1"), ("noise", False), ("name", 1),
        ("quiet", 1), ("split", "pairs"), ("level", True), ("level", "1"), ("sizes", [1, "2"]), ("sizes", 1),
    ],
)  # fmt: skip
def test_wrong_type_or_choice_is_refused_naming_what_is_expected(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"parameter {name} must be {DECLARED[name].type}; got"):
        validate(DECLARED, {name: value})


def test_given_values_are_kept_and_the_rest_are_defaults() -> None:
    values = validate(DECLARED, {"noise": 2, "split": "pair", "sizes": (3,)})
    assert values["noise"] == 2.0 and type(values["noise"]) is float
    assert values["split"] == "pair" and values["sizes"] == [3] and values["n"] == 8


@given(
    st.integers(0, 2**32 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.lists(st.integers(0, 2**32 - 1), max_size=4),
)
def test_what_is_printed_is_read_back(whole: int, real: float, flag: bool, sizes: list[int]) -> None:
    texts = [f"n={whole}", f"noise={real!r}", f"quiet={str(flag).lower()}", f"sizes={sizes}"]
    assert read_assignments(DECLARED, texts) == {"n": whole, "noise": real, "quiet": flag, "sizes": sizes}


@given(st.text())
def test_text_stays_text_whatever_it_looks_like(text: str) -> None:
    assert read_assignments(DECLARED, [f"name={text}"]) == {"name": text}


@pytest.mark.parametrize(
    "assignment",
    ["n=abc", "n=1.5", "n=true", "noise=x", "quiet=1", "split=Pair", "level=3", "sizes=1,x", "n", "=3"],
)
def test_text_that_spells_no_value_of_the_type_is_refused(assignment: str) -> None:
    with pytest.raises(InputError, match=r"must be|takes name=value"):
        read_assignments(DECLARED, [assignment])


def test_command_line_choices_and_lists() -> None:
    given = read_assignments(DECLARED, ["level=2", "names=timm:a, timm:b", "sizes=", "quiet=True"])
    assert given == {"level": 2, "names": ["timm:a", "timm:b"], "sizes": [], "quiet": True}


@pytest.mark.parametrize("value", [-1, 2**32, 2**70])
def test_integers_are_counts_and_seeds(value: int) -> None:
    declared = parse_cell("seed: int = 0\nsizes: list[int] = [1]")
    for values in ({"seed": value}, {"sizes": [1, value]}):
        with pytest.raises(InputError, match=r"an int lies in 0\.\.4294967295; got"):
            validate(declared, values)
    with pytest.raises(InputError, match=f"parameter seed: an int lies in 0.*got '{value}'"):
        read_assignments(declared, [f"seed={value}"])
