"""What a post is about in a compact strip: servers, configurations, setups, runs, load, steps, seconds, host, gaps."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import datetime

import polars as pl

from ibench_lib.analysis.frames import hosts_differ, listed, repeats, steps_of
from ibench_lib.base.wording import MOST_NAMED, NOT_MEASURED, count, duration_text, joined, shortened
from ibench_lib.show.kit.display import Html, sources
from ibench_lib.show.kit.statements import complete, results

QUESTIONS = ("selected_runs", "step_throughput", "hosts", "gaps")
"""Whose answers it is made from, in the order of its parameters."""

_MOST_SIZED = 2
"""Setups that have their sizes behind their names, at most."""

_MOST_STEPS = 4
"""Steps that have their seconds next to their names, at most."""


def what_was_run(runs: pl.DataFrame, rates: pl.DataFrame, hosts: pl.DataFrame, gaps: pl.DataFrame) -> Html:
    """The strip, of the answers of `QUESTIONS`; a fact that is not known has no place in it, and of no run it is empty.

    What has many names is counted, and the first of them are named.
    """
    facts = [(name, text) for name, text in _facts(runs, rates, hosts, gaps) if text]
    if runs.is_empty() or not facts:
        return Html()
    cells = "".join(f"<div><dt>{name}</dt><dd>{html.escape(text)}</dd></div>" for name, text in facts)
    head = f'<p class="key">What was run{sources(*QUESTIONS)}</p>'
    return Html(f'<div class="ran" role="group" aria-label="What was run">{head}<dl>{cells}</dl></div>')


def setups_said(runs: pl.DataFrame, data: pl.DataFrame) -> str:
    """Such as: setup cached (database files of 45 to 252 MiB, buffer pool of 40 MiB).

    Sizes are those of the files at their largest, from the smallest to the largest of the runs (`data_and_cache`); they
    stand behind a few setups, not behind many.
    """
    setups = listed(runs["setup"])
    sized = [f"{setup}{_sizes_said(data.filter(setup=setup))}" for setup in setups]
    return f"{'setups' if setups[1:] else 'setup'} {joined(sized if len(setups) <= _MOST_SIZED else setups)}"


def _sizes_said(data: pl.DataFrame) -> str:
    """In brackets what is known of the database and of each kind of cache; empty if nothing is."""
    sizes = {"database files": data["data_bytes"].drop_nulls().to_list()}
    for row in data.drop_nulls(["cache", "cache_bytes"]).to_dicts():
        sizes.setdefault(row["cache"], []).append(row["cache_bytes"])
    said = [f"{what} of {_range_said(min(of), max(of))}" for what, of in sizes.items() if of]
    return f" ({', '.join(said)})" if said else ""


def _range_said(least: int, most: int) -> str:
    """Such as 40 MiB, 45 to 252 MiB, 512 MiB to 4 GiB: the unit is said once if it is that of both."""
    ends = list(dict.fromkeys(map(_size, (least, most))))
    if len({unit for _, unit in ends}) == 1:
        return f"{' to '.join(number for number, _ in ends)}\N{NO-BREAK SPACE}{ends[0][1]}"
    return " to ".join("\N{NO-BREAK SPACE}".join(end) for end in ends)


def _size(of: int) -> tuple[str, str]:
    """Number and unit: whole units from 10 on, else to one decimal."""
    divisor, unit = (2**30, "GiB") if of >= 2**30 else (2**20, "MiB") if of >= 2**20 else (2**10, "KiB")
    return f"{of / divisor:.{0 if of >= 10 * divisor else 1}f}".removesuffix(".0"), unit


def clients_said(runs: pl.DataFrame, rates: pl.DataFrame) -> list[str]:
    """Such as 2 clients, or 2 clients with 4 and 16 connections in all where a client has several in a step of a kind.

    Up to 2 clients where a step has fewer connections than there are clients.
    Those of the results of complete steps count (`step_throughput`). None if no run says how many clients it has.
    """
    clients = listed(runs["clients"])
    if not clients:
        return []
    done = results(rates.filter(pl.col("step_status") == "complete"))
    most = done.group_by("setup", "kind", "step").agg(pl.max("clients", "connections"))
    shared = most.filter(pl.col("connections") != pl.col("clients"))
    several = sorted(set(most.join(shared, on="kind", how="semi")["connections"]))
    text = joined([*map(str, clients[:-1]), count(clients[-1], "client")])
    if several:
        text = f"up to {text}" if several[0] < clients[-1] else text
        in_all = " in all" if clients[-1] > 1 else ""
        text += f" with {joined([*map(str, several[:-1]), count(several[-1], 'connection')])}{in_all}"
    return [text]


def _facts(runs: pl.DataFrame, rates: pl.DataFrame, hosts: pl.DataFrame, gaps: pl.DataFrame) -> list[tuple[str, str]]:
    configurations, setups = listed(runs["config"]), listed(runs["setup"])
    steps = steps_of(rates)
    return [
        (_plural("Server", listed(runs["build"])), _servers(runs)),
        (_plural("Configuration", configurations), _named(configurations)),
        (_plural("Setup", setups), _named(setups)),
        ("Runs", _runs(runs)),
        ("Load", joined(clients_said(runs, rates))),
        (_plural("Step", steps), _steps(rates, steps)),
        ("Time", _seconds(rates)),
        (_plural("Host", hosts["runs"].to_list()), _host(hosts) + _of_some(hosts, runs)),
        ("Missing", _missing(runs, gaps)),
    ]


def _plural(word: str, items: Sequence[object]) -> str:
    return word if len(items) == 1 else f"{word}s"


def _named(names: Sequence[str]) -> str:
    """All names of few, else how many there are and the first of them."""
    return joined(names) if len(names) <= MOST_NAMED else f"{len(names)}: {shortened(names, ', ')}"


def _servers(runs: pl.DataFrame) -> str:
    """Builds, each with the version of its server if its name does not have it."""
    versions = runs.drop_nulls("server_version").group_by("build").agg(pl.col("server_version").unique().sort())
    of_build = {build: joined(found) for build, found in versions.iter_rows()}
    return _named([
        f"{build} ({of_build[build]})" if of_build.get(build) and of_build[build] not in build else build
        for build in listed(runs["build"])
    ])  # fmt: skip


def of_each(runs: pl.DataFrame) -> str:
    """Behind a number of runs: " of each", if there is more than one result."""
    return " of each" if runs.select("setup", "dbms").n_unique() > 1 else ""


def _runs(runs: pl.DataFrame) -> str:
    """How many of each, in which order, and when they began; or that they were not measured here."""
    most = repeats(runs)
    each = runs.group_by("setup", "dbms").len()["len"]
    how_many = f"{'up to ' if each.n_unique() > 1 else ''}{most} of each" if most > 1 else "one of each"
    orders = [str(order) for order in listed(runs["cell_order"])] if most > 1 else []
    # Without the seed of a shuffle.
    order = dict.fromkeys("shuffled" if name.startswith("shuffle") else name for name in orders)
    measured = runs.filter(pl.col("source").is_null())
    begun: list[datetime] = measured["origin_wall"].drop_nulls().to_list()
    others = [what for origin, what in NOT_MEASURED.items() if len(runs.filter(origin=origin))]
    return ", ".join(
        [
            f"{len(runs):,}: {how_many}" if of_each(runs) else f"{len(runs):,}",
            *order,
            *others,
            *([_days(min(begun), max(begun))] if begun else []),
        ]
    )


def _days(first: datetime, last: datetime) -> str:
    """21 Nov 2026, or from 21 Nov to 2 Dec 2026."""
    end = f"{last.day} {last:%b %Y}"
    if first.date() == last.date():
        return end
    return f"{first.day} {first:%b}{f' {first:%Y}' if first.year != last.year else ''} to {end}"


def _steps(rates: pl.DataFrame, steps: Sequence[str]) -> str:
    """The steps in their order; of few, how long each took, from the shortest to the longest run, in seconds."""
    if len(steps) > _MOST_STEPS:
        return _named(steps)
    done = complete(rates).drop_nulls("duration_s")
    took = {step: values for step in steps if (values := done.filter(step=step)["duration_s"].to_list())}
    return joined([f"{step} ({_range(took[step])} s)" if step in took else step for step in steps])


def _range(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(_second(end) for end in (min(values), max(values))))


def _second(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _seconds(rates: pl.DataFrame) -> str:
    """How long the completed steps of all runs took together."""
    seconds = float(complete(rates)["duration_s"].sum() or 0)
    return f"{duration_text(seconds)} in the completed steps shown" if seconds >= 1 else ""


def _host(hosts: pl.DataFrame) -> str:
    """The host in a few words, or how many different ones there are."""
    if len(hosts) > 1:
        return f"{len(hosts)} different ones" if hosts_differ(hosts) else "no recorded property differs"
    parts = []
    for host in hosts.to_dicts():
        cpus = host["usable_cpus"] or host["logical_cpus"]
        model = f" ({host['cpu_model']})" if host["cpu_model"] else ""
        parts += [f"{count(cpus, 'CPU')}{model}"] if cpus else []
        parts += [f"{host['memory_bytes'] / 2**30:.1f} GiB"] if host["memory_bytes"] else []
        parts += [host["filesystem"]] if host["filesystem"] and host["holds_data"] else []
        parts += ["a virtual machine"] if host["hypervisor"] else []
    return ", ".join(parts)


def _of_some(hosts: pl.DataFrame, runs: pl.DataFrame) -> str:
    """Of how many runs this is the host, if others say none."""
    known = int(hosts["runs"].sum() or 0)
    return f" ({known} of {count(len(runs), 'run')})" if 0 < known < len(runs) else ""


def _missing(runs: pl.DataFrame, gaps: pl.DataFrame) -> str:
    """The kinds of what is missing; of figures that have no seconds none can be missing."""
    if gaps.is_empty():
        return "" if runs["source"].null_count() == 0 else "no step, no second"
    kinds = shortened(gaps["problem"].unique(maintain_order=True).to_list())
    return f"{kinds}, in {gaps['dbms'].n_unique()} of {count(runs['dbms'].n_unique(), 'result')}"
