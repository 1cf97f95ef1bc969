"""A PostgreSQL that somebody else runs, which a sandbox plays: by TCP, by TLS, and by TLS with a wrong authority."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibench_lib.errors import ServerStartError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.one_run import DATABASE
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers import remote
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Access
from ibench_lib.store.verify import verify
from tests.command import ibench
from tests.families.postgres.boxes import connected, sandbox
from tests.servers.certificates import Authority

pytestmark = pytest.mark.slow

EXPERIMENT = """
title: a PostgreSQL elsewhere
builds: [far]
configs: [{name: cx10a, fragments: [cx10a]}]
setups: [{name: tiny, l_i0_rows: 2000, l_i1_rows: 1000, l_i2_rows: 500, query_seconds: 1}]
workload:
  {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, l.i1, qr100], settle: flush, transport: %s}
"""


@pytest.mark.parametrize("transport", ["tcp", "tls"])
def test_a_run_counts_its_rows_there_and_leaves_no_database(
    postgres: Build, open_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    workspace = Workspace(open_path)
    box = sandbox(postgres, open_path, **{transport: True})
    with box as address:
        monkeypatch.setenv("LAB_PASSWORD", address.password)
        where = ["--remote", f"127.0.0.1:{address.port}", "--family", "postgres", "--user", address.user]
        where += ["--password-variable", "LAB_PASSWORD"]
        if transport == "tls":
            where += ["--tls-ca", str(address.certificate)]
        added = ibench(workspace, "servers", "add", "far", *where, LAB_PASSWORD=address.password)
        assert added.returncode == 0, added.stderr
        (open_path / "far.yaml").write_text(EXPERIMENT % transport)
        (manifest,) = run_experiment(load_experiment(open_path / "far.yaml"), workspace, Observer()).made
        local = connected(box, "postgres")
        left = local.scalar(f"SELECT COUNT(*) FROM pg_database WHERE datname = '{DATABASE}'")
        local.close()
    assert manifest.status == "complete", manifest.error
    assert left == 0 and verify(workspace.run_dir(manifest.run_id)) == []
    assert [verdict.held == verdict.made > 0 for verdict in manifest.verdicts] == [True] * 4
    assert [action.action for action in manifest.settle][-1:] == ["CHECKPOINT"]
    assert any("is remote" in warning for warning in manifest.warnings)
    assert address.password not in json.dumps(manifest.model_dump(mode="json"))


def test_a_server_that_another_authority_has_signed_is_refused(
    postgres: Build, open_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Authority(open_path / "other.pem")
    with sandbox(postgres, open_path, tls=True) as address:
        monkeypatch.setenv("LAB_PASSWORD", address.password)
        assert address.port is not None
        access = Access("127.0.0.1", address.port, address.user, "LAB_PASSWORD", None, str(other.file), "postgres")
        with pytest.raises(ServerStartError, match="certificate verify failed") as caught:
            remote.register("far", access, Workspace(open_path))
        assert "--tls-ca" in (caught.value.hint or "")
