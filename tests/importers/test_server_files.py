"""Files next to logs that say what server there was: whose they are, what is stored of them, and what is not used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import ibench_lib as ib
from ibench_lib.errors import UsageError
from ibench_lib.importers import server_files
from ibench_lib.importers.iibench import IMPORTER as IIBENCH
from ibench_lib.importers.importer import ImportRequest
from ibench_lib.importers.intake import import_file, plan_import
from ibench_lib.importers.server_files import BY_A_SESSION, WHEN, WHOSE_HOST, ServerFiles, with_servers
from ibench_lib.importers.source import Source
from ibench_lib.importers.sysbench import IMPORTER as SYSBENCH
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from tests.importers.host_text import iostat
from tests.importers.iibench_logs import client_log
from tests.importers.saved_outputs import OF_A_SESSION, SECRETS, STATUS, VARIABLES, tabbed, table
from tests.importers.sysbench_logs import log
from tests.importers.test_host_summaries import FACTS, OUTPUTS

pytestmark = pytest.mark.lake

OTHER = {
    **VARIABLES, "back_log": "80", "version": "8.0.33-25", "version_comment": "Percona Server (GPL), Release 25",
    "thread_pool_size": "16",
}  # fmt: skip
SUMMARY = "# Percona Toolkit MySQL Summary Report #######################\n  Hostname | db7.example.com\n"
ARCHIVE = {
    "mysql/8.0.33/Tier2G.vars.txt": tabbed({**VARIABLES, **OF_A_SESSION}),
    "mysql/8.0.33/Tier2G.status.txt": tabbed(STATUS),
    "mysql/8.0.33/Tier2G-pt-mysql-summary.txt": SUMMARY,
    "mysql/8.0.33/Tier2G_RW_4th.sysbench.txt": log(),
    "mysql/8.0.33/Tier12G_RW_4th.sysbench.txt": log(),
    "percona-server/8.0.33-25/Tier2G.vars.txt": table(OTHER),
    "percona-server/8.0.33-25/Tier2G_RW_4th.sysbench.txt": log((200, 210, 220)),
    "percona-server/8.0.33-25/notes.txt": "nothing\n",
}
MYSQL, PERCONA = "mysql-8.0.33.Tier2G", "percona-server-8.0.33-25.Tier2G"
STEPS = {"l.i0": client_log(ips=(100, 100), each=50, dps=False)}


def folder_of(path: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def found_in(path: Path, texts: Mapping[str, str], *, iibench: bool = False, **told: str | None) -> ServerFiles:
    with Source(folder_of(path, texts)) as source:
        request = ImportRequest("small", told.get("dbms"), "oltp_read_write")
        importer = IIBENCH if iibench else SYSBENCH
        given = ImportRequest("small") if iibench else request
        return with_servers(source, list(importer.runs(source, given)))


def values(found: ServerFiles, name: str) -> dict[str, str | None]:
    """A variable of each run that has variables, by its dbms."""
    return {run.dbms: run.server.variables.get(name) for run in found.runs if run.server is not None}


def test_variables_of_a_size_are_those_of_its_runs(tmp_path: Path) -> None:
    found = found_in(tmp_path / "given", ARCHIVE)
    assert values(found, "back_log") == {MYSQL: "3500", PERCONA: "80"}, "nobody knows those of Tier12G"
    assert {run.dbms: run.server.flavour for run in found.runs if run.server} == {MYSQL: "mysql", PERCONA: "percona"}
    assumed = {run.dbms: run.workload.get("assumptions") for run in found.runs}
    assert assumed == {MYSQL: [WHEN, BY_A_SESSION], PERCONA: [WHEN], "mysql-8.0.33.Tier12G": None}
    assert sorted(found.unused) == ["mysql/8.0.33/Tier2G-pt-mysql-summary.txt", "mysql/8.0.33/Tier2G.status.txt"]


@pytest.mark.slow
def test_an_import_stores_them_and_two_builds_differ_in_them(workspace: Workspace, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "given", ARCHIVE)
    taken = import_file(path, "others", "a report", workspace, setup="small", test="oltp_read_write")
    assert [one for one in taken.warnings if "not used" in one or "not read" in one] == [
        f"1 file was recognised and not used: mysql/8.0.33/Tier2G-pt-mysql-summary.txt: {server_files.ROUNDED}",
        f"1 file was recognised and not used: mysql/8.0.33/Tier2G.status.txt: {server_files.NO_MOMENT}",
        "1 file was not read: percona-server/8.0.33-25/notes.txt",
    ]
    again = import_file(path, "others", "a report", workspace, setup="small", test="oltp_read_write")
    assert (again.run_ids, sorted(again.already)) == ([], sorted(taken.run_ids))
    stored = {file: file.read_bytes() for file in workspace.runs.rglob("*") if file.is_file()}
    assert not [(file, secret) for file, content in stored.items() for secret in SECRETS if secret in content]
    (run_dir,) = [run_dir for run_dir in workspace.runs.iterdir() if MYSQL in run_dir.name]
    server = read_manifest(run_dir).server
    assert server is not None and (server.flavour, server.version) == ("mysql", "8.0.33")
    pair = ib.pair(ib.choose(reader.lake(workspace), "others", dbms="*.Tier2G*"))
    differing = pair.facts("variable").sort("fact").select("fact", "base_values", "dbms_values").rows()
    assert differing == [
        ("back_log", ["3500"], ["80"]), ("version", ["8.0.33"], ["8.0.33-25"]),
        ("version_comment", ["MySQL Community Server - GPL"], ["Percona Server (GPL), Release 25"]),
    ]  # fmt: skip
    assert "Only percona-server-8.0.33-25.Tier2G (imported) has: 1 variable" in ib.left_out(pair).markup


def test_the_plan_says_what_becomes_of_each(tmp_path: Path) -> None:
    plan = plan_import(folder_of(tmp_path / "given", ARCHIVE), setup="small", test="oltp_read_write")
    rows = {row.file.rpartition("/")[2]: row for row in plan.rows if "mysql/" in row.file}
    variables, status = rows["Tier2G.vars.txt"], rows["Tier2G.status.txt"]
    assert (variables.format, variables.run) == ("variables", f"small, {MYSQL}")
    assert (status.format, status.run, status.why) == (None, None, server_files.NO_MOMENT)
    assert rows["Tier2G-pt-mysql-summary.txt"].why == server_files.ROUNDED


def test_a_file_with_the_name_of_a_log_is_of_that_log(tmp_path: Path) -> None:
    texts = {
        "a.sysbench.txt": log(), "b.sysbench.txt": log(threads=8), "a.vars.txt": tabbed(VARIABLES),
        "b.vars.txt": tabbed({**VARIABLES, "back_log": "80"}),
    }  # fmt: skip
    found = found_in(tmp_path / "given", texts, dbms="a.x")
    (run,) = found.runs
    assert run.server is not None and "back_log" not in run.server.variables, "both are of one run"
    assert run.server.variables["max_connections"] == "151"
    assert [one.text for one in run.warnings if "several values" in one.text] == [
        "1 variable with several values in the files of a run: left out: back_log"
    ]


def test_a_file_above_the_logs_is_theirs_if_they_are_of_one_dbms(tmp_path: Path) -> None:
    texts = {"my8033.a/1/run.log": log(), "my8033.a/2/run.log": log(threads=8), "my8033.a/gv": tabbed(VARIABLES)}
    assert values(found_in(tmp_path / "one", texts), "back_log") == {"my8033.a": "3500"}
    several = {**texts, "my8033.b/run.log": log(), "gv": tabbed(VARIABLES), "none/gv": tabbed(VARIABLES)}
    found = found_in(tmp_path / "several", several)
    assert values(found, "back_log") == {"my8033.a": "3500"}
    assert found.unused == {"gv": server_files.OF_SEVERAL, "none/gv": server_files.OF_NO_LOG}


def test_a_file_of_another_size_is_of_no_log(tmp_path: Path) -> None:
    texts = {"mysql/8.0.33/Tier2G_RW_4th.log": log(), "mysql/8.0.33/Tier32G.vars.txt": tabbed(VARIABLES)}
    assert found_in(tmp_path / "given", texts).unused == {"mysql/8.0.33/Tier32G.vars.txt": server_files.OF_NO_LOG}
    texts = {
        "mysql/8.0.33/Tier2G_RW_4th.log": log(), "mysql/8.0.33/Tier12G_RW_4th.log": log(),
        "mysql/8.0.33/vars.txt": tabbed(VARIABLES),
    }  # fmt: skip
    assert found_in(tmp_path / "sizes", texts).unused == {"mysql/8.0.33/vars.txt": server_files.OF_SEVERAL}


def test_folders_of_other_tools_have_them_as_well(tmp_path: Path) -> None:
    texts = {
        **{f"my8033.cy10a/{step}/o.ib.dop1.1": text for step, text in STEPS.items()},
        "my8033.cy10a/l.i0/o.gv": tabbed(VARIABLES), "my8033.cy10a/l.i0/o.gs": tabbed(STATUS),
    }  # fmt: skip
    found = found_in(tmp_path / "given", texts, iibench=True)
    assert values(found, "back_log") == {"my8033.cy10a": "3500"}
    assert found.unused == {"my8033.cy10a/l.i0/o.gs": server_files.NO_MOMENT}


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([tabbed({**VARIABLES, "version_comment": ""}), tabbed(OTHER)], "are of several servers: left out"),
        ([tabbed({name: VARIABLES[name] for name in list(VARIABLES)[:8]})], "do not say of which server they are"),
        ([tabbed(VARIABLES) + tabbed(STATUS)], "it also has 9 rows of the status of the server at one moment"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, others: list[str], said: str) -> None:
    texts = {"run.log": log(), **{f"{number}.vars": text for number, text in enumerate(others)}}
    (run,) = found_in(tmp_path / "given", texts, dbms="a.x").runs
    assert any(said in remark.text for remark in run.warnings)
    assert (run.server is None) is ("rows of the status" not in said)


def test_there_are_at_most_so_many_different_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_files, "MOST_FILES", 2)
    texts = {f"my8033.{n}/{name}": log() if name == "run.log" else tabbed({**VARIABLES, "back_log": str(n // 2)})
             for n in range(8) for name in ("run.log", "vars")}  # fmt: skip
    found = found_in(tmp_path / "given", texts)
    assert len(found.used) == 4 and set(found.unused.values()) == {server_files.TOO_MANY}


@pytest.mark.parametrize(
    ("dbms", "taken"), [("mysql-8.0.33.a", True), ("mysql-8.0.a", True), ("my8036.a", True), ("mysql-8.4.8.a", False)]
)
def test_variables_of_another_version_than_the_name_of_the_dbms_says_are_left_out(
    tmp_path: Path, dbms: str, taken: bool
) -> None:
    (run,) = found_in(tmp_path / "given", {"run.log": log(), "vars": tabbed(VARIABLES)}, dbms=dbms).runs
    assert (run.server is not None) is taken
    said = f"its variables are of version 8.0.33, and its dbms is called {dbms}: left out"
    assert [remark.text for remark in run.warnings if "of version" in remark.text] == ([] if taken else [said])


def test_an_option_file_that_is_not_called_after_its_logs_is_not_used(tmp_path: Path) -> None:
    texts = {"my8033.a/run.log": log(), "my8033.a/my.cnf": "[mysqld]\nback_log = 3500\n"}
    found = found_in(tmp_path / "given", texts)
    assert found.runs[0].settings == "" and found.unused == {"my8033.a/my.cnf": server_files.UNSURE}


def test_facts_of_the_host_are_those_of_its_logs(tmp_path: Path) -> None:
    texts = {"my8033.a/run.log": log(), "my8033.a/host.txt": OUTPUTS}
    found = found_in(tmp_path / "given", texts)
    (run,) = found.runs
    assert run.host["cpu_model"] == FACTS["cpu_model"] and run.server is None
    assert run.workload["assumptions"] == [WHOSE_HOST] and found.kinds == {"my8033.a/host.txt": "host"}
    sixteen, two = (
        {"my8033.a/run.sysbench.txt": log(), "my8033.a/run.iostat.txt": iostat([5] * 4, cpus=cpus),
         "my8033.a/host.txt": OUTPUTS} for cpus in (16, 2)
    )  # fmt: skip
    (run,) = found_in(tmp_path / "same", sixteen).runs
    assert (run.host["logical_cpus"], run.host["os"]) == ("16", "Ubuntu 22.04.3 LTS")
    (run,) = found_in(tmp_path / "another", two).runs
    assert run.host == {"logical_cpus": "2"}
    assert any("it is not of the host of the logs" in remark.text for remark in run.warnings)


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = folder_of(tmp_path / "given", {"run.log": log()})
    (path / "vars").write_bytes(tabbed(VARIABLES).encode() + 5000 * b"#" + b"\n\xff\n")
    with pytest.raises(UsageError, match="vars:26: it is not UTF-8"):
        plan_import(path, setup="small", dbms="a.x", test="oltp_read_write")
