"""Option files are read as the servers read them: the same files through their own my_print_defaults."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ibench_lib.configs.option_file import Line, parse, render, server_groups
from ibench_lib.errors import ConfigError
from ibench_lib.paths import FRAGMENTS

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
        with pytest.raises(ConfigError, match="lies outside of"):
            parse(f"!include {argument}\n", "main.cnf", tmp_path)
    (tmp_path / "link.cnf").symlink_to(outside)
    with pytest.raises(ConfigError, match="lies outside of"):
        parse("!include link.cnf\n", "main.cnf", tmp_path)
    with pytest.raises(ConfigError, match="cannot be used here"):
        parse("!include one.cnf\n", "main.cnf")
    (tmp_path / "loop.cnf").write_text("!include loop.cnf\n")
    with pytest.raises(ConfigError, match="files include each other"):
        parse("!include loop.cnf\n", "main.cnf", tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=1\n", "f.cnf:1: a stands before the first"),
        ("[mysqld]\n=1\n", "f.cnf:2: not an option"),
        ("[mysqld\na=1\n", "f.cnf:1: a group is"),
        ("[mysqld]\nno good=1\n", "f.cnf:2: not an option"),
        ("!inclde x\n", "f.cnf:1: !inclde is neither"),
        ("[mysqld]\n!include /nowhere.cnf\n", "f.cnf:2: /nowhere.cnf lies outside"),
        ("[mysqld]\n!include nowhere.cnf\n", "f.cnf:2: "),
    ],
)
def test_what_cannot_be_read_is_named_with_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "f.cnf", tmp_path)
    assert words in caught.value.what


def test_the_groups_of_each_server() -> None:
    assert server_groups("mysql", (8, 0, 33)) == {"mysqld", "server", "mysqld-8.0"}
    assert "mariadb-10.11" in server_groups("mariadb", (10, 11, 19))
    assert "client" not in server_groups("mariadb", (10, 11, 19))


def test_the_configurations_of_this_library_survive_a_round_trip() -> None:
    files = sorted(FRAGMENTS.glob("*.cnf"))
    assert len(files) > 20
    for path in files:
        lines = parse(path.read_text(), path.name, path.parent)
        assert lines
        text = "".join(f"[{line.group}]\n{render(line.key, line.value)}\n" for line in lines)
        again = parse(text, path.name)
        assert [(line.group, line.key, line.value) for line in again] == [(x.group, x.key, x.value) for x in lines]
