"""A remote server whose certificate is right, wrong, expired, for another host, and changed while a run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pymysql
import pytest

from ibench_lib.errors import RunFailed, ServerStartError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.one_run import DATABASE
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers import registry, remote
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Access
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from ibench_lib.workloads.workload import Step
from tests.command import ibench
from tests.servers.certificates import DAY, Authority

EXPERIMENT = """
title: By TLS
builds: [far]
configs: [{name: p1, fragments: [p1]}]
setups: [{name: tiny, l_i0_rows: 2000, l_i1_rows: 1000, l_i2_rows: 1000, query_seconds: 1}]
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, l.i1], transport: tls}
"""


@dataclass
class Far:
    """A server, by TLS, and who signs its certificates: `trusted` is the authority that clients are given."""

    address: Address
    certificate: Path
    trusted: Authority
    other: Authority

    @property
    def access(self) -> Access:
        assert self.address.port is not None
        ca = str(self.trusted.file)
        return Access("127.0.0.1", self.address.port, "root", password_variable="LAB_PASSWORD", certificate=ca)

    def renew(self, by: Authority, **options: Any) -> None:
        """Give the running server another certificate."""
        by.sign(self.certificate, **options)
        self.ask("FLUSH SSL")

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """By the socket, which needs no certificate."""
        local = replace(self.address, port=None, certificate=None)
        with pymysql.connect(**local.arguments()) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())


@pytest.fixture(scope="module")
def server(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    folder = tmp_path_factory.mktemp("far")
    (folder / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=32M\nskip_log_bin\n")
    trusted, other = Authority(folder / "trusted.pem"), Authority(folder / "other.pem")
    with Sandbox(build, folder / "box", folder / "my.cnf", folder / "log", tls=True) as address:
        assert address.certificate is not None
        yield Far(address, Path(address.certificate), trusted, other)


@pytest.fixture
def far(server: Far, monkeypatch: pytest.MonkeyPatch) -> Far:
    monkeypatch.setenv("LAB_PASSWORD", server.address.password)
    server.renew(server.trusted)
    return server


def test_a_right_certificate_is_accepted(far: Far, workspace: Workspace) -> None:
    assert remote.register("far", far.access, workspace).transport == "tls"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("another authority", "unable to get local issuer certificate"),
        ("expired", "certificate has expired"),
        ("not yet valid", "certificate is not yet valid"),
        ("another host", "IP address mismatch"),
    ],
)
def test_a_wrong_certificate_is_refused_and_the_hint_speaks_of_it(
    far: Far, workspace: Workspace, fault: str, said: str
) -> None:
    remote.register("far", far.access, workspace)
    how: dict[str, Any] = {
        "another authority": {"by": far.other},
        "expired": {"by": far.trusted, "ends": -DAY},
        "not yet valid": {"by": far.trusted, "ends": 90 * DAY},
        "another host": {"by": far.trusted, "address": "192.0.2.7"},
    }
    far.renew(**how[fault])
    with pytest.raises(ServerStartError, match=said) as caught:
        remote.load("far", workspace)
    assert "--tls-ca" in (caught.value.hint or "") and "password" not in (caught.value.hint or "")
    arguments = ["--remote", f"127.0.0.1:{far.access.port}", "--password-variable", "LAB_PASSWORD"]
    done = ibench(workspace, "servers", "add", "again", *arguments, "--tls-ca", str(far.trusted.file))
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr
    assert registry.labels(workspace) == ["far"]


@pytest.mark.parametrize("content", [None, b"", b"no certificate\n"])
def test_a_ca_file_that_holds_no_certificate_is_named(
    far: Far, workspace: Workspace, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    arguments = ["--remote", f"127.0.0.1:{far.access.port}", "--password-variable", "LAB_PASSWORD"]
    done = ibench(workspace, "servers", "add", "far", *arguments, "--tls-ca", str(file))
    assert done.returncode != 0 and str(file) in done.stderr and "--tls-ca" in done.stderr
    assert "Traceback" not in done.stderr and registry.labels(workspace) == []


def test_a_server_without_tls_gets_no_password_in_the_clear(build: Build, workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=32M\nskip_log_bin\nskip_ssl\n")
    authority = Authority(tmp_path / "ca.pem")
    with (
        pytest.MonkeyPatch.context() as patch,
        Sandbox(build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log", tcp=True) as address,
    ):
        patch.setenv("LAB_PASSWORD", address.password)
        assert address.port is not None
        in_the_clear = Access("127.0.0.1", address.port, "root", password_variable="LAB_PASSWORD")
        remote.register("clear", in_the_clear, workspace)
        with pytest.raises(ServerStartError, match="SSL is required") as caught:
            remote.register("far", replace(in_the_clear, certificate=str(authority.file)), workspace)
        assert "--tls-ca" in (caught.value.hint or "")


@pytest.mark.parametrize("fault", ["another authority", "expired"])
def test_a_certificate_that_changes_during_a_run_ends_it_and_what_stays_there_is_named(
    far: Far, workspace: Workspace, tmp_path: Path, fault: str
) -> None:
    remote.register("far", far.access, workspace)
    (tmp_path / "far.yaml").write_text(EXPERIMENT)
    experiment = load_experiment(tmp_path / "far.yaml")

    class Changes(Observer):
        def step_begins(self, step: Step) -> None:
            if step.name == "l.i1":
                by, ends = (far.other, 30 * DAY) if fault == "another authority" else (far.trusted, -DAY)
                far.renew(by, ends=ends)

    try:
        with pytest.raises(RunFailed, match=r"certificate") as caught:
            run_experiment(experiment, workspace, Changes())
        assert "l.i1" in caught.value.what
        (run_dir,) = workspace.runs.iterdir()
        manifest = read_manifest(run_dir)
        assert (manifest.status, manifest.failed_step) == ("failed", "l.i1") and verify(run_dir) == []
        assert (DATABASE,) in far.ask("SHOW DATABASES"), "nobody could drop it"
        assert any(f"database {DATABASE} is still on far" in warning for warning in manifest.warnings)
    finally:
        far.ask(f"DROP DATABASE IF EXISTS {DATABASE}")
    far.renew(far.trusted)
    (made,) = run_experiment(experiment, workspace, Observer()).made
    assert made.status == "complete" and (DATABASE,) not in far.ask("SHOW DATABASES")
