"""Reading all records of a build, and taking in somebody else's."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from bindery.errors import DataError, InputError
from bindery.ledger.records import RecordFile, read_file, records_folder, slug, write_file
from bindery.paths import project_root, results_dir

# In bytes of UTF-8 four times as much at most, which every file system takes.
_NAME_LENGTH = 40


def load_records(folder: str | os.PathLike[str] | None = None) -> list[RecordFile]:
    """Every record file of ``folder``; by default of this build, of ``results/records`` and contributions.

    Raises
    ------
    DataError
        A file that does not validate, in one line; or ``folder`` was given and is not there.
    """
    if folder is not None and not Path(folder).is_dir():
        raise DataError(f"{folder} is no folder of record files")
    if folder is not None:
        folders = [Path(folder)]
    else:
        folders = [records_folder(), results_dir() / "records", contributed_folder()]
    return [read_file(path) for each in folders if each.is_dir() for path in sorted(each.glob("*.json"))]


def contributed_folder() -> Path:
    """Where imported record files go: ``results/contributed`` of the checkout."""
    return project_root() / "results" / "contributed"


def import_records(file: str | os.PathLike[str], contributor: str | None = None) -> Path:
    """Take in a record file from another run: checked, stamped *contributed*, never over an existing one.

    It goes to ``results/contributed/<contributor>-<first 12 hex digits of the content>.json``
    (``anonymous-…`` without a name), so that one person can send any number of chapters; the same file
    again is recognised and changes nothing.

    Returns
    -------
    Path
        The file written, or the one that already holds the same content.

    Raises
    ------
    DataError
        The file does not validate: one line naming the field.
    InputError
        A contributor's name without a letter or digit; or the file holds nothing.
    """
    content = read_file(Path(file))
    if not content.records and not content.measurements:
        raise InputError(f"{Path(file).name}: holds no record and no measurement")
    name = slug(contributor)[:_NAME_LENGTH] if contributor else "anonymous"
    if not name:
        raise InputError(f"contributor must hold a letter or a digit; got {contributor!r}")
    stamp = {"contributed": True, "contributor": contributor}
    stamped = content.model_copy(
        update={
            "records": [item.model_copy(update=stamp) for item in content.records],
            "measurements": [item.model_copy(update=stamp) for item in content.measurements],
        }
    )
    digest = hashlib.sha256(stamped.to_json().encode()).hexdigest()[:12]
    target = contributed_folder() / f"{name}-{digest}.json"
    if not target.exists():
        write_file(stamped, target)
    return target
