"""The command that runs the tests in parts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tools.run_tests import UNTIL, is_left_out, main, slowest


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


def test_a_time_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNTIL, "noon")
    with pytest.raises(SystemExit, match=f"{UNTIL} is 'noon'"):
        main(["quick"])


TESTS = """
import time
from pathlib import Path

def test_fails():
    assert 1 == 2

def test_ends_when_it_may():
    end = time.monotonic() + 60
    while not Path(__file__).with_name("go").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [(), ("-n", "1")])
def test_a_failed_test_is_named_while_others_still_run(processes: tuple[str, ...], tmp_path: Path) -> None:
    """A run that is cut off has no summary: what failed stands in what it printed until then."""
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_configure")
    (tmp_path / "test_two.py").write_text(TESTS)
    options = ["-q", "-p", "no:cacheprovider", *processes]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path / "test_two.py")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        assert run.stdout is not None
        named = next(line for line in run.stdout if line.startswith("FAILED"))
        (tmp_path / "go").touch()
        rest = run.stdout.read()
    assert re.search(r"test_two.py::test_fails \(call\): \S+test_two.py:6: assert 1 == 2", named)
    assert "1 failed, 1 passed" in rest
