"""The parts of the product that a slim installation lacks: what works without them, and what says so."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ibench_lib.base import extras
from ibench_lib.paths import Workspace
from tests.command import PROGRAM
from tests.places import ROOT
from tests.shared import give_views
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Modules whose name is not that of their distribution, or that come with one.
MODULES = {
    "IPython": "ipykernel",
    "PIL": "pillow",
    "jupyter_client": "ipykernel",
    "pydantic_core": "pydantic",
    "ruamel": "ruamel.yaml",
}
SLIM = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(module for modules in extras.EXTRAS.values() for module in modules)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
{PROGRAM}
"""


def names(requirements: list[str]) -> set[str]:
    """The distributions of requirements, but for the project itself, with _ for -."""
    found = {text.partition(">")[0].partition("[")[0].replace("-", "_") for text in requirements}
    return found - {PROJECT["name"]}


def test_every_import_of_the_library_is_installed_always_or_with_an_extra() -> None:
    always = names(PROJECT["dependencies"])
    known = {module for modules in extras.EXTRAS.values() for module in modules}
    for path in (ROOT / "ibench_lib").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for top in {name.partition(".")[0] for name in found} - sys.stdlib_module_names - {"ibench_lib"}:
                assert MODULES.get(top, top) in always or top in known, f"{path.name} imports {top}"


def test_the_extras_are_those_of_the_project() -> None:
    declared = PROJECT["optional-dependencies"]
    for extra, modules in extras.EXTRAS.items():
        assert names(declared[extra]) <= {MODULES.get(module, module) for module in modules}, extra
    assert extras.extra_of("papermill.engines") == "post" and extras.extra_of("duckdb") is None is extras.extra_of(None)


def slim(workspace: Workspace, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process that has no module of any extra."""
    environment = {"PATH": "/usr/bin:/bin", "IBENCH_HOME": str(workspace.root), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", SLIM, *arguments], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_load_host_needs_no_extra_and_posts_say_which_one_they_need(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    give_views(workspace)
    for arguments in (["--version"], ["runs"], ["summary", "demo"], ["sql", "FROM runs"], ["config", "list"]):
        done = slim(workspace, *arguments)
        assert done.returncode == 0, done.stderr
    for arguments, extra in (["post", "x.yml"], "post"), (["site"], "post"), (["lab"], "lab"):
        done = slim(workspace, *arguments)
        first, hint = done.stderr.splitlines()
        assert done.returncode == 2 and first.endswith(f"is not installed: this needs the extra {extra}"), done.stderr
        assert hint.strip() == "make env", "as this is a checkout"


def test_outside_of_a_checkout_the_command_installs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "SOURCE_ROOT", tmp_path)
    assert extras.how_to_install("post") == "pip install 'ibench[post]', or: uv tool install 'ibench[post]'"
