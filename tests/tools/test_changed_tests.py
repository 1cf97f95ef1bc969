"""Which tests a change can reach."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT
from tools import changed_tests
from tools.changed_tests import ALWAYS, BY_NAME, NEVER_BY_NAME, READERS, changed_files, reached_tests

pytestmark = pytest.mark.slow  # all files are parsed

LOADS = {"import_module", "load", "modules"}


def test_a_module_reaches_its_own_tests_and_those_of_what_uses_it_and_no_others() -> None:
    reached = set(reached_tests(["ibench_lib/show/waits/tables.py"]))
    assert {"tests/show/waits/test_tables.py", "tests/publish/test_every_notebook.py"} < reached
    assert {"tests/client/test_many.py", "tests/servers/test_sandbox.py", "tests/capture/test_host.py"}.isdisjoint(
        reached
    )


def test_what_is_imported_by_its_name_is_reached() -> None:
    """No import statement names a client, a collector, a source of builds or an importer."""
    for module, test in {
        "ibench_lib/workloads/tpcc/client.py": "tests/runner/test_cell.py",
        "ibench_lib/capture/host.py": "tests/measurement/test_real_server.py",
        "ibench_lib/servers/sources/npm.py": "tests/servers/test_catalogue.py",
        "ibench_lib/importers/published.py": "tests/importers/test_published.py",
    }.items():
        assert test in reached_tests([module]), module


def test_a_fixture_counts_as_what_it_uses() -> None:
    assert "tests/capture/test_session.py" in reached_tests(["ibench_lib/servers/find.py"])


def test_other_files_count_as_the_modules_that_read_them() -> None:
    assert reached_tests(["docs/trust.md"]) == sorted({*ALWAYS, "tests/test_tutorial.py"})
    assert "tests/store/test_dips.py" in reached_tests(["ibench_lib/sql/macros/step_use.sql"])
    assert reached_tests([]) == sorted(ALWAYS)
    for any_test in ("pyproject.toml", "tests/conftest.py", "requirements.lock"):
        assert reached_tests([any_test, "docs/trust.md"]) == ["tests"]


def test_the_tables_leave_out_no_module_that_imports_by_name_and_name_none_that_is_gone() -> None:
    found = set()
    for path in (ROOT / "ibench_lib").rglob("*.py"):
        calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
        names = {f"{ast.unparse(call.value)}.{call.attr}" for call in calls if isinstance(call, ast.Attribute)}
        if names & {"importlib.import_module", "plugins.load", "plugins.modules"}:
            found.add(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    assert found - set(NEVER_BY_NAME) == set(BY_NAME) - {"ibench_lib.plugins"}
    for readers in (*BY_NAME.values(), *READERS.values()):
        for pattern in readers.split():
            assert changed_tests._matching(pattern), pattern


def test_what_git_does_not_ignore_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(changed_tests, "ROOT", tmp_path)
    git("init")
    for name in ("kept.py", "edited.py", "old.py", ".gitignore"):
        (tmp_path / name).write_text(f"{name}\nignored.py\n")
    git("add", ".")
    git("commit", "-m", "one")
    git("checkout", "-b", "mine")
    (tmp_path / "edited.py").write_text("other\n")
    git("mv", "old.py", "renamed.py")
    git("commit", "-am", "two")
    (tmp_path / "new.py").touch()
    (tmp_path / "ignored.py").touch()
    assert changed_files("main") == ["edited.py", "new.py", "old.py", "renamed.py"]
    with pytest.raises(SystemExit, match="name a branch or a commit"):
        changed_files("no-such-branch")
