"""What importers read with: lines that are accounted for, and numbers that are plain."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers.lines import Lines

PATH = Path("some/tool.log")


def test_a_line_that_is_not_used_and_not_blank_is_not_understood() -> None:
    lines = Lines(PATH, "one\ntwo\r\n\n  \nfive\x0bstill five\nsix")
    assert list(lines) == [(1, "one"), (2, "two"), (3, ""), (4, "  "), (5, "five\x0bstill five"), (6, "six")]
    assert lines.not_understood() == [1, 2, 5, 6]
    lines.used(1)
    lines.used(5, 6)
    assert lines.not_understood() == [2]


def test_a_refusal_names_file_and_line() -> None:
    error = Lines(PATH, "").refusal(3, "it is wrong", "write it right")
    assert (error.what, error.hint) == ("some/tool.log:3: it is wrong", "write it right")


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0.0), ("12648", 12648.0), ("0.002", 0.002), (".5", 0.5), ("5.", 5.0), ("007", 7.0), ("0.000", 0.0)],
)
def test_plain_decimal_numbers_are_read(text: str, value: float) -> None:
    assert Lines(PATH, "").decimal(text, 1, "ips") == value


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        *(
            (text, "ips", "not a number of at least 0")
            for text in ("", ".", "-1", "+1", "1_000", "1,000", "1 000", "nan")
        ),
        *(
            (text, "ips", "not a number of at least 0")
            for text in ("inf", "1e3", "1e-400", "0x10", "1\n", " 1", "many")
        ),
        *((text, "ips", "not a number of at least 0") for text in ("１２３", "١٢٣", "²")),  # noqa: RUF001
        ("1" + "0" * 308, "get_min_s", "over 1e+09"),
        ("1000000001", "get_min_s", "over 1e+09"),
        ("1" + "0" * 16, "ips", "over 1e+15"),
        ("9" * 400, "ips", "over 1e+15"),
        ("0." + "0" * 400 + "1", "get_min_s", "too small"),
    ],
)
def test_anything_else_is_refused(text: str, name: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Lines(PATH, "").decimal(text, 4, name)
    assert caught.value.what.startswith(f"some/tool.log:4: {name} is ")
    assert said in caught.value.what and len(caught.value.what) < 200
