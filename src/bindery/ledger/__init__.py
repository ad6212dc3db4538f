"""The ledger: what the papers state, what was measured here, and what follows from both.

Claims live in ``book/claims.yml``, published cells in ``book/reported``. A chapter records numbers; verdict
and class are computed from the claim's rule and never typed.
"""

from __future__ import annotations

from bindery.ledger.claims import Claim, claim, load_claims
from bindery.ledger.files import contributed_folder, import_records, load_records
from bindery.ledger.records import Measurement, Record, RecordFile, read_file, records_folder
from bindery.ledger.reported import reported_cells
from bindery.ledger.scoreboard import (
    chapter_command,
    claim_verdicts,
    compare_cells,
    scoreboard,
)
from bindery.ledger.verdict import VERDICTS, class_of, overall, verdict
from bindery.ledger.writing import begin, measure, measured, record, value_of

__all__ = [
    "VERDICTS", "Claim", "Measurement", "Record", "RecordFile", "begin", "chapter_command", "claim",
    "claim_verdicts", "class_of", "compare_cells", "contributed_folder", "import_records", "load_claims",
    "load_records", "measure", "measured", "overall", "read_file", "record", "records_folder",
    "reported_cells", "scoreboard", "value_of", "verdict",
]  # fmt: skip
