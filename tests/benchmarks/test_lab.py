"""A lab of five hosts on this machine: what its experiment loses, has twice or does not name under faults."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import lab
from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build


@pytest.fixture
def network() -> Iterator[lab.Network]:
    network = lab.Network()
    try:
        network.__enter__()
    except OSError as error:
        pytest.skip(f"no network namespaces here: {error}")
    yield network
    network.close()


@pytest.mark.long
def test_faults_of_each_part_lose_nothing_and_double_nothing(
    build: Build, workspace: Workspace, tmp_path: Path, network: lab.Network
) -> None:
    """Clients, a worker and the server are killed, the store is lost in the middle of a push and of a pull, a host is
    parted from the others, and a disk is full.
    """
    tried = lab.Lab(tmp_path / "lab", network, repeats=1, partition_s=25.0)
    names = ("kill_client", "lose_store", "kill_worker", "part", "kill_server", "fill")
    faults = [getattr(tried, name) for name in names]
    with tried.open():
        outcome = tried.run(faults)
    assert outcome.problems == []
    assert outcome.statuses["complete"] == 4 and outcome.codes[-1] == 0
    assert len(outcome.faults) >= 4, "faults met cells"
    assert any("middle of a pull" in fault.what for fault in outcome.faults)
    assert outcome.attempts["complete"] < sum(outcome.attempts.values()), "and cost some of them an attempt"
