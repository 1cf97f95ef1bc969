"""Who may import whom: the table of docs/architecture.md is what is tested, and it is total."""

import ast
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.places import ROOT

LIBRARY = "ibench_lib"

Imports = dict[str, set[str]]


class Row(NamedTuple):
    """One row of the table: modules by path below ibench_lib, what they may import, and what they must never reach."""

    module: str
    may: tuple[str, ...]
    never: tuple[str, ...]


def rules(text: str | None = None) -> list[Row]:
    """The rows of the table under the heading "Who may import whom"."""
    text = text or (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.split("## Who may import whom")[1].split("\n## ")[0]
    found = []
    for line in section.splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `"):
            modules, may, never = cells
            found += [Row(module, tuple(may), tuple(never)) for module in modules]
    return found


def imports_of(path: Path) -> set[str]:
    """Dotted names that a module imports; a name taken from a package counts as package.name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@cache
def library_imports() -> Imports:
    """Every module of the library by its path below it, such as servers/find, and the modules that it imports.

    A module of the library is named by its path, any other library by its name.
    """
    paths = {
        path.relative_to(ROOT / LIBRARY).with_suffix("").as_posix(): path for path in (ROOT / LIBRARY).rglob("*.py")
    }
    return {name: {place(found, paths.keys()) for found in imports_of(path)} for name, path in paths.items()}


def place(dotted: str, modules: set[str]) -> str:
    """servers/find for ibench_lib.servers.find.find_build; pyarrow for pyarrow.parquet."""
    first, *rest = dotted.split(".")
    if first != LIBRARY:
        return first
    for end in (len(rest), len(rest) - 1):
        for name in ("/".join(rest[:end]), "/".join([*rest[:end], "__init__"])):
            if name in modules:
                return name
    return "__init__"


def row_of(module: str, table: list[Row]) -> Row | None:
    """The row that a module is in: of those that fit, the one whose pattern says most."""
    fitting = [row for row in table if fits(module, row.module)]
    return max(fitting, key=lambda row: len(row.module.replace("*", "")), default=None)


def fits(module: str, pattern: str) -> bool:
    """Whether a module is meant by a pattern: a module's path, or a folder and everything below it."""
    return fnmatchcase(module, pattern) or fnmatchcase(module, f"{pattern}/*")


def itself(module: str, row: Row) -> str:
    """What a row calls itself for one of its modules: workloads/tpcc for a module in the row workloads/*."""
    return "/".join(module.split("/")[: row.module.count("/") + 1])


def reach(start: str, modules: Imports) -> set[str]:
    """Everything that importing a module imports, directly or not."""
    reached: set[str] = set()
    to_visit = [start]
    while to_visit:
        for found in modules.get(to_visit.pop(), ()):
            if found not in reached:
                reached.add(found)
                to_visit.append(found)
    return reached


def violations(modules: Imports, table: list[Row]) -> list[str]:
    """Every import that the table forbids, and every module that it forgets."""
    found = []
    for module in sorted(modules):
        row = row_of(module, table)
        if row is None:
            found.append(f"{module} is in no row")
            continue
        for target in sorted(modules[module] & modules.keys()):
            if not any(fits(target, allowed) for allowed in (*row.may, itself(module, row))):
                found.append(f"{module} imports {target}")
        if row.never:
            reached = reach(module, modules)
            found += [f"{module} reaches {name}" for name in row.never if any(fits(each, name) for each in reached)]
    return found


def circles(modules: Imports) -> list[str]:
    """Folders that import each other, directly or over others."""
    folders: Imports = {}
    for module, targets in modules.items():
        own = module.split("/")[0]
        folders.setdefault(own, set()).update(target.split("/")[0] for target in targets & modules.keys())
    folders.pop("__init__")  # it loads what a notebook calls when it is called; show/contents lists that
    return sorted(
        folder
        for folder in folders
        if any(folder in reach(other, folders) | {other} for other in folders[folder] - {folder})
    )


def test_the_import_rules_hold() -> None:
    modules, table = library_imports(), rules()
    assert {"errors", "servers/find", "cli/main"} <= modules.keys() and len(table) > 15
    assert violations(modules, table) == []


def test_no_two_folders_import_each_other() -> None:
    assert circles(library_imports()) == []


def test_no_modules_import_each_other_not_even_for_types() -> None:
    modules = {name: targets - {"__init__"} for name, targets in library_imports().items()}
    assert [module for module in sorted(modules) if module in reach(module, modules)] == []


def test_every_row_of_the_table_is_about_something() -> None:
    modules = library_imports()
    assert [row.module for row in rules() if not any(fits(module, row.module) for module in modules)] == []


def test_the_library_lists_the_path_of_a_number() -> None:
    entries = [path for path in (ROOT / LIBRARY).iterdir() if path.name != "__pycache__"]
    assert len([path for path in entries if path.is_file()]) <= 10
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^ {4}([a-z_]+)/", text, re.MULTILINE)
    assert sorted(drawn) == sorted(path.name for path in entries if path.is_dir())


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("errors", "runner/cell"),
        ("servers/find", "client/mysql/wire"),
        ("runner/settle", "client/mysql/wire"),
        ("workloads/tpcc/client", "client/mysql/connection"),
        ("client/load", "client/mysql/wire"),
        ("client/mysql/wire", "client/role"),
        ("families/mysql/flavours/mysql", "servers/sandbox"),
        ("capture/host", "servers/build"),
        ("configs/resolve", "servers/build"),
        ("store/reader", "workloads/insert_benchmark/workload"),
        ("show/compare/charts", "store/reader"),
        ("show/compare/charts", "duckdb"),
        ("show/kit/theme", "shutil"),
        ("show/compare/tables", "io"),
        ("workloads/insert_benchmark/results/tables", "workloads/insert_benchmark/steps"),
        ("workloads/insert_benchmark/workers", "workloads/insert_benchmark/results/tables"),
        ("runner/sweep", "cli/main"),
        ("runner/step", "show/sla/sentences"),
        ("runner/step_rows", "store/reader"),
        ("runner/cell", "ask/selection"),
        ("experiment/file", "runner/cell"),
        ("publish/post", "runner/sweep"),
        ("client/load", "schema"),
        ("a_new_module", "errors"),
        ("runner/a_new_module", "show/kit/theme"),
    ],
)
def test_a_forbidden_import_is_seen(module: str, imported: str) -> None:
    modules = dict(library_imports())
    modules[module] = modules.get(module, set()) | {imported}
    assert violations(modules, rules())


OF_MYSQL = re.compile(r"mysql|maria|innodb|rocksdb|myrocks|percona|xtradb|my\.cnf|SHOW (GLOBAL|ENGINE)", re.IGNORECASE)
HOME_OF_MYSQL = (
    "families/mysql/*",
    "client/mysql/*",
    "workloads/*/statements/mysql.py",
    "workloads/sysbench/servers/mysql.py",
    "servers/sources/*",
    "importers/tpcc_mysql.py",
)
STILL_NAMES_MYSQL = """
    analysis/explain.py base/mysql.py cli/config.py cli/project.py cli/servers.py configs/resolve.py
    importers/iibench.py importers/layout.py importers/option_files.py importers/stored_names.py
    importers/sysbench.py workloads/sysbench/program.py
    metrics.py runner/description.py runner/preflight.py
    schema.py server_figures.py servers/catalogue.py
    servers/find.py servers/flavours/flavour.py servers/inspection.py servers/on_this_machine.py servers/remote.py
    show/compare/tables.py show/costs/tables.py show/step_detail/panels.py show/waits/tables.py
    sql/macros/dip_measures.sql sql/steps/waits_captured.sql sql/views/noise_facts.sql
    store/manifest.py workloads/insert_benchmark/client.py
    workloads/insert_benchmark/options.py workloads/insert_benchmark/results/sql/workload.sql
    workloads/insert_benchmark/results/statements.py workloads/insert_benchmark/workers.py
    workloads/insert_benchmark/workload.py workloads/linkbench/options.py workloads/linkbench/requester.py
    workloads/linkbench/tables.py workloads/sysbench/options.py
    workloads/tpcc/options.py workloads/tpcc/profiles.py workloads/tpcc/results/tables.py
    workloads/tpcc/tables.py workloads/workload.py
"""
"""What names MySQL's things outside of its family. Nothing may be added to it."""


def words_of(path: Path) -> str:
    """The names and texts in the code of a file, without comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sql":
        return re.sub(r"--.*", "", text)
    tree, found = ast.parse(text), []
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docs:
            found.append(str(node.value))
        for name in ("id", "attr", "name", "arg", "module"):
            found.append(str(getattr(node, name, "")))
    return "\n".join(found)


def test_names_of_mysql_do_not_leak_out_of_its_family() -> None:
    paths = {path.relative_to(ROOT / LIBRARY).as_posix(): path for path in (ROOT / LIBRARY).rglob("*.*")}
    naming = {
        name
        for name, path in paths.items()
        if path.suffix in (".py", ".sql")
        and not any(fnmatchcase(name, home) for home in HOME_OF_MYSQL)
        and OF_MYSQL.search(words_of(path))
    }
    known = set(STILL_NAMES_MYSQL.split())
    assert naming - known == set(), "what is MySQL's belongs into ibench_lib/families/mysql"
    assert known - naming == set(), "take them off the list"
