from __future__ import annotations

import subprocess
import sys

import matplotlib
import nbformat
import numpy as np
import pandas as pd
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt

from bindery import figures
from bindery.errors import DataError, InputError
from bindery.figures import FAMILIES, MIME, color_of, finish, marker_of, read_stamp, render
from bindery.provenance import Provenance

ALT = "Scatter of ten points that rise from left to right."
CAPTION = "Ten points, $r = 1$."


@pytest.fixture(autouse=True)
def stamped(monkeypatch):
    for name, value in {
        "CHAPTER": "02_the_sphere", "PROFILE": "laptop", "COMMIT": "abc", "PARAMETERS": '{"seed": 4}',
    }.items():  # fmt: skip
        monkeypatch.setenv(f"BINDERY_{name}", value)
    figures.style()
    yield
    plt.close("all")


def draw():
    fig, axes = plt.subplots()
    axes.scatter(np.arange(10), np.arange(10), label="points")
    axes.set(xlabel="$x$", ylabel="y")
    axes.legend()
    return fig


@pytest.mark.parametrize("form", ["png", "svg"])
def test_stamp_round_trip(tmp_path, monkeypatch, form):
    monkeypatch.setenv("BINDERY_FIGURES", str(tmp_path / "figures"))
    finish(draw(), "rising", ALT, CAPTION)
    told = read_stamp(tmp_path / "figures" / f"rising.{form}")
    assert told == Provenance.current()
    assert (told.chapter, told.commit, told.seed) == ("02_the_sphere", "abc", 4)
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["rising.png", "rising.svg"]


def test_same_inputs_same_bytes_and_another_stamp_other_bytes(monkeypatch):
    first, second = render(draw(), "rising", ALT, CAPTION), render(draw(), "rising", ALT, CAPTION)
    assert first.png == second.png and first.svg == second.svg
    monkeypatch.setenv("BINDERY_PROFILE", "smoke")
    other = render(draw(), "rising", ALT, CAPTION)
    assert other.png != first.png and other.svg != first.svg


def test_no_clock_and_no_path_in_the_files(tmp_path):
    rendered = render(draw(), "rising", ALT, CAPTION)
    for content in (rendered.png, rendered.svg):
        assert (
            b"<dc:date>" not in content and b"/home" not in content and str(tmp_path).encode() not in content
        )
    assert ALT.encode() in rendered.svg and ALT.encode() in rendered.png


@pytest.mark.parametrize(
    "name, alt, caption, field",
    [
        ("rising", "", CAPTION, "alt"),
        ("rising", "too short", CAPTION, "alt"),
        ("rising", " " * 40, CAPTION, "alt"),
        ("rising", ALT, f" {ALT.upper()}", "alt repeats"),
        ("rising", ALT, "  ", "caption"),
        ("Rising points", ALT, CAPTION, "name"),
        ("fig/rising", ALT, CAPTION, "name"),
        ("", ALT, CAPTION, "name"),
    ],
)
def test_words_are_required(name, alt, caption, field):
    with pytest.raises(InputError, match=field):
        finish(draw(), name, alt, caption)


def test_bundle_is_what_jupyter_and_the_book_read():
    data, metadata = render(draw(), "rising", ALT, CAPTION).bundle()
    assert data[MIME] == {"name": "rising", "alt": ALT, "caption": CAPTION}
    assert metadata["image/png"]["alt"] == ALT
    assert 700 <= metadata["image/png"]["width"] <= 760


def test_footer_is_drawn_and_taken_off_again():
    fig = draw()
    plain = render(fig, "rising", ALT, CAPTION)
    assert render(fig, "rising", ALT, CAPTION, footer=True).png != plain.png
    assert render(fig, "rising", ALT, CAPTION).png == plain.png


def test_unwritable_folder_is_one_clear_line(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BINDERY_FIGURES", str(tmp_path / "file" / "figures"))
    with pytest.raises(DataError, match="cannot save figure rising"):
        finish(draw(), "rising", ALT, CAPTION)


@pytest.mark.parametrize("name", ["plain.png", "plain.svg", "text.png", "text.svg", "absent.png"])
def test_a_file_without_stamp_is_told(tmp_path, name):
    path = tmp_path / name
    if name.startswith("plain"):
        draw().savefig(path)
    elif name.startswith("text"):
        path.write_text("no picture")
    with pytest.raises(DataError, match=name):
        read_stamp(path)


def test_colours_are_distinct_and_read_on_white():
    looks = list(FAMILIES.values())
    assert len(set(looks)) == len(looks) and len({marker for _, marker in looks}) == len(looks)
    for group in (FAMILIES, figures.ARMS):
        assert len({color for color, _ in group.values()}) == len(group)
    for color in {
        color for group in (FAMILIES, figures.ARMS, figures.VERDICTS) for color, _ in group.values()
    }:
        red, green, blue = matplotlib.colors.to_rgb(color)
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.75, f"{color} is too pale on white"


def simulate(color, matrix):
    """Viénot et al. (1999) dichromat simulation on linear RGB."""
    rgb = np.array(matplotlib.colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(matrix) @ linear, 0, 1)
    return np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
        [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    ],
    ids=["protanope", "deuteranope"],
)
def test_colours_shown_together_stay_apart_for_dichromats(matrix):
    groups = (FAMILIES, figures.ARMS, figures.VERDICTS)
    for colors in (figures.CYCLE, *([color for color, _ in group.values()] for group in groups)):
        seen = [simulate(color, matrix) for color in colors]
        distances = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
        assert min(distances) > 0.1


def test_names_are_found_however_written():
    assert color_of("Variance_Decorrelation") == color_of("variance-decorrelation") == color_of("VICReg")
    assert color_of("gde  least-squares") == color_of("GDE least squares")
    assert marker_of("supervised") == FAMILIES["supervised"][1]
    assert color_of("my encoder", default="#123456") == "#123456"
    with pytest.raises(InputError, match="did you mean 'contrastive'"):
        color_of("contrastiv")


def test_the_import_is_light():
    heavy = ("torch", "matplotlib", "pandas", "docutils")
    code = f"import sys, bindery.figures; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_book_shows_a_numbered_captioned_figure_with_alt_text(tmp_path):
    from bs4 import BeautifulSoup

    data, metadata = render(draw(), "rising", ALT, "Ten points, $r = 1$; see {ref}`start`.").bundle()
    cell = nbformat.v4.new_code_cell("draw()", execution_count=1)
    cell.outputs = [
        nbformat.v4.new_output("stream", text="one\n"),
        nbformat.v4.new_output("stream", text="two\n"),
        nbformat.v4.new_output("display_data", data=data, metadata=metadata),
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Page"), cell])
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    source = tmp_path / "source"
    source.mkdir()
    nbformat.write(notebook, source / "page.ipynb")
    (source / "conf.py").write_text(
        "extensions = ['myst_nb']\nnb_execution_mode = 'off'\nnb_merge_streams = True\nnumfig = True\n"
        "myst_enable_extensions = ['dollarmath']\nsuppress_warnings = ['mystnb.unknown_mime_type']\n"
    )
    (source / "index.md").write_text(
        "(start)=\n# Start\n\nIn {numref}`fig-rising`.\n\n```{toctree}\npage\n```\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", str(source), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = BeautifulSoup((tmp_path / "html" / "page.html").read_text(), "html.parser")
    (figure,) = page.select("figure#fig-rising")
    assert figure.img["alt"] == ALT and (tmp_path / "html" / figure.img["src"]).is_file()
    assert figure.figcaption.select_one(".math") and figure.figcaption.find("a", string="Start")
    assert "Fig. 1" in figure.figcaption.text
    index = BeautifulSoup((tmp_path / "html" / "index.html").read_text(), "html.parser")
    assert index.find("a", href="page.html#fig-rising").text == "Fig. 1"
    shown = (tmp_path / "html" / figure.img["src"]).read_bytes()
    assert shown == render(draw(), "rising", ALT, CAPTION).png, "the stamped file itself is in the book"


def test_families_are_scattered_in_their_colours_and_what_does_not_count_is_open():
    panel = pd.DataFrame(
        {"family": ["masked", "contrastive", "masked"], "jer": [1.0, 2.0, 3.0], "binding": [0.1, 0.2, 0.3]}
    )
    _, axis = plt.subplots()
    figures.scatter_families(axis, panel, "jer", "binding", controls=panel[:1], untrained=panel[1:])
    marks = {line.get_label(): line for line in axis.lines}
    assert list(marks) == ["masked", "contrastive", "trained on the answer", "untrained"]
    assert marks["masked"].get_xydata().tolist() == [[1.0, 0.1], [3.0, 0.3]]
    assert marks["masked"].get_color() == color_of("masked")
    assert marks["contrastive"].get_marker() == marker_of("contrastive")
    assert [line.get_markerfacecolor() == "white" for line in axis.lines] == [False, False, True, True]
    assert all(line.get_linestyle() == "None" for line in axis.lines)


def test_a_missing_column_and_an_unknown_level_are_told():
    _, axis = plt.subplots()
    panel = pd.DataFrame({"family": ["masked"], "jer": [1.0]})
    with pytest.raises(InputError, match="no column 'binding'; it has family, jer"):
        figures.scatter_families(axis, panel, "jer", "binding")
    with pytest.raises(InputError, match="no line is agreed for 'floor'; known are chance"):
        figures.level_lines(axis, {"floor": 0.1})
    figures.level_lines(axis, {"chance": 0.125, "bag ceiling": 0.5})
    assert [line.get_ydata()[0] for line in axis.lines] == [0.125, 0.5]
