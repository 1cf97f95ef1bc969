"""`ibench experiment`: check an experiment before it runs. `ibench status`: show its progress."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ibench_lib.base.wording import count
from ibench_lib.cli import stalls
from ibench_lib.cli.output import done_elsewhere, err, out, safe
from ibench_lib.cli.progress import duration_text
from ibench_lib.errors import LakeError, UsageError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.lake import reader
from ibench_lib.paths import workspace
from ibench_lib.run.events import event_log, read_events
from ibench_lib.run.forecast import Forecaster, most_disk_bytes, total_s
from ibench_lib.run.ledger import is_running
from ibench_lib.run.plan import plan_experiment
from ibench_lib.run.planned import Planned
from ibench_lib.run.preflight import examine

app = typer.Typer(
    help="""Check an experiment before it runs.

    [bold]Example:[/] ibench experiment check experiments/demo.yaml
    """,
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="The experiment: a YAML file, such as experiments/demo.yaml.")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="Only cells whose build, config, setup or dbms matches this pattern (* and ?)."),
]
Except = Annotated[list[str] | None, typer.Option("--except", help="Leave out cells that match this pattern.")]


@app.command("check")
def experiment_check(experiment: File, only: Only = None, without: Except = None) -> None:
    """List the cells of an experiment with their rows, disk space and time, and let the servers check the options.

    [bold]Example:[/] ibench experiment check experiments/demo.yaml
    """
    loaded, place = load_experiment(experiment), workspace()
    planned = plan_experiment(loaded, place, only=only or (), without=without or ())
    forecaster = Forecaster(place)
    table = Table("#", "cell", "server", "rows loaded", "disk", "time", "time based on", box=None, header_style="bold")
    forecasts = []
    for entry in planned:
        forecast = forecaster.cell(loaded, entry)
        forecasts.append(forecast)
        table.add_row(
            str(entry.cell.position),
            safe(str(entry.cell)),
            safe(entry.build.version),
            f"{forecast.rows:,}",
            f"{(forecast.disk_bytes + forecast.snapshot_bytes) / 1e9:.1f} GB",
            duration_text(forecast.seconds),
            forecast.source,
        )
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
    for warning in examine(place, most):
        out.print(f"[yellow]warning:[/] {safe(warning)}", soft_wrap=True)


@app.command("plan")
def experiment_plan(experiment: File, only: Only = None, without: Except = None) -> None:
    """Show which cells will run, which are already done, and which have changed since they ran.

    [bold]Example:[/] ibench experiment plan experiments/demo.yaml
    """
    loaded, place = load_experiment(experiment), workspace()
    planned = plan_experiment(loaded, place, only=only or (), without=without or ())
    forecaster = Forecaster(place)
    words = {"done": "done", "new": "run", "changed": "run: changed", "again": "run again"}
    table = Table("#", "cell", "", "note", box=None, header_style="bold")
    for entry in planned:
        note = entry.run_id or entry.note
        if entry.run_id is None:
            note = "; ".join(filter(None, (note, entry.rows_from)))
        table.add_row(str(entry.cell.position), safe(str(entry.cell)), words[entry.what], safe(note))
    out.print(table)
    if said := done_elsewhere([e.run_id for e in planned if e.run_id is not None], loaded.name, workspace()):
        out.print(safe(said), soft_wrap=True)
    left = [forecaster.cell(loaded, entry) for entry in planned if entry.run_id is None]
    out.print(f"{len(left)} of {count(len(planned), 'cell')} to run, about {duration_text(total_s(left))}")


def status(
    experiment: Annotated[str | None, typer.Argument(help="Its name; by default the latest experiment.")] = None,
    dips: Annotated[bool, typer.Option("--dips", help="Also look for dips: takes seconds of a CPU here.")] = False,
) -> None:
    """Show the progress of an experiment, from any terminal.

    [bold]Example:[/] ibench status
    """
    place = workspace()
    logs = sorted(place.events.glob("*.jsonl"), key=lambda path: path.stat().st_mtime) if place.events.is_dir() else []
    path = event_log(place, experiment) if experiment else (logs[-1] if logs else None)
    if path is None or not path.is_file():
        known = ", ".join(log.stem for log in logs) or "no experiment yet"
        which = f"experiment {experiment!r:.80}" if experiment else "experiment"
        raise UsageError(f"no {which} has been run here", hint=f"experiments: {known}")
    events, damaged = read_events(path)
    if damaged:
        err.print(
            f"[yellow]skipped[/] {damaged} damaged line{'s' * (damaged > 1)} of {safe(str(path))}", soft_wrap=True
        )
    events = _since_last_begin(events)
    if not events:
        raise LakeError(f"{path} has no event that can be read", hint="the runs are whole: `ibench runs` lists them")
    alive = is_running(place) and events[-1]["event"] != "experiment_ends"
    begun, last = events[0], events[-1]
    out.print(f"{safe(path.stem)}: {_state(last, alive)}, started {safe(begun['at'][:16])} UTC")
    ended = [event for event in events if event["event"] in _ENDS]
    failed = [event for event in ended if event["event"] == "cell_failed"]
    not_tried = sum(event["event"] == "cell_not_tried" for event in ended)
    again = f", {not_tried} not tried again" if not_tried else ""
    out.print(
        f"{len(ended)} of {count(begun['cells'], 'cell') if 'cells' in begun else '? cells'} ended, "
        f"{len(failed)} failed{again}"
    )
    for event in failed:
        when = f"{datetime.fromisoformat(event['at']):%Y-%m-%d %H:%M} UTC"
        out.print(f"    failed {when}: {safe(_cell_text(event))}: {safe(event['error'])}", soft_wrap=True)
    under_way = _under_way(events)
    if alive and under_way:
        for cell in under_way:
            where = f" on {cell['worker']}" if "worker" in cell else ""
            out.print(f"now {cell['number']}/{cell['of']} {safe(_cell_text(cell) + where)}")
        step = next((event for event in reversed(events) if event["event"].startswith("step_")), None)
        if step is not None:
            out.print(f"    {_step_text(step)}")
        if dips:
            stalls.print_running(reader.lake(place))


def _snapshots(planned: list[Planned]) -> list[str]:
    """A line for each snapshot: the cells that use it, and why they cannot use another one."""
    lines = []
    for entry in planned:
        sharing = entry.sharing
        if sharing and entry.cell.position == sharing.cells[0]:
            used = ", ".join(map(str, sharing.cells))
            apart = f", {sharing.apart}" if sharing.apart else ""
            lines.append(f"snapshot for {'cell' if len(sharing.cells) == 1 else 'cells'} {used}{apart}")
    return lines


def _since_last_begin(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    begins = [number for number, event in enumerate(events) if event["event"] == "experiment_begins"]
    return events[begins[-1] :] if begins else events


def _under_way(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The begin events of cells that have not ended; several if other hosts run cells."""
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["event"] == "cell_begins":
            found[_cell_text(event)] = event
        elif event["event"] in ("cell_ends", "cell_failed", "cell_lost"):
            found.pop(_cell_text(event), None)
    return list(found.values())


def _cell_text(event: dict[str, Any]) -> str:
    return f"{event['dbms']}, {event['setup']}, repeat {event['repeat']}"


def _state(last: dict[str, Any], alive: bool) -> str:
    if alive:
        return "running"
    return str(last["outcome"]) if last["event"] == "experiment_ends" else "its runner was killed"


def _step_text(step: dict[str, Any]) -> str:
    ago = (datetime.now(UTC) - datetime.fromisoformat(step["at"])).total_seconds()
    text = f"{step['step']}: {step['event'].removeprefix('step_')}, {duration_text(max(0.0, ago))} ago"
    rates = [f"{rate:,} {label}" for label, rate in step.get("rates", {}).items()]
    share = f", {step['share']:.0%}" if step.get("share") is not None else ""
    return f"{text}{share}" + (f", {', '.join(rates)}" if rates else "")


_ENDS = ("cell_ends", "cell_skipped", "cell_failed", "cell_not_tried")
