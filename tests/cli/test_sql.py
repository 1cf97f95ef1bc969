"""`ibench sql`: what is asked, how it is printed, and what goes wrong."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import catalogue, reader
from tests.command import ibench, refused
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

LONG = (
    "SELECT 7 AS n, repeat('x', 200) || chr(10) || 'end' AS text, 12345678.5::DOUBLE AS big, 0.1234567::DOUBLE AS small"
)


@pytest.mark.slow
def test_a_table_has_one_line_a_row_and_says_what_was_cut(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    done = ibench(workspace, "sql", LONG)
    header, line = done.stdout.splitlines()
    assert header.split() == ["n", "text", "big", "small"]
    assert "x…" in line and line.endswith("12345678.5  0.123457")
    assert "cut to 100 characters" in done.stderr
    assert len(ibench(workspace, "sql", "FROM runs").stdout.splitlines()) == 2


@pytest.mark.slow
def test_other_formats_have_every_character(workspace: Workspace) -> None:
    assert "end" in ibench(workspace, "sql", LONG, "-f", "vertical").stdout.splitlines()[-3]
    (read,) = csv.DictReader(io.StringIO(csv_of(workspace, "SELECT 1/3 AS x, 'a,b' AS y")))
    assert read == {"x": "0.3333333333333333", "y": "a,b"}
    (row,) = json.loads(ibench(workspace, "sql", LONG, "-f", "json").stdout)
    assert row["text"] == "x" * 200 + "\nend" and row["small"] == 0.1234567


def csv_of(workspace: Workspace, query: str) -> str:
    return ibench(workspace, "sql", query, "--format", "csv").stdout


@pytest.mark.slow
def test_an_answer_without_rows_has_its_columns(workspace: Workspace) -> None:
    done = ibench(workspace, "sql", "SELECT 1 AS x WHERE false")
    assert (done.stdout, done.stderr) == ("x\n", "no rows\n")


@pytest.mark.slow
def test_the_statement_may_stand_in_standard_input(workspace: Workspace) -> None:
    for words in (["sql"], ["sql", "-"]):
        assert ibench(workspace, *words, stdin="SELECT 42 AS answer\n").stdout.split() == ["answer", "42"]
    refused(ibench(workspace, "sql", stdin=" \n"), "the statement is empty")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".json", ".jsonl"])
def test_an_answer_becomes_a_new_file(workspace: Workspace, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"it's{suffix}"
    query = "SELECT range AS n, 'a' AS t FROM range(1500);" if suffix == ".parquet" else "SELECT 5 AS n, 'a' AS t"
    done = ibench(workspace, "sql", query, "-o", str(path))
    assert done.returncode == 0 and done.stdout == "" and f"wrote {path}" in done.stderr
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".parquet": pl.read_parquet,
        ".csv": pl.read_csv,
        ".tsv": lambda file: pl.read_csv(file, separator="\t"),
        ".json": pl.read_json,
        ".jsonl": pl.read_ndjson,
    }
    read = readers[suffix](path)
    assert read.columns == ["n", "t"] and read.height == (1500 if suffix == ".parquet" else 1)
    before = path.read_bytes()
    refused(ibench(workspace, "sql", query, "-o", str(path)), f"{path} exists already")
    assert path.read_bytes() == before
    refused(ibench(workspace, "sql", query, "-o", str(tmp_path / "x.txt")), "unknown kind of file '.txt'")


@pytest.mark.slow
def test_an_answer_is_printed_for_other_tools(workspace: Workspace) -> None:
    query = "SELECT 5 AS n, 'a\tb' AS t UNION ALL SELECT 6, NULL ORDER BY n"
    assert ibench(workspace, "sql", query, "-f", "tsv").stdout == 'n\tt\n5\t"a\tb"\n6\t\n'
    lines = ibench(workspace, "sql", query, "-f", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [{"n": 5, "t": "a\tb"}, {"n": 6, "t": None}]


@pytest.mark.slow
def test_several_statements_have_several_answers_on_the_screen_only(workspace: Workspace, tmp_path: Path) -> None:
    said = ibench(workspace, "sql", "SELECT 1 AS a; SELECT 2 AS b")
    assert said.stdout.split() == ["a", "1", "b", "2"]
    for more in (["-f", "csv"], ["-o", str(tmp_path / "x.csv")]):
        refused(ibench(workspace, "sql", "SELECT 1; SELECT 2", *more), "there are 2 statements", "ask them one by one")
    assert not (tmp_path / "x.csv").exists()
    refused(ibench(workspace, "sql", "--", "-- a comment"), "there is no statement, only comments")


def test_a_lake_that_is_not_there_is_no_empty_lake(workspace: Workspace, tmp_path: Path) -> None:
    said = ibench(workspace, "sql", "FROM runs", IBENCH_LAKE=str(tmp_path / "nowhere"))
    assert said.returncode != 0 and f"{tmp_path}/nowhere: there is no such folder" in said.stderr


@pytest.mark.slow
def test_what_duckdb_suggests_is_the_hint(workspace: Workspace) -> None:
    done = ibench(workspace, "sql", "SELECT stepp FROM steps")
    refused(done, 'Referenced column "stepp" not found')
    assert 'Candidate bindings: "step"' in done.stderr
    done = ibench(workspace, "sql", "SELECT * FROM step_throughput")
    refused(done, "step_throughput does not exist")
    assert "FROM questions.step_throughput(runs_of('<experiment>'), [])" in done.stderr


@pytest.mark.slow
def test_questions_are_asked_by_the_name_of_an_experiment(workspace: Workspace) -> None:
    write_runs(workspace, Run(), Run(minute=1), Run("other", minute=2))
    query = "SELECT DISTINCT run_id FROM questions.steps(runs_of('demo'), ['l.i1']) ORDER BY ALL"
    latest = [Run(minute=1).run_id, Run("other", minute=2).run_id]
    assert csv_of(workspace, query).split() == ["run_id", *sorted(latest)]
    assert csv_of(workspace, "SELECT len(runs_of('nothing')) AS n").split() == ["n", "0"]


@pytest.mark.slow
def test_what_can_be_asked_is_listed_and_explained(workspace: Workspace) -> None:
    listed = ibench(workspace, "sql", "--tables").stdout
    assert "ops" in listed and "questions.step_throughput(runs, steps)" in listed and "runs_of(experiment)" in listed
    ops = ibench(workspace, "sql", "--describe", "ops").stdout
    assert ops.startswith("ops: table\n") and "second of the step in which the operations ended" in ops
    dips = ibench(workspace, "sql", "--describe", "dips").stdout
    assert dips.startswith("questions.dips: question\n") and "confidence" in dips and "VARCHAR" in dips
    refused(ibench(workspace, "sql", "--describe", "nope"), "no table, view or question 'nope'")


def test_whatever_is_listed_is_explained_with_its_columns(workspace: Workspace) -> None:
    of_any_table = {piece.called for piece in catalogue.pieces() if piece.takes_a_table}
    for kind, name, _ in catalogue.documented():
        done = ibench(workspace, "sql", "--describe", name)
        assert (done.returncode, done.stderr) == (0, ""), name
        lines = done.stdout.splitlines()
        assert lines[0] == f"{name}: {kind.removesuffix('s')}"
        columns = [line.split()[:2] for line in lines].count(["column", "type"])
        assert columns == (kind != "functions" and name not in of_any_table), name
    # A question of a lake without runs has the columns that it has with runs.
    said = ibench(workspace, "sql", "--describe", "one_second").stdout
    asked = reader.question(reader.lake(workspace), "one_second", runs=[], steps=[], points=9)
    assert all(name in said for name in asked.columns)
    refused(ibench(workspace, "sql", "--describe", "one_secnd"), "did you mean 'one_second'?")


def test_version_and_short_help(workspace: Workspace) -> None:
    assert ibench(workspace, "--version").stdout.startswith("ibench ")
    for words in (["-h"], ["sql", "-h"], ["runs", "verify", "-h"]):
        done = ibench(workspace, *words)
        assert done.returncode == 0 and "Usage" in done.stdout
