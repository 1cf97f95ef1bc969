"""What does not fit a build is refused before there is a server."""

from pathlib import Path

import pytest

from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import BuildNotFound, ExperimentError
from ibench_lib.runner.fit import fit
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Access, Remote

HERE = Build("here", "mariadb", "10.11.19-MariaDB", Path("/opt/db"), ("/opt/db/bin/mariadbd",), "test")
OLD = Build("old", "postgres", "9.6.24", Path("/opt/pg"), ("/opt/pg/bin/postgres",), "test")
CLEAR = Remote("far", "mysql", "8.0.36", Access("db.lab", 3306, "bench", password_variable="SECRET"))
SECURE = Remote("far", "mysql", "8.0.36", Access("db.lab", 3306, "bench", "SECRET", certificate="/ca.pem"))
NOTHING = ServerConfig(())


@pytest.mark.parametrize(("build", "transport"), [(CLEAR, "tcp"), (SECURE, "tls")])
def test_a_remote_server_is_reached_in_its_own_way_only(build: Remote, transport: str) -> None:
    assert fit(build, NOTHING, transport=transport, engine="innodb") == []
    with pytest.raises(ExperimentError, match=f"is remote and uses transport {transport}, not the workload's socket"):
        fit(build, NOTHING, transport="socket", engine="innodb")


@pytest.mark.parametrize("transport", ["tcp", "tls"])
def test_a_server_that_cannot_prove_its_identity_is_reached_by_its_socket_only(transport: str) -> None:
    with pytest.raises(ExperimentError, match=r"build old \(postgres 9\.6\.24\) can be reached by its socket only"):
        fit(OLD, NOTHING, transport=transport, engine="innodb")


def test_a_build_without_the_plugin_of_an_engine_is_refused() -> None:
    with pytest.raises(BuildNotFound, match=r"build here has no plugin ha_rocksdb\.so, which `engine: rocksdb` needs"):
        fit(HERE, NOTHING, transport="socket", engine="rocksdb")
