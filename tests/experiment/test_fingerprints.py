"""Identities that must not move: by them finished cells count as done and snapshots are found again.

`tests/golden/identities.json` was written before the library was moved into folders. Where a change means to give a
cell another identity, all finished runs of users count as changed: say so in the commit that edits that file.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import Option, ServerConfig
from ibench_lib.errors import ConfigError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.runner.snapshot.key import load_settings
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import find
from ibench_lib.workloads.insert_benchmark.options import Options, Setup
from ibench_lib.workloads.insert_benchmark.workload import WORKLOAD
from tests.places import GOLDEN, ROOT

IDENTITIES = GOLDEN / "identities.json"
SERVERS = [
    ("mysql", (5, 6, 24), "5.6.24"),
    ("mysql", (9, 7, 4), "9.7.4-2"),
    ("percona", (8, 0, 33), "8.0.33-25"),
    ("mariadb", (10, 1, 23), "10.1.23-MariaDB"),
    ("mariadb", (10, 11, 19), "10.11.19-MariaDB"),
    ("mariadb", (11, 4, 5), "11.4.5-MariaDB"),
]
KNOWN = KnownOptions(
    frozenset({"innodb_page_size", "innodb_buffer_pool_size", "innodb_io_capacity", "innodb_purge_threads"}),
    {"innodb_page_size": "16384", "innodb_io_capacity": "200", "innodb_purge_threads": "4"},
)


def fingerprints(file: Path) -> dict[str, str]:
    """For each server: one SHA-256 over the fingerprints of all cells of an experiment file.

    The order in which they are run is no part of their identity: here it is that of the file.
    """
    experiment = load_experiment(file)
    in_file = replace(experiment, spec=experiment.spec.model_copy(update={"order": "interleaved"}))
    assert {cell.key for cell in in_file.cells()} == {cell.key for cell in experiment.cells()}
    found = {}
    for flavour, release, version in SERVERS:
        digest = hashlib.sha256()
        for cell in in_file.cells():
            try:
                config = experiment.server_config(cell, find(flavour).rules(release))
            except ConfigError:
                digest.update(b"no such configuration\n")
                continue
            digest.update(f"{experiment.fingerprint(cell, version, config)}\n".encode())
        found[f"{flavour} {version}"] = digest.hexdigest()
    return found


def snapshot_digests() -> dict[str, str]:
    """Digests of snapshots after the load and after a step that deletes, apart from the library's version."""
    options = Options(benchmark="insert_benchmark", clients=2, steps=["l.i0", "l.x", "l.i1", "qr100"])
    setup = Setup(name="tiny", l_i0_rows=1000, l_i1_rows=500, l_i2_rows=50, query_seconds=2.0)
    config = ServerConfig((Option("innodb_page_size", "8K", "x:1"), Option("innodb_io_capacity", "400", "x:2")))
    build = Build("b", "mariadb", "10.11.19-MariaDB", Path("/b"), ("/b/mariadbd",), "test")
    steps = WORKLOAD.steps(options, setup, 1.0)
    found = {}
    for count in (2, 3):
        loaded = steps[:count]
        key = WORKLOAD.load_key(options, loaded)
        settings = load_settings(build, config, key, churned=any(step.churns for step in loaded))
        values = {**settings.values, "ibench": "any"}
        found[f"after {steps[count - 1].name}"] = hashlib.sha256(
            json.dumps(values, sort_keys=True).encode()
        ).hexdigest()
    return found


def identities() -> dict[str, Any]:
    files = sorted((ROOT / "experiments").glob("*.yaml"))
    return {"cells": {file.stem: fingerprints(file) for file in files}, "snapshots": snapshot_digests()}


@pytest.mark.slow
def test_cells_and_snapshots_keep_their_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibench_lib.runner.snapshot.key.known_options", lambda _build: KNOWN)
    golden = json.loads(IDENTITIES.read_text(encoding="utf-8"))
    found = identities()
    assert found["snapshots"] == golden["snapshots"]
    assert {name: found["cells"][name] for name in golden["cells"]} == golden["cells"]


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"steps": ["l.i0", "l.x", "l.i1", "qr100"]}, True),
        ({"steps": ["l.i0", "l.x", "qr100", "qp100"]}, False),  # its queries waited for the smallest key
        ({"steps": "2025"}, False),
        ({"steps": ["l.i0"], "engine": "rocksdb"}, False),  # which compresses the rows
    ],
)
def test_a_finished_cell_stays_done_unless_the_second_edition_has_other_figures(
    changes: dict[str, Any], same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = load_experiment(ROOT / "experiments" / "demo.yaml")
    options = Options.model_validate(
        {**experiment.spec.workload.model_dump(), **changes, "settle": "none", "long_transaction": []}
    )
    changed = replace(experiment, spec=experiment.spec.model_copy(update={"workload": options}))
    cell, config = changed.cells()[0], ServerConfig(())
    of_second = changed.fingerprint(cell, "1", config)
    monkeypatch.setattr(type(WORKLOAD), "edition", lambda *_: None)
    assert (changed.fingerprint(cell, "1", config) == of_second) == same


def test_a_snapshot_of_another_edition_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibench_lib.runner.snapshot.key.known_options", lambda _build: KNOWN)
    before = snapshot_digests()
    monkeypatch.setattr("ibench_lib.workloads.insert_benchmark.workload.EDITION", 3)
    assert {*snapshot_digests().values()}.isdisjoint(before.values())
