import time
from pathlib import Path
from typing import Any

import pymysql

from ibench_lib.capture.history_list import HistoryListSampler
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox


def test_it_sees_purge_held_back_by_an_open_read_view(build: Build, tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=24M\n")
    samples: list[tuple[float, int | None]] = []
    with Sandbox(build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log") as where:
        address: dict[str, Any] = {"unix_socket": where.socket, "user": where.user, "password": where.password}
        writer = pymysql.connect(**address, autocommit=True)
        reader = pymysql.connect(**address)
        origin_ns = time.monotonic_ns()
        with (
            HistoryListSampler(address, origin_ns, lambda t, value: samples.append((t, value))) as sampler,
            writer.cursor() as write,
            reader.cursor() as read,
        ):
            write.execute("CREATE DATABASE d")
            write.execute("CREATE TABLE d.t (a INT PRIMARY KEY, b INT) ENGINE=InnoDB")
            write.execute("INSERT INTO d.t VALUES (1, 0)")
            before = sampler.read_once()
            read.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            for number in range(500):
                write.execute("UPDATE d.t SET b = %s", (number,))
            after = sampler.read_once()
            time.sleep(2.2)
        assert before is not None and after is not None
        assert after - before >= 450
        assert sampler.null_reason is None
    assert len(samples) >= 2
    assert all(value is not None and value >= 450 for _, value in samples[-2:])
    assert all(0 <= t - int(t) < 0.5 for t, _ in samples), "samples are taken on whole seconds of the run's clock"


def test_a_server_that_is_gone_gives_null_with_a_reason(tmp_path: Path) -> None:
    samples: list[tuple[float, int | None]] = []
    address = {"unix_socket": str(tmp_path / "nobody"), "user": "root", "password": ""}
    origin_ns = time.monotonic_ns()
    with HistoryListSampler(address, origin_ns, lambda t, value: samples.append((t, value))) as sampler:
        time.sleep(1.3)
        assert sampler.read_once() is None
    assert [value for _, value in samples] == [None]
    assert "nobody" in (sampler.null_reason or "") or "connect" in (sampler.null_reason or "")
