"""`ibench experiment`: check an experiment before it runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ibench_lib.base.wording import count, duration_text
from ibench_lib.cli import known_names
from ibench_lib.cli.output import done_elsewhere, err, out, safe
from ibench_lib.paths import Workspace, workspace

if TYPE_CHECKING:
    from ibench_lib.experiment.cells import Cell, LoadedExperiment
    from ibench_lib.runner.forecast import Forecast
    from ibench_lib.runner.planned import PlannedCell

app = typer.Typer(
    help="""Check an experiment before it runs.

    [bold]Example:[/] ibench experiment check experiments/demo.yaml
    """,
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="The experiment: a YAML file, such as experiments/demo.yaml.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        help="Only cells whose build, config, setup or result (build.config) matches this pattern (* and ?).",
        autocompletion=known_names.parts_of_cells,
    ),
]
Except = Annotated[
    list[str] | None,
    typer.Option(
        "--except", help="Leave out cells that match this pattern.", autocompletion=known_names.parts_of_cells
    ),
]


@app.command("check")
def experiment_check(experiment: File, only: Only = None, without: Except = None) -> None:
    """List the cells of an experiment with their rows, disk space and time, and let the servers check the options.

    Exit code 2 if a cell that is to run does not fit on the disk.

    [bold]Example:[/] ibench experiment check experiments/demo.yaml
    """
    # Imported here, so that neither a help page nor a shell that completes names waits for what runs cells.
    from ibench_lib.cli.progress import ExperimentProgress
    from ibench_lib.experiment.cells import load_experiment
    from ibench_lib.runner.forecast import Forecaster, most_disk_bytes, total_s
    from ibench_lib.runner.plan import plan_experiment
    from ibench_lib.runner.preflight import examine, require_program
    from ibench_lib.runner.space import require_space
    from ibench_lib.servers.flavours.flavour import flavour_of

    loaded, place = load_experiment(experiment), workspace()
    require_program(loaded.workload, loaded.spec.workload)
    with ExperimentProgress(err, None) as progress:
        planned = plan_experiment(loaded, place, only=only or (), without=without or (), observer=progress)
    for family in sorted({flavour_of(entry.build).family for entry in planned}):
        require_program(loaded.workload, loaded.spec.workload, family)
    forecaster = Forecaster(place)
    table = Table("#", "cell", "server", "rows loaded", "disk", "time", "time based on", box=None, header_style="bold")
    forecasts = []
    rows: dict[tuple[str, ...], list[Cell]] = {}
    for entry in planned:
        forecast = forecaster.cell(loaded, entry)
        forecasts.append(forecast)
        row: tuple[str, ...] = (
            f"{entry.cell.dbms}, {entry.cell.setup.name}",
            entry.build.version,
            f"{forecast.rows:,}",
            f"{(forecast.disk_bytes + forecast.snapshot_bytes) / 1e9:.1f} GB",
            duration_text(forecast.seconds),
            forecast.source,
        )
        rows.setdefault(row, []).append(entry.cell)
    for row, cells in rows.items():
        numbers = ", ".join(str(cell.position) for cell in cells)
        repeats = ", ".join(str(number) for number in sorted(cell.repeat for cell in cells))
        of = f", {'repeat' if len(cells) == 1 else 'repeats'} {repeats}"
        table.add_row(numbers, safe(row[0] + of), *map(safe, row[1:]))
    out.print(table)
    for choice in loaded.spec.build_choices:
        if choice.stands_for:
            out.print(f"{safe(choice.name)} is {safe(choice.build)}, in place of {safe(choice.stands_for)}")
    for line in _snapshots(planned):
        out.print(safe(line), highlight=False, soft_wrap=True)
    most = most_disk_bytes(list(zip(planned, forecasts, strict=True)))
    out.print(
        f"{count(len(planned), 'cell')}, about {duration_text(total_s(forecasts))} in total; "
        f"at most about {most / 1e9:.1f} GB of disk"
    )
    _warn(_advice(loaded, planned, forecasts, place))
    _warn(examine(_needs(list(zip(planned, forecasts, strict=True)), most, place)))
    for entry, forecast in zip(planned, forecasts, strict=True):
        if entry.run_id is None:
            tables = loaded.workload.disk_bytes(loaded.options(entry.cell), entry.steps)
            folders = entry.cell.config.folders
            aside, copied = forecast.snapshot_bytes, entry.sharing is not None
            require_space(entry.build, entry.config, tables, place, aside, folders, copied=copied)


def _advice(
    loaded: LoadedExperiment, planned: list[PlannedCell], forecasts: list[Forecast], place: Workspace
) -> list[str]:
    from ibench_lib.runner.advice import profile_advice, redo_advice

    steps = [step for forecast in forecasts for step in forecast.steps]
    return [*profile_advice(loaded.spec.capture, steps), *redo_advice(planned, place)]


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        out.print(f"[yellow]warning:[/] {safe(warning)}", soft_wrap=True)


def _needs(forecasts: list[tuple[PlannedCell, Forecast]], most: int, place: Workspace) -> list[tuple[Path, int]]:
    """The folders of data, with the most that a cell needs there; what is more is the snapshots'."""
    of_cells = dict[Path, int]()
    for planned, forecast in forecasts:
        folder = planned.cell.config.folders.get("data", place.sandboxes)
        of_cells[folder] = max(of_cells.get(folder, 0), forecast.disk_bytes)
    return [*of_cells.items(), (place.snapshots, most - max(of_cells.values(), default=0))]


@app.command("plan")
def experiment_plan(experiment: File, only: Only = None, without: Except = None) -> None:
    """Show which cells will run, which are already done, and which have changed since they ran.

    It does not ask the servers whether they know the options: `ibench experiment check` does, and `ibench run`.

    [bold]Example:[/] ibench experiment plan experiments/demo.yaml
    """
    from ibench_lib.experiment.cells import load_experiment
    from ibench_lib.runner.forecast import Forecaster, total_s
    from ibench_lib.runner.plan import plan_experiment

    loaded, place = load_experiment(experiment), workspace()
    planned = plan_experiment(loaded, place, only=only or (), without=without or (), fits=False)
    forecaster = Forecaster(place)
    words = {"done": "done", "new": "run", "changed": "run: changed", "again": "run again"}
    table = Table("#", "cell", "", "note", box=None, header_style="bold")
    for entry in planned:
        note = entry.run_id or entry.note
        if entry.run_id is None:
            note = "; ".join(filter(None, (note, entry.rows_from)))
        word = "running now" if entry.what == "again" and (note or "").startswith("running ") else words[entry.what]
        table.add_row(str(entry.cell.position), safe(str(entry.cell)), word, safe(note))
    out.print(table)
    if said := done_elsewhere([e.run_id for e in planned if e.run_id is not None], loaded.name, workspace()):
        out.print(safe(said), soft_wrap=True)
    to_run = [entry for entry in planned if entry.run_id is None]
    left = [forecaster.cell(loaded, entry) for entry in to_run]
    _warn(_advice(loaded, to_run, left, place))
    out.print(f"{len(left)} of {count(len(planned), 'cell')} to run, about {duration_text(total_s(left))}")


def _snapshots(planned: list[PlannedCell]) -> list[str]:
    """A line for each snapshot: the cells that use it, and why they cannot use another one."""
    lines = []
    for entry in planned:
        sharing = entry.sharing
        if sharing and entry.cell.position == sharing.cells[0]:
            used = ", ".join(map(str, sharing.cells))
            apart = f", {sharing.apart}" if sharing.apart else ""
            lines.append(f"snapshot for {'cell' if len(sharing.cells) == 1 else 'cells'} {used}{apart}")
    return lines
