"""Who does what in a step of the Insert Benchmark."""

from dataclasses import replace

from ibench_lib.workloads.insert_benchmark.client import make_role
from ibench_lib.workloads.insert_benchmark.options import PRESET_SETUPS
from ibench_lib.workloads.insert_benchmark.statements.mysql import create_table
from ibench_lib.workloads.insert_benchmark.steps import plan
from ibench_lib.workloads.insert_benchmark.workers import spec as spec_of
from ibench_lib.workloads.insert_benchmark.workers import tables, workers
from tests.fakes.offline import Offline
from tests.workloads.insert_benchmark.options import SETUP, options


def test_workers_of_each_kind_of_step() -> None:
    chosen = options()
    steps = plan(chosen, PRESET_SETUPS["cached"], 0.001)
    roles = {step.name: [worker.role for worker in workers(chosen, step)] for step in steps}
    assert roles == {
        "l.i0": ["inserter"] * 2,
        "l.x": ["indexer"] * 2,
        "l.i1": ["inserter", "deleter"] * 2,
        "qr100": ["inserter", "deleter", "querier"] * 2,
    }
    for step in steps:
        probing = [worker.client for worker in workers(chosen, step) if worker.probes]
        assert probing == [1, 2], "each client does its get_min exactly once"


def test_one_table_has_one_indexer_and_all_writers() -> None:
    chosen = options(tables="one", clients=3)
    steps = {step.name: step for step in plan(chosen, SETUP, 1.0)}
    assert tables(chosen) == ["pi1"]
    assert [worker.role for worker in workers(chosen, steps["l.x"])] == ["indexer"]
    assert {worker.table for worker in workers(chosen, steps["l.i1"])} == {"pi1"}
    assert len(workers(chosen, steps["l.i1"])) == 6


def test_rocksdb_has_its_own_engine_and_one_alter_per_index() -> None:
    chosen = options(engine="rocksdb", rocksdb_bulk_load=True, clients=1)
    load, index = plan(chosen, SETUP, 1.0)[:2]
    assert create_table("pi1", chosen.engine).endswith("ENGINE=ROCKSDB")
    loading = spec_of(chosen, load, workers(chosen, load)[0], 0)
    indexing = spec_of(chosen, index, workers(chosen, index)[0], 1)
    assert (loading.details["bulk_load"], indexing.details["bulk_load"], indexing.statements) == (True, False, 3)
    role = make_role(indexing, Offline())  # type: ignore[arg-type]
    statements = [role.next_statement()[1:].decode() for _ in range(3)]
    assert [statement.count("ADD INDEX") for statement in statements] == [1, 1, 1]
    on_innodb = replace(indexing, details={**indexing.details, "engine": "innodb"})
    assert make_role(on_innodb, Offline()).next_statement().count(b"ADD INDEX") == 3  # type: ignore[arg-type]
