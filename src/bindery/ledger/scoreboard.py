"""The scoreboard as tables: claims beside records, published cells beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bindery.ledger.claims import Claim, Comparable, load_claims
from bindery.ledger.files import load_records
from bindery.ledger.records import Measured, Record, RecordFile
from bindery.ledger.reported import reported_cells
from bindery.ledger.verdict import VERDICTS, class_of, class_of_record, overall, told, verdict

Files = Sequence[RecordFile]


def chapter_command(chapter: str, profile: str = "paper") -> str:
    """The one command that runs a chapter with the real encoders and data, and so writes its record file."""
    return f"bindery build --profile {profile} --only {chapter[:2]}"


def scoreboard(files: Files | None = None) -> pd.DataFrame:
    """Claims × records, sorted by verdict: one row a record, and one for each claim that has none.

    Columns: claim, paper, group, where, statement, reported, quantity, variant, headline, value, low, high,
    n, p, verdict (a trial run says so), class, chapter, cell (n of ``In [n]``), profile,
    encoders, data, protocol, contributor, analogue (what an offline run is, or why none can exist), command
    (when not run).
    """
    recorded = _by_claim(load_records() if files is None else files)
    rows = []
    for claim in load_claims().values():
        rows += [_record_row(claim, record) for record in recorded.get(claim.id, [])] or [_not_run_row(claim)]
    table = pd.DataFrame(rows)
    rank = table["verdict"].map(lambda text: VERDICTS.index(text.split(" (")[0]))
    return (
        table.assign(_rank=rank)
        .sort_values(["_rank"], kind="stable")
        .drop(columns="_rank")
        .reset_index(drop=True)
    )


def claim_verdicts(files: Files | None = None) -> pd.DataFrame:
    """One row a claim: id, paper, group, statement, chapter, verdict, class, records (how many), trial."""
    recorded = _by_claim(load_records() if files is None else files)
    rows = []
    for claim in load_claims().values():
        records = recorded.get(claim.id, [])
        rows.append(
            {
                "claim": claim.id,
                "paper": claim.paper,
                "group": claim.group,
                "statement": claim.statement,
                "chapter": next((r.chapter for r in records if r.headline), claim.chapter),
                "verdict": overall(claim, records),
                "class": _best_class(claim, records),
                "records": len(records),
                "trial": bool(records) and all(record.trial for record in records),
            }
        )
    return pd.DataFrame(rows)


def compare_cells(files: Files | None = None) -> pd.DataFrame:
    """Published cells for which a number exists here, side by side: reported, ours, difference, class.

    Every record and measurement that names a ``cell`` is one row; its class follows from the encoder and
    data of the published row.
    """
    cells = reported_cells()
    rows: list[dict[str, Any]] = []
    for file in load_records() if files is None else files:
        for item in (*file.records, *file.measurements):
            if item.cell is not None and item.cell in cells.index:
                rows.append(_cell_row(item.cell, cells.loc[item.cell], item))
    columns = [
        "cell", "paper", "table", "data", "encoder", "method", "setting", "metric", "reported", "ours",
        "low", "high", "difference", "class", "run on", "chapter", "measured in", "profile", "contributor",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _by_claim(files: Files) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for file in files:
        for record in file.records:
            found.setdefault(record.claim_id, []).append(record)
    return found


def _best_class(claim: Claim, records: Sequence[Record]) -> str:
    classes = {class_of_record(claim, record) for record in records if record.headline}
    return "replication" if "replication" in classes else next(iter(classes), "")


def _claim_row(claim: Claim) -> dict[str, Any]:
    return {
        "claim": claim.id,
        "paper": claim.paper,
        "group": claim.group,
        "where": claim.where,
        "statement": claim.statement,
        "reported": claim.reported.text,
        "quantity": claim.quantity,
    }


def _record_row(claim: Claim, record: Record) -> dict[str, Any]:
    low, high = record.ci or (None, None)
    return _claim_row(claim) | {
        "variant": record.variant,
        "headline": record.headline,
        "value": record.value,
        "low": low,
        "high": high,
        "n": record.n,
        "p": record.p,
        "verdict": told(verdict(claim, record.value, record.ci), record.trial, record.profile),
        "class": class_of_record(claim, record),
        "chapter": record.chapter,
        "cell": _cell(record),
        "profile": record.profile,
        "encoders": ", ".join(record.encoders),
        "data": ", ".join(record.data),
        "protocol": record.protocol,
        "contributor": (record.contributor or "anonymous") if record.contributed else "",
        "analogue": claim.analogue or claim.no_analogue or "",
        "command": "",
    }


def _not_run_row(claim: Claim) -> dict[str, Any]:
    nothing = dict.fromkeys(("value", "low", "high", "n", "p", "cell"))
    empty = dict.fromkeys(("variant", "class", "profile", "encoders", "data", "protocol", "contributor"), "")
    return (
        _claim_row(claim)
        | nothing
        | empty
        | {
            "headline": True,
            "verdict": "not run",
            "chapter": claim.chapter,
            "analogue": claim.analogue or claim.no_analogue or "",
            "command": chapter_command(claim.chapter),
        }
    )


def _cell(item: Measured) -> int | None:
    """n of the cell that measured it, which only this book's own run can point at."""
    return None if item.contributed else item.measured_in


def _cell_row(cell: str, published: Any, item: Measured) -> dict[str, Any]:
    comparable = Comparable(
        encoders=_listed(published["encoder"]), data=_listed(published["data"]), protocol="as published"
    )
    keys = ("paper", "table", "data", "encoder", "method", "setting", "metric")
    low, high = item.ci or (None, None)
    return (
        {"cell": cell}
        | {key: published[key] for key in keys}
        | {
            "reported": published["value"],
            "ours": item.value,
            "low": low,
            "high": high,
            "difference": item.value - published["value"],
            "class": class_of(comparable, item),
            "run on": "; ".join((", ".join(item.encoders), ", ".join(item.data))).strip("; "),
            "chapter": item.chapter,
            "measured in": _cell(item),
            "profile": item.profile,
            "contributor": (item.contributor or "anonymous") if item.contributed else "",
        }
    )


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split("|") if name.strip()]
