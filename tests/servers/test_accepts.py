"""What a server says about values that it does not take."""

from pathlib import Path

import pytest

from ibench_lib.errors import ConfigError
from ibench_lib.servers.accepts import check
from ibench_lib.servers.build import Build
from tests.configs.resolved import config


@pytest.mark.parametrize(
    "line", ["innodb_flush_method=NONSENSE", "innodb_buffer_pool_size=lots", "max_connections=abc", "sql_mode=blub"]
)
def test_values_that_the_server_refuses_are_named_with_its_words_and_our_line(
    build: Build, tmp_path: Path, line: str
) -> None:
    key, _, value = line.partition("=")
    with pytest.raises(ConfigError, match=f"{key} cannot be '{value}'") as caught:
        check(build, config(tmp_path, build, "skip_log_bin", line))
    assert f"f.cnf:3 ({key})" in (caught.value.hint or "")
