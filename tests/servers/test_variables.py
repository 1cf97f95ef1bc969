"""The variables that a server knows."""

from ibench_lib.configs.meaning import equal
from ibench_lib.servers.build import Build
from ibench_lib.servers.variables import known_options


def test_the_server_says_what_it_knows(build: Build) -> None:
    known = known_options(build)
    assert {"innodb_buffer_pool_size", "skip_networking", "log_bin", "sql_mode"} <= known.names
    assert equal(known.defaults["innodb_buffer_pool_size"], "128M")
    assert "innodb_no_such_thing" not in known.names
