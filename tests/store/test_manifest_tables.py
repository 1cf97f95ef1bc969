"""Tables that come from manifests: what a run's options, operations and kinds of steps are."""

from __future__ import annotations

from typing import Any

import pytest

from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.store.manifest import BinaryRecord, ConfigRecord, Manifest, OptionRecord, SettleAction
from ibench_lib.store.manifest_tables import manifest_rows
from tests.synthetic import OTHER_KINDS, OTHER_OPERATIONS, Run, manifest_of

pytestmark = pytest.mark.lake


def rows_of(manifest: Manifest, table: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "run_id"} for row in manifest_rows([manifest])[table]]


def options_of(config: ConfigRecord) -> list[tuple[str, str | None, str | None]]:
    rows = rows_of(manifest_of(Run()).model_copy(update={"config": config}), "config_options")
    return [(row["name"], row["value"], row["origin"]) for row in rows]


def test_the_value_of_an_option_may_hold_what_begins_a_comment() -> None:
    options = [
        OptionRecord(key="init_connect", value="a # b", origin="f.cnf:2"),
        OptionRecord(key="skip_log_bin", value=None, origin="f.cnf:3"),
        OptionRecord(key="innodb_buffer_pool_size", value="41943040", origin="f.cnf:4", full_value="20G"),
    ]
    my_cnf = '[mysqld]\ninit_connect="a # b"   # f.cnf:2\n'
    assert options_of(ConfigRecord(my_cnf=my_cnf, fragments={}, options=options)) == [
        ("init_connect", "a # b", "f.cnf:2"),
        ("skip_log_bin", None, "f.cnf:3"),
        ("innodb_buffer_pool_size", "41943040", "f.cnf:4, scaled from 20G"),
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('init_connect="a # b"   # f.cnf:2', ("init_connect", '"a # b"', "f.cnf:2")),
        ("innodb_purge_threads=4  # cy10a.cnf:2, scaled", ("innodb_purge_threads", "4", "cy10a.cnf:2, scaled")),
        ("skip_log_bin                   # f.cnf:7", ("skip_log_bin", None, "f.cnf:7")),
        ("sync_binlog=0", ("sync_binlog", "0", None)),
        ("empty=   # f.cnf:1", ("empty", "", "f.cnf:1")),
        ('odd="a \\" # b" # f.cnf:1', ("odd", '"a \\" # b"', "f.cnf:1")),
    ],
)
def test_a_rendered_option_is_read_where_there_is_nothing_else(line: str, found: tuple[str | None, ...]) -> None:
    config = ConfigRecord(my_cnf=f"[mysqld]\n# a comment\n\n{line}\n", fragments={})
    assert options_of(config) == [found]


def test_a_run_has_the_operations_that_its_manifest_names() -> None:
    other = {"benchmark": "other", "operations": list(OTHER_OPERATIONS), "kinds": list(OTHER_KINDS)}
    manifest = manifest_of(Run()).model_copy(update=other)
    assert rows_of(manifest, "runs")[0]["benchmark"] == "other"
    assert [(row["operation"], row["position"], row["role"]) for row in rows_of(manifest, "operations")] == [
        ("a", 0, None),
        ("b", 1, None),
    ]
    assert [(row["kind"], row["main"], row["equal_work"]) for row in rows_of(manifest, "kinds")] == [
        ("load", "a", True),
        ("run", "b", False),
    ]


def test_the_facts_of_a_binary_are_a_row_where_they_are_known() -> None:
    assert rows_of(manifest_of(Run()), "binaries") == [], "of an older run, or a remote server"
    binary = BinaryRecord(compiler="GCC: (GNU) 4.8.5", stripped=False)
    assert rows_of(manifest_of(Run()).model_copy(update={"binary": binary}), "binaries") == [
        {"compiler": "GCC: (GNU) 4.8.5", "build_id": None, "stripped": False, "allocator": None, "tls_library": None}
    ]


def test_an_older_run_has_those_of_the_workload_that_all_were_of() -> None:
    assert rows_of(manifest_of(Run()), "runs")[0]["benchmark"] == "insert_benchmark"
    roles = {row["operation"]: row["role"] for row in rows_of(manifest_of(Run()), "operations")}
    assert roles["insert"] == "inserter" and roles["point_query"] == roles["range_query"] == "querier"
    assert [row["kind"] for row in rows_of(manifest_of(Run()), "kinds")] == ["load", "index", "write", "query"]


def test_a_run_has_what_its_collectors_reported() -> None:
    report = CollectorReport("profile", 60, samples=2, missed=1, cpu_s=0.5, busy_s=5.0, reason="OSError: busy")
    assert rows_of(manifest_of(Run(collectors=(report,))), "collectors") == [
        {"collector": "profile", "every_s": 60, "samples": 2, "missed": 1, "reason": "OSError: busy"}
    ]


def test_a_run_has_what_settled_its_database() -> None:
    actions = [
        SettleAction(before_step="qr100", action=action, seconds=seconds, result="done")
        for action, seconds in (("VACUUM pi1", 2.5), ("CHECKPOINT", 0.5))
    ]
    assert rows_of(manifest_of(Run()).model_copy(update={"settle": actions}), "settling") == [
        {"position": 0, "before_step": "qr100", "action": "VACUUM pi1", "seconds": 2.5, "result": "done"},
        {"position": 1, "before_step": "qr100", "action": "CHECKPOINT", "seconds": 0.5, "result": "done"},
    ]
