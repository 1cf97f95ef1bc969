import os
import subprocess
from pathlib import Path

from ibench_lib.families.mysql.collectors.sizes import Sizes
from ibench_lib.families.mysql.connection import connect, pairs, rows
from ibench_lib.servers.build import Build
from tests.capture.scenes import Booted, Sink, scene

MIB = 1 << 20


def filled(address: dict[str, object]) -> dict[str, str]:
    """A database with one table of about 8 MiB and an index. Returns the server's variables."""
    with connect(address) as connection:
        rows(connection, "CREATE DATABASE d")
        rows(connection, "CREATE TABLE d.pi1 (a INT PRIMARY KEY AUTO_INCREMENT, b CHAR(200), KEY (b)) ENGINE=InnoDB")
        rows(connection, "INSERT INTO d.pi1 (b) VALUES (UUID())")
        for _ in range(14):
            rows(connection, "INSERT INTO d.pi1 (b) SELECT UUID() FROM d.pi1")
        rows(connection, "ANALYZE TABLE d.pi1")  # by itself the server looks after some ten seconds
        return pairs(connection, "SHOW GLOBAL VARIABLES")


def by_what(sink: Sink) -> dict[tuple[str, str], int | None]:
    return {(row["what"], row["name"]): row["bytes"] for row in sink["sizes"]}


def test_sizes_of_a_filled_database(build: Build, tmp_path: Path) -> None:
    server = Booted(build, tmp_path, "log_bin=binlog\nserver_id=1\n")
    try:
        address = server.address.arguments()
        variables = filled(address)
        sink = Sink()
        box = server.box
        watched = scene(tmp_path, address, server.pid, box.datadir, tmpdir=box.tmpdir, variables=variables)
        collector = Sizes(watched, sink)
        collector.open()
        collector.step_ended(3, "l.i1")
        sizes = by_what(sink)
        assert {(row["step_id"], row["step"]) for row in sink["sizes"]} == {(3, "l.i1")}
        data, index = sizes["table_data", "pi1"], sizes["table_index", "pi1"]
        assert data is not None and index is not None
        assert 2 * MIB < data < 16 * MIB and 2 * MIB < index < 16 * MIB
        database, whole = sizes["database", ""], sizes["datadir", ""]
        assert database is not None and whole is not None
        file = (box.datadir / "d" / "pi1.ibd").stat().st_blocks * 512
        assert file <= database <= file + MIB
        du = subprocess.run(["du", "-s", "-B1", str(box.datadir)], capture_output=True, text=True, check=True).stdout
        assert abs(whole - int(du.split()[0])) < 4 * MIB  # du counts folders, too
        for what in ("system", "redo", "binary_log"):
            size = sizes[what, ""]
            assert size is not None and 0 < size < whole, what
        assert sizes["redo", ""] == sum(
            path.stat().st_blocks * 512
            for path in [*box.datadir.glob("ib_logfile*"), *box.datadir.glob("#innodb_redo/*")]
        )
        if variables.get("innodb_undo_tablespaces") == "0":
            assert sizes["undo", ""] is None
            assert collector.null_reasons == {"sizes.undo": "undo is in the system tablespace"}
        else:
            assert collector.null_reasons == {}
        assert sizes["temporary", ""] is not None
    finally:
        server.box.close()


def test_what_cannot_be_had_is_null_with_a_reason(running: Booted, tmp_path: Path) -> None:
    address = running.address.arguments()
    variables = {**filled(address), "log_bin": "OFF"}
    sink = Sink()
    remote = Sizes(scene(tmp_path, address, tables=("pi1", "pi2"), variables=variables), sink)
    remote.step_ended(0, "l.i0")
    sizes = by_what(sink)
    assert sizes["table_data", "pi1"]
    assert sizes["table_data", "pi2"] is None
    sums = {what for what, name in sizes if name == ""}
    assert sums == {"database", "datadir", "system", "undo", "redo", "temporary", "binary_log"}
    assert all(sizes[what, ""] is None for what in sums)
    assert remote.null_reasons["sizes.datadir"] == "the server is remote: its files are on another host"
    assert remote.null_reasons["sizes.table_data"] == "the server does not list the table"
    local = Sizes(scene(tmp_path, datadir=running.box.datadir, variables=variables), Sink())
    local.step_ended(0, "l.i0")
    assert local.null_reasons["sizes.binary_log"] == "the binary log is off"
    assert local.null_reasons["sizes.table_data"].startswith("no answer: ")


def test_a_sparse_file_counts_by_its_blocks(tmp_path: Path) -> None:
    datadir = tmp_path / "datadir"
    (datadir / "d").mkdir(parents=True)
    with open(datadir / "d" / "pi1.ibd", "wb") as file:
        os.truncate(file.fileno(), 100 * MIB)
    sink = Sink()
    Sizes(scene(tmp_path, datadir=datadir, variables={}), sink).step_ended(0, "l.i0")
    assert by_what(sink)["database", ""] == 0
