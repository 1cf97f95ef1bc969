from pathlib import Path

import pytest

from ibench_lib.cnf import parse, resolve
from ibench_lib.errors import ConfigError, NameRefused


def fragments(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name.replace('__', '.')}.cnf").write_text(text)
    return tmp_path


def test_deltas_win_and_every_line_says_where_it_comes_from(tmp_path: Path) -> None:
    folder = fragments(
        tmp_path,
        base="[mysqld]\n# why\ninnodb-io-capacity = 100\nskip_log_bin\nsync_binlog=0 # fast\n",
        delta="[mysqld]\ninnodb_io_capacity=200\n",
    )
    config = resolve(["base", "delta"], "mariadb", 1.0, folder)
    assert {key: option.value for key, option in config.options.items()} == {
        "skip_log_bin": None,
        "sync_binlog": "0",
        "innodb_io_capacity": "200",
    }
    lines = config.render().splitlines()
    assert lines[0] == "[mysqld]"
    assert lines[-1].split() == ["innodb_io_capacity=200", "#", "delta.cnf:2"]
    assert parse(config.render(), "again")[-1].value == "200", "what is rendered can be read"


def test_the_flavours_own_fragment_goes_before_the_common_one(tmp_path: Path) -> None:
    folder = fragments(tmp_path, base="[mysqld]\na=1\n", base__mysql="[mysqld]\na=2\n")
    assert resolve(["base"], "mysql", 1.0, folder).options["a"].value == "2"
    assert resolve(["base"], "mariadb", 1.0, folder).options["a"].value == "1"


def test_sizes_shrink_with_the_scale_down_to_a_floor(tmp_path: Path) -> None:
    folder = fragments(
        tmp_path,
        base="[mysqld]\ninnodb_buffer_pool_size=80G\ninnodb_max_purge_lag=50000\ninnodb_io_capacity=10000\n",
    )
    small = resolve(["base"], "mysql", 0.002, folder).options
    assert small["innodb_buffer_pool_size"].value == str(163 << 20)  # 163.84M, in whole M
    assert "80G at scale 0.002" in small["innodb_buffer_pool_size"].origin
    assert small["innodb_max_purge_lag"].value == "100"
    assert small["innodb_io_capacity"].value == "10000"
    tiny = resolve(["base"], "mysql", 1e-9, folder).options
    assert tiny["innodb_buffer_pool_size"].value == str(24 << 20)
    assert tiny["innodb_max_purge_lag"].value == "1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[mysqld]\ninit-file=/tmp/x.sql\n", "f.cnf:2: init_file is set by the sandbox"),
        ("[mysqld]\nloose_plugin_load=x.so\n", "f.cnf:2: loose_plugin_load is set by the sandbox"),
        ("[mysqld]\ndatadir=/var/lib/mysql\n", "f.cnf:2: datadir is set by the sandbox"),
        ("[client]\nuser=root\n", "f.cnf:1: group [client] is not used here"),
        ("a=1\n", "f.cnf:1: not an option of a [mysqld] group"),
        ("[mysqld]\n=1\n", "f.cnf:2: not an option"),
    ],
)
def test_lines_that_cannot_be_used_are_refused_with_file_and_line(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "f.cnf")
    assert words in caught.value.what


def test_unknown_and_hostile_names(tmp_path: Path) -> None:
    folder = fragments(tmp_path, base="[mysqld]\n")
    with pytest.raises(ConfigError, match="no configuration 'bse'") as caught:
        resolve(["bse"], "mysql", 1.0, folder)
    assert "base" in (caught.value.hint or "")
    with pytest.raises(NameRefused):
        resolve(["../base"], "mysql", 1.0, folder)


def test_a_scaled_size_that_is_none_is_refused(tmp_path: Path) -> None:
    folder = fragments(tmp_path, base="[mysqld]\ninnodb_buffer_pool_size=lots\n")
    with pytest.raises(ConfigError, match=r"base\.cnf:2: innodb_buffer_pool_size is scaled and needs a size"):
        resolve(["base"], "mysql", 0.5, folder)
