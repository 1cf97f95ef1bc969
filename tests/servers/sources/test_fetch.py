"""What sources share that use a registry's client: its run, and the checksum of what it brought."""

import hashlib
from pathlib import Path

import pytest

from ibench_lib.errors import BuildNotFound, IbenchError
from ibench_lib.servers.sources.fetch import check_sha256, run_client
from tests.servers.clients import client


def test_a_client_runs_in_its_folder(clients: Path, tmp_path: Path) -> None:
    client(clients, "npm", 'pwd > "$1"')
    run_client("npm", ["where"], tmp_path)
    assert (tmp_path / "where").read_text().strip() == str(tmp_path)


def test_a_client_that_is_missing_or_fails_is_named(
    clients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client(clients, "npm", "seq 1 20; exit 4")
    with pytest.raises(IbenchError, match=r"npm failed \(exit 4\)") as failed:
        run_client("npm", [], tmp_path)
    assert failed.value.detail == "\n".join(map(str, range(6, 21))), "the end of what it said"
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BuildNotFound, match="mvn is not on this machine"):
        run_client("mvn", [], tmp_path)


def test_a_file_with_another_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.tgz"
    path.write_bytes(b"what came")
    check_sha256(path, hashlib.sha256(b"what came").hexdigest())
    with pytest.raises(IbenchError, match=r"x\.tgz has SHA-256 [0-9a-f]{64}, not abc"):
        check_sha256(path, "abc")
