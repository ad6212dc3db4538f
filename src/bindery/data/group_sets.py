"""Readers of Waterbirds and CelebA, the group-robustness sets of Paper G."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bindery.data import where
from bindery.data.composition import CompositionDataset
from bindery.data.folder import from_files
from bindery.data.images import SUFFIXES
from bindery.errors import DataError

PARTS = ("train", "val", "test")
# (attribute, object): images in train, val, test.
WATERBIRDS = {
    ("land", "landbird"): (3498, 467, 2255),
    ("water", "landbird"): (184, 466, 2255),
    ("land", "waterbird"): (56, 133, 642),
    ("water", "waterbird"): (1057, 133, 642),
}
CELEBA = {
    ("female", "dark"): (71629, 8535, 9767),
    ("male", "dark"): (66874, 8276, 7535),
    ("female", "blonde"): (22880, 2874, 2480),
    ("male", "blonde"): (1387, 182, 180),
}


def waterbirds(
    root: str | Path | None = None, *, check_counts: bool = True, bad: str = "raise"
) -> CompositionDataset:
    """Waterbirds: attribute place (land, water), object kind (landbird, waterbird), official parts.

    Reads ``metadata.csv`` of ``waterbird_complete95_forest2water2``; the images may stand in the publisher's
    bird folders or in prepared ``images/<attribute>_<object>/``. Nothing is moved.

    Raises
    ------
    DataError
        A file is missing, a column is, or a group's count is not the published one.
    """
    key = "waterbirds"
    folder = where.find(key, root)
    if (
        not (folder / "metadata.csv").exists()
        and (inner := folder / "waterbird_complete95_forest2water2").is_dir()
    ):
        folder = inner
    (table,) = where.require(key, folder, "metadata.csv")
    frame = _table(table, ("img_filename", "y", "split", "place"))
    labels = {
        "place": frame["place"].astype(int).map({0: "land", 1: "water"}),
        "kind": frame["y"].astype(int).map({0: "landbird", 1: "waterbird"}),
    }
    return _grouped(key, folder, frame["img_filename"], frame["split"], labels, WATERBIRDS, check_counts, bad)


def celeba(
    root: str | Path | None = None, *, check_counts: bool = True, bad: str = "raise"
) -> CompositionDataset:
    """CelebA: attribute gender (female, male), object hair (dark, blonde), official parts.

    Reads ``list_attr_celeba`` and ``list_eval_partition`` as .csv or .txt; the images may stand in
    ``img_align_celeba/`` (nested or not) or in prepared ``images/<attribute>_<object>/``. Nothing is moved.

    Raises
    ------
    DataError
        A file is missing, a column is, or a group's count is not the published one.
    """
    key = "celeba"
    folder = where.find(key, root)
    attributes = _celeba_table(folder, "list_attr_celeba")
    partition = _celeba_table(folder, "list_eval_partition")
    frame = attributes.merge(partition, on="image_id", how="inner")
    if len(frame) != len(attributes):
        raise DataError(
            f"{key}: {len(attributes) - len(frame):,} images of list_attr_celeba have no part; "
            "get both lists again"
        )
    labels = {
        "gender": (frame["Male"].astype(int) == 1).map({True: "male", False: "female"}),
        "hair": (frame["Blond_Hair"].astype(int) == 1).map({True: "blonde", False: "dark"}),
    }
    return _grouped(key, folder, frame["image_id"], frame["partition"], labels, CELEBA, check_counts, bad)


def _table(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    frame = pd.read_csv(path)
    if absent := [column for column in columns if column not in frame]:
        raise DataError(f"{path}: no column {absent[0]!r}; expected {', '.join(columns)}")
    return frame


def _celeba_table(folder: Path, name: str) -> pd.DataFrame:
    """One of CelebA's two lists, as .csv (Kaggle) or .txt (authors)."""
    columns = ("Male", "Blond_Hair") if name == "list_attr_celeba" else ("partition",)
    if (folder / f"{name}.csv").exists():
        return _table(folder / f"{name}.csv", ("image_id", *columns))
    (path,) = where.require("celeba", folder, f"{name}.txt")
    if name == "list_eval_partition":
        return pd.read_csv(path, sep=r"\s+", header=None, names=["image_id", "partition"])
    # First a line with the number of images, then one with the names of the attributes.
    frame = pd.read_csv(path, sep=r"\s+", skiprows=1)
    return frame.rename_axis("image_id").reset_index()


def _grouped(
    key: str,
    folder: Path,
    files: pd.Series,
    parts: pd.Series,
    labels: dict[str, pd.Series],
    counts: dict[tuple[str, str], tuple[int, int, int]],
    check_counts: bool,
    bad: str,
) -> CompositionDataset:
    attribute, thing = labels
    for name, column in labels.items():
        if column.isna().any():
            raise DataError(
                f"{key}: row {int(column.isna().argmax())} has an unknown {name}; expected 0 or 1"
            )
    official = parts.astype(int).map(dict(enumerate(PARTS))).fillna("")
    if check_counts and not where.rehearsing():
        groups = zip(labels[attribute], labels[thing], official, strict=True)
        found = pd.Series(list(groups)).value_counts()
        for (a, o), expected in counts.items():
            for part, count in zip(PARTS, expected, strict=True):
                where.check_count(key, f"{part} images of {a} {o}", int(found.get((a, o, part), 0)), count)
    paths = _locate(key, folder, files, labels[attribute] + "_" + labels[thing])
    values = {name: column.tolist() for name, column in labels.items()}
    return from_files(
        key, folder, paths, values, bad=bad, pair=(attribute, thing), sources={"file": files.tolist()},
        official=official.tolist(), credit=where.credit(key),
    )  # fmt: skip


def _locate(key: str, folder: Path, files: pd.Series, groups: pd.Series) -> list[Path]:
    """The path of every image, at its own name below ``folder`` or ``img_align_celeba``, or prepared."""
    present = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES
    }
    paths, lost = [], []
    for file, group in zip(files, groups, strict=True):
        options = (
            file,
            f"img_align_celeba/{file}",
            f"img_align_celeba/img_align_celeba/{file}",
            f"images/{group}/{Path(file).name}",
            f"images/{file}",
        )
        found = next((option for option in options if option in present), None)
        if found is None:
            lost.append(file)
        else:
            paths.append(folder / found)
    if lost:
        raise DataError(where.missing(key, f"{len(lost):,} images (such as {lost[0]}) below {folder}"))
    return paths
