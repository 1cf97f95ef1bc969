"""How large the database became, next to the memory that the server keeps it in."""

from __future__ import annotations

from typing import Any

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.synthetic import Run, answer, write_runs

pytestmark = pytest.mark.lake

MIB = 2**20


def grown(**mib: int) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Files of the database at the ends of steps, and a table, which is not counted twice."""
    numbers = {"l_x": 1, "l_i1": 2, "qr100": 3}
    return tuple(
        (
            "sizes",
            {"step_id": numbers[step], "step": step.replace("_", "."), "what": what, "name": name, "bytes": size * MIB},
        )
        for step, size in mib.items()
        for what, name in (("database", ""), ("table_data", "pi1"))
    )


def test_the_largest_end_of_the_chosen_steps_counts(workspace: Workspace) -> None:
    write_runs(workspace, Run(also=grown(l_x=40, l_i1=252, qr100=250)), Run("small", minute=1))
    lake = reader.lake(workspace)
    found = answer(lake, "data_and_cache").select("dbms", "data_bytes").rows()
    assert found == [("system.cy10a", 252 * MIB), ("system.small", None)], "what was not captured is not zero"
    of_one = answer(lake, "data_and_cache", steps=["qr100"])
    assert of_one["data_bytes"].to_list() == [250 * MIB, None]


@pytest.mark.parametrize(
    ("flavour", "variables", "cache"),
    [
        ("mysql", {"default_storage_engine": "InnoDB", "innodb_buffer_pool_size": str(40 * MIB)}, ("buffer pool", 40)),
        (
            "percona",
            {
                "default_storage_engine": "ROCKSDB", "innodb_buffer_pool_size": str(8 * MIB),
                "rocksdb_block_cache_size": str(64 * MIB),
            },
            ("block cache", 64),
        ),
        ("postgres", {"shared_buffers": "512MB"}, ("shared buffers", 512)),
        ("postgres", {"shared_buffers": "1536kB"}, ("shared buffers", 1.5)),
        ("postgres", {"shared_buffers": "2GB"}, ("shared buffers", 2048)),
        ("postgres", {"shared_buffers": "many"}, ("shared buffers", None)),
        ("mysql", {}, (None, None)),
    ],
)  # fmt: skip
def test_each_family_calls_its_cache_what_its_manual_does(
    flavour: str, variables: dict[str, str], cache: tuple[str | None, float | None], workspace: Workspace
) -> None:
    write_runs(workspace, Run(flavour=flavour, variables=tuple(variables.items())))
    ((name, size),) = answer(reader.lake(workspace), "data_and_cache").select("cache", "cache_bytes").rows()
    assert (name, None if size is None else size / MIB) == cache
