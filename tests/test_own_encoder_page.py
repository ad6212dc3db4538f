"""The page "Bring your own" is followed to the letter: its code, its folder, its command."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from PIL import Image

from bindery.paths import project_root

PAGE = (project_root() / "book/own_encoder.md").read_text()


def block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return next(text for text in blocks if containing in text)


@pytest.mark.slow
def test_the_page_works_as_printed(tmp_path: Path) -> None:
    (tmp_path / "my_encoder.py").write_text(block("python", "def tiny"))
    rng = np.random.default_rng(0)
    for folder in re.findall(r"(\w+_\w+)/", block("text", "photos/")):
        attribute, kind = folder.split("_")
        (tmp_path / "photos" / folder).mkdir(parents=True)
        for name in "abc":
            pixels = rng.integers(0, 90, (48, 64, 3)).astype(np.uint8)
            pixels[..., 0 if attribute == "red" else 2] += 120
            pixels[(slice(20, 30), slice(None)) if kind == "car" else (slice(None), slice(20, 30))] = 200
            Image.fromarray(pixels).save(tmp_path / "photos" / folder / f"{name}.jpg")
    command = shlex.split(block("bash", "bindery run").strip())
    assert command[0] == "bindery"
    outcome = subprocess.run(
        [str(Path(sys.executable).with_name("bindery")), *command[1:]],
        cwd=tmp_path,
        env={**os.environ, "BINDERY_ROOT": str(project_root()), "BINDERY_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stderr
    notebook = nbformat.read(tmp_path / "mine.ipynb", as_version=4)
    text = str(notebook)
    assert "my_encoder:tiny" in text or "my_encoder.py:tiny" in text
    assert not (project_root() / "book/chapters/mine.ipynb").exists()
