"""What an experiment file may ask of a command."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ibench_lib.errors import ExperimentError
from ibench_lib.workloads.command.options import Options, Setup

STEP: dict[str, Any] = {"name": "load", "argv": ["prog", "{seconds}"], "lines": {"columns": {"rate": 1}}}


def options(*steps: dict[str, Any], **given: Any) -> Options:
    return Options.model_validate({"benchmark": "command", "steps": list(steps) or [STEP], **given})


def step(**given: Any) -> dict[str, Any]:
    return {**STEP, **given}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (step(lines={"pattern": "(?P<rate>"}), "'(?P<rate>' is no regular expression: missing ), unterminated"),
        (step(lines={"pattern": r"(?P<rat>\d+)"}), "unknown group 'rat'; did you mean 'rate'?"),
        (step(lines={"pattern": r"(?P<time>\d+)"}), "exactly one group has to be count, rate or total, such as"),
        (step(lines={"columns": {"rate": 1, "count": 2}}), "exactly one column has to be count, rate or total"),
        (step(lines={"columns": {"rate": 0}}), "greater than or equal to 1"),
        (step(lines={"pattern": r"(?P<rate>\d+)", "columns": {"rate": 1}}), "either a pattern or columns"),
        (step(lines={}), "either a pattern or columns"),
        (step(lines={"pattern": r"(?P<rate>\d+)", "separator": ","}), "separator is that of columns"),
        (step(lines={"columns": {"rate": 1, "latency": 2}}), "latency_in has to say the unit of latency"),
        (step(lines={"columns": {"rate": 1}, "latency_in": "ms"}), "latency_in is the unit of a column latency or max"),
        (step(lines={"columns": {"rate": 1}, "ignore": "*"}), "'*' is no regular expression"),
        (step(lines=None), "step load needs one of lines, amount and total, and has none"),
        (step(total="(?P<count>1)"), "step load needs one of lines, amount and total, and has lines and total"),
        (step(lines=None, total="(?P<n>1)"), "step load: total needs the group count and no other"),
        (step(lines=None, amount=5), "step load: `amount` and {amount} need each other"),
        (step(argv=["prog", "{amount}"]), "step load: `amount` and {amount} need each other"),
        (step(argv=["prog", "{threads}"]), "step load: {threads} needs `threads`, a list of numbers"),
        (step(argv=["prog", "-p{password}"]), "everybody on the host can read the arguments of a command"),
        (step(argv=["prog", "{host}"]), "step load: {host} needs transport: tcp or tls"),
        (step(argv=[]), "at least 1 item"),
        (step(argv=[" "]), "the first argument is the program, and it is empty"),
        (step(argv=["prog", True]), "steps.0.argv.1"),
        (step(name="Load"), "steps.0.name"),
    ],
)
def test_a_step_that_cannot_be_is_refused_with_the_reason(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        options(given)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"steps": []}, "at least 1 item"),
        ({"prepare": [{"name": "load", "argv": ["a"]}]}, "steps: load occurs more than once"),
        ({"prepare": [{"name": "p", "argv": ["a", "{seconds}"]}]}, "step p: {seconds} is for measured steps"),
        ({"threads": [1, 1], "steps": [step(argv=["p", "{threads}"])]}, "threads: 1 occurs more than once"),
        ({"threads": [1, 2]}, "step load has no {threads}: it would be the same with each number of `threads`"),
        ({"transport": "tcp", "steps": [step(argv=["p", "{socket}"])]}, "step load: {socket} needs transport: socket"),
        ({"scripts": {"seed": "a.sh"}}, "{seed} is another placeholder: take another name"),
        ({"scripts": {"a": "x.sh", "b": "y/x.sh"}}, "scripts: two of them have the same file name"),
        ({"private_files": {"a": "{b}", "b": "x"}}, "private_files: a names {b}, another file"),
        ({"clients": 2}, "less than or equal to 1"),
    ],
)
def test_options_that_cannot_be_are_refused_with_the_reason(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        options(**given)
    assert why in str(caught.value)


def test_numbers_may_be_arguments_and_private_files_may_have_what_arguments_may_not() -> None:
    chosen = options(step(argv=["prog", 5, 0.5, "{login}"]), private_files={"login": "{user}:{password} {seconds}"})
    assert chosen.steps[0].argv == ["prog", "5", "0.5", "{login}"]
    assert chosen.placeholders(chosen.steps[0]) == ["login", "user", "password", "seconds"]


def test_values_of_a_setup_have_names_of_their_own() -> None:
    with pytest.raises(ValidationError, match=r"values: \{seed\} is a placeholder of ibench"):
        Setup.model_validate({"name": "s", "seconds": 1.0, "values": {"seed": 1}})
    assert Setup.model_validate({"name": "s", "seconds": 1.0, "values": {"rows": 1000}}).values == {"rows": "1000"}


def test_a_script_belongs_to_a_cell_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "own" / "x.sh"
    path.parent.mkdir()
    path.write_text("echo 1\n")
    chosen = options(scripts={"x": "own/x.sh"})
    assert chosen.files() == {"x.sh": "own/x.sh"}
    read = chosen.with_files({"x.sh": path})
    digest = hashlib.sha256(b"echo 1\n").hexdigest()
    assert read.scripts == {"x": f"x.sh ({digest[:16]})"} and read.places == {"x": (str(path), digest)}
    assert str(tmp_path) not in str(read.model_dump()), "where it lies is no part of it"
    with pytest.raises(ExperimentError, match=r"workload\.scripts\.x: there is no file .*y\.sh"):
        chosen.with_files({"x.sh": tmp_path / "y.sh"})
    with pytest.raises(ExperimentError, match=r"workload\.scripts\.x: .*own: not a file"):
        chosen.with_files({"x.sh": path.parent})
