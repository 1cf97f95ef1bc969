from pathlib import Path

import pytest

from ibench_lib.configs.option_file import parse
from ibench_lib.configs.resolve import ServerConfig, complete, names, resolve
from ibench_lib.configs.rules import Rules
from ibench_lib.errors import ConfigError, NameRefused
from ibench_lib.servers.flavours.flavour import find


def rules(flavour: str, release: tuple[int, ...]) -> Rules:
    return find(flavour).rules(release)


def fragments(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name.replace('__', '.')}.cnf").write_text(text)
    return tmp_path


def values(config: ServerConfig) -> dict[str, str | None]:
    return {option.key: option.value for option in config.options}


def test_deltas_win_and_every_line_says_where_it_comes_from(tmp_path: Path) -> None:
    folder = fragments(
        tmp_path,
        base="[mysqld]\n# why\ninnodb-io-capacity = 100\nskip_log_bin\nsync_binlog=0 # fast\n",
        delta="[mysqld]\ninnodb_io_capacity=200\n",
    )
    config = resolve(["base", "delta"], rules("mariadb", (10, 11, 19)), 1.0, folder)
    assert values(config) == {
        "skip_log_bin": None,
        "sync_binlog": "0",
        "innodb_io_capacity": "200",
    }
    lines = config.render().splitlines()
    assert lines[0] == "[mysqld]"
    assert lines[-1].split() == ["innodb_io_capacity=200", "#", "delta.cnf:2"]
    assert parse(config.render(), "again")[-1].value == "200", "what is rendered can be read"
    assert set(config.fragments) == {"base.cnf", "delta.cnf"}


def test_the_most_specific_file_for_a_build_is_taken(tmp_path: Path) -> None:
    folder = fragments(
        tmp_path,
        base="[mysqld]\na=common\n",
        base__mysql="[mysqld]\na=mysql\n",
        **{"base__mysql-5": "[mysqld]\na=mysql 5\n"},
    )
    (folder / "base.mysql-5.6.cnf").write_text("[mysqld]\na=mysql 5.6\n")

    def taken(flavour: str, *release: int) -> str | None:
        return resolve(["base"], rules(flavour, (*release, 0)), 1.0, folder).value("a")

    assert taken("mysql", 5, 6) == "mysql 5.6"
    assert taken("mysql", 5, 7) == "mysql 5"
    assert taken("mysql", 8, 0) == taken("percona", 8, 0) == "mysql"
    assert taken("mariadb", 10, 11) == "common"
    (folder / "base.percona.cnf").write_text("[mysqld]\na=percona\n")
    assert taken("percona", 8, 0) == "percona"


def test_a_folder_of_ones_own_goes_before_the_built_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a13.cnf").write_text("[mysqld]\ninnodb_max_purge_lag=7\n")
    config = resolve(["cy10a", "a13"], rules("mariadb", (10, 11, 19)), 1.0, tmp_path / "own")
    assert config.value("innodb_max_purge_lag") == "7"
    assert config.value("innodb_max_purge_lag_delay") is None
    assert config.value("sync_binlog") == "0", "the base is the built-in one"
    assert [path.parent.name for path in names(tmp_path / "own")["a13"]] == ["own", "fragments"]


def test_sizes_shrink_with_the_scale_down_to_a_floor_and_both_values_are_kept(tmp_path: Path) -> None:
    folder = fragments(
        tmp_path,
        base="[mysqld]\ninnodb_buffer_pool_size=80G\ninnodb_max_purge_lag=50000\ninnodb_io_capacity=10000\n",
    )
    small = resolve(["base"], rules("mysql", (8, 0, 33)), 0.001, folder)
    assert small.value("innodb_buffer_pool_size") == str(81 << 20)  # 81.92M, in whole M
    pool = next(option for option in small.options if option.key == "innodb_buffer_pool_size")
    assert (pool.full_value, pool.origin) == ("80G", "base.cnf:2")
    assert "scaled from 80G" in small.render()
    assert small.value("innodb_max_purge_lag") == "50"
    assert small.value("innodb_io_capacity") == "10000"
    tiny = resolve(["base"], rules("mysql", (8, 0, 33)), 1e-9, folder)
    assert tiny.value("innodb_buffer_pool_size") == str(24 << 20)
    assert tiny.value("innodb_max_purge_lag") == "1"
    assert resolve(["base"], rules("mysql", (8, 0, 33)), 1.0, folder).options[0].full_value is None


@pytest.mark.parametrize(("scale", "pool"), [(0.002, 128 << 20), (0.01, 768 << 20), (0.02, 2 << 30), (0.0125, 1 << 30)])
def test_a_scaled_buffer_pool_is_one_that_mysql_does_not_round(tmp_path: Path, scale: float, pool: int) -> None:
    folder = fragments(tmp_path, base="[mysqld]\ninnodb_buffer_pool_size=80G\n")
    assert resolve(["base"], rules("mysql", (8, 0, 33)), scale, folder).value("innodb_buffer_pool_size") == str(pool)


def test_a_group_of_redo_files_shrinks_as_one(tmp_path: Path) -> None:
    folder = fragments(tmp_path, base="[mysqld]\ninnodb_log_file_size=4G\ninnodb_log_files_in_group=32\n")

    def total(scale: float) -> tuple[int, int]:
        config = resolve(["base"], rules("mysql", (5, 6, 24)), scale, folder)
        return (
            int(config.value("innodb_log_file_size") or 0) >> 20,
            int(config.value("innodb_log_files_in_group") or 0),
        )

    assert total(0.01) == (40, 32)  # 1.25G of 128G
    assert total(0.0005) == (4, 16)  # 64M of 65.5M: files of the least size, and fewer of them
    assert total(1e-9) == (4, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[mysqld]\ninit-file=/tmp/x.sql\n", "f.cnf:2: init_file runs or loads code"),
        ("[mysqld]\nloose_plugin_load=x.so\n", "f.cnf:2: loose_plugin_load runs or loads code"),
        ("[mysqld]\ndatadir=/var/lib/mysql\n", "f.cnf:2: datadir is set by the sandbox"),
        ("[client]\nuser=root\n", "f.cnf:2: group [client] is not used here"),
        ('[mysqld]\nsql_mode="a\\nplugin_load=x.so"\n', "f.cnf:2: the value of sql_mode contains a line break"),
        ("a=1\n", "f.cnf:1: a comes before the first [group]"),
    ],
)
@pytest.mark.fault("F25")
def test_lines_that_cannot_be_used_are_refused_with_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    folder = fragments(tmp_path, f=text)
    with pytest.raises(ConfigError) as caught:
        resolve(["f"], rules("mysql", (8, 0, 33)), 1.0, folder)
    assert words in caught.value.what


@pytest.mark.parametrize("value", ["", "=1", " = ON", "=0"])
@pytest.mark.parametrize(
    "key",
    ["skip_grant_tables", "skip-grant-tables", "skip-grant_tables", "Skip-Grant-Tables", "skip_skip_grant_tables"],
)
@pytest.mark.parametrize("prefix", ["", "loose_", "loose-"])
@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_no_configuration_lets_anybody_in(tmp_path: Path, flavour: str, prefix: str, key: str, value: str) -> None:
    folder = fragments(tmp_path, f=f"[mysqld]\n{prefix}{key}{value}\n")
    said = r"f\.cnf:2: \S+ runs or loads code or lets anybody in"
    with pytest.raises(ConfigError, match=said):
        resolve(["f"], rules(flavour, (10, 11, 19)), 1.0, folder)
    with pytest.raises(ConfigError, match=said):
        complete(folder / "f.cnf", rules(flavour, (10, 11, 19)), 1.0)


def test_a_complete_my_cnf_is_taken_as_it_is_less_what_a_sandbox_decides(tmp_path: Path) -> None:
    path = tmp_path / "prod.cnf"
    path.write_text(
        "[client]\npassword=secret\n[mysqld]\ndatadir=/var/lib/mysql\nmax_connections=5\nmax-connections = 9\n"
        "[mariadb-10.11]\ninnodb_io_capacity=7\n[mariadb-10.6]\ninnodb_io_capacity=8\n"
    )
    config = complete(path, rules("mariadb", (10, 11, 19)), 1.0)
    assert values(config) == {"max_connections": "9", "innodb_io_capacity": "7"}
    assert config.dropped == ("prod.cnf:4: datadir=/var/lib/mysql",)
    assert "secret" not in config.render() + str(config.fragments)
    assert values(complete(path, rules("mysql", (8, 0, 33)), 1.0)) == {"max_connections": "9"}
    path.write_text("[mysqld]\nplugin-load-add=evil.so\n")
    with pytest.raises(ConfigError, match=r"prod\.cnf:2: plugin_load_add runs or loads code"):
        complete(path, rules("mysql", (8, 0, 33)), 1.0)
    with pytest.raises(ConfigError, match="cannot be read"):
        complete(tmp_path / "none.cnf", rules("mysql", (8, 0, 33)), 1.0)


def test_loose_and_plain_are_one_option_and_some_options_add_up(tmp_path: Path) -> None:
    folder = fragments(
        tmp_path,
        base="[mysqld]\na=1\nperformance-schema-instrument='wait/%=ON'\n",
        delta="[mysqld]\nloose-a=2\nperformance_schema_instrument=stage/%=OFF\n",
    )
    config = resolve(["base", "delta"], rules("mysql", (8, 0, 33)), 1.0, folder)
    assert [(option.key, option.value) for option in config.options] == [
        ("performance_schema_instrument", "wait/%=ON"),
        ("loose_a", "2"),
        ("performance_schema_instrument", "stage/%=OFF"),
    ]


@pytest.mark.fault("F22")
def test_unknown_and_hostile_names(tmp_path: Path) -> None:
    folder = fragments(tmp_path, base="[mysqld]\n")
    with pytest.raises(ConfigError, match="no configuration 'bse'") as caught:
        resolve(["bse"], rules("mysql", (8, 0, 33)), 1.0, folder)
    assert "base" in (caught.value.hint or "")
    with pytest.raises(NameRefused):
        resolve(["../base"], rules("mysql", (8, 0, 33)), 1.0, folder)


def test_a_scaled_size_that_is_none_is_refused(tmp_path: Path) -> None:
    folder = fragments(tmp_path, base="[mysqld]\ninnodb_buffer_pool_size=lots\n")
    with pytest.raises(ConfigError, match=r"base\.cnf:2: innodb_buffer_pool_size is scaled and needs a size"):
        resolve(["base"], rules("mysql", (8, 0, 33)), 0.5, folder)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("innodb_log_files_in_group=abc", "needs a number of files, not 'abc'"),
        ("loose_innodb_log_files_in_group=2.5", "needs a number of files, not '2.5'"),
        ("innodb_log_files_in_group=0", "needs a number of files, not '0'"),
        ("innodb_log_files_in_group=" + "9" * 5000, "needs a number of files, not '999"),
        ("innodb_buffer_pool_size=" + "9" * 5000, "needs a size such as 80G, not '999"),
        ("innodb_buffer_pool_size=\u0663G", "needs a size such as 80G"),
    ],
)
def test_values_that_are_no_numbers_are_one_line(tmp_path: Path, line: str, words: str) -> None:
    folder = fragments(tmp_path, f=f"[mysqld]\ninnodb_log_file_size=1G\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        resolve(["f"], rules("mysql", (5, 7, 40)), 0.5, folder)
    assert words in caught.value.what and caught.value.what.startswith("f.cnf:3: ")
    assert len(caught.value.what) < 300 and "\n" not in caught.value.what


def test_a_name_may_state_a_range_of_releases(tmp_path: Path) -> None:
    folder = fragments(tmp_path, base="[mysqld]\na=common\n", base__mariadb="[mysqld]\na=newer\n")
    (folder / "base.mariadb-10.1-to-10.4.cnf").write_text("[mysqld]\na=range\n")
    (folder / "base.mariadb-10.3.cnf").write_text("[mysqld]\na=exact\n")
    (folder / "base.mariadb-11-to-12.cnf").write_text("[mysqld]\na=whole series\n")

    def taken(*release: int) -> str | None:
        return resolve(["base"], rules("mariadb", release), 1.0, folder).value("a")

    assert [taken(10, minor, 5) for minor in (0, 1, 2, 3, 4, 5, 11)] == [
        "newer", "range", "range", "exact", "range", "newer", "newer"
    ]  # fmt: skip
    assert [taken(11, 0, 1), taken(12, 3, 1), taken(13, 0, 0)] == ["whole series", "whole series", "newer"]
    assert resolve(["base"], rules("mysql", (8, 0, 33)), 1.0, folder).value("a") == "common"
    (folder / "base.mariadb-10.4-to-10.6.cnf").write_text("[mysqld]\na=overlap\n")
    assert taken(10, 2, 1) == "range"
    with pytest.raises(ConfigError, match=r"are both for mariadb 10\.4\.7"):
        taken(10, 4, 7)
    (folder / "base.mariadb-old-to-new.cnf").write_text("[mysqld]\n")
    with pytest.raises(ConfigError, match="its name states no range of releases"):
        taken(10, 2, 1)
