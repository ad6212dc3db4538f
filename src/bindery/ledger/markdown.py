"""Words for the scoreboard page: Markdown tables, verdict chips, and sentences that say what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape as html_escape
from typing import Any

import pandas as pd

from bindery.ledger.cards import number, with_interval
from bindery.ledger.claims import SOURCES, load_claims
from bindery.ledger.records import is_trial
from bindery.paths import project_root

HOLD, FAIL = ("supports", "reproduced"), ("contradicts", "differs")
OPEN = ("mixed", "inconclusive", "not comparable")
TRIAL_NOTE = "a smoke or rehearsal run, which shows that the code runs and nothing else"


def escape(text: str) -> str:
    """``text`` as it is, inside a Markdown table: nothing in it is markup."""
    return re.sub(r"([\\`*_{}\[\]<>|$#~])", r"\\\1", " ".join(text.split()))


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """A Markdown table of cells that are Markdown already; the keys of the first row are the head."""
    if not rows:
        return ""
    head = list(rows[0])
    lines = [head, ["---"] * len(head), *([row[name] for name in head] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def chip(verdict: str) -> str:
    """A verdict as a coloured word (the word tells all; the colour repeats it)."""
    kind = verdict.split(" (")[0].replace(" ", "-")
    return f'<span class="verdict verdict-{kind}">{html_escape(verdict)}</span>'


def chapter_link(chapter: str, cell: float | None = None) -> str:
    """A link to the chapter's page, at the cell ``In [n]`` when one is told; its plain name without such a page."""
    name = chapter.partition("_")[2].replace("_", " ") or chapter
    told = f"{chapter[:2]} {name}" if name != chapter else name
    root = project_root()
    contents = (root / "_toc.yml").read_text(encoding="utf-8")
    exists = (root / "notebooks" / f"{chapter}.py").is_file() and f"chapters/{chapter}\n" in f"{contents}\n"
    if not exists:
        return escape(told)
    if cell is None or pd.isna(cell):
        return f"[{escape(told)}]({chapter}.ipynb)"
    return f'<a href="{chapter}.html#in-{cell:.0f}">{html_escape(told)}</a>'


def claims_table(board: pd.DataFrame) -> str:
    """The scoreboard as Markdown: one row a record, and one a claim that has none."""
    return table([_claim_cells(row) for row in board.to_dict("records")])


def _claim_cells(row: Mapping[Any, Any]) -> dict[str, str]:
    found = ""
    if pd.notna(row["value"]):
        found = with_interval(row["value"], None if pd.isna(row["low"]) else (row["low"], row["high"]))
        found += "" if pd.isna(row["n"]) else f", n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{row['n']:.0f}"
    beside = [row["variant"], "" if row["headline"] else "control"]
    beside += [f"contributed by {row['contributor']}"] if row["contributor"] else []
    lines = [escape(line) for line in (found, "; ".join(filter(None, beside))) if line]
    where = escape(f"{SOURCES[row['paper']][1]}, {row['where']}")
    return {
        "verdict": "<br>".join(filter(None, [chip(row["verdict"]), row["class"]])),
        "claim": f"{escape(row['statement'])}<br>*{where}*; {chapter_link(row['chapter'], row['cell'])}",
        "reported": escape(row["reported"]),
        "found here": "<br>".join(lines),
    }


def tally(verdicts: Iterable[str]) -> str:
    """``"3 hold, 1 does not, 2 remain open, 4 were not run"``; what is zero is left out."""
    verdicts = list(verdicts)
    words = [
        (HOLD, "holds", "hold"),
        (FAIL, "does not", "do not"),
        (OPEN, "remains open", "remain open"),
        (("not run",), "was not run", "were not run"),
    ]
    counted = [(sum(verdict in group for verdict in verdicts), one, many) for group, one, many in words]
    return ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in counted if number)


def summary(claims: pd.DataFrame) -> str:
    """What was found over all claims, in one sentence (``claims`` from :func:`claim_verdicts`)."""
    own = claims["paper"] == "B"
    papers, ours = claims[~own], claims[own]
    run = papers[papers["verdict"] != "not run"]
    text = f"Of {len(papers)} claims of the two papers, {tally(papers['verdict'])}" if len(papers) else ""
    if len(run):
        same = int((run["class"] == "replication").sum())
        text += f"; of the {len(run)} that were run, {same or 'none'} on the paper's own encoders and data"
    if len(ours):
        asked = f"{'of' if text else 'Of'} {len(ours)} questions of this book's own, {tally(ours['verdict'])}"
        text = "; ".join(filter(None, [text, asked]))
    trial = claims.loc[claims["verdict"] != "not run", "trial"].any()
    return f"{text} ({TRIAL_NOTE})." if trial else f"{text}."


def group_sentences(claims: pd.DataFrame) -> str:
    """One sentence a group, as a Markdown list: the tally, and in words what did not hold."""
    lines = []
    for group, part in claims.groupby("group", sort=False):
        whose = " and ".join(SOURCES[paper][1] for paper in sorted(part["paper"].unique()))
        line = f"**{escape(str(group))}** ({whose}, {len(part)} claims): {tally(part['verdict'])}"
        failed = part[part["verdict"].isin(FAIL)]["statement"]
        if len(failed):
            quoted = "; ".join(f"“{escape(text.rstrip('.'))}”" for text in failed)
            line += f". Not borne out here: {quoted}"
        lines.append(f"- {line}{' (smoke or rehearsal run)' if part['trial'].any() else ''}.")
    return "\n".join(lines)


def cells_table(cells: pd.DataFrame) -> str:
    """Published cells beside ours, as Markdown (``cells`` from :func:`compare_cells`)."""
    rows = []
    for row in cells.to_dict("records"):
        ci = None if pd.isna(row["low"]) else (row["low"], row["high"])
        what = ", ".join(filter(None, [row["data"], row["encoder"], row["method"], row["setting"]]))
        trial = f" ({row['profile']})" if is_trial(row["profile"]) else ""
        rows.append(
            {
                "published cell": f"{escape(row['table'])}: {escape(what)}",
                "metric": escape(row["metric"]),
                "reported": "" if pd.isna(row["reported"]) else number(row["reported"]),
                "ours": with_interval(row["ours"], ci),
                "difference": ""
                if pd.isna(row["difference"])
                else f"{row['difference']:+.3g}".replace("-", "−"),
                "kind of run": escape(f"{row['class']}{trial}"),
                "run on": escape(row["run on"]),
                "measured in": chapter_link(row["chapter"], row["measured in"]),
            }
        )
    return table(rows)


def not_run_table(board: pd.DataFrame) -> str:
    """What has no record, by the one command that runs it; and which of it nothing offline can stand for."""
    claims = load_claims()
    rows = []
    for command, part in board[board["verdict"] == "not run"].groupby("command", sort=True):
        lines = []
        for row in part.to_dict("records"):
            reason = claims[row["claim"]].no_analogue
            lines.append(escape(row["statement"]) + (f" *No stand-in: {escape(reason)}*" if reason else ""))
        rows.append({"command": f"`{command}`", "claims it decides": "<br>".join(lines)})
    return table(rows)
