"""`ibench status`: the progress of an experiment, from any terminal, once or until it ends."""

from __future__ import annotations

import io
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ibench_lib.base.later import later
from ibench_lib.base.wording import count, duration_text
from ibench_lib.cli import known_names, stalls
from ibench_lib.cli.output import err, out, safe
from ibench_lib.errors import LakeError, UsageError
from ibench_lib.paths import Workspace, workspace
from ibench_lib.runner.events import event_log, read_events
from ibench_lib.runner.ledger import is_running

if TYPE_CHECKING:
    from ibench_lib.store import reader
else:
    reader = later("ibench_lib.store.reader")

_ENDS = ("cell_ends", "cell_skipped", "cell_failed", "cell_not_tried")
_MEASURED = ("cell_ends", "cell_failed")
_WATCH_S = 2.0
_MOST_SILENT_S = 10**9
_MOST_LISTED = 8
"""Complete cells that are listed: the last ones."""


def status(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="The experiment; by default the latest one.", autocompletion=known_names.experiments_with_a_file
        ),
    ] = None,
    dips: Annotated[
        bool, typer.Option("--dips", help="Also look for dips, which takes a few seconds of CPU time.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it until the experiment ends.")] = False,
) -> None:
    """Show the progress of an experiment, from any terminal.

    [bold]Example:[/] ibench status --watch
    """
    place = workspace()
    path = _log_of(place, experiment)
    if not watch:
        _print(place, path, dips, out)
        return
    # A terminal shows one picture that changes; anything else gets what is new.
    with Live(console=out, auto_refresh=False) as live:
        while True:
            # A console of its own: what is printed to that of a live picture is drawn above it.
            drawn = Console(file=io.StringIO(), width=out.width, force_terminal=out.is_terminal)
            with drawn.capture() as captured:
                alive = _print(place, path, dips, drawn)
            live.update(Text.from_ansi(captured.get().rstrip()), refresh=out.is_terminal or not alive)
            if not alive:
                return
            time.sleep(_WATCH_S)


def _log_of(place: Workspace, experiment: str | None) -> Path:
    """The event log of an experiment, or the latest one. Raises UsageError where there is none."""
    logs = sorted(place.events.glob("*.jsonl"), key=lambda path: path.stat().st_mtime) if place.events.is_dir() else []
    path = event_log(place, experiment) if experiment else (logs[-1] if logs else None)
    if path is None or not path.is_file():
        known = ", ".join(log.stem for log in logs) or "no experiment yet"
        which = f"experiment {experiment!r:.80}" if experiment else "experiment"
        raise UsageError(f"no {which} has been run here", hint=f"experiments: {known}")
    return path


def _print(place: Workspace, path: Path, dips: bool, to: Console) -> bool:
    """Print what the log says now to a console; whether the experiment goes on."""
    events, damaged = read_events(path)
    if damaged:
        err.print(
            f"[yellow]skipped[/] {damaged} damaged line{'s' * (damaged > 1)} of {safe(str(path))}", soft_wrap=True
        )
    events = _since_last_begin(events)
    if not events:
        raise LakeError(f"no event in {path} can be read", hint="the runs are not affected: `ibench runs` lists them")
    alive = is_running(place) and events[-1]["event"] != "experiment_ends"
    begun, last = events[0], events[-1]
    took = duration_text(((datetime.now(UTC) if alive else _at(last)) - _at(begun)).total_seconds())
    to.print(
        f"{safe(path.stem)}: {_state(last, alive)}, started {_when(begun)}, {took}{' ago' if alive else ' in all'}"
    )
    ended = [event for event in events if event["event"] in _ENDS]
    failed = [event for event in ended if event["event"] == "cell_failed"]
    not_tried = sum(event["event"] == "cell_not_tried" for event in ended)
    again = f", {not_tried} not tried again" if not_tried else ""
    to.print(
        f"{len(ended)} of {count(begun['cells'], 'cell') if 'cells' in begun else '? cells'} ended, "
        f"{len(failed)} failed{again}"
    )
    for event in failed:
        to.print(f"    failed {_when(event)}: {safe(_cell_text(event))}: {safe(event['error'])}", soft_wrap=True)
    complete = [event for event in ended if event["event"] == "cell_ends"]
    if before := sum(event["event"] == "cell_skipped" for event in ended):
        to.print(f"    {before} already complete before it started")
    if len(complete) > _MOST_LISTED:
        to.print(f"    {len(complete) - _MOST_LISTED} complete before these")
    for event in complete[-_MOST_LISTED:]:
        to.print(f"    complete {_when(event)}: {safe(_cell_text(event))}", soft_wrap=True)
    under_way = _under_way(events)
    if alive and (left := _left_text(events, under_way)):
        to.print(left)
    if alive and (silent := _since(events, "scheduler", {"experiment_begins"})):
        to.print(f"no answer of the scheduler for {silent}; cells may go on")
    if alive and under_way:
        for cell in under_way:
            where = f" on {cell['worker']}" if "worker" in cell else ""
            silent = _since(events, "worker", {"cell_begins"}, cell.get("worker")) if where else ""
            missed = f", no heartbeat for {silent}" if silent else ""
            to.print(f"now {cell['number']}/{cell['of']} {safe(_cell_text(cell) + where + missed)}")
        step = next((event for event in reversed(events) if event["event"].startswith("step_")), None)
        if step is not None:
            to.print(f"    {_step_text(step)}")
        if dips:
            stalls.print_running(reader.lake(place), to)
    return alive


def _left_text(events: list[dict[str, Any]], under_way: list[dict[str, Any]]) -> str:
    """How long the rest takes if its cells are as fast as those so far, or as forecast before one has ended.

    Empty where nothing tells, or several run at a time.
    """
    begun: dict[str, datetime] = {}
    took_s = []
    for event in events:
        if event["event"] == "cell_begins":
            begun[_cell_text(event)] = _at(event)
        elif event["event"] in _MEASURED and _cell_text(event) in begun:
            took_s.append((_at(event) - begun.pop(_cell_text(event))).total_seconds())
    ended = sum(event["event"] in _ENDS for event in events)
    if not took_s and (forecast_s := events[0].get("forecast_s")) is not None:
        gone_s = (datetime.now(UTC) - _at(events[0])).total_seconds()
        return f"about {duration_text(max(0.0, forecast_s - gone_s))} left, as forecast"
    if not took_s or len(under_way) > 1 or "cells" not in events[0]:
        return ""
    mean_s = sum(took_s) / len(took_s)
    running_s = sum((datetime.now(UTC) - _at(cell)).total_seconds() for cell in under_way)
    left_s = (events[0]["cells"] - ended) * mean_s - running_s
    return f"about {duration_text(max(0.0, left_s))} left, at {duration_text(mean_s)} a cell so far"


def _when(event: dict[str, Any]) -> str:
    return f"{_at(event):%Y-%m-%d %H:%M} UTC"


def _at(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])


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


def _since(events: list[dict[str, Any]], what: str, begins: set[str], worker: str | None = None) -> str:
    """For how long a scheduler or a worker has been silent; empty if it is not. `begins`: events that end a silence."""
    ends = {f"{what}_back", *begins}
    told = [event for event in events if event["event"] in {f"{what}_silent", *ends} and event.get("worker") == worker]
    if not told or told[-1]["event"] in ends:
        return ""
    before_s = min(max(0, told[-1]["silent_s"]), _MOST_SILENT_S)  # whatever stands in the log
    return duration_text(before_s + max(0.0, (datetime.now(UTC) - _at(told[-1])).total_seconds()))


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
    if step.get("silent_s"):
        rates = [f"no answer for {step['silent_s']:,} s"]
    return f"{text}{share}" + (f", {', '.join(rates)}" if rates else "")
