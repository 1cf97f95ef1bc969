"""What each dbms is compared with."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from ibench_lib.analysis.against import against_base
from ibench_lib.ask.bases import Bases, bases, chosen_bases
from ibench_lib.ask.selection import choose
from ibench_lib.errors import ParameterError
from ibench_lib.paths import Workspace
from ibench_lib.show.headline import strips_of
from ibench_lib.show.throughput.sentences import throughput_statements
from ibench_lib.show.throughput.tables import throughput_table
from ibench_lib.store import reader
from tests.command import ibench
from tests.show.parsed import Parsed
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

TWO_BUILDS = [
    ("maria.base", "maria", "base"),
    ("maria.f1", "maria", "f1"),
    ("mysql.base", "mysql", "base"),
    ("mysql.f1", "mysql", "f1"),
]


def found(cells: list[tuple[str, str, str]], base: str = "") -> Bases:
    chosen = chosen_bases(cells, base)
    assert chosen is not None
    return chosen


def test_with_several_builds_and_configurations_each_build_has_its_base() -> None:
    chosen = found(TWO_BUILDS)
    assert chosen.names == ("maria.base", "mysql.base") and chosen.by_build
    compared = {dbms: chosen.of(dbms) for dbms, _, _ in TWO_BUILDS}
    assert compared == {
        "maria.base": "maria.base", "maria.f1": "maria.base", "mysql.base": "maria.base", "mysql.f1": "mysql.base",
    }  # fmt: skip
    assert chosen.groups(compared) == {"maria.base": ["maria.f1", "mysql.base"], "mysql.base": ["mysql.f1"]}
    assert str(chosen) == "the base of the same build"


def test_one_build_or_one_configuration_has_one_base() -> None:
    assert found(TWO_BUILDS[:2]).names == ("maria.base",)
    assert found([TWO_BUILDS[0], TWO_BUILDS[2]]).names == ("maria.base",), "builds are compared with each other"
    assert str(found(TWO_BUILDS[:2])) == "maria.base"
    assert chosen_bases([]) == Bases() and Bases().first == ""


def test_a_base_is_named_as_a_dbms_for_all_or_as_a_configuration_of_each_build() -> None:
    one = found(TWO_BUILDS, "mysql.f1")
    assert one.names == ("mysql.f1",) and one.of("maria.base") == "mysql.f1"
    each = found(TWO_BUILDS, "f1")
    assert each.names == ("maria.f1", "mysql.f1") and each.of("mysql.base") == "mysql.f1"
    assert chosen_bases(TWO_BUILDS, "f2") is None
    assert bases("a") == Bases(("a",)) and bases(each) is each and bases("") == Bases()


def test_in_a_chain_each_dbms_is_compared_with_the_one_before_it() -> None:
    chain = found(TWO_BUILDS, "previous")
    names = [dbms for dbms, _, _ in TWO_BUILDS]
    assert [chain.of(name) for name in names] == [names[0], *names[:-1]]
    assert chain.groups(names) == {base: [name] for base, name in itertools.pairwise(names)}
    assert (chain.first, chain.by_build, chain.ordered(names)) == (names[0], False, names)
    assert (str(chain), chain.said) == ("the one before it", "the one before it")
    assert found(TWO_BUILDS).said == found(TWO_BUILDS, "f1").said == "the base"
    called_so = found([("a.base", "a", "base"), ("a.previous", "a", "previous")], "previous")
    assert called_so.names == ("a.previous",) and not called_so.chain, "a configuration may have that name"


def test_a_build_without_the_configuration_of_the_first_has_its_own_first() -> None:
    other = [*TWO_BUILDS[:2], ("ps.f2", "ps", "f2"), ("ps.f1", "ps", "f1")]
    assert found(other).names == ("maria.base", "ps.f2")
    late = [*TWO_BUILDS[:2], TWO_BUILDS[3], TWO_BUILDS[2]]
    assert found(late).names == ("maria.base", "mysql.base"), "the same configuration, wherever it stands"


@pytest.mark.long
def test_options_are_compared_with_the_base_of_the_build(workspace: Workspace) -> None:
    runs = [
        Run("base", build=build, minute=minute, options=f"innodb_io_capacity={minute}00  # {build}.cnf:1\n")
        for minute, build in ((1, "maria"), (2, "mysql"))
    ]
    lag = "innodb_max_purge_lag=100  # lag.cnf:1\n"
    runs += [
        Run("f1", build=run.build, minute=run.minute + 2, options=run.options + (lag if run.build == "mysql" else ""))
        for run in runs
    ]
    write_runs(workspace, *runs)
    lake = reader.lake(workspace)
    post = choose(lake, "demo")
    rows = post.ask("config_diff").select("base", "dbms", "option", "base_value", "value").rows()
    assert rows == [
        ("maria.base", "mysql.base", "innodb_io_capacity", "100", "200"),
        ("mysql.base", "mysql.f1", "innodb_max_purge_lag", None, "100"),
    ]
    named = choose(lake, "demo", base="maria.base").ask("config_diff").filter(dbms="mysql.f1")
    assert named["option"].to_list() == ["innodb_io_capacity", "innodb_max_purge_lag"]
    with pytest.raises(ParameterError, match="base 'bas' is not in any run of demo"):
        choose(lake, "demo", base="bas")


def test_a_chain_is_shown_wherever_there_is_a_ratio(workspace: Workspace) -> None:
    """Each is half as fast as the one before it; compared with the first, the last would be at a quarter."""
    for number, config in enumerate(("a", "b", "c")):
        options = f"innodb_io_capacity={number}\n"
        run = Run(config, l_i1_s=10 * 2**number, options=options)
        write_runs(workspace, *(replace(run, repeat=r, minute=3 * number + r) for r in (1, 2, 3)))
    post = choose(reader.lake(workspace), "demo", base="previous")
    frame = post.ask("step_throughput")
    found = against_base(frame, post.bases, ["throughput"])
    ratios = {name: round(one.value, 2) for (_, step, _, name), one in found.items() if step == "l.i1"}
    assert ratios == {"system.b": 0.5, "system.c": 0.5}
    options_of = post.ask("config_diff").select("base", "dbms", "base_value", "value").rows()
    assert options_of == [("system.a", "system.b", "0", "1"), ("system.b", "system.c", "1", "2")]
    said = " ".join(map(str, throughput_statements(frame, post.bases)))
    assert "slower than system.a: system.b" in said and "slower than system.b: system.c" in said
    assert "the ratio to the one before it" in strips_of(frame, post.bases, "default").markup
    cells = [cell for row in Parsed(throughput_table(frame, post.bases)).rows for cell in row]
    assert "its ratio to the one before it" in " ".join(cells) and sum("(base)" in cell for cell in cells) == 1
    shown = ibench(workspace, "summary", "demo", "--base", "previous")
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert shown.returncode == 0 and any({"c", "b"} <= set(line) and "0.50x" in line for line in lines), shown
