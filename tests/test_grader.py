"""The grader: bytes that are no message, submissions that attack, reports of the same bytes, mistakes in one line."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest
from benchmarks import _hostile as hostile
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bindery import cli
from bindery.course.checking import load_checks
from bindery.course.grader import answers, codec, grade, isolation, report, submissions
from bindery.course.grader.sandbox import Limits, Sandbox, SandboxError
from bindery.errors import BinderyError, DataError, InputError

# One of each kind; the benchmark runs them all.
KINDS = """
    hang hang_at_start deaf fork daemon threads memory shared_memory disk one_file network vsock read_checks
    read_private read_others write_report symlink write_package parents unmount equal patch_numpy fake_verdict
    verdict_in_pipe endless pickle large_answer exit_71 segfault evil_message no_json path_in_name
"""
ATTACKS = [attack for attack in hostile.ATTACKS if attack.name in KINDS.split()]
LIMITS = Limits(call=1.5, load=2.5, whole=12, memory=512)


def bindery(*arguments: object) -> int:
    old, sys.argv = sys.argv, ["bindery", *map(str, arguments)]
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = old
    return 0


# --- the messages ---

ARRAYS = hnp.arrays(
    st.sampled_from([np.dtype(kind) for kind in codec._DTYPES]), hnp.array_shapes(min_dims=0, min_side=0)
)
TEXT = st.text(st.characters(codec="utf-8"))
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats()
    | st.complex_numbers()
    | TEXT
    | ARRAYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def decode(message: bytes) -> object:
    head, rest = message[: codec.HEADER.size], message[codec.HEADER.size :]
    text, arrays = codec.sizes(head)
    assert len(rest) == text + arrays
    return codec.decode(rest[:text], rest[text:])


def same(a: object, b: object) -> bool:
    """Equal in type and bits, NaN included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return repr(a) == repr(b)


@given(PLAIN)
def test_messages_come_back_as_they_went(value: object) -> None:
    assert same(decode(codec.encode(value)), value)


@given(st.binary(max_size=300), st.binary(max_size=40))
def test_any_bytes_are_a_message_or_an_error(text: bytes, arrays: bytes) -> None:
    try:
        value = codec.decode(text, arrays)
    except codec.GarbledError:
        return
    codec.encode(value)


@given(PLAIN, st.data())
def test_damaged_messages_are_a_message_or_an_error(value: object, data: st.DataObject) -> None:
    message = bytearray(codec.encode(value))
    at = data.draw(st.integers(0, len(message) - 1))
    message[at] = data.draw(st.integers(0, 255))
    body = message[codec.HEADER.size :]
    text, _ = codec.sizes(codec.encode(value)[: codec.HEADER.size])
    with contextlib.suppress(codec.GarbledError):
        codec.decode(bytes(body[:text]), bytes(body[text:]))


@pytest.mark.parametrize(
    "text",
    [
        b'{"array":["<f8",[1]]}', b'{"array":["|O8",[1]]}', b'{"array":["<f8",[-1]]}', b'{"array":["<f8",[true]]}',
        b'{"array":["<f8",[0,99999999999]]}', b'{"array":["<U1",[1]]}', b'{"array":[["<f8"],[1]]}',
        b'{"array":["<f8",1]}', b'{"array":["<f8",[1],0]}', b'{"complex":[1,2]}', b'{"complex":[1.0,2.0,3.0]}',
        b'{"dict":[1]}', b'{"dict":{},"array":[]}', b'{"x":1}', b"{}", b"[" * 30 + b"]" * 30, b'"\\ud800"',
        b'{"dict":{"\\ud800":1}}', b"9" * 1000, b"[" * 100000, b"\xff", b"", b"1 2", b"nan",
    ],
)  # fmt: skip
def test_what_encode_never_writes_is_refused(text: bytes) -> None:
    with pytest.raises(codec.GarbledError):
        codec.decode(text, b"")


def test_bytes_of_arrays_are_counted_once() -> None:
    one = b'{"array":["<f8",[1]]}'
    assert codec.decode(b"[" + one + b"]", bytes(8))[0] == 0
    for text, arrays in ((one, bytes(16)), (b"[" + one + b"," + one + b"]", bytes(8))):
        with pytest.raises(codec.GarbledError):
            codec.decode(text, arrays)


def test_a_bool_array_holds_zeros_and_ones_only() -> None:
    array = codec.decode(b'{"array":["|b1",[3]]}', bytes([0, 1, 255]))
    assert array.sum() == 2 and array.view(np.uint8).tolist() == [0, 1, 1]


@pytest.mark.parametrize("header", [bytes(12), b"BND1" + b"\xff" * 8, b"BND2" + bytes(8)])
def test_headers_beyond_the_limits_are_refused(header: bytes) -> None:
    with pytest.raises(codec.GarbledError):
        codec.sizes(header)


@pytest.mark.parametrize("value", [object(), {1: 2}, np.array(["a"]), np.array([object()]), 10**500, {1, 2}])
def test_what_is_no_plain_data_is_not_sent(value: object) -> None:
    with pytest.raises(codec.GarbledError):
        codec.encode(value)


# --- a class ---


@pytest.fixture(scope="module")
def shut(tmp_path_factory: pytest.TempPathFactory) -> isolation.Isolation:
    mark = tmp_path_factory.mktemp("mark") / "mark"
    mark.write_text("x")
    found = isolation.examine(LIMITS, mark)
    if not found.isolated:
        pytest.skip(f"students' code cannot be shut in on this machine: {found.reason}")
    return found


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with private checks, an honest submission and all that attack."""
    root = tmp_path_factory.mktemp("school")
    (root / "class").mkdir()
    (root / "private").mkdir()
    (root / "private/90_total.py").write_text(hostile.CHECK)
    (root / "class/ann_90_total.py").write_text(hostile.HONEST)
    places = {
        "private": "private/90_total.py",
        "other": "class/ann_90_total.py",
        "report": "r.csv",
        "mark": "mark",
    }
    for attack in ATTACKS:
        attack.write(root / "class", {key: str(root / place) for key, place in places.items()})
    hostile.write_files(root / "class", root / "private/90_total.py")
    return root


def settings_of(root: Path) -> grade.Settings:
    return grade.Settings(3, root / "private", LIMITS, True, (root / "class", root / "private"))


@pytest.fixture(scope="module")
def graded(shut: isolation.Isolation, school: Path) -> list[report.Result]:
    (school / "r.csv").write_text("untouched")
    (school / "tmp").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(school / "tmp"))
        return grade.grade(
            submissions.find(school / "class"), settings_of(school), grade.Journal(school / "journal"), jobs=2,
            done=lambda result, kept: None,
        )  # fmt: skip


@pytest.mark.slow
def test_an_attack_gets_no_points_and_an_honest_answer_all(graded: list[report.Result], school: Path) -> None:
    by_name = {one.submission: one for one in graded}
    assert len(by_name) == len(ATTACKS) + 6
    assert len(ATTACKS) == len(KINDS.split())
    right = {"ann_90_total.py"} | {f"hostile_{n}_90_total.ipynb" for n in hostile.RIGHT_ALL_THE_SAME}
    got = {name for name, one in by_name.items() if one.points}
    assert got == right, "an attack that gets points has succeeded"
    assert all(by_name[name].points == by_name[name].possible == 2 for name in right)
    for one in graded:
        assert one.submission in right or one.problem or all(part.feedback for part in one.parts)


@pytest.mark.slow
def test_an_attack_leaves_nothing_behind(graded: list[report.Result], school: Path) -> None:
    assert (school / "r.csv").read_text() == "untouched" and not (school / "mark").exists()
    ours = [info for info in psutil.process_iter(["ppid", "cmdline"]) if info.info["cmdline"]]
    orphans = [
        one for one in ours if one.info["ppid"] == 1 and "bindery.course.grader.worker" in one.info["cmdline"]
    ]
    supervisors = [one for one in ours if str(school) in " ".join(one.info["cmdline"])]
    assert not orphans and not supervisors, "processes outlive their submission"
    assert not list((school / "tmp").iterdir())


@pytest.mark.slow
def test_feedback_is_one_clean_line_and_shows_nothing_of_the_check(
    graded: list[report.Result], school: Path
) -> None:
    source = [line.strip() for line in hostile.CHECK.splitlines() if "expect(" in line or "rng" in line]
    for row in csv.DictReader(io.StringIO(report.report(graded))):
        text = "".join(row.values())
        assert not re.search(r"[\x00-\x1f\x7f\u202e]", text) and len(row["feedback"]) < 500
        assert not row["submission"].startswith("=") and not row["feedback"].startswith(("=", "+", "-", "@"))
        assert not any(line in text for line in source) and "Traceback" not in text


@pytest.mark.slow
def test_the_report_is_the_same_when_graded_again_and_from_the_journal(
    graded: list[report.Result], school: Path, tmp_path: Path
) -> None:
    some = [
        one
        for one in submissions.find(school / "class")
        if re.search(r"ann|equal|exit|fork|no_json", one.name)
    ]
    names = {one.name for one in some}
    first = [one for one in graded if one.submission in names]
    tell: list[bool] = []
    for place, kept in ((tmp_path / "new", False), (school / "journal", True)):
        again = grade.grade(
            some,
            settings_of(school),
            grade.Journal(place),
            jobs=2,
            done=lambda result, kept: tell.append(kept),
        )
        assert report.report(again) == report.report(first) and report.totals(again) == report.totals(first)
        assert set(tell) == {kept}
        tell.clear()


def test_a_part_that_kills_the_worker_costs_no_other_part(shut: isolation.Isolation) -> None:
    code = "import os\ndef f(x):\n  if x == 1: os._exit(0)\n  while x == 2: pass\n  return x + 1"
    with answers.Answers([(1, code)], replace(LIMITS, call=0.5), isolated=True) as ask:
        told = []
        for x in (0, 1, 0, 2, 0):
            try:
                told.append(ask("f", x))
            except answers.CheckFailed as failed:
                told.append(str(failed))
    assert told == [
        1,
        "f ended the process it ran in.",
        1,
        "f did not finish in time; 0.5 seconds are allowed.",
        1,
    ]


def test_a_cell_that_raises_does_not_hide_the_next_and_is_told(shut: isolation.Isolation) -> None:
    cells = [
        (1, "%matplotlib inline\n!ls\nfrom bindery.course import check"),
        (2, "get_ipython().run_line_magic('time', '')\n1 / 0"),
        (3, "def f(a, b=2):\n    a += b\n    return (a, {'s': a.sum()})\ncheck('x', globals())"),
    ]
    given = np.arange(3.0)
    with answers.Answers(cells, LIMITS, isolated=True) as ask:
        array, table = ask("f", given, b=1)
        assert array.tolist() == [1, 2, 3] and table == {"s": 6.0} and given.tolist() == [0, 1, 2]
        with pytest.raises(
            answers.CheckFailed, match=r"no function g; .* Code cell 2 raises ZeroDivisionError"
        ):
            ask("g")


def test_what_is_printed_is_kept_up_to_a_limit(shut: isolation.Isolation) -> None:
    code = "print('hello ' * 10**6)\ndef f(): return 1"
    with answers.Answers([(1, code)], LIMITS, isolated=True) as ask:
        assert ask("f") == 1
    assert ask.printed.startswith("hello ") and len(ask.printed) <= 4096


def test_without_walls_time_and_what_it_started_still_end() -> None:
    code = """
import os, subprocess, sys
def folder(): return os.getcwd()
def start():
    try:
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"], start_new_session=True).pid
    except OSError:
        return 0
def hang():
    while True: pass
"""
    with answers.Answers([(1, code)], replace(LIMITS, call=0.5), isolated=False) as ask:
        folder, child = ask("folder"), ask("start")
        assert Path(folder).is_dir()
        with pytest.raises(answers.CheckFailed, match="hang did not finish in time"):
            ask("hang")
        assert not Path(folder).exists()
        assert child == 0 or not Path(f"/proc/{child}").exists()


def test_a_sandbox_that_cannot_be_built_is_no_fault_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bindery.course.grader.sandbox._visible", lambda: ["/nowhere"])
    with pytest.raises(SandboxError):
        Sandbox(LIMITS, isolated=True)


def test_an_answer_that_undoes_the_check_costs_its_part_only(
    shut: isolation.Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks that trust too much: one hangs, one fills the memory, one ends the process, one raises."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private/91_trust.py").write_text("""
import os
import numpy as np
from bindery.course.checking import part
@part(1, "exits")
def a(ask, rng): os._exit(ask("f"))
@part(1, "swells")
def b(ask, rng): np.ones(ask("f") * 10**10)
@part(1, "raises")
def c(ask, rng): print("got 1"); raise ValueError("/secret/path")
@part(1, "fine")
def d(ask, rng): assert ask("f") == 7
""")
    submission = tmp_path / "x_91_trust.py"
    submission.write_text("def f(): return 7")
    (result,) = grade.grade(
        submissions.find(submission), grade.Settings(0, tmp_path / "private", LIMITS),
        grade.Journal(tmp_path / "journal"), jobs=1, done=lambda result, kept: None,
    )  # fmt: skip
    assert [part.points for part in result.parts] == [0, 0, 0, 1]
    assert all("cannot be checked" in part.feedback for part in result.parts[:3])
    assert result.parts[2].feedback == "This answer cannot be checked: ValueError."


def test_a_check_that_hangs_ends_with_the_submission(
    shut: isolation.Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grade, "_MARGIN", 0.0)
    (tmp_path / "91_trust.py").write_text(
        'from bindery.course.checking import part\n@part(1, "fine")\ndef a(ask, rng): ask("f")\n'
        '@part(1, "hangs")\ndef b(ask, rng):\n    while True: ask\n'
    )
    (tmp_path / "x_91_trust.py").write_text("def f(): return 7")
    (result,) = grade.grade(
        submissions.find(tmp_path / "x_91_trust.py"), grade.Settings(0, tmp_path, replace(LIMITS, whole=4)),
        grade.Journal(tmp_path / "journal"), jobs=1, done=lambda result, kept: None,
    )  # fmt: skip
    assert [part.points for part in result.parts] == [1, 0]
    assert "did not end" in result.parts[1].feedback


# --- files ---


def test_files_are_read_with_care(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_bytes(bytes(submissions.LARGEST + 1))
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo.py")
    for name, told in (
        ("large", "larger than 10 MB"),
        ("link", "a link"),
        ("fifo", "no ordinary file"),
        ("no", "No "),
    ):
        with pytest.raises(DataError, match=told):
            submissions.read(tmp_path / f"{name}.py")


def test_the_exercise_is_named_by_the_notebook_or_its_file() -> None:
    known = ["02_exp_log", "03_mean"]
    cell, demo = (nbformat.v4.new_code_cell("x = 1", metadata={"tags": tags}) for tags in ([], ["demo"]))
    notebook = nbformat.v4.new_notebook(cells=[demo, cell], metadata={"bindery": {"exercise": "03_mean"}})
    text = nbformat.writes(notebook).encode()
    assert submissions.parse("a/02_exp_log.ipynb", text, known) == ("03_mean", [(1, ""), (2, "x = 1")], "")
    assert submissions.parse("a/ann_02_exp_log.py", b"# %%\nx = 1\n# %% [markdown]\n# y", known) == (
        "02_exp_log", [(1, "\nx = 1\n"), (2, "\n# y")], "",
    )  # fmt: skip
    script = b"\xef\xbb\xbf# In[ ]:\n\nx = 1\n\n# In[12]:\n\ny"
    assert [code.strip() for _, code in submissions.parse("03_mean.py", script, known)[1]] == ["x = 1", "y"]
    assert submissions.parse("ann.py", b"", known)[0] == ""
    assert "more than 1 MB of code" in submissions.parse("ann.py", b"#" * (1 << 20 | 1), known)[2]


@pytest.mark.parametrize(
    ("name", "who"),
    [("ann_02_exp_log.ipynb", "ann"), ("02_exp_log-ann.py", "ann"), ("ann/02_exp_log.ipynb", "ann"),
     ("ann/x/y.ipynb", "ann"), ("02_exp_log.ipynb", "02_exp_log")],
)  # fmt: skip
def test_whose_work_it_is(name: str, who: str) -> None:
    assert submissions.student(name, "02_exp_log") == who


def test_totals_take_the_best_attempt_and_count_what_was_not_handed_in() -> None:
    def result(name: str, exercise: str, points: float) -> report.Result:
        return report.Result(name, exercise, (report.PartResult("a", 2.0, points, ""),))

    told = report.totals([
        result("ann/02.py", "02_a", 1), result("ann/02b.py", "02_a", 2), result("ann/03.py", "03_b", 1.5),
        result("bob/02.py", "02_a", 0), report.Result("cy/x.py", "", problem="?"),
    ])  # fmt: skip
    assert told.splitlines() == [
        "student,02_a,03_b,points,possible", "ann,2,1.5,3.5,4", "bob,0,0,0,4", "cy,0,0,0,4",
    ]  # fmt: skip


@given(st.lists(TEXT, min_size=1, max_size=5))
@settings(max_examples=30)
def test_a_report_does_not_depend_on_the_order_of_grading(names: list[str]) -> None:
    results = [report.Result(name, "e", (report.PartResult("p", 1.0, 0.5, name),)) for name in names]
    assert report.report(results) == report.report(results[::-1])
    for row in csv.reader(io.StringIO(report.report(results))):
        assert not any(cell.startswith(("=", "@", "+", "-")) for cell in row) and len(row) == 6


def test_a_damaged_journal_loses_only_what_is_damaged(tmp_path: Path) -> None:
    place = tmp_path / "journal"
    result = report.Result("a", "e", (report.PartResult("p", 1.0, 0.5, "x"),), printed="hi")
    grade.Journal(place).keep("one", result)
    with place.open("a") as file:
        file.write('{"key": "two", "result": {"subm')
    grade.Journal(place).keep("three", result)
    journal = grade.Journal(place)
    assert journal.find("one") == journal.find("three") == result and journal.find("two") is None


def test_what_decides_an_outcome_is_in_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "91_x.py").write_text("a")
    base = grade.Settings(0, tmp_path)
    prints = [base.fingerprint(), replace(base, seed=1).fingerprint(), replace(base, private=None).fingerprint(),
              replace(base, limits=LIMITS).fingerprint()]  # fmt: skip
    (tmp_path / "91_x.py").write_text("b")
    prints.append(base.fingerprint())
    assert len(set(prints)) == 5


# --- the command ---


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "class").mkdir()
    (tmp_path / "class/ann_90_total.py").write_text(hostile.HONEST)
    (tmp_path / "private").mkdir()
    (tmp_path / "private/90_total.py").write_text(hostile.CHECK)
    (tmp_path / "empty").mkdir()
    (tmp_path / "unknown.py").write_text("x = 1")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["absent", "--out", "r.csv"], "absent does not exist; give a notebook"),
        (["empty", "--out", "r.csv"], "empty holds no submission; expected notebooks"),
        (["private/90_total.csv", "--out", "r.csv"], "does not exist"),
        (["class", "--out", "r.csv", "--private", "absent"], "the private folder absent does not exist"),
        (["class", "--out", "r.csv", "--private", "empty"], "the private folder empty holds no check"),
        (["class", "--out", "absent/r.csv"], "the report absent/r.csv cannot be written"),
        (["class", "--out", "empty"], "the report empty cannot be written"),
    ],
)
def test_mistakes_are_one_line(
    desk: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert bindery("grade", *arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and told in said and said.count("\n") == 1


def test_an_unknown_exercise_is_one_line(
    shut: isolation.Isolation, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bindery("grade", "unknown.py", "--out", "r.csv") == 1
    assert "error: unknown.py: No exercise is named" in capsys.readouterr().err
    assert not (desk / "r.csv").exists()


def test_a_damaged_check_is_one_line(
    shut: isolation.Isolation, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "private/90_total.py").write_text("1 / 0")
    assert bindery("grade", "class", "--out", "r.csv", "--private", "private") == 1
    assert "could not be graded: the check 90_total.py cannot be run" in capsys.readouterr().err


def test_grading_without_walls_must_be_asked_for(
    desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine without name spaces: refused, then done in the open, and said so."""
    real = isolation._try

    def attempt(limits: Limits, mark: Path, *, isolated: bool) -> dict[str, bool]:
        if isolated:
            raise SandboxError("new name spaces: not permitted")
        return real(limits, mark, isolated=False)

    monkeypatch.setattr(isolation, "_try", attempt)
    arguments = ["grade", "class", "--out", "r.csv", "--private", "private"]
    assert bindery(*arguments) == 1
    said = capsys.readouterr().err
    assert "pass --unsafe" in said and "NO  sees no submission" in said and not (desk / "r.csv").exists()
    assert bindery(*arguments, "--unsafe") == 0
    rows = list(csv.DictReader((desk / "r.csv").open()))
    assert [(row["submission"], row["points"]) for row in rows] == [("ann_90_total.py", "2")]


def test_a_class_is_graded_and_totalled(
    shut: isolation.Isolation, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["grade", "class", "--out", "r.csv", "--private", "private", "--seed", "5"]
    assert bindery(*arguments) == 0
    said = capsys.readouterr()
    assert "ann_90_total.py" in said.out and "2/2" in said.out and "yes has no network" in said.err
    assert (desk / "r.csv").read_text().splitlines()[0] == ",".join(report.COLUMNS)
    assert (desk / "r-totals.csv").read_text() == "student,90_total,points,possible\nann,2,2,2\n"
    before = (desk / "r.csv").read_bytes(), (desk / "r-totals.csv").read_bytes()
    assert bindery(*arguments, "--fresh") == 0
    assert ((desk / "r.csv").read_bytes(), (desk / "r-totals.csv").read_bytes()) == before


def test_a_submission_is_no_module_of_the_graders(
    shut: isolation.Isolation, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Graded from within the folder, files called like modules are neither imported nor believed."""
    for name in ("numpy", "json", "bindery", "sitecustomize"):
        (desk / f"class/{name}.py").write_text(f"open({str(desk / 'mark')!r}, 'w')")
    monkeypatch.chdir(desk / "class")
    assert bindery("grade", ".", "--out", "../r.csv", "--private", "../private") == 0
    assert not (desk / "mark").exists()
    assert (desk / "r-totals.csv").read_text().splitlines()[1] == "ann,2,2,2"


def test_an_interrupted_class_goes_on_where_it_was(
    shut: isolation.Isolation, desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "class/bob_90_total.py").write_text("def total(values):\n    while True: pass")

    def interrupt() -> None:
        while not (desk / "r.csv.journal").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    arguments = ["grade", "class", "--out", "r.csv", "--private", "private"]
    assert bindery(*arguments, "-j", "1", "--call-seconds", "30") == 130
    assert "interrupted" in capsys.readouterr().err and not (desk / "r.csv").exists()
    assert len(grade.Journal(desk / "r.csv.journal")._kept) == 1


def test_students_notebooks_are_handed_out_once(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bindery("hand-out", "out", "--only", "02_exp_log") == 0
    notebook = nbformat.read(desk / "out/02_exp_log.ipynb", as_version=4)
    assert notebook.metadata.bindery.exercise == "02_exp_log" and load_checks("02_exp_log")
    assert "arctan2(" not in str(notebook), "the solution stays at home"
    assert bindery("hand-out", "out", "--only", "02_exp_log") == 1
    assert "not replaced" in capsys.readouterr().err
    assert bindery("hand-out", "out", "--only", "02_exp_lgo") == 1
    assert "unknown exercise 02_exp_lgo" in capsys.readouterr().err


def test_errors_of_the_sandbox_are_errors_of_the_project() -> None:
    assert issubclass(SandboxError, BinderyError) and issubclass(InputError, BinderyError)
