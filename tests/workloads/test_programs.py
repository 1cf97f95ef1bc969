"""The programs that workloads drive are found by a module of their folder, and without importing the workload."""

from pathlib import Path

import pytest

from ibench_lib import paths, plugins
from ibench_lib.workloads import programs
from ibench_lib.workloads.programs import ProgramHere, driven, program_of

ACME = "from ibench_lib.workloads.programs import ProgramHere\n"


def test_ours_is_sysbench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IBENCH_SYSBENCH", "/nonexistent/sysbench")
    here = program_of("sysbench")
    assert here is not None and here.found is None and "there is no such program" in here.why
    assert driven() == {"sysbench": here}
    assert program_of("tpcc") is None and program_of("no_such_workload") is None


def test_one_of_an_installed_package_is_asked_without_its_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = tmp_path / "acme_programs"
    for name, text in {
        "drives": f"{ACME}def program_here():\n    return ProgramHere('acme', 'acme 1.0')\n",
        "calls_something_else_so": "WORDS = 1\n",
    }.items():
        (acme / name).mkdir(parents=True)
        (acme / name / "program.py").write_text(text)
        (acme / name / "workload.py").write_text("raise AssertionError('not to be imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    added = {path.name: f"acme_programs.{path.name}" for path in acme.iterdir()}
    monkeypatch.setattr(programs, "workload_modules", lambda: paths.workload_modules() | added)
    assert driven()["drives"] == program_of("drives") == ProgramHere("acme", "acme 1.0")
    assert "calls_something_else_so" not in driven() and program_of("calls_something_else_so") is None


def test_a_package_whose_program_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_broken").mkdir()
    (tmp_path / "acme_broken" / "program.py").write_text("import no_such_module_at_all\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(programs, "workload_modules", lambda: {"broken": "acme_broken"})
    with pytest.raises(plugins.PluginRefused, match=r"acme_broken\.program, which an installed package adds, fails"):
        driven()
