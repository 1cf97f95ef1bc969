"""Words in braces, and what stands for them."""

import pytest

from ibench_lib.workloads.command.placeholders import filled, named_in


@pytest.mark.parametrize(
    ("text", "named", "becomes"),
    [
        ("--time={seconds}", ["seconds"], "--time=60"),
        ("{seconds}{threads}", ["seconds", "threads"], "604"),
        ("{{seconds}} {seconds}", ["seconds"], "{seconds} 60"),
        ("${seconds} {print $1} {} {SECONDS}", [], "${seconds} {print $1} {} {SECONDS}"),
        ('{"a": {"b": {threads}}}', ["threads"], '{"a": {"b": 4}}'),
    ],
)
def test_placeholders_become_values_and_other_braces_stay(text: str, named: list[str], becomes: str) -> None:
    assert named_in(text) == named
    assert filled(text, {"seconds": 60, "threads": "4"}) == becomes


def test_a_value_is_not_looked_through_again() -> None:
    assert filled("{user}", {"user": "{password}", "password": "secret"}) == "{password}"
