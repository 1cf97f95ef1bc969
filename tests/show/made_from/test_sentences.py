"""Sentences about the runs and their hosts."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.display import say
from ibench_lib.store import reader
from tests.shared import asked, lake_of
from tests.show.saying import made_of, spoken
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def test_runs_say_what_they_are_made_from(workspace: Workspace) -> None:
    def standing(manifest: dict[str, Any]) -> None:
        manifest["cell"] |= {"build": "my8033", "build_label": "mysql-9.7", "stands_for": "MySQL 8.0.33"}
        manifest["cell"]["order"] = "interleaved"

    made_of(workspace, Run(repeat=1), Run(repeat=2, minute=1), Run("b", minute=2, scale=0.5), change=standing)
    assert spoken(workspace, ib.run_statements) == [
        "Based on 3 runs of experiment demo (“Purge lag”), demo.yaml: 2 configurations, 1 setup (cached), "
        "2 clients, up to 2 runs of each, interleaved.",
        "Runs started on 21 Nov 2026 between 10:00 and 10:02 UTC with ibench 0.1.0.",
        "my8033 is mysql-9.7 (10.11.19-MariaDB), used in place of MySQL 8.0.33.",
        "Scaled: rows, durations and server memory are 1/2 and 1 of those at scale 1. Compare these configurations "
        "with each other, not with results at scale 1.",
    ]


def test_one_configuration_of_two_builds_is_one_as_on_the_first_screen(workspace: Workspace) -> None:
    runs = Run(), Run(minute=1, build="mysql-9.7")
    write_runs(workspace, *runs)
    (said,) = (line for line in spoken(workspace, ib.run_statements) if line.startswith("Based on"))
    assert "demo.yaml: 2 builds, 1 configuration, 1 setup" in said
    (screen,) = ib.headline(choose(lake_of(*runs), "demo")).items
    assert "1 configuration;" in str(screen)


def test_one_run_of_each_and_two_experiments_are_said(workspace: Workspace) -> None:
    write_runs(workspace, Run(), Run(minute=1, experiment="other", title="Another"))
    said = spoken(workspace, ib.run_statements, experiment="*")
    assert [line for line in said if line.startswith("Based on 1 run of experiment")] == said[:2]
    assert "One run of each: the noise is unknown." in said


def test_runs_of_different_clients_are_named_and_those_of_equal_ones_are_not(workspace: Workspace) -> None:
    compiled = (("client core", "compiled 0123456789ab"),)
    write_runs(workspace, Run(), Run(repeat=2, minute=1), Run("b", minute=2, versions=compiled))
    write_runs(workspace, *(Run(experiment="equal", minute=3 + n, repeat=n, versions=compiled) for n in (1, 2)))
    assert spoken(workspace, ib.client_statements, experiment="equal") == []
    (said,) = spoken(workspace, ib.client_statements)
    assert said.endswith(
        "The load clients of these runs differ: 2 runs (system.cy10a): Python; 1 run (system.b): compiled 0123456789ab."
        " What looks like a difference between configurations may be one between clients."
    )


def test_clients_of_different_families_are_compared_by_how_they_are_made(workspace: Workspace) -> None:
    def run(flavour: str, core: str, minute: int, experiment: str = "demo") -> Run:
        versions = (("client core", core),)
        return Run(flavour, experiment=experiment, flavour=flavour, minute=minute, versions=versions)

    write_runs(workspace, run("postgres", "compiled 01", 0), run("mysql", "compiled 23", 1))
    (said,) = spoken(workspace, ib.client_statements)
    assert said == (
        "Each family of servers has its own load client: compiled 01 for system.postgres; compiled 23 for "
        "system.mysql. A difference between families may come from the clients."
    )
    write_runs(workspace, run("mariadb", "compiled 45", 2))
    (said,) = spoken(workspace, ib.client_statements)
    assert said.startswith("Attention"), "two of one family differ"
    write_runs(workspace, run("postgres", "compiled 01", 3, "mixed"), run("mysql", "Python", 4, "mixed"))
    (said,) = spoken(workspace, ib.client_statements, experiment="mixed")
    assert said.startswith("Attention"), "one of two is compiled"


OLD = "client 1 querier held its p99 operation up for 153 us; the median took 1240 us"


@pytest.mark.parametrize(
    ("client_bound", "said"),
    [
        (OLD, ["Not judged: whether the clients held up their requests in qr100 of system.cy10a (1 run)."]),
        (f"{OLD}; client 2 was busy for 90 % of its time", []),
        (None, []),
    ],
)
def test_what_an_older_rule_found_of_clients_is_said_to_be_unjudged(
    workspace: Workspace, client_bound: str | None, said: list[str]
) -> None:
    write_runs(workspace, Run(client_bound=client_bound))
    found = spoken(workspace, ib.unjudged_client_statements)
    assert [text.partition(" An older")[0] for text in found] == said


@pytest.mark.parametrize("count", [1, 2])
def test_published_runs_are_counted(count: int) -> None:
    runs = asked("selected_runs", *(Run(repeat=n, minute=n) for n in (1, 2, 3)))
    source = pl.when(pl.col("repeat") <= count).then(pl.lit("a report"))
    said = ib.run_statements(
        runs.with_columns(
            source=source, origin=pl.when(source.is_null()).then(pl.lit("measured")).otherwise(pl.lit("published"))
        )
    )[1]
    verb = "is" if count == 1 else "are"
    assert said == (
        f"Attention: {count} of 3 runs (demo: 1 result, 1 setup) {verb} published, not measured here. Source: a report"
    )


def test_several_hosts_are_said_loudly(workspace: Workspace) -> None:
    hosts: Iterator[dict[str, Any]] = iter(
        [
            {
                "usable_cpus": 2,
                "logical_cpus": 4,
                "cpu_model": "A",
                "memory_bytes": 2**34,
                "kernel": "6.1",
                "os": "Debian",
            },
            {
                "usable_cpus": 8,
                "logical_cpus": 8,
                "memory_bytes": 2**35,
                "filesystem": {"type": "xfs"},
                "hypervisor": True,
            },
            {},
        ]
    )
    made_of(workspace, Run(), Run("b", minute=1), Run("c", minute=2), change=lambda m: m.update(host=next(hosts)))
    markup = say(choose(reader.lake(workspace), "demo"), ib.host_statements).markup
    assert '<li class="loud">Attention: These runs were made on 2 different hosts' in markup
    assert "1 run (system.cy10a) on 2 of 4 CPUs (A), 16.0 GiB of memory, Debian, kernel 6.1; 1 run (system.b) on 8 CPUs, 32.0 GiB of memory, data on xfs, a virtual machine." in markup  # fmt: skip  # noqa: E501
    assert spoken(workspace, ib.host_statements, dbms=["system.b"])[0].startswith(
        "All runs were made on one kind of host: 8 CPUs"
    )


def test_hosts_of_which_less_is_known_are_not_said_to_differ(workspace: Workspace) -> None:
    hosts: Iterator[dict[str, Any]] = iter([{"logical_cpus": "80"}, {"logical_cpus": "80", "cpu_model": "A"}])
    made_of(workspace, Run(), Run("b", minute=1), change=lambda m: m.update(host=next(hosts)))
    assert spoken(workspace, ib.host_statements)[0] == (
        "No recorded host property differs, but less is known of some hosts: 1 run (system.cy10a) on 80 CPUs; 1 run "
        "(system.b) on 80 CPUs (A)."
    )


def test_runs_of_which_no_host_is_known_are_not_said_to_be_of_one(workspace: Workspace) -> None:
    hosts: Iterator[dict[str, Any]] = iter([{"logical_cpus": "80"}, {}])
    made_of(workspace, Run(), Run("b", minute=1), change=lambda m: m.update(host=next(hosts)))
    assert spoken(workspace, ib.host_statements)[0] == "The host of 1 of 2 runs is known: 80 CPUs."
