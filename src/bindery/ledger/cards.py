"""How a record shows itself under the cell that made it: claimed, reported, found, and the verdict."""

from __future__ import annotations

from html import escape

from bindery.ledger.claims import Interval, claim
from bindery.ledger.records import Record, slug
from bindery.ledger.verdict import class_of_record, told, verdict, why


def number(value: float, digits: int = 3) -> str:
    """A number to ``digits`` significant digits, thousands in full: ``0.692``, ``12.5``, ``1263``."""
    text = f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
    return text.replace("-", "−")


def with_interval(value: float, ci: Interval | None) -> str:
    """``0.69 [0.41, 0.85]``, or the number alone."""
    return (
        number(value)
        if ci is None
        else f"{number(value)} [{number(ci[0])},\N{NO-BREAK SPACE}{number(ci[1])}]"
    )


def card(record: Record) -> str:
    """HTML of a record with its claim's verdict."""
    stated = claim(record.claim_id)
    found = verdict(stated, record.value, record.ci)
    units = f", n = {record.n}" if record.n is not None else ""
    variant = f" ({record.variant})" if record.variant else ""
    rows = [
        (stated.source[:1].upper() + stated.source[1:], stated.statement),
        ("Reported", stated.reported.text),
        ("Measured", stated.quantity),
        (f"Found{variant}", f"{with_interval(record.value, record.ci)}{units}: {record.protocol}"),
        (
            "Verdict",
            f"{told(found, record.trial, record.profile)}, as {class_of_record(stated, record)} "
            f"(rule: {why(stated, record.ci)})",
        ),
    ]
    body = "".join(f"<tr><th>{escape(head)}</th><td>{escape(text)}</td></tr>" for head, text in rows)
    return f'<table class="bindery-claim" id="{escape(_anchor(record))}">{body}</table>'


def _anchor(record: Record) -> str:
    return "claim-" + slug(f"{record.claim_id} {record.variant}")
