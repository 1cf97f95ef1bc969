"""The steps of commands, and what their process is given."""

import pytest

from ibench_lib.errors import ExperimentError
from ibench_lib.workloads.command import steps
from ibench_lib.workloads.command.options import Setup
from ibench_lib.workloads.workload import Work
from tests.workloads.command.test_options import options, step

SETUP = Setup(name="s", seconds=60.0, values={"rows": 100})
ALL = options(
    step(argv=["p", "{seconds}", "{threads}", "{rows}"]),
    {"name": "whole", "argv": ["p", "{amount}", "{threads}"], "amount": 1000},
    {"name": "self", "argv": ["p", "{threads}", "{{seconds}}"], "total": "(?P<count>1)", "at_most_s": 5.0},
    threads=[1, 4],
    prepare=[{"name": "fill", "argv": ["f", "{threads}"], "checks": [{"statement": "SELECT 1", "expected": 1}]}],
    cleanup=[{"name": "away", "argv": ["c"]}],
)  # fmt: skip
NAMES = ["fill", "load.t1", "load.t4", "whole.t1", "whole.t4", "self.t1", "self.t4", "away"]


def test_a_measured_command_is_a_step_for_each_number_of_threads() -> None:
    planned = steps.plan(ALL, SETUP, 0.5)
    assert steps.names(ALL) == [each.name for each in planned] == NAMES
    assert [each.kind for each in planned] == ["prepare", *["command"] * 6, "cleanup"]
    assert [each.seconds for each in planned] == [None, 30.0, 30.0, *[None] * 5]
    assert [each.amount for each in planned] == [None, None, None, 500, 500, None, None, None]
    assert [each.threads for each in planned] == [4, 1, 4, 1, 4, 1, 4, 4]
    assert planned[2].values == {"rows": "100", "seed": "1", "threads": "4", "seconds": "30"}
    assert steps.work(planned)[1:4] == [Work(None, 1 / 60), Work(None, 1 / 60), Work(500, 1000.0)]
    assert steps.names(options()) == ["load"], "without threads, a name is a name"


def test_a_process_is_told_what_ends_it_and_what_it_counts() -> None:
    planned = steps.plan(ALL, SETUP, 1.0)
    specs = [steps.spec(ALL, each, steps.workers(ALL, each)[0], number) for number, each in enumerate(planned)]
    assert all(each.drives and each.statements is None for each in specs)
    assert [each.details["at_most_s"] for each in specs] == [3600.0, None, None, 3600.0, 3600.0, 5.0, 5.0, 3600.0]
    assert [each.details["amount"] for each in specs] == [1, None, None, 1000, 1000, None, None, 1]
    assert [each.operations[0] for each in specs] == ["command", *["operation"] * 6, "command"]
    (check,) = steps.checks(planned[0])
    assert (check.statement, check.expected, check.rule) == ("SELECT 1", 1, "given")


@pytest.mark.parametrize(
    ("argument", "setup", "why"),
    [
        ("{row}", SETUP, r"step load has \{row\}, and nothing in setup s stands for it"),
        ("{rows}", Setup(name="t", seconds=1.0), r"step load has \{rows\}, and nothing in setup t stands for it"),
        ("x", Setup(name="t", seconds=1.0, values={"f": 1}), r"\{f\} is a value of setup t and a file"),
    ],
)
def test_a_placeholder_without_a_value_is_named_before_anything_starts(argument: str, setup: Setup, why: str) -> None:
    chosen = options(step(argv=["p", argument]), private_files={"f": "x"})
    with pytest.raises(ExperimentError, match=why):
        steps.plan(chosen, setup, 1.0)
