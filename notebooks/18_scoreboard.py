# ---
# jupyter:
#   bindery:
#     title: The scoreboard
#     minutes: 10
#     needs:
#       data: []
#       results: ["book/claims.yml", "book/reported/*.csv", "contributed/*.json", "records/*.json"]
#       records: ["*"]
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The scoreboard: what was claimed, what was found
#
# Every statement of the two papers that a measurement can decide stands here with its verdict. Nobody typed a verdict:
# a chapter records a number with its interval, the claim carries the rule, and this page joins the two.

# %% tags=["parameters", "hide-input"]
from typing import Literal

paper: Literal["both", "G", "S", "B"] = "both"  # whose claims to show; B: the questions of this book

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import Markdown, display

from bindery import figures, ledger
from bindery.chapter import start
from bindery.ledger import markdown

chapter = start(globals())

files = ledger.load_records()
board, claims = ledger.scoreboard(files), ledger.claim_verdicts(files)
if paper != "both":
    board, claims = board[board["paper"] == paper], claims[claims["paper"] == paper]
chapter.glue("found_summary", markdown.summary(claims))

# %% tags=["remove-input"] mystnb={"markdown_format": "myst"}
display(Markdown(f"**{markdown.summary(claims)}**"))

# %% tags=["remove-input"]
counts = pd.crosstab(claims["group"], claims["verdict"])
counts = counts.reindex(index=claims["group"].unique(), columns=[v for v in ledger.VERDICTS if v in counts])
papers = claims.groupby("group")["paper"].first()

fig, axes = plt.subplots(figsize=(7, 0.42 * len(counts) + 1.3))
left = pd.Series(0, index=counts.index)
for verdict in counts:
    width = counts[verdict]
    color = figures.color_of(verdict)
    ink = "white" if verdict in ("supports", "contradicts", "inconclusive", "not comparable") else "black"
    axes.barh(counts.index, width, left=left, color=color, edgecolor="white", label=verdict, height=0.7)
    for row, (start_at, number) in enumerate(zip(left, width, strict=True)):
        if number:
            axes.text(
                start_at + number / 2, row, str(number), ha="center", va="center", color=ink, fontsize=9
            )
    left = left + width
axes.set_yticks(range(len(counts)), [f"{group} ({papers[group]})" for group in counts.index])
axes.invert_yaxis()
axes.set_xlabel("claims")
axes.grid(visible=False, axis="y")
trial = claims["trial"].any()
title = "smoke or rehearsal run" if trial else None
fig.legend(loc="outside lower center", ncols=min(4, len(counts.columns)), title=title)

told = "; ".join(
    f"{group}: " + ", ".join(f"{number} {verdict}" for verdict, number in row.items() if number)
    for group, row in counts.iterrows()
)
chapter.figure(
    fig,
    name="scoreboard",
    alt=f"Stacked bars of the number of claims by verdict, one bar a group of claims. {told}.",
    caption="Claims by verdict, one bar a group; the letter is the paper."
    + (f" This is {markdown.TRIAL_NOTE}." if trial else ""),
)

# %% tags=["remove-input"] mystnb={"markdown_format": "myst"}
display(Markdown(markdown.group_sentences(claims)))

# %% [markdown]
# ## How a verdict comes about
#
# | kind of claim | supports, reproduced | contradicts, differs | otherwise |
# |---|---|---|---|
# | *order*: one thing is larger than another | the whole 95 % interval lies on the claimed side | it lies on the other | inconclusive |
# | *null*: a correlation is near zero | the interval lies within ±.3 | it excludes zero | inconclusive |
# | *value*: a number | the published value lies in our interval, or within the stated tolerance | it does not | without either: not comparable |
#
# A run is a **replication** when every encoder and every data set in it is one that the paper used for that claim, and an
# **analogue** otherwise: then a disagreement may lie in the stand-in rather than in the paper, and an agreement is evidence that
# the claim reaches further than its own encoders. Which checkpoints and stimuli Paper S used is not known to us, so that every run of it
# is an analogue. Several records of one claim that disagree make it *mixed*.

# %% [markdown]
# ## Every claim
#
# Sorted by verdict. A claim that fails here is shown as failing; one measured in several ways has a row for each.

# %% tags=["remove-input"] mystnb={"markdown_format": "myst"}
display(Markdown(markdown.claims_table(board)))

# %% [markdown]
# ## Cell by cell
#
# Published numbers that a run here stands beside. *Difference* is ours less theirs; only a replication makes it a statement about the
# paper.

# %% tags=["remove-input"] mystnb={"markdown_format": "myst"}
cells = ledger.compare_cells(files)
if paper != "both":
    cells = cells[cells["paper"] == paper]
if len(cells):
    display(Markdown(markdown.cells_table(cells)))
else:
    display(
        Markdown(
            "No run in this build names a published cell: the papers' encoders and data are not on this machine."
        )
    )

# %% [markdown]
# The papers' tables as printed, for reading beside it.

# %% tags=["remove-input", "hide-output"]
published = ledger.reported_cells()
for (whose, name), part in published[published["value"].notna()].groupby(["paper", "table"], sort=True):
    if paper in ("both", whose):
        keys = [key for key in ("data", "encoder", "setting", "method") if part[key].nunique() > 1] or [
            "method"
        ]
        wide = part.pivot_table(index=keys, columns="metric", values="value", sort=False)
        display(Markdown(f"**Paper {whose}, {name}**"))
        display(wide.style.format("{:.4g}", na_rep="").set_table_attributes('class="dataframe"'))

# %% [markdown]
# ## What was not run here, and how to run it
#
# Each command runs one chapter with the real encoders and data (it says what to download and what it costs before it starts) and
# leaves a record file, `book/chapters/records/<chapter>.json`. Send that file to the project. `bindery results import FILE` checks it,
# adds it to this page and stamps every row of it *contributed*; it never replaces a record that is there.

# %% tags=["remove-input"] mystnb={"markdown_format": "myst"}
missing = markdown.not_run_table(board)
display(Markdown(missing or "Every claim has a record."))

# %% [markdown]
# ## What this page cannot tell
#
# The rules are ours: another reader may set another band for "near zero" or another tolerance, and
# `book/claims.yml` is where to do so. An interval says how far a number would move over other images, splits, seeds or encoders of the same kind (the record says over
# which; random splits of one set overlap, and seeds of one objective are no new objectives), not
# over other ways to set up the experiment; where a choice matters, the chapter shows each choice. And the number of verdicts of a
# kind is no score of a paper: a claim is here because it can be measured, not because it carries weight.
#
# :::{exercise}
# :label: ex-scoreboard-band
# Change the band of the null claims from ±.3 to ±.1 in `bindery.ledger.claims`, rebuild, and say which verdicts moved. With 26
# encoders, how small must an observed correlation be for its interval to fit into ±.3 at all?
# :::
