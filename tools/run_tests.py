"""Run the tests in parts: `run_tests.py [test | quick | rest | long | changed | builds] [pytest's arguments]`.

    test    what shows that it works: four tests at a time, then those that measure time, alone (`make test`)
    quick   what needs no server, no browser, no lake and no second (`make test-quick`)
    long    what takes so long that `test` leaves it out (`make test-long`)
    rest    what `quick` leaves out of `test` and `long` together
    changed what a change can reach of `test` and `long` (`make test-changed`), since a branch or commit: BASE, else
            origin/main
    builds  every server build, fetched from its registry (`make test-builds`)

IBENCH_TESTS_UNTIL, a time in seconds since 1970, ends a run that is cut off somewhere: after it no test begins that is
`long` or of builds, other than those that measure time. Each is skipped by its name.

pytest's own output goes through as it is. If `quick` takes more than a minute, its slowest tests are listed: those that
are always among them belong to `rest`, by the mark `slow`. At the end one line sums up the parts. The exit code is that
of the first part that failed, by pytest's numbers: 1 for failed tests, 2 where pytest was interrupted, which ends the
other parts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.changed_tests import changed_files, reached_tests  # noqa: E402

INTERRUPTED = 2
NO_TESTS = 5

NOT_QUICK = ("server", "browser", "lake", "slow", "long", "timing", "registries")
LONG = ("long", "registries")
UNTIL = "IBENCH_TESTS_UNTIL"
QUICK = "not (server or browser or lake or slow)"
# They wait for real servers, so two of them at a time would leave the cores of a small machine idle.
TOGETHER = ("-n", "4", "--dist", "worksteal")


@dataclass(frozen=True)
class Part:
    """Some of the tests, run by one pytest.

    Attributes
    ----------
    name : in words, for the closing line.
    marks : which tests, as an expression for pytest's `-m`.
    arguments : further ones for pytest.
    meant_s : seconds after which the slowest tests are listed; None: never.
    """

    name: str
    marks: str
    arguments: tuple[str, ...] = ()
    meant_s: float | None = None


def parts(name: str, which: str, meant_s: float | None = None) -> list[Part]:
    """Those of `which`, an expression of marks: several at a time, then alone those that measure time."""
    return [
        Part(f"{name}, four at a time", f"not timing and {which}", TOGETHER, meant_s),
        Part(f"{name} that measure time, alone", f"timing and {which}"),
    ]


PARTS: dict[str, list[Part]] = {
    "test": parts("tests", "not registries and not long"),
    "quick": parts("quick tests", f"not registries and not long and {QUICK}", meant_s=60)[:1],
    "long": parts("long tests", "not registries and long"),
    "rest": parts("other tests", f"not registries and (long or timing or not {QUICK})"),
    "changed": parts("tests that the change can reach", "not registries"),
    "builds": [Part("tests of builds, four at a time", "registries", TOGETHER)],
}


def is_left_out(keywords: set[str]) -> bool:
    """Whether a test with these marks is to be skipped because the time for it is over."""
    may_be = not keywords.isdisjoint(LONG) and "timing" not in keywords
    return may_be and time.time() > _until()


def _until() -> float:
    text = os.environ.get(UNTIL, "inf")
    try:
        return float(text)
    except ValueError:
        raise SystemExit(f"{UNTIL} is {text!r}, which is no time in seconds since 1970: correct or unset it") from None


def marks_of(arguments: list[str]) -> str:
    """The marks of what pytest runs for these arguments if nobody says -m."""
    if any("::" in argument for argument in arguments):
        return ""
    named = any(argument.endswith(".py") for argument in arguments)
    return "not registries" if named else "not registries and not long"


def main(arguments: list[str]) -> int:
    _until()  # before tests fail for what is wrong with it
    which = arguments.pop(0) if arguments and arguments[0] in PARTS else "test"
    if which == "changed":
        reached = reached_tests(changed_files(os.environ.get("BASE") or "origin/main"))
        print(f"the change can reach {len(reached)} test files" if reached != ["tests"] else "it can reach any test")
        arguments = [*reached, *arguments]
    said, first_failure = [], 0
    for part in PARTS[which]:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="ibench-tests-") as folder:
            report = Path(folder) / "report.xml"
            code = run(part, arguments, report)
            took_s = time.monotonic() - begin
            if part.meant_s and took_s > part.meant_s and report.is_file():
                print(f"{part.name} are meant to take {part.meant_s:g} s. The slowest of them:")
                print("\n".join(slowest(report)))
        said.append(f"{part.name}: {verdict(code)} in {int(took_s) // 60}:{int(took_s) % 60:02d}")
        first_failure = first_failure or code
        if code == INTERRUPTED:
            break
    print("; ".join(said), flush=True)
    return first_failure


def run(part: Part, arguments: list[str], report: Path) -> int:
    """pytest's exit code; `report` is the file for its report. A part of which these arguments leave nothing passes."""
    command = [sys.executable, "-m", "pytest", "-m", part.marks, f"--junit-xml={report}", *part.arguments, *arguments]
    # Else every process of the tests would compile the library again: a third of the CPU of collecting the tests.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:  # Ctrl-C reaches pytest as well, which ends in its own way
            continue
    return 0 if code == NO_TESTS and arguments else code


def slowest(report: Path, most: int = 15) -> list[str]:
    """A line for each of the tests that took longest, from a report that pytest wrote as JUnit's XML."""
    cases = [(float(case.get("time", 0)), case) for case in ElementTree.parse(report).iter("testcase")]
    cases.sort(key=lambda found: -found[0])
    return [f"{seconds:6.1f} s {case.get('classname')}::{case.get('name')}" for seconds, case in cases[:most]]


def verdict(code: int) -> str:
    if code == INTERRUPTED:
        return "interrupted"
    return "passed" if code == 0 else f"FAILED, exit {code}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
