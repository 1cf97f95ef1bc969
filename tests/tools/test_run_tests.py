"""The command that runs the tests in parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.run_tests import UNTIL, is_left_out, slowest


def test_the_slowest_tests_of_a_report_are_listed_first(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    cases = "".join(
        f'<testcase classname="tests.test_{name}" name="test_it" time="{seconds}"/>'
        for name, seconds in (("a", 0.2), ("b", 12.5), ("c", 3.0))
    )
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert slowest(report, most=2) == ["  12.5 s tests.test_b::test_it", "   3.0 s tests.test_c::test_it"]


@pytest.mark.parametrize(
    ("keywords", "until", "left_out"),
    [
        ({"long", "server"}, "1", True),
        ({"registries"}, "1", True),
        ({"server"}, "1", False),
        ({"long", "timing"}, "1", False),
        ({"long"}, "9999999999", False),
        ({"long"}, None, False),
    ],
)
def test_after_its_time_no_long_test_begins(
    keywords: set[str], until: str | None, left_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(UNTIL, raising=False)
    if until is not None:
        monkeypatch.setenv(UNTIL, until)
    assert is_left_out(keywords) == left_out
