"""The tests of sysbench that ibench knows: those that come with it, and the steps of the field's microbenchmarks.

`tests: microbenchmarks` is the table below, in its order. What sysbench 1.0 does not have is Lua of ours, in `lua/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

OURS = Path(__file__).with_name("lua")
"""The folder of our scripts."""

POINTS, RANGES, AGGREGATES, BOTH, WRITES, EARLY = (
    "points", "ranges", "ranges with aggregation", "reads and writes", "writes", "before the writes",
)  # fmt: skip
GROUPS = (POINTS, RANGES, AGGREGATES, BOTH, WRITES, EARLY)
"""What tests do, in the order in which posts have them."""

_OWN_TABLES = "bulk_insert"
_CHANGE_ROWS = ("oltp_delete", "oltp_insert", _OWN_TABLES)
_READ = (
    "oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges",
    "in_list_select", "range_select", "scan",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Test:
    """A test: a script with options.

    `options` are those of the script without dashes. `rows` are those of each table that it uses; None for all.
    `warms`: it fills caches for what comes next, and its throughput is no result. `settles`: the server settles before
    the next step. `is_own`: its script is a file of the user's.
    """

    __test__ = False

    script: str
    group: str
    options: Mapping[str, bool | int | float | str] = field(default_factory=lambda: MappingProxyType({}))
    rows: int | None = None
    warms: bool = False
    settles: bool = False
    is_own: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether the script is one of `lua/`, and not one that comes with sysbench."""
        return self.script in OUR_SCRIPTS and not self.is_own

    @property
    def changes_rows(self) -> bool:
        """Whether the tables do not have the rows that were prepared afterwards."""
        return self.is_own or self.script in _CHANGE_ROWS

    @property
    def makes_tables(self) -> bool:
        """Whether it is a test of sysbench that fills empty tables, one for each of its threads."""
        return self.script == _OWN_TABLES and not self.is_own

    @property
    def reads_only(self) -> bool:
        """Whether it leaves all rows as they are."""
        return not self.is_own and self.script in _READ


OWN = "your own"
"""The group of tests that are Lua files of the user's."""


def own_test(script: str) -> Test:
    """A test that is a Lua file of the user's: what it does to the tables nobody knows."""
    return Test(script=script, group=OWN, is_own=True)


OUR_SCRIPTS = ("in_list_select", "in_list_update", "range_select", "scan", "update_zipf")


def _read_only(size: int, only: str | None = None) -> Test:
    """oltp_read_only: ten point queries and one range of each kind, or of one kind."""
    kinds = ("simple", "sum", "order", "distinct")
    options = {} if only is None else {f"{kind}-ranges": int(kind == only) for kind in kinds}
    return Test(script="oltp_read_only", group=AGGREGATES, options={"range-size": size, **options})


def _points(count: int = 100, **options: bool | str) -> Test:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return Test(script="in_list_select", group=POINTS, options={"random-points": count, **named})


def _range(group: str = RANGES, size: int = 101, **options: bool | str) -> Test:
    # BETWEEN n AND n + 100, so 101 values.
    return Test(script="range_select", group=group, options={"range-size": size, **options})


def _read_write(size: int, settles: bool = False) -> Test:
    return Test(script="oltp_read_write", group=WRITES, options={"range-size": size}, settles=settles)


def _scan(warms: bool = False) -> Test:
    return Test(script="scan", group=RANGES, warms=warms)


MICROBENCHMARKS: Mapping[str, Test] = MappingProxyType(
    {
        "point-query-warm": Test(script="oltp_point_select", group=POINTS, warms=True, settles=True),
        "scan-warm-pre": _scan(warms=True),
        "point-query-pre": Test(script="oltp_point_select", group=EARLY),
        "range-notcovered-si-pre": _range(EARLY, key="k", columns="k,c"),
        "update-inlist": Test(script="in_list_update", group=WRITES, options={"random-points": 10}),
        "update-index": Test(script="oltp_update_index", group=WRITES),
        "update-nonindex": Test(script="oltp_update_non_index", group=WRITES),
        "update-one": Test(script="oltp_update_non_index", group=WRITES, rows=1),
        "update-zipf": Test(script="update_zipf", group=WRITES),
        "write-only": Test(script="oltp_write_only", group=WRITES),
        "read-write-10": _read_write(10),
        "read-write-100": _read_write(100, settles=True),
        "scan-warm": _scan(warms=True),
        "scan": _scan(),
        "read-only-10": _read_only(10),
        "read-only-100": _read_only(100),
        "read-only-10000": _read_only(10_000),
        "read-only-simple": _read_only(1000, "simple"),
        "read-only-sum": _read_only(1000, "sum"),
        "read-only-order": _read_only(1000, "order"),
        "read-only-distinct": _read_only(1000, "distinct"),
        "read-only-count": _range(AGGREGATES, 1000, key="id", columns="c", count=True),
        "point-query": Test(script="oltp_point_select", group=POINTS),
        "random-points-10": _points(10),
        "random-points-100": _points(),
        "random-points-1000": _points(1000),
        "hot-points": _points(hot_points=True),
        "points-covered-pk": _points(columns="id"),
        "points-notcovered-pk": _points(columns="id,c"),
        "range-covered-pk": _range(key="id", columns="id"),
        "range-notcovered-pk": _range(key="id", columns="id,c"),
        "points-covered-si-warm": Test(
            script="in_list_select",
            group=POINTS,
            options={"random-points": 100, "key": "k", "columns": "k"},
            warms=True,
        ),
        "points-covered-si": _points(key="k", columns="k"),
        "points-notcovered-si": _points(key="k", columns="k,c"),
        "range-covered-si": _range(key="k", columns="k"),
        "range-notcovered-si": _range(key="k", columns="k,c"),
        "delete": Test(script="oltp_delete", group=WRITES),
        "insert": Test(script="oltp_insert", group=WRITES),
    }
)
"""Step -> test, in the order of the steps. pk: by the primary key; si: by the secondary index."""

BUNDLED: Mapping[str, Test] = MappingProxyType(
    {
        script: Test(script=script, group=group)
        for group, scripts in {
            POINTS: ("oltp_point_select", "select_random_points"),
            RANGES: ("oltp_read_only", "select_random_ranges"),
            BOTH: ("oltp_read_write",),
            WRITES: ("oltp_write_only", "oltp_update_index", "oltp_update_non_index", *_CHANGE_ROWS),
        }.items()
        for script in scripts
    }
)
"""The tests that come with sysbench."""

TESTS: Mapping[str, Test] = MappingProxyType({**BUNDLED, **MICROBENCHMARKS})
