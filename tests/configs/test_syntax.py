"""What a family's option files write in several ways, and the line of one option."""

import pytest

from ibench_lib.configs.syntax import MY_CNF, Written, size


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1G", "1073741824"),
        ("ON", "1"),
        ("off", "FALSE"),
        ("10000", "10000.000000"),
        ("NO_UNSIGNED_SUBTRACTION,no_engine_substitution", "NO_ENGINE_SUBSTITUTION,NO_UNSIGNED_SUBTRACTION"),
        ("crc32", "CRC32"),
        ("", ""),
    ],
)
def test_values_that_mean_the_same(first: str, second: str) -> None:
    assert MY_CNF.canonical(first) == MY_CNF.canonical(second)


@pytest.mark.parametrize(("first", "second"), [("1G", "1M"), ("ON", "OFF"), ("a,b", "a"), ("2", "1"), ("", "x")])
def test_values_that_do_not(first: str, second: str) -> None:
    assert MY_CNF.canonical(first) != MY_CNF.canonical(second)


def test_an_option_is_a_line_with_its_note_behind_it() -> None:
    text = MY_CNF.text("mysqld", [Written("a", "1#2"), Written("b", None, "x.cnf:1")])
    assert text.splitlines() == ["[mysqld]", 'a="1#2"', f"{'b':<50} # x.cnf:1"]
    assert [(line.key, line.value) for line in MY_CNF.parse(text, "x", None, "mysqld")] == [("a", "1#2"), ("b", None)]
    assert (size("2K"), size("2kB")) == (2048, None)
