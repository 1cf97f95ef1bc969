"""What a configuration cannot do: run code of its own, or reach out of the sandbox, however its lines are spelled."""

import shutil
import subprocess
from pathlib import Path

import pymysql
import pytest

from ibench_lib.configs.resolve import ServerConfig, complete, resolve
from ibench_lib.errors import ConfigError
from ibench_lib.servers.accepts import check
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import rules_of
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.servers.variables import known_options
from tests.configs import resolved

SOURCE = """
#include <fcntl.h>
__attribute__((constructor)) static void ran(void) { open("%s", O_CREAT | O_WRONLY, 0600); }
"""


class Evil:
    """A shared library in a folder of its own; loading it leaves a file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.traces = folder / "evil", folder / "code_ran"
        self.folder.mkdir()
        (self.folder / "evil.c").write_text(SOURCE % self.traces)
        command = ["gcc", "-shared", "-fPIC", "-o", "evil.so", "evil.c"]
        subprocess.run(command, cwd=self.folder, check=True)

    def loads_where_it_may(self) -> bool:
        """Whether the library does what it is for."""
        subprocess.run(["/bin/true"], env={"LD_PRELOAD": str(self.folder / "evil.so")}, check=True)
        ran = self.traces.exists()
        self.traces.unlink(missing_ok=True)
        return ran


@pytest.fixture
def evil(tmp_path: Path) -> Evil:
    if shutil.which("gcc") is None:
        pytest.skip("no compiler on this machine")
    made = Evil(tmp_path)
    assert made.loads_where_it_may()
    return made


def config(folder: Path, build: Build, *lines: str) -> ServerConfig:
    (folder / "f.cnf").write_text("\n".join(["[mysqld]", "innodb_buffer_pool_size=24M", *lines]) + "\n")
    return resolve(["f"], rules_of(build), 1.0, folder)


@pytest.mark.parametrize(
    "lines",
    [
        ("loose_plugin_di={folder}", "loose_loose_plugin_load_add=evil.so"),
        ("loose_plugin_di={folder}", "loose_plugin_load_ad=evil.so"),
        ("loose-skip-loose-plugin-dir={folder}", "loose_enable_loose_plugin_load=evil.so"),
        ("loose_plugin_di=evil", "loose_plugin_loa=evil.so"),
        ("skip_plugin_load=evil.so",),
        ("maximum_plugin_dir=evil",),
        ("loose_init_fil=init.sql",),
    ],
)
def test_no_spelling_of_an_option_runs_code(build: Build, tmp_path: Path, evil: Evil, lines: tuple[str, ...]) -> None:
    (tmp_path / "init.sql").write_text("CREATE DATABASE by_init_file;\n")
    try:
        wanted = config(tmp_path, build, *(line.format(folder=evil.folder) for line in lines))
        skipped = check(build, wanted)
    except ConfigError as error:
        assert "f.cnf:" in error.what
        assert not evil.traces.exists(), "the server that was asked has not loaded it either"
        return
    assert skipped == [option.place for option in wanted.options if option.loose]
    text = wanted.render(skipped)
    assert "plugin" not in text and "init" not in text, "what the server skips does not reach it"
    (tmp_path / "my.cnf").write_text(text)
    with (
        Sandbox(build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log") as address,
        pymysql.connect(**address.arguments()) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SHOW DATABASES LIKE 'by_init_file'")
        assert cursor.fetchall() == ()
        cursor.execute("SELECT @@plugin_dir")
        assert str(evil.folder) not in str(cursor.fetchone())
    assert not evil.traces.exists()


def test_an_option_file_that_names_a_plugin_loads_none(build: Build, tmp_path: Path, evil: Evil) -> None:
    """The command line has the last word, also where an option file was never checked."""
    lines = ["[mysqld]", "innodb_buffer_pool_size=24M", f"plugin_dir={evil.folder}", "plugin_load_add=evil.so"]
    (tmp_path / "my.cnf").write_text("\n".join(lines) + "\n")
    with Sandbox(build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log") as address:
        pymysql.connect(**address.arguments()).close()
    assert not evil.traces.exists()


def test_an_option_whose_successor_has_another_name_names_it(build: Build, tmp_path: Path) -> None:
    """The nearest name is that of something else: innodb_log_buffer_size for innodb_log_file_size."""
    with pytest.raises(ConfigError) as caught:
        check(build, config(tmp_path, build, "innodb_redo_log_capacity=1G"))
    server = f"{build.flavour} {build.version}"
    said = f"f.cnf:3: innodb_redo_log_capacity is unknown to {server}; it has innodb_log_file_size"
    assert caught.value.detail == said


def test_a_prefix_that_is_written_twice_is_refused(build: Build, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"f\.cnf:3: loose_loose_max_connections has loose_ twice"):
        config(tmp_path, build, "loose_loose_max_connections=7")


@pytest.mark.long
def test_no_option_that_the_server_lists_takes_a_path_out_of_the_sandbox(build: Build, tmp_path: Path) -> None:
    rules = rules_of(build)
    for name in sorted(known_options(build).names):
        for value in (f"{tmp_path}/x", "../x", "~/x", "x/../../y", "a:1M;/x/b:1M:autoextend"):
            for key in (name, f"loose_{name}"):
                (tmp_path / "f.cnf").write_text(f"[mysqld]\n{key}={value}\n")
                with pytest.raises(ConfigError, match=r"f\.cnf:2: .*(outside of|sandbox|anybody in)"):
                    resolve(["f"], rules, 1.0, tmp_path)


def test_a_complete_my_cnf_is_held_to_the_same(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "prod.cnf"
    path.write_text("[mysqld]\nssl_ca=/etc/ssl/ca.pem\ndatadir=/var/lib/mysql\nmax_connections=7\n")
    found = complete(path, rules_of(build), 1.0)
    assert [option.key for option in found.options] == ["max_connections"]
    assert found.dropped == ("prod.cnf:2: ssl_ca=/etc/ssl/ca.pem", "prod.cnf:3: datadir=/var/lib/mysql")
    path.write_text("[mysqld]\nlog_bin=/var/log/mysql/bin\n")
    with pytest.raises(ConfigError, match=r"prod\.cnf:2: log_bin=/var/log/mysql/bin names a place outside"):
        complete(path, rules_of(build), 1.0)
    path.write_text("[mysqld]\nwsrep-provider=x.so\n")
    with pytest.raises(ConfigError, match="wsrep_provider runs or loads code"):
        complete(path, rules_of(build), 1.0)


@pytest.mark.parametrize(
    "line", ["innodb_flush_method=NONSENSE", "innodb_buffer_pool_size=lots", "max_connections=abc", "sql_mode=blub"]
)
def test_values_that_the_server_refuses_are_named_with_its_words_and_our_line(
    build: Build, tmp_path: Path, line: str
) -> None:
    key, _, value = line.partition("=")
    with pytest.raises(ConfigError, match=f"{key} cannot be '{value}'") as caught:
        check(build, resolved.config(tmp_path, build, "skip_log_bin", line))
    assert f"f.cnf:3 ({key})" in (caught.value.hint or "")
