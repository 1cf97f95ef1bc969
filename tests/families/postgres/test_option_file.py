"""What an option file means, as the server reads it."""

from __future__ import annotations

import pytest

from ibench_lib.configs.syntax import Written
from ibench_lib.errors import ConfigError
from ibench_lib.families.postgres.option_file import POSTGRES_CONF

FILE = """
# a comment
shared_buffers = 128MB   # of the base
search_path 'a, ''b'''
Jit=off
loose_io_method = 'worker'
"""


def test_a_file_is_read_and_written() -> None:
    lines = POSTGRES_CONF.parse(FILE, "a.conf", None, "")
    assert [(line.key, line.value, line.origin) for line in lines] == [
        ("shared_buffers", "128MB", "a.conf:3"),
        ("search_path", "a, 'b'", "a.conf:4"),
        ("jit", "off", "a.conf:5"),
        ("loose_io_method", "worker", "a.conf:6"),
    ]
    text = POSTGRES_CONF.text("", [Written(line.key, line.value) for line in lines])
    assert "io_method = worker\n" in text, "servers know no loose_"
    again = POSTGRES_CONF.parse(text, "b.conf", None, "")
    assert [line.value for line in again] == [line.value for line in lines]
    assert POSTGRES_CONF.line("shared_buffers", "25165824") == "shared_buffers = 24576kB", "9.6 knows no B"
    assert POSTGRES_CONF.line("shared_buffers", "25165825") == "shared_buffers = 25165825B"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("shared_buffers = 16384", "has no unit"),
        ("include 'other.conf'", "cannot be used here"),
        ("= 1", "not an option"),
        ("a = 'b", "not an option"),
    ],
)
def test_a_line_that_is_none_is_named_with_its_place(line: str, said: str) -> None:
    with pytest.raises(ConfigError, match=rf"^a\.conf:1: .*{said}"):
        POSTGRES_CONF.parse(line, "a.conf", None, "")


@pytest.mark.parametrize(
    ("one", "other"),
    [("1800s", "30min"), ("1GB", "1024MB"), ("128MB", "134217728"), ("on", "TRUE"), ("0.90", "0.9"), ("1500us", "1.5")],
)
def test_values_that_mean_the_same(one: str, other: str) -> None:
    assert POSTGRES_CONF.canonical(one) == POSTGRES_CONF.canonical(other)


def test_sizes() -> None:
    assert POSTGRES_CONF.size("23GB") == 23 << 30
    assert POSTGRES_CONF.size("80G") is None, "the server refuses it too"
    assert POSTGRES_CONF.size("5min") is None
