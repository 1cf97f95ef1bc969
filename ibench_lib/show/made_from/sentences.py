"""What a post is made from: experiments, runs, builds that stand for others, hosts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, hosts_differ, listed, repeats
from ibench_lib.base.wording import count, joined, shortened
from ibench_lib.show.kit.statements import NOISE_UNKNOWN, asks, attention
from ibench_lib.show.kit.wording import comment, scale_text

_FILES = {"data": "the data directory", "redo": "the redo log", "system": "the system tablespace"}


@asks("selected_runs")
def run_statements(selected_runs: pl.DataFrame) -> list[str]:
    """How many runs of what, when and with which tool; what stands for what; what did not complete."""
    runs = selected_runs
    if runs.is_empty():
        return ["There is no run of this experiment in the lake yet, so there is nothing to show."]
    measured = runs.filter(pl.col("source").is_null())
    sentences = [
        _experiment(name, measured.filter(pl.col("experiment") == name)) for name in listed(measured["experiment"])
    ]
    sentences += _not_measured(runs.filter(pl.col("source").is_not_null()), len(runs))
    if len(measured):
        begun: list[datetime] = measured["origin_wall"].to_list()
        sentences.append(f"{_started(min(begun), max(begun))} with ibench {joined(listed(measured['tool_version']))}.")
    sentences += _standing_for(runs)
    if repeats(runs) == 1:
        sentences.append(NOISE_UNKNOWN)
    scales = measured["scale"].unique().sort().to_list()
    if scales not in ([], [1.0]):
        sentences.append(
            f"Scaled: rows, durations and server memory are {joined([scale_text(scale) for scale in scales])} of those "
            "at scale 1. Compare these configurations with each other, not with results at scale 1."
        )
    broken = runs.filter(pl.col("status") != "complete")
    if len(broken):
        sentences.append(
            f"{len(broken)} of {count(len(runs), 'run')} did not complete ({joined(listed(broken['status']))}); "
            "missing figures are marked in the tables."
        )
    sentences += _snapshots(runs)
    for name in listed(runs["experiment"]):
        if runs.filter(pl.col("experiment") == name)["experiment_sha256"].n_unique() > 1:
            sentences.append(attention(f"The file of experiment {name} changed between these runs."))
    return sentences


@asks("experiments")
def experiment_statements(experiments: pl.DataFrame) -> list[str]:
    """What the experiment files say of themselves: the comment that each begins with."""
    sentences = []
    for row in experiments.filter(pl.col("source").is_null()).to_dicts():
        words = comment(row["text"])
        if words:
            sentences.append(f"{row['experiment']}.yaml says: “{words}”")
    return list(dict.fromkeys(sentences))


@asks("hosts", "storage", "selected_runs")
def host_statements(hosts: pl.DataFrame, storage: pl.DataFrame, selected_runs: pl.DataFrame | None = None) -> list[str]:
    """The host, or that there are several, which nobody should overlook; and what lies on other disks.

    With `selected_runs` it says if the host of some runs is not known.
    """
    known = hosts.to_dicts()
    elsewhere = _on_other_disks(storage)
    if len(known) < 2:
        runs = 0 if selected_runs is None else len(selected_runs)
        return [*(_made_on(host, runs) for host in known), *elsewhere]
    items = [f"{count(host['runs'], 'run')} ({shortened(host['dbms'], ', ')}) on {_host(host)}" for host in known]
    if not hosts_differ(hosts):
        return [f"No recorded host property differs, but less is known of some hosts: {'; '.join(items)}.", *elsewhere]
    return [
        attention(
            f"These runs were made on {len(known)} different hosts, or on one host that was changed. What looks "
            f"like a difference between configurations may be a difference between hosts. {'; '.join(items)}."
        ),
        *elsewhere,
    ]


def _made_on(host: dict[str, Any], runs: int) -> str:
    """On what host all runs were made, or those of which it is known."""
    if host["runs"] >= runs:
        return f"All runs were made on one kind of host: {_host(host)}."
    return f"The host of {host['runs']} of {count(runs, 'run')} is known: {_host(host)}."


@asks("client_cores")
def client_statements(client_cores: pl.DataFrame) -> list[str]:
    """That the runs had different load clients, which nobody should overlook.

    Each family of servers has one of its own anyway: there it is enough to say so, if all are compiled.
    """
    known = client_cores.to_dicts()
    if len({row["core"] for row in known}) < 2:
        return []
    families = [row["family"] for row in known]
    if None not in families and len(set(families)) == len(families) and len({_made(row["core"]) for row in known}) == 1:
        items = [f"{row['core']} for {shortened(row['dbms'], ', ')}" for row in known]
        return [
            f"Each family of servers has its own load client: {'; '.join(items)}. A difference between families may "
            "come from the clients."
        ]
    items = [f"{count(row['runs'], 'run')} ({shortened(row['dbms'], ', ')}): {row['core']}" for row in known]
    return [
        attention(
            f"The load clients of these runs differ: {'; '.join(items)}. "
            "What looks like a difference between configurations may be one between clients."
        )
    ]


@asks("unjudged_clients")
def unjudged_client_statements(unjudged_clients: pl.DataFrame) -> list[str]:
    """Where it is not known whether the clients limited a step."""
    items = [
        f"{step} of {shortened(by_position(rows), ', ')} ({count(len(rows), 'run')})"
        for (step,), rows in unjudged_clients.group_by("step", maintain_order=True)
    ]
    if not items:
        return []
    return [
        f"Not judged: whether the clients held up their requests in {shortened(items)}. An older ibench found that "
        "they did, by a rule that does not hold."
    ]


def _made(core: str) -> str:
    """Whether a client is compiled or Python, without what it was compiled from."""
    return core.partition(" ")[0]


def _on_other_disks(storage: pl.DataFrame) -> list[str]:
    """At most one sentence: which files of which dbms the experiment put on other disks (`storage`)."""
    items = []
    mixed = list[str]()
    for (name,), rows in storage.group_by("dbms", maintain_order=True):
        places = [f"{_FILES.get(row['files'], row['files'])} on {row['storage']}" for row in rows.to_dicts()]
        items.append(f"{name}: {joined(places)}")
        if rows["files"].is_duplicated().any():
            mixed.append(str(name))
    sentences = [f"Files on disks that the experiment chose: {'; '.join(items)}."] if items else []
    if mixed:
        sentences.append(attention(f"The runs of {joined(mixed)} have the same files on different disks."))
    return sentences


def _started(first: datetime, last: datetime) -> str:
    """Runs started on 21 Nov 2026 between 21:37 and 21:50 UTC."""
    day = f"{first.day} {first:%b %Y}"
    if first.date() == last.date():
        ends = dict.fromkeys((f"{first:%H:%M}", f"{last:%H:%M}"))
        return f"Runs started on {day} {'at ' if len(ends) == 1 else 'between '}{' and '.join(ends)} UTC"
    return f"Runs started between {day} {first:%H:%M} and {last.day} {last:%b %Y %H:%M} UTC"


def _experiment(name: str, runs: pl.DataFrame) -> str:
    clients = [count(number, "client") for number in listed(runs["clients"])]
    most = repeats(runs)
    each = runs.group_by("setup", "dbms").len()["len"]
    several = [f"{'up to ' if each.n_unique() > 1 else ''}{most} runs of each"]
    builds = listed(runs["build"])
    order = [] if most == 1 else several + [str(order) for order in listed(runs["cell_order"])]
    return (
        f"Based on {count(len(runs), 'run')} of experiment {name} (“{runs['title'][0]}”), {name}.yaml: "
        + ", ".join(
            [
                *([count(len(builds), "build")] if len(builds) > 1 else []),
                count(len(listed(runs["config"])), "configuration"),
                f"{count(runs['setup'].n_unique(), 'setup')} ({', '.join(listed(runs['setup']))})",
                *clients,
                *order,
            ]
        )
        + "."
    )


def _not_measured(runs: pl.DataFrame, of: int) -> list[str]:
    """What was not measured here, loudly."""
    sentences: list[str] = []
    for (experiment, source, origin), of_source in runs.group_by("experiment", "source", "origin", maintain_order=True):
        results, setups = (
            count(of_source[name].n_unique(), what) for name, what in (("dbms", "result"), ("setup", "setup"))
        )
        sentences.append(
            attention(
                f"{len(of_source)} of {count(of, 'run')} ({experiment}: {results}, {setups}) "
                f"{'is' if len(of_source) == 1 else 'are'} {origin}, not measured here. Source: {source}"
            )
        )
    return sentences


def _snapshots(runs: pl.DataFrame) -> list[str]:
    """Which runs continued on a copy of a loaded data directory, and how many of them loaded nothing themselves."""
    sentences = []
    for step in listed(runs["snapshot_after"]):
        copied = runs.filter(pl.col("snapshot_after") == step)
        loaded = len(copied.filter(pl.col("loaded_from").is_not_null()))
        whose = "every run" if len(copied) == len(runs) else f"{len(copied)} of {count(len(runs), 'run')}"
        sentences.append(
            f"After step {step}, {whose} continued on a copy of a data directory, with empty caches; {loaded} of "
            f"{count(len(copied), 'run')} started there, on rows that another run had loaded."
        )
    return sentences


def _standing_for(runs: pl.DataFrame) -> list[str]:
    sentences = []
    known = runs.filter(pl.col("stands_for").is_not_null())
    for row in known.unique(["build", "build_label", "stands_for", "server_version"], maintain_order=True).to_dicts():
        version = f" ({row['server_version']})" if row["server_version"] else ""
        sentences.append(f"{row['build']} is {row['build_label']}{version}, used in place of {row['stands_for']}.")
    return sentences


def _host(host: dict[str, Any]) -> str:
    parts = []
    if host["usable_cpus"] or host["logical_cpus"]:
        model = f" ({host['cpu_model']})" if host["cpu_model"] else ""
        is_part = host["usable_cpus"] and host["logical_cpus"] not in (None, host["usable_cpus"])
        usable = f"{host['usable_cpus']} of " if is_part else ""
        parts.append(f"{usable}{count(host['logical_cpus'] or host['usable_cpus'], 'CPU')}{model}")
    if host["memory_bytes"]:
        parts.append(f"{host['memory_bytes'] / 2**30:.1f} GiB of memory")
    parts += [text for text in (host["os"], f"kernel {host['kernel']}" if host["kernel"] else None) if text]
    if host["filesystem"] and host["holds_data"]:
        device = " ".join(filter(None, [host["device"], host["device_model"]]))
        parts.append(f"data on {host['filesystem']}" + (f" ({device})" if device else ""))
    if host["hypervisor"]:
        parts.append("a virtual machine")
    return ", ".join(parts) or "unknown hardware"
