"""docs/measurement.md names every limit from which on clients are what limits a step."""

import ast
import inspect
import re

from ibench_lib.paths import SQL
from ibench_lib.runner import step_rows
from tests.places import ROOT

CASES = {
    "used": "a client process was busy for 70 % of its time on one core",
    "sent": "in a rate-limited process with at least a hundred statements, the p99 client lag exceeds 10 % of the "
    "statement interval",
    "delayed": "in a process without a rate limit that serves several connections, such as terminals or requesters, "
    "with at least a hundred operations, the p99 client lag of all operations exceeds 10 % of the median response time",
}
"""What the page says of each case, by the verb of its reason in `client_limits`."""

LIMITS = {
    "CLIENT_BOUND_BUSY": (0.70, "busy for {:.0%} of its time"),
    "CLIENT_BOUND_LAG": (0.10, "lag exceeds {:.0%} of the statement interval"),
    "CLIENT_BOUND_LEAST": (100, "at least a hundred statements"),
}
"""Each constant of `step_rows`, its value, and where the page has it."""


def page() -> str:
    """The part of the page on client-bound steps, in one line."""
    text = (ROOT / "docs" / "measurement.md").read_text(encoding="utf-8")
    (part,) = re.findall(r"\*\*Client-bound steps\.\*\*.*?(?=\n\n\*\*[A-Z])", text, re.DOTALL)
    return " ".join(part.split())


def test_the_page_has_each_case_and_no_other() -> None:
    tree = ast.parse(inspect.getsource(step_rows.client_limits))
    reasons = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)}
    verbs = set(re.findall(r"\{state\.name\} (\w+)", " ".join(reasons)))
    assert verbs == CASES.keys(), "a case that docs/measurement.md does not have, or one that is gone"
    assert re.search(r"There are (\w+) cases", page())[1] == {3: "three"}[len(CASES)]  # type: ignore[index]
    for said in CASES.values():
        assert said in page()
    assert "held to the first limit by its busiest thread, and to limits that its workload knows" in page(), "driven"


def test_the_page_has_each_limit_as_the_code_has_it() -> None:
    constants = {name: value for name, value in vars(step_rows).items() if name.startswith("CLIENT_BOUND_")}
    assert constants == {name: value for name, (value, _) in LIMITS.items()}, "the page has to say the new value"
    for value, said in LIMITS.values():
        assert said.format(value).replace("%", " %") in page()
    together = (SQL / "macros" / "client_verdicts.sql").read_text(encoding="utf-8")
    assert set(re.findall(r"> ([0-9.]+) \* lag|highest >= ([0-9.]+)", together)) == {("1.25", ""), ("", "1.25")}
    assert "a gap is where a share is more than 25 % over the next lower one" in page()
    assert "if one of them is over it by 25 %" in page()
    host = (SQL / "macros" / "host_taken_of.sql").read_text(encoding="utf-8")
    assert re.findall(r"taken >= ([0-9.]+) AS much", host) == ["0.1"]
    assert "A step is not marked if other processes used 10 % of the host's CPUs or more" in page()
