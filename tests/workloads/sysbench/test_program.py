"""sysbench is found, named by version and digest, and what is wrong with it is one line."""

from pathlib import Path

import pytest

from ibench_lib.cli import doctor
from ibench_lib.errors import HostUnfit
from ibench_lib.paths import Workspace
from ibench_lib.runner.preflight import require_program
from ibench_lib.workloads import workload
from ibench_lib.workloads.sysbench import program
from ibench_lib.workloads.sysbench.program import FIX, VARIABLE
from ibench_lib.workloads.workload import CommonOptions
from tests.workloads.sysbench.test_options import options

ANY = CommonOptions(benchmark="any", clients=1)
NAMES = {"mysql": "MySQL", "postgres": "PostgreSQL"}


def script(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return path


def test_the_program_is_named_by_version_and_digest(sysbench: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, sysbench)
    found = program.identity()
    assert found["version"].startswith("sysbench 1.") and len(found["sha256"]) == 64 and found["name"] == "sysbench"
    here = program.program_here()
    assert here.found == f"{found['version']} at {sysbench}"
    assert (program.folder_of_tests(sysbench) / "oltp_read_write.lua").is_file()


def test_what_was_unpacked_in_the_project_is_found_last(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(program, "workspace", lambda: workspace)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert program.find_sysbench() == "sysbench"
    unpacked = script(workspace.build_dir("sysbench") / "sysbench-unpacked", "echo sysbench 1.0.20")
    assert program.find_sysbench() == str(unpacked)
    tests = unpacked.parent / "usr/share/sysbench"
    tests.mkdir(parents=True)
    (tests / "oltp_common.lua").touch()
    assert program.folder_of_tests(str(unpacked)) == tests
    assert program.program_here().found == f"sysbench 1.0.20 at {unpacked}"
    on_path = script(tmp_path / "bin" / "sysbench", "echo sysbench 1.1")
    assert program.find_sysbench() == str(on_path)


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (None, "{}: there is no such program"),
        ("exit 3", "{} does not run"),
        ("echo sysbench 0.4.12", "{} is 'sysbench 0.4.12': ibench drives sysbench 1.0 and later"),
        (
            "echo sysbench 1.0.20; echo Compiled-in database drivers:; echo",
            "{} has been built without a driver of any database",
        ),
        ("echo sysbench 1.0.20", "{} has come without its tests: no oltp_common.lua in "),
    ],
)
def test_a_sysbench_that_cannot_be_driven_ends_a_cell_before_its_server_starts(
    says: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "here" / "bin" / "sysbench"
    if says is not None:
        script(path, says)
    monkeypatch.setenv(VARIABLE, str(path))
    real = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda found: found.name != "oltp_common.lua" and real(found))
    with pytest.raises(HostUnfit) as caught:
        require_program(workload.find("sysbench"), ANY)
    assert caught.value.what.startswith(why.format(path)) and caught.value.hint == FIX
    assert "\n" not in caught.value.what
    (finding,) = (finding for finding in doctor.examine(Workspace(tmp_path)) if finding.name == "sysbench")
    assert (finding.status, finding.fix) == ("warning", FIX)
    assert finding.found == f"{caught.value.what}; only `benchmark: sysbench` needs it"


@pytest.mark.parametrize(("family", "driver", "other"), [("postgres", "pgsql", "mysql"), ("mysql", "mysql", "pgsql")])
def test_a_sysbench_needs_the_driver_of_the_servers_family(
    family: str, driver: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "folder_of_tests", lambda _binary: tmp_path)
    for has, name in ((driver, "able"), (other, "unable")):
        drivers = f"echo Compiled-in database drivers:; echo '  {has} - a driver'"
        monkeypatch.setenv(VARIABLE, str(script(tmp_path / name, f"echo sysbench 1.0.20; {drivers}")))
        found = workload.programs_of(workload.find("sysbench"), options(), family)
        assert [here.why for here in found if here.found is None] == (
            [] if has == driver else [f"{tmp_path / name} has been built without the driver of {NAMES[family]}"]
        )


def test_a_family_that_sysbench_cannot_reach_is_named(sysbench: str) -> None:
    with pytest.raises(HostUnfit) as caught:
        require_program(workload.find("sysbench"), options(), "linedb")
    assert caught.value.what == "ibench does not know how sysbench reaches servers of the family linedb"


def test_other_workloads_need_no_program() -> None:
    for name in workload.known():
        if name not in ("sysbench", "command"):
            require_program(workload.find(name), ANY)
