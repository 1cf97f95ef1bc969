"""Option files as nobody would write them: each is used or refused in one line, and nothing is read without end."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ibench_lib.configs.option_file import parse, render
from ibench_lib.configs.resolve import complete, resolve
from ibench_lib.errors import ConfigError
from ibench_lib.servers.flavours.flavour import find

PIECES = st.sampled_from(
    ["[mysqld]\n", "[mysqld-8.0]\n", "[client]\n", "[", "]", "=", "\n", "\r\n", " ", "\t", "#", ";", "'", '"', "\\",
     "\\s", "\\", "!include ", "!includedir ", "!", ".", "..", "/dev/zero", "/etc", "other.cnf", "a.cnf",
     "innodb_buffer_pool_size", "innodb-buffer-pool-size", "loose_", "skip-", "max_connections", "datadir",
     "plugin_load_add", "80G", "1e9", "9" * 30, "-1", "\0", "\x1b[31m", "\u202e", "é", "a" * 300]
)  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=30).map("".join)
EXAMPLES = settings(
    max_examples=500, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


@EXAMPLES
@given(text=TEXTS)
@pytest.mark.slow
def test_generated_option_files_are_used_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "generated"
    folder.mkdir(exist_ok=True)
    (folder / "other.cnf").write_text("[mysqld]\nmax_connections=7\n")
    path = folder / "a.cnf"
    path.write_bytes(text.encode(errors="surrogatepass"))
    server = find("mysql").rules((8, 0, 33))
    for read in (lambda: complete(path, server, 1.0), lambda: resolve(["a"], server, 1.0, folder)):
        try:
            config = read()
        except ConfigError as refused:
            assert "\n" not in refused.what and len(refused.what) < 1000
        else:
            again = parse(config.render(), "again")
            assert [(line.key, line.value) for line in again] == [(o.key, o.value) for o in config.options]


@EXAMPLES
@given(key=st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True), value=st.none() | st.text(max_size=20))
@pytest.mark.slow
def test_what_is_rendered_is_read_back(key: str, value: str | None) -> None:
    if value is not None and any(character in value for character in "\0\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"):
        return  # ends a line for Python's reading of it; a configuration never has it, by the test above
    (line,) = parse(f"[mysqld]\n{render(key, value)}\n", "f")
    assert (line.key, line.value) == (key, value)


def test_devices_pipes_and_folders_are_not_read(tmp_path: Path) -> None:
    server = find("mysql").rules((8, 0, 33))
    os.mkfifo(tmp_path / "pipe.cnf")
    (tmp_path / "loop.cnf").symlink_to(tmp_path / "loop.cnf")
    for path in (Path("/dev/zero"), tmp_path / "pipe.cnf", tmp_path, tmp_path / "loop.cnf", tmp_path / "a\0b"):
        with pytest.raises(ConfigError, match="cannot be read") as refused:
            complete(path, server, 1.0)
        assert "\n" not in refused.value.what
    for name, line in (("pipe", "!include pipe.cnf"), ("all", f"!includedir {tmp_path}")):
        (tmp_path / f"in-{name}.cnf").write_text(f"[mysqld]\n{line}\n")
        with pytest.raises(ConfigError, match=r"pipe\.cnf cannot be read|files include each other"):
            complete(tmp_path / f"in-{name}.cnf", server, 1.0)
    shutil.rmtree(tmp_path)
