"""A throw-away book of three small chapters, for tests of the runner and the command line."""

from __future__ import annotations

from pathlib import Path

HEADER = """\
# ---
# jupyter:
#   kernelspec: {{name: python3, display_name: Python 3, language: python}}
#   bindery:
#     title: {title}
#     minutes: {minutes}
#     needs: {needs}
# ---

# %% [markdown]
# # {title}

# %% tags=["parameters"]
"""

ONE = """\
from typing import Literal

n_samples: int = 4  # how many
scale: float = 1.0  # factor
mode: Literal["plain", "loud"] = "plain"  # how it prints

# %% tags=["remove-cell"]
import os
from pathlib import Path

from bindery.chapter import start

chapter = start(globals())

# %%
total = n_samples * len(Path("pack.txt").read_text())
chapter.measure("total", total)
chapter.glue("total", total)
Path(os.environ["BINDERY_FIGURES"], "total.txt").write_text(f"{total} {chapter.profile}")
print(total)
"""

TWO = """\
ending: str = "well"  # well, raise, exit or die
seconds: float = 0.0  # sleep

# %% tags=["remove-cell"]
import os
import sys
import time

from bindery import ledger
from bindery.chapter import start

chapter = start(globals())

# %%
time.sleep(seconds)
if ending == "raise" or os.path.exists("trap"):
    raise ValueError("asked to fail")
if ending == "exit":
    sys.exit()
if ending == "die":
    os.kill(os.getpid(), 9)

# %%
chapter.measure("double", 2 * ledger.value_of("01", "total"))
"""

THREE = """\
# This chapter has no parameters.

# %% tags=["remove-cell"]
from bindery import ledger
from bindery.chapter import start

chapter = start(globals())

# %%
print(ledger.value_of("02", "double"))

# %% [markdown]
# The total was {glue:text}`01_one.ipynb::total:d`.
"""

CONFIG = """\
title: Toy
only_build_toc_files: true
exclude_patterns: [_build, ".*", "**/.*", notebooks]
execute: {execute_notebooks: "off"}
"""

TOC = """\
format: jb-book
root: book/index
chapters:
- file: book/chapters/01_one
- file: book/chapters/02_two
- file: book/chapters/03_three
"""


def make(root: Path) -> Path:
    """Write the sources of the book under ``root``; nothing is executed."""
    files = {
        "notebooks/01_one.py": HEADER.format(title="One", minutes=0.5, needs="{data: [pack.txt]}") + ONE,
        "notebooks/02_two.py": HEADER.format(title="Two", minutes=1, needs='{records: ["01"]}') + TWO,
        "notebooks/03_three.py": HEADER.format(title="Three", minutes=0.1, needs='{records: ["*"]}') + THREE,
        "notebooks/profiles/laptop.yml": "chapters: {}\n",
        "notebooks/profiles/smoke.yml": "chapters: {01_one: {n_samples: 2}}\n",
        "book/index.md": "# Toy\n\nHello.\n",
        "_config.yml": CONFIG,
        "_toc.yml": TOC,
        "requirements.lock": "numpy==2\n",
        "pack.txt": "12345\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
