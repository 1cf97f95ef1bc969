import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pytest

from ibench_lib.errors import RunFailed, ServerStartDisturbed, ServerStartError
from ibench_lib.servers import sandbox as sandboxes
from ibench_lib.servers.address import Listener
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.servers.sandbox_directory import sweep
from tests.faults import survivors


def sandbox(build: Build, root: Path, options: str = "innodb_buffer_pool_size=24M\n") -> Sandbox:
    my_cnf = root / "my.cnf"
    my_cnf.write_text(f"[mysqld]\n{options}")
    return Sandbox(build, root / "sandboxes" / "box", my_cnf, root / "server.log", start_timeout_s=60)


@pytest.mark.fault("F28")
def test_a_sandbox_is_private_and_leaves_nothing_behind(build: Build, tmp_path: Path) -> None:
    box = sandbox(build, tmp_path)
    with box as address:
        process = psutil.Process(box.process.pid)  # type: ignore[union-attr]
        assert [c for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN] == []
        assert stat.S_IMODE(box.directory.stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(address.socket).parent.stat().st_mode) == 0o700
        assert stat.S_IMODE((box.directory / "client.cnf").stat().st_mode) == 0o600
        assert len(address.socket) <= 107
        assert address.password not in " ".join(process.cmdline())
        assert address.password not in repr(address)
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            pymysql.connect(unix_socket=address.socket, user="root")
        with pymysql.connect(unix_socket=address.socket, user="root", password=address.password) as connection:
            assert ".".join(map(str, build.release)) in connection.get_server_info()
    assert not process.is_running()
    assert not box.directory.exists()
    assert not Path(address.socket).parent.exists()
    assert address.password not in (tmp_path / "server.log").read_text(errors="replace")


@pytest.mark.fault("F38")
def test_a_server_that_does_not_start_shows_the_tail_of_its_error_log(build: Build, tmp_path: Path) -> None:
    box = sandbox(build, tmp_path, "no_such_variable=1\n")
    with pytest.raises(ServerStartError) as caught, box:
        pass
    assert "no_such_variable" in (caught.value.detail or "")
    assert caught.value.exit_code == 2
    assert caught.value.lasting
    assert not box.directory.exists()


@pytest.mark.fault("F38")
def test_a_port_taken_by_another_and_a_server_too_slow_are_disturbances(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setattr(sandboxes, "_free_port", lambda: taken.getsockname()[1])
        box = sandbox(build, tmp_path)
        box.tcp = True
        with pytest.raises(ServerStartDisturbed, match="does not start") as caught, box:
            pass
    assert "already in use" in (caught.value.detail or "")
    assert not caught.value.lasting
    slow = sandbox(build, tmp_path)
    slow.start_timeout_s = 0.05
    with pytest.raises(ServerStartDisturbed, match="timed out"), slow:
        pass


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (-9, "", ServerStartDisturbed),
        (1, "[ERROR] InnoDB: preallocating 12582912 bytes failed with error 28", ServerStartDisturbed),
        (1, '[ERROR] mariadbd: Error writing file (errno: 28 "No space left on device")', ServerStartDisturbed),
        (1, "[ERROR] unknown variable 'no_such_variable=1'", ServerStartError),
    ],
)
def test_a_server_that_ended_is_disturbed_where_another_time_may_be_better(
    status: int, said: str, kind: type[ServerStartError]
) -> None:
    assert sandboxes._not_up(status, said) is kind


@pytest.mark.slow
@pytest.mark.parametrize("when", ["initialising its data directory", "does not start"])
def test_a_server_that_may_open_too_few_files_is_said_to_be_one(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    real, calls = sandboxes.tethered, []

    def with_few_files(command: Sequence[str], *how: Any) -> list[str]:
        calls.append(command)
        if len(calls) < 2 and when == "does not start":
            return real(command, *how)
        return real(["sh", "-c", 'ulimit -n 12; exec "$@"', "sh", *command], *how)

    monkeypatch.setattr(sandboxes, "tethered", with_few_files)
    with pytest.raises(ServerStartError, match=when) as caught, sandbox(build, tmp_path):
        pass
    assert "it may open too few files" in (caught.value.hint or "")


def test_few_files_are_named_where_the_server_does_not_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "[ERROR] Fatal error: Can't open and lock privilege tables: Table 'mysql.proxies_priv' doesn't exist"
    monkeypatch.setattr(resource, "getrlimit", lambda _: (4096, 4096))
    assert sandboxes._hint(said, "look above") == "look above"
    monkeypatch.setattr(resource, "getrlimit", lambda _: (24, 4096))
    assert "`ulimit -n` says 24 here" in sandboxes._hint(said, "look above")


@pytest.mark.fault("F18")
def test_a_directory_that_exists_is_never_taken_over(build: Build, tmp_path: Path) -> None:
    box = sandbox(build, tmp_path)
    box.directory.mkdir(parents=True)
    (box.directory / "precious").write_text("data")
    with pytest.raises(ServerStartError, match="already exists and does not belong to ibench"), box:
        pass
    assert (box.directory / "precious").read_text() == "data"


@pytest.mark.fault("F16")
def test_f16_a_second_server_on_one_directory_is_refused_at_once_and_the_holder_named(
    build: Build, tmp_path: Path
) -> None:
    with sandbox(build, tmp_path) as address:
        second = sandbox(build, tmp_path)
        with pytest.raises(ServerStartError, match=f"held by process {os.getpid()}"), second:
            pass
        assert second.process is None, "no server was started, which needs 30 s to notice by itself"
        pymysql.connect(**address.arguments()).close()


@pytest.mark.long
@pytest.mark.fault("F14")
@pytest.mark.fault("F15")
def test_f14_f15_a_stale_socket_and_a_pid_file_of_somebody_else_are_no_hindrance(build: Build, tmp_path: Path) -> None:
    box = sandbox(build, tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        with box:
            (box.directory / "server.pid").write_text(f"{bystander.pid}\n")
        assert bystander.poll() is None, "never signalled: a server is known by its process, not by a file"
        with box as address:
            pymysql.connect(**address.arguments()).close()
        bystander.terminate()


def test_two_sandboxes_of_one_build_do_not_meet(build: Build, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    templates = tmp_path / "templates"
    boxes = [sandbox(build, tmp_path / name) for name in ("a", "b")]
    for box in boxes:
        box.templates = templates
    with boxes[0] as first, boxes[1] as second:
        for address, name in ((first, "one"), (second, "two")):
            with pymysql.connect(**address.arguments()) as connection, connection.cursor() as cursor:
                cursor.execute(f"CREATE DATABASE {name}")
                cursor.execute("SHOW DATABASES LIKE '%o%'")
                assert {"one", "two"} & {row[0] for row in cursor.fetchall()} == {name}
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            pymysql.connect(**{**first.arguments(), "password": second.password})
    assert len(list(templates.iterdir())) == 1


def test_a_deep_temporary_folder_does_not_lengthen_the_sockets_path(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with sandbox(build, deep) as address:
        assert address.socket is not None and len(address.socket) <= 107


@pytest.mark.fault("F2")
def test_the_server_dies_with_a_runner_killed_by_9_and_the_next_one_sweeps_up(build: Build, tmp_path: Path) -> None:
    sandbox(build, tmp_path)  # writes my.cnf
    script = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from ibench_lib.servers.identify import identify
        from ibench_lib.servers.sandbox import Sandbox
        build = identify("system", Path({str(build.basedir)!r}), {build.command!r}, source="path",
                         environment={build.environment!r})
        root = Path({str(tmp_path)!r})
        box = Sandbox(build, root / "sandboxes" / "box", root / "my.cnf", root / "server.log")
        with box as address:
            print(box.process.pid, address.socket, flush=True)
            time.sleep(600)
    """)
    runner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    pid, socket = runner.stdout.readline().split()
    server = psutil.Process(int(pid))
    assert server.is_running()
    assert sweep(tmp_path / "sandboxes") == [], "a living runner's sandbox is left alone"
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert survivors([server]) == []
    assert sweep(tmp_path / "sandboxes") == [tmp_path / "sandboxes" / "box"]
    assert not Path(socket).parent.exists()


@pytest.mark.fault("F5")
def test_a_stopped_server_is_still_ended(build: Build, tmp_path: Path) -> None:
    box = sandbox(build, tmp_path)
    with box:
        assert box.process is not None
        pid = box.process.pid
        os.kill(pid, signal.SIGSTOP)
        before = time.monotonic()
    assert not psutil.pid_exists(pid)
    assert time.monotonic() - before < box.stop_timeout_s + 60, "it is not waited for as if it could answer"


def test_a_socket_is_in_the_clear_though_the_server_knows_tls(build: Build, tmp_path: Path) -> None:
    box = sandbox(build, tmp_path)
    box.tls = box.tcp = True
    with box as address:
        for where, is_encrypted in ((address, True), (replace(address, port=None), False)):
            with pymysql.connect(**where.arguments()) as connection, connection.cursor() as cursor:
                cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
                ((_, cipher),) = cursor.fetchall()
                assert bool(cipher) == is_encrypted


@pytest.mark.long
def test_a_server_goes_on_with_a_copy_of_its_files_unless_it_did_not_shut_down_cleanly(
    build: Build, tmp_path: Path
) -> None:
    box, kept = sandbox(build, tmp_path), tmp_path / "kept"
    box.tls = box.tcp = True
    with box as first:
        with pymysql.connect(**first.arguments()) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE mine")
            cursor.execute("CREATE TABLE mine.t (id INT PRIMARY KEY)")
            cursor.execute("INSERT INTO mine.t VALUES (7)")
            connection.commit()
        assert box.process is not None
        pid = box.process.pid
        assert 0 < box.stop(60) < 60
        assert not psutil.pid_exists(pid) and not box.alive()
        box.datadir.rename(kept)
        second = box.start_again(kept)
        assert box.copy_s is not None and (second.password, second.port) != (first.password, first.port)
        with pymysql.connect(**second.arguments()) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id FROM mine.t")
            assert cursor.fetchall() == ((7,),)
            cursor.execute("INSERT INTO mine.t VALUES (8)")
            cursor.execute("SELECT Host FROM mysql.user WHERE User = 'root' ORDER BY Host")
            assert cursor.fetchall() == (("127.0.0.1",), ("localhost",))
        with pytest.raises(RunFailed, match=r"did not shut down cleanly within 0 s \(exit -9\)"):
            box.stop(0)
        assert not box.alive()
    assert not box.directory.exists()
    assert (kept / "ibdata1").exists(), "the copy's origin is not the sandbox's to remove"


@pytest.mark.parametrize(("version", "known"), [("9.6.24", True), ("15.18", False)])
def test_who_listens_is_said_of_a_server_that_cannot_prove_its_identity(
    tmp_path: Path, version: str, known: bool
) -> None:
    build = Build("pg", "postgres", version, tmp_path, (str(tmp_path / "postgres"),), "test")
    listener = Sandbox(build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log")._listener(17)
    assert listener == (Listener(process=17, user=os.geteuid()) if known else None)
