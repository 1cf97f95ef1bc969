"""The variables that a server knows."""

from ibench_lib.configs.syntax import MY_CNF
from ibench_lib.servers.build import Build
from ibench_lib.servers.variables import known_options


def test_the_server_says_what_it_knows(build: Build) -> None:
    known = known_options(build)
    assert {"innodb_buffer_pool_size", "skip_networking", "log_bin", "sql_mode"} <= known.names
    assert MY_CNF.canonical(known.defaults["innodb_buffer_pool_size"]) == MY_CNF.canonical("128M")
    assert "innodb_no_such_thing" not in known.names
