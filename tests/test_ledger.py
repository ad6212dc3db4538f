from __future__ import annotations

import json
import os
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from bindery import ledger
from bindery.errors import DataError, InputError
from bindery.ledger import markdown
from bindery.ledger.claims import Claim, load_claims
from bindery.ledger.records import Measurement, Record, read_file
from bindery.ledger.verdict import told, verdict
from bindery.ledger.writing import _cell_number, measured
from bindery.paths import project_root

LINES = "analogue run"
VITL = {"encoders": "clip-vit-l14", "data": "ut-zappos", "protocol": LINES}
LITE = {"encoders": ["efficientnet-lite0"], "data": ["emoji-roles"], "protocol": LINES}
CLAIM = "gde.beats-lde-closed"


@pytest.fixture(autouse=True)
def running_chapter(tmp_path, monkeypatch):
    monkeypatch.setenv("BINDERY_CHAPTER", "05_compositional_classification")
    monkeypatch.setenv("BINDERY_PROFILE", "laptop")
    monkeypatch.setenv("BINDERY_RECORDS", str(tmp_path / "records"))
    monkeypatch.setenv("BINDERY_COMMIT", "abc")
    monkeypatch.setenv("BINDERY_PARAMETERS", '{"seed": 0}')
    return tmp_path


def make(kind, *, direction=None, threshold=0.0, tolerance=None, value=None, **changes):
    entry = {
        "id": "gde.example",
        "group": "Example",
        "paper": "G",
        "where": "Table 0",
        "statement": "It is so.",
        "reported": {"value": value, "text": "so"},
        "kind": kind,
        "quantity": "a difference",
        "rule": {"direction": direction, "threshold": threshold, "tolerance": tolerance},
        "comparable": {
            "encoders": ["clip-vit-l14"],
            "data": ["ut-zappos", "mit-states"],
            "protocol": "as theirs",
        },
        "chapter": "05_compositional_classification",
        "analogue": None if kind == "value" else "Something small.",
    }
    return Claim.model_validate(entry | changes)


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    "direction, threshold, ci, expected",
    [
        ("above", 0, (0.1, 0.5), "supports"),
        ("above", 0, (-0.5, -0.1), "contradicts"),
        ("above", 0, (-0.1, 0.5), "inconclusive"),
        ("above", 0, (0.0, 0.5), "inconclusive"),
        ("above", 0, None, "inconclusive"),
        ("above", 1, (0.1, 0.5), "contradicts"),
        ("below", 1, (0.1, 0.5), "supports"),
        ("below", 1, (1.1, 1.5), "contradicts"),
        ("below", 1, (0.9, 1.1), "inconclusive"),
        ("below", 0.5, (0, 0), "supports"),
    ],
)
def test_order(direction, threshold, ci, expected):
    claim = make("order", direction=direction, threshold=threshold)
    assert verdict(claim, 0.3, ci) == expected


@pytest.mark.parametrize(
    "ci, expected",
    [
        ((-0.2, 0.3), "supports"),
        ((0.05, 0.25), "supports"),
        ((-0.31, 0.2), "inconclusive"),
        ((-0.6, 0.6), "inconclusive"),
        ((0.0, 0.9), "inconclusive"),
        ((0.1, 0.9), "contradicts"),
        ((-0.9, -0.1), "contradicts"),
        (None, "inconclusive"),
    ],
)
def test_null(ci, expected):
    assert verdict(make("null"), 0.1, ci) == expected


@pytest.mark.parametrize(
    "value, ci, tolerance, expected",
    [
        (0.6, (0.4, 0.8), None, "reproduced"),
        (0.6, (0.4, 0.69), None, "reproduced"),
        (0.6, (0.4, 0.68), None, "differs"),
        (0.6, (0.4, 0.65), 0.1, "reproduced"),
        (0.79, None, 0.1, "reproduced"),
        (0.58, None, 0.1, "differs"),
        (0.69, None, None, "not comparable"),
    ],
)
def test_value(value, ci, tolerance, expected):
    assert verdict(make("value", value=0.69, tolerance=tolerance), value, ci) == expected


def test_a_decimal_on_the_edge_of_the_tolerance_is_inside():
    assert verdict(make("value", value=13.9, tolerance=0.3), 13.6, None) == "reproduced"


@pytest.mark.parametrize(
    "encoders, data, profile, expected",
    [
        (["clip-vit-l14"], ["ut-zappos"], "paper", "replication"),
        (["open_clip:ViT-L-14/openai"], ["ut-zappos", "mit-states"], "paper", "replication"),
        (["clip-vit-l14"], ["emoji-roles"], "paper", "analogue"),
        (["efficientnet-lite0"], ["ut-zappos"], "paper", "analogue"),
        (["clip-vit-l14", "efficientnet-lite0"], ["ut-zappos"], "paper", "analogue"),
        (["clip-vit-l14#random"], ["ut-zappos"], "paper", "analogue"),
        (["clip-vit-l14"], ["ut-zappos"], "smoke", "analogue"),
        (["clip-vit-l14"], ["ut-zappos"], "paper-rehearsal", "analogue"),
    ],
)
def test_class_needs_the_papers_encoders_and_data(monkeypatch, encoders, data, profile, expected):
    monkeypatch.setenv("BINDERY_PROFILE", profile)
    record = ledger.record(CLAIM, 3.0, ci=(1, 5), encoders=encoders, data=data, protocol=LINES)
    assert ledger.class_of(load_claims()[CLAIM].comparable, record) == expected


def test_no_run_replicates_what_is_not_published():
    record = ledger.record(
        "jer.predicts-binding", 0.7, encoders=["clip-vit-l14"], data=["scenes"], protocol=LINES
    )
    assert ledger.class_of(load_claims()["jer.predicts-binding"].comparable, record) == "analogue"


# ---------------------------------------------------------------- claims


def test_claims_are_whole():
    claims = load_claims()
    assert 40 <= sum(claim.paper in ("G", "S") for claim in claims.values()) <= 60
    assert {claim.paper for claim in claims.values()} == {"G", "S", "B"}
    for claim in claims.values():
        assert claim.statement.endswith(".") and claim.statement.count(". ") == 0, f"{claim.id}: one sentence"
        if claim.kind != "value" and claim.paper != "B":
            assert bool(claim.analogue) != bool(claim.no_analogue), claim.id


def test_every_chapter_of_a_claim_is_in_the_plan():
    planned = {
        "02_the_sphere", "03_decomposable_embeddings", "04_seeing_structure",
        "05_compositional_classification", "06_group_robustness", "07_imagining_compositions",
        "08_attribute_binding", "09_limits_of_geometry", "10_jacobian_effective_rank",
        "11_sensitivity_and_binding", "12_where_rank_collapses", "13_natural_images",
        "14_objective_alignment", "15_sensitivity_and_decomposability", "16_decomposing_two_object_scenes",
    }  # fmt: skip
    assert {claim.chapter for claim in load_claims().values()} <= planned


def test_the_reported_number_of_a_claim_is_that_of_the_tables():
    cells, claims = ledger.reported_cells()["value"], load_claims()
    pairs = {
        "gde.auc-ut-closed": "G.T1.ut-zappos.closed.gde-image.auc",
        "gde.auc-mit-closed": "G.T1.mit-states.closed.gde-image.auc",
        "gde.wg-waterbirds": "G.T3.waterbirds.gde-image.wg",
        "gde.wg-celeba": "G.T3.celeba.gde-image.wg",
        "jer.predicts-binding": "S.T2.jer.v2.r",
        "jer.giso-uncorrelated": "S.T2.g-iso.v2.r",
        "jer.sugarcrepe-partial": "S.SC.jer.given-zero-shot.partial-r",
    }
    assert {name: claims[name].reported.value for name in pairs} == {k: cells[v] for k, v in pairs.items()}
    ut = "G.T1.ut-zappos.closed"
    assert claims[CLAIM].reported.value == pytest.approx(
        cells[f"{ut}.gde-image.auc"] - cells[f"{ut}.lde-image.auc"]
    )


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"rule": {}}, "direction"),
        ({"kind": "value", "rule": {}, "reported": {"text": "x"}, "analogue": None}, "reported.value"),
        ({"analogue": None}, "no_analogue"),
        ({"id": "jer.example"}, "gde."),
        ({"id": "gde.Example"}, "id"),
        ({"sure": True}, "sure"),
        ({"kind": "opinion"}, "kind"),
        ({"rule": {"direction": "above", "tolerance": 1}}, "tolerance"),
    ],
)
def test_an_ill_formed_claim_is_refused_by_field(tmp_path, changes, field):
    entry = make("order", direction="above").model_dump(mode="json") | changes
    path = tmp_path / "claims.yml"
    path.write_text(json.dumps([entry]))
    with pytest.raises(DataError, match=re.escape(field)) as caught:
        load_claims(path)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- recording


def test_unknown_claim_suggests_the_nearest():
    with pytest.raises(InputError, match=r"did you mean 'gde\.beats-lde-closed'"):
        ledger.record("gde.beats-lde-close", 1.0, **LITE)


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"value": float("nan")}, "value"),
        ({"value": True}, "value"),
        ({"value": "3"}, "value"),
        ({"ci": (2, 1)}, "ci"),
        ({"ci": (0, float("inf"))}, "ci"),
        ({"ci": (1,)}, "ci"),
        ({"p": 1.5}, "p"),
        ({"n": 0}, "n"),
        ({"encoders": []}, "encoders"),
        ({"data": [""]}, "data"),
        ({"encoders": [3]}, "encoders"),
        ({"cell": "G.T9.x"}, "cell"),
    ],
)
def test_an_ill_formed_record_names_the_field_and_leaves_no_file(running_chapter, changes, field):
    arguments = {"value": 1.0, **LITE} | changes
    with pytest.raises(InputError, match=field) as caught:
        ledger.record(CLAIM, **arguments)
    assert "\n" not in str(caught.value)
    assert not list(running_chapter.rglob("*.json"))


def test_numpy_numbers_are_taken_and_round_trip():
    ledger.record(CLAIM, np.float32(1.5), ci=np.array([1.0, 2.0]), n=np.int64(7), p=np.float64(0.01), **LITE)
    (file,) = ledger.load_records(ledger.records_folder())
    (kept,) = file.records
    assert (kept.value, kept.ci, kept.n, kept.p) == (1.5, (1.0, 2.0), 7, 0.01)
    assert kept.provenance.commit == "abc" and kept.parameters == {"seed": 0}


def test_encoders_and_data_sets_tell_their_own_names():
    class Thing:
        def __init__(self, name, weights=None):
            self.name, self.weights = name, weights

    record = ledger.record(
        CLAIM,
        1.0,
        encoders=[Thing("clip-vit-l14", "random"), Thing("clip-rn50", "pretrained"), "zoo:vicreg"],
        data=Thing("ut-zappos"),
        protocol=LINES,
    )
    assert record.encoders == ["clip-rn50", "clip-vit-l14#random", "zoo:vicreg"]
    assert record.data == ["ut-zappos"]


def record_three(order):
    calls = {
        "a": lambda: ledger.record(CLAIM, 1.0, ci=(0, 2), variant="emoji", **LITE),
        "b": lambda: ledger.record(CLAIM, 2.0, ci=(1, 3), variant="cue", **LITE),
        "c": lambda: ledger.measure("n_images", 12, unit="images"),
    }
    for name in order:
        calls[name]()
    return (ledger.records_folder() / "05_compositional_classification.json").read_bytes()


def test_the_same_content_gives_the_same_bytes_in_any_order():
    first = record_three("abc")
    ledger.begin()
    assert record_three("cab") == first
    assert record_three("b") == first, "recording again replaces"


def test_a_new_run_forgets_the_last():
    ledger.record(CLAIM, 1.0, **LITE)
    ledger.begin()
    ledger.measure("only_this", 1)
    (file,) = ledger.load_records(ledger.records_folder())
    assert file.records == [] and [item.name for item in file.measurements] == ["only_this"]


def test_a_failed_write_leaves_the_old_file(monkeypatch):
    before = record_three("a")
    monkeypatch.setattr(
        "pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    with pytest.raises(DataError, match="No space left"):
        ledger.measure("x", 1)
    path = ledger.records_folder() / "05_compositional_classification.json"
    assert path.read_bytes() == before


def test_outside_a_runner_records_go_to_the_current_folder(tmp_path, monkeypatch):
    for name in ("CHAPTER", "PROFILE", "RECORDS", "PARAMETERS"):
        monkeypatch.delenv(f"BINDERY_{name}")
    monkeypatch.setenv("BINDERY_ROOT", str(project_root()))
    monkeypatch.chdir(tmp_path)
    record = ledger.record(CLAIM, 1.0, **LITE)
    assert isinstance(record, Record) and record.profile == "interactive"
    assert (tmp_path / "records" / "notebook.json").is_file()


def test_values_of_other_chapters():
    ledger.measure("auc", 0.5, ci=(0.4, 0.6), variant="open")
    ledger.record(CLAIM, 3.0, **LITE)
    assert ledger.value_of("05", "auc", "open") == 0.5
    assert ledger.value_of("05_compositional_classification", CLAIM) == 3.0
    assert measured("05", "auc", "open").ci == (0.4, 0.6)
    for arguments, hint in [
        (("05", "acu", "open"), "did you mean 'auc'"),
        (("05", "auc"), "no variant"),
        (("06", "auc"), "bindery build --only 06"),
    ]:
        with pytest.raises(DataError, match=hint):
            ledger.value_of(*arguments)


def test_a_record_shows_its_verdict_and_escapes():
    html = ledger.record(CLAIM, 3.0, ci=(1, 5), n=9, **LITE | {"protocol": "a < b"})._repr_html_()
    assert "supports, as analogue" in html and "a &lt; b" in html and "n = 9" in html


# ---------------------------------------------------------------- files from elsewhere


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with the real claims and tables and results of its own."""
    root, here = tmp_path / "checkout", project_root()
    (root / "notebooks").mkdir(parents=True)
    (root / "_toc.yml").write_text("")
    (root / "book").symlink_to(here / "book")
    monkeypatch.setenv("BINDERY_ROOT", str(root))
    return root


def foreign(tmp_path, **changes):
    ledger.record(CLAIM, 13.0, ci=(12, 14), **VITL)
    path = ledger.records_folder() / "05_compositional_classification.json"
    content = json.loads(path.read_text())
    path.unlink()
    for dotted, value in changes.items():
        target, *rest = dotted.split("__")
        node = content if not rest else content[target][0]
        node[rest[0] if rest else target] = value
    file = tmp_path / "from_elsewhere.json"
    file.write_text(json.dumps(content))
    return file


def test_import_stamps_and_never_overwrites(checkout, tmp_path):
    file = foreign(tmp_path)
    target = ledger.import_records(file, "Ada L.")
    assert target.parent == checkout / "results" / "contributed" and target.name.startswith("ada-l-")
    (kept,) = read_file(target).records
    assert kept.contributed and kept.contributor == "Ada L."
    before = target.read_bytes()
    assert ledger.import_records(file, "Ada L.") == target
    other = ledger.import_records(foreign(tmp_path, records__value=12.5), "Ada L.")
    assert other != target and target.read_bytes() == before
    assert ledger.import_records(file).name.startswith("anonymous-")
    board = ledger.scoreboard()
    ours = board[board["claim"] == CLAIM]
    assert set(ours["contributor"]) == {"Ada L.", "anonymous"} and set(ours["class"]) == {"replication"}


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"schema": "bindery-records/9"}, "schema"),
        ({"records__ci": [2, 1]}, "records[0]"),
        ({"records__value": None}, "records[0].value"),
        ({"records__value": "13"}, "records[0].value"),
        ({"records__value": 10**400}, "records[0].value"),
        ({"records__n": 10**400}, "records[0].n"),
        ({"records__claim_id": "gde.nothing"}, "unknown claim 'gde.nothing'"),
        ({"records__encoders": []}, "records[0].encoders"),
        ({"records__verdict": "supports"}, "records[0].verdict"),
        ({"records__chapter": "06_group_robustness"}, "records[0].chapter"),
        ({"chapter": "../../etc"}, "chapter"),
        ({"records": [], "measurements": []}, "holds no record"),
        ({"records__provenance": {}}, "records[0].provenance"),
    ],
)
def test_a_file_that_does_not_validate_is_one_line_and_nothing_is_written(checkout, tmp_path, changes, field):
    file = foreign(tmp_path, **changes)
    with pytest.raises((DataError, InputError), match=re.escape(field)) as caught:
        ledger.import_records(file)
    assert "\n" not in str(caught.value) and file.name in str(caught.value)
    assert not (checkout / "results").exists()


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"schema": NaN}', "\x00", "[" * 100_000])
def test_no_json_is_one_line(checkout, tmp_path, text):
    file = tmp_path / "broken.json"
    file.write_text(text)
    with pytest.raises(DataError, match=r"broken\.json") as caught:
        ledger.import_records(file)
    assert "\n" not in str(caught.value)


def test_missing_file_and_odd_contributor(checkout, tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        ledger.import_records(tmp_path / "nowhere.json")
    with pytest.raises(InputError, match="contributor"):
        ledger.import_records(foreign(tmp_path), "../")
    assert ledger.import_records(foreign(tmp_path), "李 " * 200).name.startswith("李-李-")


def test_what_is_no_file_is_refused_and_a_byte_order_mark_is_not(checkout, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(DataError, match="is no file"):
            ledger.import_records(place)
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + foreign(tmp_path).read_bytes())
    assert read_file(ledger.import_records(marked)).records


# ---------------------------------------------------------------- scoreboard


def test_every_claim_is_on_the_board_and_tells_how_to_run_it():
    board = ledger.scoreboard([])
    assert list(board["claim"].sort_values()) == sorted(load_claims())
    assert (board["verdict"] == "not run").all()
    row = board.set_index("claim").loc[CLAIM]
    assert row["command"] == "bindery build --profile paper --only 05"


def test_board_is_sorted_by_verdict():
    ledger.record(CLAIM, -3.0, ci=(-5, -1), **LITE)
    ledger.record("gde.beats-lde-open", 3.0, ci=(1, 5), **LITE)
    board = ledger.scoreboard(ledger.load_records(ledger.records_folder()))
    assert list(board["verdict"].unique()) == ["supports", "contradicts", "not run"]


def test_smoke_says_smoke(monkeypatch):
    monkeypatch.setenv("BINDERY_PROFILE", "smoke")
    ledger.record(CLAIM, 3.0, ci=(1, 5), **LITE)
    files = ledger.load_records(ledger.records_folder())
    shown = ledger.scoreboard(files).set_index("claim").loc[CLAIM, "verdict"]
    assert shown == told("supports", True) == "supports (smoke)"
    assert ledger.claim_verdicts(files).set_index("claim").loc[CLAIM, "trial"]


def test_overall_verdict_prefers_replication_and_full_runs(monkeypatch):
    def overall():
        files = ledger.load_records(ledger.records_folder())
        return ledger.claim_verdicts(files).set_index("claim").loc[CLAIM, "verdict"]

    monkeypatch.setenv("BINDERY_PROFILE", "smoke")
    ledger.record(CLAIM, -3.0, ci=(-5, -1), variant="smoke", **LITE)
    assert overall() == "contradicts"
    monkeypatch.setenv("BINDERY_PROFILE", "laptop")
    ledger.record(CLAIM, 1.0, ci=(-1, 3), variant="emoji", **LITE)
    assert overall() == "inconclusive"
    ledger.record(CLAIM, 3.0, ci=(1, 5), variant="control", headline=False, **LITE)
    assert overall() == "inconclusive"
    ledger.record(CLAIM, 3.0, ci=(1, 5), variant="cue", **LITE)
    assert overall() == "mixed"
    ledger.record(CLAIM, 3.0, ci=(1, 5), variant="real", **VITL)
    assert overall() == "supports"


def test_cells_side_by_side():
    cell = "G.T1.ut-zappos.closed.gde-image.auc"
    ledger.measure("auc.real", 13.5, cell=cell, encoders="clip-vit-l14", data="ut-zappos")
    ledger.measure("auc.emoji", 20.0, cell=cell, encoders="efficientnet-lite0", data="emoji-roles")
    table = ledger.compare_cells(ledger.load_records(ledger.records_folder())).set_index("ours")
    assert table.loc[13.5, "class"] == "replication" and table.loc[20.0, "class"] == "analogue"
    assert table.loc[13.5, "difference"] == pytest.approx(-0.4)


# ---------------------------------------------------------------- words for the page


def test_tally_uses_singular_and_plural_and_leaves_out_nothing():
    verdicts = ["supports", "reproduced", "differs", "mixed", "not run", "not run"]
    assert markdown.tally(verdicts) == "2 hold, 1 does not, 1 remains open, 2 were not run"
    for verdict_ in ledger.VERDICTS:
        assert markdown.tally([verdict_]).startswith("1 "), f"{verdict_} belongs to no group"


def test_the_page_says_what_failed_and_that_a_trial_is_one(monkeypatch):
    monkeypatch.setenv("BINDERY_PROFILE", "smoke")
    ledger.record(CLAIM, -3.0, ci=(-5, -1), **LITE)
    claims = ledger.claim_verdicts(ledger.load_records(ledger.records_folder()))
    assert markdown.TRIAL_NOTE in markdown.summary(claims)
    sentences = markdown.group_sentences(claims)
    assert "Not borne out here: “Decomposing image embeddings" in sentences
    assert len(sentences.splitlines()) == claims["group"].nunique()


def test_contributed_text_is_no_markup():
    ledger.record(CLAIM, 3.0, ci=(1, 5), variant="<script>|[x](y)", **LITE)
    board = ledger.scoreboard(ledger.load_records(ledger.records_folder()))
    page = markdown.claims_table(board[board["claim"] == CLAIM])
    assert "<script" not in page.replace("\\<script", "") and r"\|\[x\]" in page
    assert len({line.replace(r"\|", "").count("|") for line in page.splitlines()}) == 1


def test_only_pages_of_the_book_are_linked(checkout):
    (checkout / "notebooks" / "05_in_the_book.py").write_text("")
    (checkout / "notebooks" / "06_not_yet.py").write_text("")
    (checkout / "_toc.yml").write_text(
        "- file: book/chapters/05_in_the_book\n- file: book/chapters/07_no_source\n"
    )
    assert markdown.chapter_link("05_in_the_book") == "[05 in the book](05_in_the_book.ipynb)"
    assert markdown.chapter_link("06_not_yet") == "06 not yet"
    assert markdown.chapter_link("07_no_source") == "07 no source"


def test_what_was_not_run_is_told_by_command():
    page = markdown.not_run_table(ledger.scoreboard([]))
    commands = {
        f"bindery build --profile paper --only {claim.chapter[:2]}" for claim in load_claims().values()
    }
    assert commands == set(re.findall(r"`([^`]+)`", page))
    assert page.count("No stand-in:") == sum(
        claim.no_analogue is not None for claim in load_claims().values()
    )


def test_a_question_of_this_book_is_neither_replication_nor_analogue():
    name = "own.slot-indexed-nearer"
    ledger.record(name, 3.0, ci=(1, 5), **LITE)
    board = ledger.scoreboard(ledger.load_records(ledger.records_folder()))
    assert board.set_index("claim").loc[name, ["verdict", "class"]].tolist() == ["supports", "own question"]
    row = markdown.claims_table(board[board["claim"] == name])
    assert "this book, chapter 16" in row and "Paper B" not in row
    claims = ledger.claim_verdicts(ledger.load_records(ledger.records_folder()))
    papers = claims["paper"] != "B"
    assert f"Of {papers.sum()} claims of the two papers" in markdown.summary(claims)
    assert f"of {(~papers).sum()} questions of this book's own, 1 holds" in markdown.summary(claims)
    with pytest.raises(ValueError, match="no published encoders"):
        make("order", direction="above", id="own.example", paper="B")


def test_a_measurement_at_the_end_of_a_cell_is_one_readable_line() -> None:
    made = Measurement.model_construct(name="share", value=0.85714, ci=(0.5, 0.9), n=28, unit="of 1")
    assert (
        made._repr_markdown_().replace("\N{NO-BREAK SPACE}", " ") == "`share` 0.857 [0.5, 0.9] of 1, n = 28"
    )


def test_a_claim_links_to_the_cell_that_measured_it() -> None:
    chapter = "02_the_sphere"
    assert markdown.chapter_link(chapter, 7) == '<a href="02_the_sphere.html#in-7">02 the sphere</a>'
    assert (
        markdown.chapter_link(chapter)
        == markdown.chapter_link(chapter, float("nan"))
        == "[02 the sphere](02_the_sphere.ipynb)"
    )
    assert markdown.chapter_link("99_no_page", 7) == "99 no page"


def test_a_record_knows_the_number_of_its_cell() -> None:
    code = "from bindery.ledger.writing import _cell_number\nprint(_cell_number())"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for _ in range(3)])
    done = NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    told = [(cell.execution_count, int(cell.outputs[0].text)) for cell in done.cells]
    assert told == [(1, 1), (2, 2), (3, 3)]
    assert _cell_number() is None
