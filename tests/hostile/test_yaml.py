"""Experiment and post files made to hang or to break their reader: one line with file and line, within a second."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ibench_lib.base import strict_yaml
from ibench_lib.errors import ExperimentError, ParameterError, UsageError
from ibench_lib.experiment.file import Experiment
from ibench_lib.publish.post_file import PostFile

BOMB = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"b{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
)
INPUTS = {
    "bomb": BOMB,
    "itself in a list": "title: &a [*a]",
    "itself in builds": "builds: &b [*b]",
    "itself in a map": "capture: &c {waits: *c}",
    "a list as key": "? [a, b]\n: 1",
    "a map as key": "? {a: b}\n: 1",
    "an alias as key": "a: &a x\n? *a\n: 1",
    "nested maps": "".join(" " * i + "a:\n" for i in range(1000)),
    "nested lists": "- " * 1500,
    "brackets": "[" * 5000,
    "braces": "{a: " * 3000,
    "digits": "points: " + "9" * 5000,
    "hexadecimal": "points: 0x" + "f" * 5000,
    "underscores": "points: 1__0" + "_0" * 50,
    "NUL": 'my_cnf: "a\\0b"',
    "half a character": 'experiment: "\\ud800"',
    "escape": 'title: "\\e[31mred"',
    "right to left": 'title: "a\\u202Eb"',
    "no integer": "points: !!int 0x",
    "no date": "title: 2020-99-99",
    "many": "\n".join(f"k{i}: v" for i in range(20_000)),
    "large": "title: " + "x" * 1_100_000,
}
MODELS = {"experiment": (Experiment, ExperimentError), "post": (PostFile, ParameterError)}


def refusal(path: Path, kind: str) -> UsageError:
    model, error = MODELS[kind]
    with pytest.raises(error) as caught:
        strict_yaml.load(path, model, error)
    return caught.value


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", INPUTS)
def test_one_line_says_where(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(INPUTS[name])
    begun = time.process_time()
    error = refusal(path, kind)
    assert time.process_time() - begun < 5, "a second on a machine that is not busy"
    lines = (error.detail or error.what).splitlines()
    assert all(line.startswith(f"{path}:") and line.removeprefix(f"{path}:")[0].isdigit() for line in lines), lines
    assert max(map(len, lines)) < 1000


def test_devices_pipes_and_folders_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe", tmp_path, tmp_path / "a\0b"):
        error = refusal(path, "experiment")
        assert "\n" not in error.what


def test_aliases_that_are_plain_are_as_before(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("&t title: &x two\ntldr: *x\n")
    assert "is within" not in refusal(path, "post").what


PIECES = st.sampled_from(
    ["a: ", "title: ", "builds: ", "setups:\n", "  - ", "- ", "\n", " ", "[", "]", "{", "}", ",", ": ", "? ", "&a ",
     "*a", "!!int ", "!x ", "|\n", ">-\n", "'", '"', "\\", "\\ud800", "\\0", "0x1f", "1_0", "1__0", "1e999", ".nan",
     "~", "9" * 30, "#", "%YAML 1.2\n", "---\n", "...\n", "<<: ", "@", "`", "\t", "\x1b", "\u202e", "\x85", "é",
     "2020-01-01", "workload: {benchmark: insert_benchmark, clients: ", "scale: 0.5\n",
     "configs:\n  - {name: a, fragments: [a]}\n"]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=500, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=40).map("".join), kind=st.sampled_from([*MODELS]))
@pytest.mark.slow
def test_generated_texts_load_or_are_refused_in_lines(
    tmp_path_factory: pytest.TempPathFactory, text: str, kind: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "generated.yaml"
    path.write_bytes(text.encode(errors="surrogatepass"))
    model, error = MODELS[kind]
    try:
        strict_yaml.load(path, model, error)
    except error as refused:
        for line in (refused.detail or refused.what).splitlines():
            assert line.startswith(str(path))
