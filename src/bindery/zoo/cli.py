"""``bindery zoo``: train one encoder, run the declared protocol, check or retrain what is shipped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from bindery.zoo.records import ZooCard

app = typer.Typer(help="Tiny encoders that differ in their objective only.", no_args_is_help=True)
console = Console()
Folder = Annotated[Path | None, typer.Option(help="Where runs lie; default: the cache.")]


def _folder(given: Path | None) -> Path:
    from bindery.paths import cache_dir

    return given or cache_dir("zoo")


@app.command()
def train(
    objective: Annotated[str, typer.Option(help="For instance vicreg; a wrong name lists all.")],
    condition: Annotated[str, typer.Option(help="photometric, standard, ...")] = "photometric",
    seed: Annotated[int, typer.Option(help="Of weights, order and views.")] = 0,
    images: Annotated[int | None, typer.Option(help="Budget in images.")] = None,
    backbone: Annotated[str, typer.Option(help="resnet or vit.")] = "resnet",
    option: Annotated[
        list[str] | None, typer.Option(help="NAME=NUMBER of the objective. Repeatable.")
    ] = None,
    folder: Folder = None,
    watch: Annotated[bool, typer.Option(help="Print binding and JER on the way.")] = False,
) -> None:
    """Train one encoder (about a minute) and save it with its card; a stopped training resumes."""
    from bindery import protocol as declared
    from bindery.zoo import release
    from bindery.zoo.train import train as run

    changes = {"backbone": backbone, "options": _options(option or [])} | (
        {"images": images} if images else {}
    )
    config = declared.read().config(objective, condition, seed, **changes)
    config.check()
    target, name = _folder(folder), declared.run_name(config)
    checkpoint = target / f"{name}.checkpoint"
    trained = run(config, checkpoint=checkpoint, callback=_report if watch else None, progress=True)
    card = release.save(trained, target, name)
    checkpoint.unlink(missing_ok=True)
    console.print(
        f"{target / name}.safetensors  loss {card.final_loss:.4g} after {card.images} images", soft_wrap=True
    )


def _options(given: list[str]) -> dict[str, float]:
    from bindery.errors import InputError

    try:
        return {name: float(value) for name, value in (item.split("=", 1) for item in given)}
    except ValueError as error:
        raise InputError(
            f"an option is NAME=NUMBER, for instance covariance=10; got {' '.join(given)}"
        ) from error


def _report(step: int, state: object) -> None:
    """A line on binding and JER of a training under way."""
    from bindery import measurement
    from bindery.protocol import read
    from bindery.zoo.train import Trained

    assert isinstance(state, Trained)
    plan = read().benchmark.model_copy(update={"trials": 200, "exact_trials": 100, "jacobian_images": 4})
    size = state.config.size
    row = measurement.binding_row(state.backbone, size, plan) | measurement.jacobian_row(
        state.backbone, size, plan
    )
    told = {"binding": row["jitter_accuracy"], "swap": row["jitter_swap"], "JER": row["jer"]}
    console.print(f"step {step}  " + "  ".join(f"{key} {value:.3f}" for key, value in told.items()))


@app.command("list")
def list_encoders() -> None:
    """Show the shipped encoders."""
    from bindery.zoo import release

    table = Table(box=None, pad_edge=False)
    for column in ("name", "family", "condition", "backbone", "D", "seed", "images", "loss"):
        table.add_column(column)
    for card in release.cards().values():
        table.add_row(
            card.name, card.family, card.condition, card.backbone, str(card.dim), str(card.seed),
            str(card.images), f"{card.final_loss:.4g}",
        )  # fmt: skip
    console.print(table)


@app.command()
def run(
    folder: Folder = None, limit: Annotated[int | None, typer.Option(help="At most so many.")] = None
) -> None:
    """Train the declared encoders in their order; what is there is kept. About 94 x 30 CPU seconds."""
    from bindery import protocol as declared

    protocol = declared.read()
    plan = [*protocol.plan(), *declared.additions(protocol)]
    for done, card in enumerate(declared.run(plan, _folder(folder)), start=1):
        console.print(f"{card.name}  loss {card.final_loss:.4g}")
        if limit is not None and done >= limit:
            break


@app.command()
def measure(
    folder: Folder = None,
    output: Annotated[Path | None, typer.Option(help="Default: results/zoo.parquet.")] = None,
) -> None:
    """Measure every trained encoder of the protocol, the nulls and the pixels; what was measured is kept."""
    from bindery import zoo_results
    from bindery.paths import results_dir

    written = zoo_results.measure_all(_folder(folder), output or results_dir() / "zoo.parquet", console.print)
    console.print(f"{written} encoders measured")


@app.command()
def align(
    folder: Folder = None,
    output: Annotated[Path | None, typer.Option(help="Default: results/zoo_alignment.parquet.")] = None,
) -> None:
    """Measure the loss gradients of every trained encoder of the headline condition, ten seconds each."""
    from bindery import zoo_alignment
    from bindery.paths import results_dir

    target = output or results_dir() / zoo_alignment.TABLE
    console.print(f"{zoo_alignment.measure_all(_folder(folder), target, console.print)} encoders measured")


@app.command()
def check(
    name: Annotated[str, typer.Argument(help="A shipped encoder.")],
    seed: Annotated[int | None, typer.Option(help="Retrain with another seed.")] = None,
) -> None:
    """Retrain a shipped encoder (about a minute) and compare its binding with the shipped one's interval."""
    from bindery import zoo_results

    told, agrees = zoo_results.check(name, seed)
    console.print(told)
    raise typer.Exit(0 if agrees else 1)


@app.command()
def retrain(
    name: Annotated[str | None, typer.Argument(help="A shipped encoder; all when left out.")] = None,
    folder: Folder = None,
    dry: Annotated[bool, typer.Option("--dry", help="Only tell what it costs.")] = False,
) -> None:
    """Train shipped encoders again from their cards, about half a CPU minute each, into a folder of yours."""
    from bindery.zoo import release

    chosen = [release.card(name)] if name else list(release.cards().values())
    _tell_cost(chosen)
    if dry:
        return
    from bindery.zoo.train import train as run_training

    for card in chosen:
        trained = run_training(card.config(), progress=True)
        again = release.save(trained, _folder(folder), card.name)
        console.print(f"{card.name}  loss {again.final_loss:.4g} (shipped: {card.final_loss:.4g})")


def _tell_cost(chosen: list[ZooCard]) -> None:
    """CPU time of trainings as it was measured when they were made, where the table of the run knows it."""
    from bindery import zoo_results
    from bindery.errors import DataError

    try:
        took = zoo_results.read().drop_duplicates("weights_sha256").set_index("weights_sha256")
    except DataError:
        console.print(f"{len(chosen)} trainings; their CPU time is not on record here")
        return
    seconds = [float(took["training_cpu_s"].get(card.sha256, float("nan"))) for card in chosen]
    known = [value for value in seconds if value == value]
    for card, value in zip(chosen, seconds, strict=True):
        console.print(
            f"{card.name}  {card.images:,} images, "
            + (f"{value:.0f} CPU s" if value == value else "no record")
        )
    if known:
        mean = sum(known) / len(known)
        console.print(
            f"{len(chosen)} trainings, about {mean * len(chosen) / 3600:.2f} CPU hours on one thread"
        )


@app.command()
def tune(
    output: Annotated[Path | None, typer.Option(help="Default: results/zoo_tuning.parquet.")] = None,
) -> None:
    """Repeat the protocol's choice of learning rates: probes and losses only, never the binding task."""
    from bindery import protocol as declared
    from bindery.paths import results_dir

    table = declared.tune(declared.read(), progress=True)
    table.to_parquet(output or results_dir() / "zoo_tuning.parquet")
    console.print(table.to_string())


@app.command()
def ship(
    names: Annotated[list[str], typer.Argument(help="Runs, such as vicreg-s0.")],
    folder: Folder = None,
) -> None:
    """Copy runs into the shipped weights (for maintainers; 12 MB in all)."""
    from bindery.zoo import release

    for card in release.ship(names, _folder(folder)):
        console.print(f"{card.name}  {card.bytes:,} bytes")
