"""Blind baselines on SugarCrepe's captions, written to ``results/sugarcrepe_blind.json``.

    python tools/measure_sugarcrepe_blind.py

Takes the caption files beside the checkout or below BINDERY_DATA, else downloads them; their checksums are
verified either way. A few seconds; chapter 13 shows these numbers where the captions cannot be had, and compares
where they can.
"""

from __future__ import annotations

import json

from bindery import data, provenance
from bindery.captions import blind_table, sugar_crepe
from bindery.data import where
from bindery.data.downloads import read_checksums
from bindery.errors import DataError
from bindery.paths import results_dir

FOLDS, SEED = 5, 13


def main() -> None:
    try:
        folder = where.find("sugar-crepe")
    except DataError:
        folder = data.download("sugar-crepe")
    data.verify("sugar-crepe", folder)
    table = blind_table(sugar_crepe(folder), folds=FOLDS, seed=SEED)
    content = {
        "about": "What can be answered on SugarCrepe without the image; shares of pairs, ties worth one half.",
        "data": {"credit": where.credit("sugar-crepe"), "sha256": read_checksums("sugar-crepe.sha256")},
        "protocol": {
            "shorter": "fewer characters", "bag_of_words": f"word counts, {FOLDS} folds over photographs, seed {SEED}",
            "order_only": "same words, each as often", "interval": "95 %, Wilson with errors clustered by photograph",
        },
        "provenance": {"command": "python tools/measure_sugarcrepe_blind.py", "commit": provenance.commit(),
                       "versions": provenance.versions(["bindery", "numpy", "scikit-learn", "scipy"])},
        "rows": {name: {key: round(float(value), 6) for key, value in row.items()} for name, row in table.iterrows()},
    }  # fmt: skip
    path = results_dir() / "sugarcrepe_blind.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table.round(3).to_string())


if __name__ == "__main__":
    main()
