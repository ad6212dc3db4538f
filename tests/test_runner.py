"""The runner on a throw-away book: what runs again and what does not, failures, kills, strict profiles."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pytest
from bs4 import BeautifulSoup
from rich.console import Console

import bindery
import toy_book
from bindery.errors import BinderyError
from bindery.runner import pages
from bindery.runner.build import Options, _alone, build, make_plan
from bindery.runner.chapters import ancestors, read_chapters, select
from bindery.runner.imports import Library
from bindery.runner.inputs import Hashes
from bindery.runner.profiles import load_profile
from bindery.runner.project import Project
from bindery.runner.schedule import Outcome

SMOKE = Options("smoke", jobs=2, book=False)


_SNAPSHOT = tempfile.TemporaryDirectory()
# Digests are taken of a copy of the library: somebody may be editing the original while the tests run.
LIBRARY = Path(
    shutil.copytree(
        Path(bindery.__file__).parent, Path(_SNAPSHOT.name) / "bindery",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
)  # fmt: skip


class Run:
    """A build in this process, and what it said."""

    def __init__(self, root: Path, options: Options = SMOKE) -> None:
        said, errors = (Console(file=io.StringIO(), width=500) for _ in range(2))
        self.error = ""
        began = time.monotonic()
        try:
            build(Project(root, LIBRARY), options, said, errors)
        except BinderyError as error:
            self.error = str(error)
        self.seconds = time.monotonic() - began
        self.said, self.told = said.file.getvalue(), errors.file.getvalue()  # type: ignore[attr-defined]

    @property
    def executed(self) -> list[str]:
        return sorted(line.split()[1] for line in self.said.splitlines() if line.startswith("done"))


def forecast(root: Path, **options: object) -> dict[str, str]:
    """Chapter to the reason why it would run; fresh ones are left out."""
    plan = make_plan(Project(root, LIBRARY), Options("smoke", **options))  # type: ignore[arg-type]
    return {name[:2]: d.why for name, d in plan.forecast().items() if d.action == "run"}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def text(page: Path) -> str:
    """What a reader sees of a page, white space aside."""
    return " ".join(BeautifulSoup(page.read_text(), "html.parser").get_text().split())


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    root = toy_book.make(tmp_path_factory.mktemp("built"))
    return root, Run(root, Options("smoke", jobs=2))


@pytest.fixture
def book(built: tuple[Path, Run], tmp_path: Path) -> Path:
    """A copy of the built book, to be spoiled."""
    return Path(shutil.copytree(built[0], tmp_path / "book"))


def test_first_build_makes_pages_records_figures_and_html(built: tuple[Path, Run]) -> None:
    root, run = built
    assert run.error == "" and run.executed == ["01_one", "02_two", "03_three"]
    pages = root / "book/chapters"
    assert json.loads((pages / "records/02_two.json").read_text())["measurements"][0]["value"] == 2 * 2 * 6
    assert (pages / "figures/01_one/total.txt").read_text() == "12 smoke"
    html = root / "_build/smoke/html"
    assert "The total was 12." in text(html / "book/chapters/03_three.html")
    assert not (root / "_build/html").exists(), "a smoke book must not stand where the laptop book stands"
    assert f"book: {html / 'index.html'}" in run.said and "whole build" in run.said


def test_executed_notebook_tells_its_key_and_holds_no_clock(built: tuple[Path, Run]) -> None:
    source = (built[0] / "book/chapters/01_one.ipynb").read_text()
    notebook = json.loads(source)
    assert notebook["metadata"]["bindery"]["profile"] == "smoke"
    assert len(notebook["metadata"]["bindery"]["key"]) == 64
    assert "papermill" not in notebook["metadata"] and "start_time" not in source
    injected = [
        cell for cell in notebook["cells"] if "injected-parameters" in cell["metadata"].get("tags", [])
    ]
    assert ["".join(cell["source"]) for cell in injected] == ["# Parameters\nn_samples = 2\n"]


def test_nothing_changed_is_quick_and_runs_nothing(built: tuple[Path, Run]) -> None:
    run = Run(built[0], Options("smoke"))
    assert run.executed == [] and run.error == "" and run.seconds < 2
    assert "0 executed, 3 unchanged" in run.said


def test_forced_run_gives_the_same_bytes_even_elsewhere(built: tuple[Path, Run], book: Path) -> None:
    before = {p.relative_to(built[0]): p.read_bytes() for p in (built[0] / "book/chapters").rglob("*.*")}
    assert Run(book, Options("smoke", jobs=2, force=True, book=False)).executed == [
        "01_one",
        "02_two",
        "03_three",
    ]
    assert {p.relative_to(book): p.read_bytes() for p in (book / "book/chapters").rglob("*.*")} == before


@pytest.mark.parametrize(
    ("file", "old", "new", "why"),
    [
        ("pack.txt", "12345", "123456", "data pack.txt changed"),
        ("notebooks/profiles/smoke.yml", "2", "3", "the parameters changed"),
        ("notebooks/01_one.py", "# how many", "# how many samples", "the source changed"),
    ],
)
def test_a_changed_input_runs_the_chapter_and_perhaps_its_dependants(
    book: Path, file: str, old: str, new: str, why: str
) -> None:
    edit(book / file, old, new)
    assert forecast(book) == {
        "01": why,
        "02": "if the records of 01_one change",
        "03": "if the records of 01_one, 02_two change",
    }
    assert forecast(book, only=("01",)) == {"01": why}


def test_a_changed_lock_runs_everything(book: Path) -> None:
    (book / "requirements.lock").write_text("numpy==3\n")
    assert set(forecast(book).values()) == {"the lock changed"}


def test_dependants_follow_the_content_of_records_not_the_chapter(book: Path) -> None:
    edit(book / "notebooks/01_one.py", "# how many", "# how many samples")
    assert Run(book).executed == ["01_one"], "equal records: nothing that reads them runs again"
    edit(book / "pack.txt", "12345", "123")
    run = Run(book)
    assert run.executed == ["01_one", "02_two", "03_three"]
    assert "the records of 01_one changed" in run.said


def test_switching_profiles_loses_nothing(book: Path) -> None:
    assert Run(book, Options("laptop", only=("01",), book=False)).executed == ["01_one"]
    assert "has not been executed yet" in (book / "book/chapters/02_two.ipynb").read_text()
    assert (book / "book/chapters/figures/01_one/total.txt").read_text() == "24 laptop"
    assert Run(book).executed == []
    assert (book / "book/chapters/figures/01_one/total.txt").read_text() == "12 smoke"


def test_a_damaged_result_is_made_again(book: Path) -> None:
    notebook = book / ".cache/executed/smoke/03_three/notebook.ipynb"
    notebook.write_bytes(notebook.read_bytes()[:-40])
    (book / "book/chapters/01_one.ipynb").write_text("{")
    assert forecast(book) == {"03": "its kept result is damaged"}
    assert Run(book).executed == ["03_three"]
    assert json.loads((book / "book/chapters/01_one.ipynb").read_text())["cells"]


def test_a_raising_chapter_fails_twice_and_publishes_no_old_page(book: Path) -> None:
    profile = book / "notebooks/profiles/smoke.yml"
    good = profile.read_text()
    profile.write_text("chapters: {01_one: {n_samples: 2}, 02_two: {ending: raise}}\n")
    for _ in range(2):
        run = Run(book, Options("smoke", jobs=2))
        assert run.error == "1 of 3 chapters failed: 02_two; 1 of 3 chapters skipped: 03_three"
        assert '02_two failed, cell In [4]: raise ValueError("asked to fail")' in run.told
        assert "ValueError: asked to fail" in run.told
        page = (book / "_build/smoke/html/book/chapters/02_two.html").read_text()
        assert "This chapter failed in the last build" in page and "ValueError: asked to fail" in page
        assert "This chapter was skipped" in (book / "book/chapters/03_three.ipynb").read_text()
        assert not (book / "book/chapters/records/02_two.json").exists()
        assert (book / "book/chapters/records/01_one.json").exists()
    assert "asked to fail" in (book / ".cache/executed/smoke/failed/02_two.ipynb").read_text()
    profile.write_text(good)
    assert Run(book).executed == [], "the result from before the failure is still good for its inputs"
    assert "failed" not in (book / "book/chapters/02_two.ipynb").read_text()


@pytest.mark.parametrize(
    ("ending", "told"), [("exit", "stopped early: a later cell was not run"), ("die", "the kernel died")]
)
def test_a_chapter_that_ends_early_is_a_failure(book: Path, ending: str, told: str) -> None:
    (book / "notebooks/profiles/smoke.yml").write_text(f"chapters: {{02_two: {{ending: {ending}}}}}\n")
    run = Run(book, Options("smoke", only=("02",), book=False))
    assert told in run.told and "failed: 02_two" in run.error


def test_a_forced_failure_on_equal_inputs_forgets_the_old_result(book: Path) -> None:
    (book / "trap").touch()
    run = Run(book, Options("smoke", force=True, only=("02",), book=False))
    assert run.error.startswith("1 of 3 chapters failed")
    (book / "trap").unlink()
    assert forecast(book)["02"] == "it failed last time"


def test_only_leaves_the_others_under_a_warning(book: Path) -> None:
    edit(book / "notebooks/02_two.py", "# sleep", "# pause")
    run = Run(book, Options("smoke", only=("01",), book=False))
    assert run.executed == [] and run.error == ""
    page = (book / "book/chapters/02_two.ipynb").read_text()
    assert "This page is older than its inputs" in page and "the source changed" in page


def test_a_book_with_warnings_fails_every_time(book: Path) -> None:
    (book / "book/index.md").write_text("# Toy\n\nSee {ref}`nowhere`.\n")
    for _ in range(2):
        run = Run(book, Options("smoke"))
        assert run.error == "the book has 1 warnings, told above" and "nowhere" in run.told
        assert str(book) not in run.told


def files(book: Path) -> list[Path]:
    return sorted(path.relative_to(book) for path in book.rglob("*") if path.is_file())


def test_rehearsal_keeps_and_publishes_nothing(book: Path) -> None:
    before, cache = files(book), os.environ.get("BINDERY_CACHE")
    edit(
        book / "notebooks/01_one.py", "print(total)",
        'assert os.environ["BINDERY_REHEARSE"] == "1" and chapter.profile == "laptop-rehearsal"\n'
        'assert ".cache" in os.environ["BINDERY_CACHE"]',
    )  # fmt: skip
    assert Run(book, Options("laptop", only=("01",), rehearse=True)).error == ""
    assert files(book) == before
    assert os.environ.get("BINDERY_CACHE") == cache


def test_a_failed_rehearsal_leaves_what_it_names(book: Path) -> None:
    edit(book / "notebooks/01_one.py", "print(total)", 'raise ValueError("no")')
    told = Run(book, Options("laptop", only=("01",), rehearse=True)).told
    named = re.search(r"as far as it got: (\S+)", told)
    assert named is not None and (book / named[1]).is_file()
    Run(book, Options("laptop", only=("02",), rehearse=True))
    assert not (book / named[1]).exists()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_killed_in_the_middle_goes_on_from_there(book: Path, how: signal.Signals) -> None:
    profile = book / "notebooks/profiles/smoke.yml"
    profile.write_text("chapters: {01_one: {n_samples: 2}, 02_two: {seconds: 300.0}}\n")
    before = (book / "book/chapters/02_two.ipynb").read_bytes()
    started = psutil.Popen(
        [sys.executable, "-m", "bindery.cli", "build", "--profile", "smoke", "--no-book"],
        env={**os.environ, "BINDERY_ROOT": str(book), "PYTHONPATH": str(LIBRARY.parent)},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    work = book / ".cache/work"
    deadline = time.monotonic() + 120
    try:
        while not any(path.read_text().startswith("3/") for path in work.glob("02_two-*/progress")):
            assert time.monotonic() < deadline and started.poll() is None
            time.sleep(0.05)
        family = started.children(recursive=True)
        assert len(family) >= 2, "a worker and its kernel"
        started.send_signal(how)
        _, errors = started.communicate(timeout=60)
    finally:
        if started.poll() is None:
            started.kill()
    if how is signal.SIGKILL:
        assert started.returncode == -signal.SIGKILL
    else:
        assert started.returncode == 130 and "the next build goes on from there" in errors
    gone, left = psutil.wait_procs(family, timeout=20)
    assert not left and gone, "a kernel outlived its build"
    assert (book / "book/chapters/02_two.ipynb").read_bytes() == before
    profile.write_text("chapters: {01_one: {n_samples: 2}, 02_two: {seconds: 0.01}}\n")
    if how is signal.SIGKILL:
        run = Run(book)
        assert run.executed == ["02_two", "03_three"] and run.error == ""
        assert not work.exists() or not any(work.iterdir())


def test_second_build_of_a_checkout_waits_for_the_first(tmp_path: Path) -> None:
    (tmp_path / ".cache").mkdir()
    first = (tmp_path / ".cache/build.lock").open("w")
    fcntl.flock(first, fcntl.LOCK_EX)
    threading.Timer(0.3, first.close).start()
    console = Console(file=io.StringIO())
    with _alone(Project(tmp_path, LIBRARY), console):
        assert first.closed
    assert "waiting for another build" in console.file.getvalue()  # type: ignore[attr-defined]


# What a chapter depends on, without executing anything


@pytest.fixture
def package(tmp_path: Path) -> Library:
    files = {
        "__init__.py": "", "a.py": "def f():\n    from pkg.sub import deep\n", "b.py": "import json\n",
        "sub/__init__.py": "from . import cards\n", "sub/cards.py": "from ..b import x\n", "sub/deep.py": "",
        "sub/other.py": "", "sub/list.toml": "", "sub/data/one.json": "", "top.json": "",
    }  # fmt: skip
    for name, text in files.items():
        path = tmp_path / "pkg" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Library(tmp_path / "pkg")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import numpy", set()),
        ("import pkg", {"pkg"}),
        ("from pkg import b", {"pkg", "pkg.b"}),
        ("from pkg.b import name", {"pkg", "pkg.b"}),
        ("import pkg.b as c", {"pkg", "pkg.b"}),
        (
            "from pkg import a",
            {"pkg", "pkg.a", "pkg.sub", "pkg.sub.cards", "pkg.sub.deep", "pkg.b", "pkg/sub/list.toml",
             "pkg/sub/data/one.json"},
        ),
    ],
)  # fmt: skip
def test_library_files_are_the_transitive_imports(package: Library, code: str, expected: set[str]) -> None:
    assert set(package.files(code)) == expected


def test_unrelated_library_module_runs_nothing_and_a_related_one_does(book: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(LIBRARY, tmp_path / "bindery", ignore=shutil.ignore_patterns("__pycache__")))
    project = Project(book, copy)

    def runs() -> set[str]:
        decisions = make_plan(project, Options("smoke")).forecast().values()
        return {d.why for d in decisions if d.action == "run" and not d.why.startswith("if ")}

    assert runs() == set()
    (copy / "sphere.py").write_text("# changed\n")
    assert runs() == set()
    with (copy / "ledger/writing.py").open("a") as module:
        module.write("# changed\n")
    assert runs() == {"library bindery.ledger.writing changed"}


def test_result_files_and_files_named_by_parameters_are_inputs(tmp_path: Path) -> None:
    root = toy_book.make(tmp_path)
    edit(root / "notebooks/01_one.py", "{data: [pack.txt]}", "{results: [costly.json, more/*.json]}")
    edit(root / "notebooks/02_two.py", '"well"', '"tools/mine.py:build"')
    (root / "tools").mkdir()
    (root / "tools/mine.py").write_text("a")
    told = make_plan(Project(root, LIBRARY), SMOKE).forecast()["01_one"]
    assert told.action == "leave" and "01_one needs the result file costly.json" in told.why
    run = Run(root, Options("smoke", only=("01",), book=False))
    assert run.error.startswith("1 of 3 chapters failed: 01_one") and "costly.json" in run.said
    (root / "results").mkdir()
    (root / "results/costly.json").write_text("1")

    def inputs() -> dict[str, str]:
        forecast = make_plan(Project(root, LIBRARY), SMOKE).forecast()
        return {name: digest for d in forecast.values() for name, digest in d.inputs.items()}

    first = inputs()
    (root / "results/costly.json").write_text("2")
    (root / "tools/mine.py").write_text("b")
    second = inputs()
    changed = {name for name in first if first[name] != second[name]}
    assert changed == {"result results/costly.json", "the file that parameter ending names"}


def test_hashes_trust_the_clock_only_of_settled_files(tmp_path: Path) -> None:
    memory, file = tmp_path / "memory.json", tmp_path / "file"
    file.write_text("old")
    os.utime(file, ns=(0, 10**18))
    hashes = Hashes(memory)
    digest = hashes.file(file)
    hashes.save()
    file.write_text("new")
    assert Hashes(memory).file(file) != digest, "another time: read again"
    os.utime(file, ns=(0, 10**18))
    assert Hashes(memory).file(file) == digest, "equal size and time: remembered"
    memory.write_text("not JSON")
    assert Hashes(memory).file(file) != digest


# Strictness of sources and profiles


def sources(tmp_path: Path, **replace: str) -> Path:
    root = toy_book.make(tmp_path)
    for old, new in replace.items():
        edit(root / "notebooks/02_two.py", old, new)
    return root / "notebooks"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('["01"]', '["09"]', "needs.records: unknown chapter '09'"),
        ('["01"]', '["03"]', "chapters need each other's records"),
        ("minutes", "minute", "header jupyter.bindery.minutes: field required"),
        ("{records:", "{record:", "header jupyter.bindery.needs.record: extra inputs"),
        ("title: Two", "title: [", "cannot be read as a percent notebook"),
        ('tags=["parameters"]', "", "exactly one cell tagged 'parameters'"),
    ],
)
def test_a_bad_header_is_one_clear_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(BinderyError, match=told.replace("[", r"\[")) as raised:
        read_chapters(sources(tmp_path, **{old: new}))
    assert "\n" not in str(raised.value)


def test_chapters_are_found_by_number_or_id_and_stand_after_what_they_need(tmp_path: Path) -> None:
    chapters = read_chapters(sources(tmp_path))
    assert [select(chapters, name).id for name in ("2", "02", "02_two")] == ["02_two"] * 3
    assert chapters["03_three"].depends == ("01_one", "02_two")
    assert ancestors(chapters, ["02_two"]) == {"01_one", "02_two"}
    with pytest.raises(BinderyError, match="unknown chapter '02_tow'; did you mean '02_two'"):
        select(chapters, "02_tow")


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        (
            "chapters: {02_tow: {}}",
            "unknown chapter '02_tow' in notebooks/profiles/bad.yml; did you mean '02_two'",
        ),
        ("chapters: {02_two: {second: 1.0}}", "unknown parameter 'second' of 02_two; did you mean 'seconds'"),
        ("chapters: {02_two: {seconds: fast}}", "parameter seconds must be float; got 'fast'"),
        ("defaults: {sedonds: 1.0}", "unknown parameter 'sedonds' in .*; did you mean 'seconds'"),
        ("chapter: {}", "extra inputs are not permitted"),
        ("chapters: {", "not valid YAML"),
        ("chapters: {01_one: {scale: .inf}}", "parameter scale must be float; got inf"),
        ("\udcff", "not valid YAML.*can't decode"),
    ],
)
def test_a_bad_profile_is_one_clear_line(tmp_path: Path, yaml: str, told: str) -> None:
    notebooks = sources(tmp_path)
    (notebooks / "profiles/bad.yml").write_text(yaml, errors="surrogateescape")
    with pytest.raises(BinderyError, match=told) as raised:
        load_profile(notebooks, "bad", read_chapters(notebooks))
    assert "\n" not in str(raised.value)


def test_profile_defaults_reach_the_chapters_that_declare_them(tmp_path: Path) -> None:
    notebooks = sources(tmp_path)
    (notebooks / "profiles/p.yml").write_text(
        "defaults: {seconds: 1, n_samples: 7}\nchapters: {01_one: {scale: 2}}"
    )
    values = load_profile(notebooks, "p", read_chapters(notebooks))
    assert values["01_one"] == {"n_samples": 7, "scale": 2.0, "mode": "plain"}
    assert values["02_two"] == {"ending": "well", "seconds": 1.0} and values["03_three"] == {}


def test_a_page_has_an_anchor_at_the_cell_that_measured(book: Path) -> None:
    records = book / "records.json"
    records.write_text(json.dumps({
        "records": [{"measured_in": 2}, {"measured_in": None}],
        "measurements": [{"measured_in": 3}, {"measured_in": 4, "cell": "G.T1.x"}],
    }))  # fmt: skip
    notebook = book / "book/chapters/02_two.ipynb"
    page = json.loads(pages._page(notebook, Outcome("ran"), pages._measuring(records)))
    places = {cell.get("execution_count"): i for i, cell in enumerate(page["cells"])}
    anchors = [i for i, cell in enumerate(page["cells"]) if "measured-here" in "".join(cell["source"])]
    assert anchors == [places[n] - 1 for n in (2, 4) if n in places] != []
    assert pages._measuring(book / "absent.json") == set()
