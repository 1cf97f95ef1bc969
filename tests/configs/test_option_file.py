"""Option files are read as the servers read them: the same files through their own my_print_defaults."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ibench_lib.configs.option_file import Line, parse, render, with_included
from ibench_lib.errors import ConfigError
from ibench_lib.paths import FRAGMENTS
from ibench_lib.servers.flavours.flavour import find

HARD = r"""
# a comment
; another one
  [mysqld]   # groups may have comments
skip-name-resolve
skip_external_locking   # a comment after a key
innodb-buffer-pool-size = 80G
innodb_io_capacity=10000# no space before
  sql_mode = "NO_ENGINE_SUBSTITUTION"
init_text = 'single # quoted'
double = "double # quoted" # and a comment
path = C:\\dir\sname\tend
empty =
quotes = "it's"
loose-innodb_x=1
max_connections = 100
max-connections = 200
equals = a=b=c
spaces =   a b  c
semicolon = a;b
[client]
user = somebody
[mysqld]
late = 1
"""


def printed(path: Path, *groups: str) -> list[str]:
    """What the server's own tool makes of the groups of a file."""
    program = shutil.which("my_print_defaults")
    assert program, "it comes with the server's client programs; `make test` brings it"
    command = [program, f"--defaults-file={path}", *groups]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def as_printed(lines: list[Line]) -> list[str]:
    return [f"--{line.key}" + ("" if line.value is None else f"={line.value}") for line in lines]


def alike(arguments: list[str]) -> list[str]:
    """Dashes and underscores of names are the same to a server."""
    found = []
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        found.append(name.replace("-", "_").lower() + equals + value)
    return found


def test_a_hard_file_means_to_us_what_it_means_to_the_server(tmp_path: Path) -> None:
    path = tmp_path / "hard.cnf"
    path.write_text(HARD)
    ours = [line for line in parse(HARD, "hard.cnf") if line.group == "mysqld"]
    assert alike(as_printed(ours)) == alike(printed(path, "mysqld"))
    assert [line.value for line in ours if line.key == "max_connections"] == ["100", "200"]
    assert next(line.origin for line in ours if line.key == "late") == "hard.cnf:24"


@pytest.mark.fault("F25")
def test_what_is_rendered_means_the_same_to_the_server(tmp_path: Path) -> None:
    plain, odd = (
        ["1", "80G", "a b", "a;b"],
        [" padded ", "with # hash", "it's", 'say "x"', "back\\slash", "\there", "", "\\n"],
    )
    values = [*plain, *odd]
    path = tmp_path / "rendered.cnf"
    path.write_text("[mysqld]\n" + "\n".join(render(f"k{n}", value) for n, value in enumerate(values)) + "\nbare\n")
    expected = [f"k{n}={value}" for n, value in enumerate(values)] + ["bare"]
    assert alike(printed(path, "mysqld")) == expected
    assert alike(as_printed(parse(path.read_text(), "x"))) == expected


def test_includes_come_in_their_places_and_stay_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "b.cnf").write_text("[mysqld]\nb=2\n")
    (tmp_path / "parts" / "a.cnf").write_text("[mysqld]\na=1\n")
    (tmp_path / "parts" / "ignored.txt").write_text("[mysqld]\nc=3\n")
    (tmp_path / "one.cnf").write_text("[mysqld]\nx=1\n")
    main = tmp_path / "main.cnf"
    text = f"[mysqld]\nfirst=1\n!include {tmp_path}/one.cnf\n!includedir {tmp_path}/parts\n[mysqld]\nlast=1\n"
    main.write_text(text)
    ours = parse(text, "main.cnf", tmp_path)
    assert alike(as_printed(ours)) == alike(printed(main, "mysqld"))
    assert [line.origin for line in ours] == ["main.cnf:2", "one.cnf:2", "parts/a.cnf:2", "parts/b.cnf:2", "main.cnf:6"]
    outside = tmp_path.parent / "outside.cnf"
    outside.write_text("[mysqld]\nx=1\n")
    for argument in (outside, "../outside.cnf"):
        with pytest.raises(ConfigError, match="is outside of"):
            parse(f"!include {argument}\n", "main.cnf", tmp_path)
    (tmp_path / "link.cnf").symlink_to(outside)
    with pytest.raises(ConfigError, match="is outside of"):
        parse("!include link.cnf\n", "main.cnf", tmp_path)
    with pytest.raises(ConfigError, match="cannot be used here"):
        parse("!include one.cnf\n", "main.cnf")
    (tmp_path / "loop.cnf").write_text("!include loop.cnf\n")
    with pytest.raises(ConfigError, match="files include each other"):
        parse("!include loop.cnf\n", "main.cnf", tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=1\n", "f.cnf:1: a comes before the first"),
        ("[mysqld]\n=1\n", "f.cnf:2: not an option"),
        ("[mysqld\na=1\n", "f.cnf:1: a group is"),
        ("[mysqld]\nno good=1\n", "f.cnf:2: not an option"),
        ("!inclde x\n", "f.cnf:1: !inclde is neither"),
        ("[mysqld]\n!include /nowhere.cnf\n", "f.cnf:2: /nowhere.cnf is outside"),
        ("[mysqld]\n!include nowhere.cnf\n", "f.cnf:2: "),
    ],
)
def test_what_cannot_be_read_is_named_with_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "f.cnf", tmp_path)
    assert words in caught.value.what


def test_the_groups_of_each_server() -> None:
    assert find("mysql").rules((8, 0, 33)).groups == {"mysqld", "server", "mysqld-8.0"}
    assert "mariadb-10.11" in find("mariadb").rules((10, 11, 19)).groups
    assert "client" not in find("mariadb").rules((10, 11, 19)).groups


def test_the_configurations_of_this_library_survive_a_round_trip() -> None:
    files = sorted(FRAGMENTS.glob("*.cnf"))
    assert len(files) > 20
    for path in files:
        lines = parse(path.read_text(), path.name, path.parent)
        assert lines
        text = "".join(f"[{line.group}]\n{render(line.key, line.value)}\n" for line in lines)
        again = parse(text, path.name)
        assert [(line.group, line.key, line.value) for line in again] == [(x.group, x.key, x.value) for x in lines]


@pytest.mark.parametrize("argument", ["a\0b", "x" * 5000])
@pytest.mark.parametrize("directive", ["!include", "!includedir"])
def test_an_include_that_no_file_can_have_is_one_line(tmp_path: Path, directive: str, argument: str) -> None:
    line = f"{directive} {argument}"
    with pytest.raises(ConfigError, match=r"^f\.cnf:1: ") as caught:
        parse(f"{line}\n", "f.cnf", tmp_path)
    assert "\n" not in caught.value.what
    (tmp_path / "f.cnf").write_text(f"{line}\n")
    assert with_included(tmp_path / "f.cnf")[0] == tmp_path / "f.cnf"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cnf")
    with pytest.raises(ConfigError, match=r"pipe\.cnf cannot be read: not a file, but a folder, a device or a pipe"):
        parse("!include pipe.cnf\n", "f.cnf", tmp_path)
    with pytest.raises(ConfigError, match=r"pipe\.cnf cannot be read: not a file, but a folder, a device or a pipe"):
        parse(f"!includedir {tmp_path}\n", "f.cnf", tmp_path)


def test_files_that_multiply_by_including_each_other_end(tmp_path: Path) -> None:
    for level in range(8):
        (tmp_path / f"l{level}.cnf").write_text(f"!include l{level + 1}.cnf\n" * 10)
    (tmp_path / "l8.cnf").write_text("[mysqld]\na=1\n")
    with pytest.raises(ConfigError, match="over 100 files are included"):
        parse("!include l0.cnf\n", "f.cnf", tmp_path)
