"""Which tests a change can reach, by what their files import: for `make test-changed`, which runs the long ones, too.

A test file is chosen if it changed, or if it imports a changed module, directly or not; a fixture of tests/conftest.py
counts as what it uses. A file that is no module counts as the modules that read it (`READERS`); one that any test may
depend on chooses all of them. The choice is too large rather than too small: what is imported only while something
runs is in it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

BY_NAME = {
    "ibench_lib.capture.session": "ibench_lib/capture/*.py ibench_lib/families/*/collectors/*.py",
    "ibench_lib.cli.main": "ibench_lib/cli/*.py",
    "ibench_lib.client.driver": "ibench_lib/client/*.py ibench_lib/workloads/*/statements/*.py tests/fakes/linedb/*.py",
    "ibench_lib.client.external": "ibench_lib/workloads/*/client.py ibench_lib/client/mysql/connection.py",
    "ibench_lib.client.compiled_core": "hatch_build.py",
    "ibench_lib.client.worker": "ibench_lib/workloads/*/*.py",
    "ibench_lib.importers.intake": "ibench_lib/importers/*.py",
    "ibench_lib.metrics": "ibench_lib/workloads/*/results/metrics.py",
    "ibench_lib.publish.kernel_process": "ibench_lib/*.py",
    "ibench_lib.servers.catalogue": "ibench_lib/servers/sources/*.py",
    "ibench_lib.servers.flavours.flavour": "ibench_lib/families/*.py",
    "ibench_lib.show.sections": "ibench_lib/workloads/*/results/*.py",
    "ibench_lib.workloads.programs": "ibench_lib/workloads/*/program.py",
    "ibench_lib.workloads.workload": "ibench_lib/workloads/*/workload.py",
}
"""Module -> what it imports by names that no import statement has. `*` stands for folders, too."""

NEVER_BY_NAME = ("ibench_lib", "ibench_lib.base.later", "ibench_lib.plugins")
"""They import what their callers name."""

READERS = {
    "ibench_lib/*.sql": "ibench_lib/store/reader.py",
    "ibench_lib/client/exchange.h": "hatch_build.py",
    "ibench_lib/client/mysql/core.c": "hatch_build.py",
    "ibench_lib/families/postgres/core.c": "hatch_build.py",
    "ibench_lib/workloads/*.lua": "ibench_lib/workloads/sysbench/client.py",
    "ibench_lib/configs/*.cnf": "ibench_lib/configs/resolve.py",
    "ibench_lib/analysis/*": "ibench_lib/analysis/symbols.py ibench_lib/analysis/releases.py",
    "ibench_lib/publish/*": "ibench_lib/publish/page.py",
    "notebooks/*": "ibench_lib/publish/execution.py",
    "papermill_params/*": "ibench_lib/publish/execution.py",
    "experiments/*": "ibench_lib/experiment/file.py",
    "data/*": "ibench_lib/store/reader.py",
    "benchmarks/*": "benchmarks/*.py",
    "docs/*": "tests/test_documents.py tests/test_repository.py tests/test_tutorial.py",
    "*.md": "tests/test_documents.py tests/test_repository.py",
    ".github/*": "tests/test_repository.py",
    ".ci/*": "tests/test_repository.py",
    "Makefile": "tests/test_repository.py",
    "tests/faults.yaml": "tests/test_repository.py",
    "tests/golden/*": "tests/show/parsed.py",
}
"""Pattern of a file that is no module -> patterns of the modules that depend on it. The first that fits counts."""

ALWAYS = ("tests/test_repository.py", "tests/test_imports.py", "tests/test_documents.py")


def changed_files(since: str) -> list[str]:
    """What differs from where this branch left `since`, committed or not, without what git ignores.

    Raises
    ------
    SystemExit : git does not know `since`.
    """
    base = _git("merge-base", "HEAD", since)
    named = _git("diff", "--name-only", "--no-renames", *base) + _git("ls-files", "--others", "--exclude-standard")
    return sorted(set(named))


def reached_tests(changed: Iterable[str]) -> list[str]:
    """The test files that a change of these files can reach, by their paths; `tests` stands for all of them."""
    targets: set[str] = set()
    for name in changed:
        if not name.endswith(".py"):
            readers = next((readers for pattern, readers in READERS.items() if fnmatchcase(name, pattern)), None)
            if readers is None:
                return ["tests"]
            targets |= {file for pattern in readers.split() for file in _matching(pattern)}
        elif name in ("tests/conftest.py", "tools/run_tests.py"):
            return ["tests"]
        else:
            targets.add(name)
    reaching = _reaching(targets)
    tests = [name for name in sorted(_files()) if name.startswith("tests/") and Path(name).name.startswith("test_")]
    return [test for test in tests if test in ALWAYS or not reaching.isdisjoint({test, *_fixtures_of(test)})]


def _reaching(targets: set[str]) -> set[str]:
    """Every file that imports one of these, directly or not, and these themselves."""
    importers: dict[str, set[str]] = {}
    for name in _files():
        for imported in _imports(name):
            importers.setdefault(imported, set()).add(name)
    reaching, to_visit = set(targets), list(targets)
    while to_visit:
        new = importers.get(to_visit.pop(), set()) - reaching
        reaching |= new
        to_visit += new
    return reaching


def _fixtures_of(test: str) -> set[str]:
    """The files that the fixtures of a test file are in, and what those of tests/conftest.py import for it."""
    folders = Path(test).parents
    nearer = {(folder / "conftest.py").as_posix() for folder in folders if folder not in (Path("tests"), Path("."))}
    sources = [(ROOT / name).read_text(encoding="utf-8") for name in {test, *nearer} & _files()]
    used = {fixture for fixture in _fixtures() if any(fixture in source for source in sources)}
    return nearer.union(*(_fixtures()[fixture] for fixture in used))


@cache
def _imports(name: str) -> frozenset[str]:
    """The files that a file imports, by statements or by name."""
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    found = set(_modules(tree))
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for pattern in BY_NAME.get(module, "").split():
        found |= set(_matching(pattern))
    return frozenset(found)


def _modules(tree: ast.AST) -> Iterator[str]:
    library = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _file_of(alias.name)
                library |= {alias.asname or alias.name} if alias.name == "ibench_lib" else set()
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield from _file_of(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("ibench_lib."):
            yield from _file_of(node.value.split()[0])
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in library:
            yield from _file_of(_homes().get(node.attr, "ibench_lib"))


@cache
def _fixtures() -> dict[str, frozenset[str]]:
    """Fixture of tests/conftest.py -> the files that it, and the fixtures that it takes, import."""
    tree = ast.parse((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    imported: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                imported[alias.asname or alias.name] = list(_file_of(f"{node.module}.{alias.name}"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}

    def files(name: str) -> set[str]:
        """What a fixture imports, and what those that it takes import."""
        names = {node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)}
        taken = {argument.arg for argument in functions[name].args.args} | names
        below = (files(one) for one in taken if one in functions and one != name)
        return {file for one in names for file in imported.get(one, ())}.union(*below)

    return {name: frozenset(files(name)) for name, node in functions.items() if node.decorator_list}


def _file_of(dotted: str) -> Iterator[str]:
    """The file of a module, or of the module that has a name, and the `__init__.py` of the folders above it."""
    parts = dotted.split(".")
    for end in range(1, len(parts) + 1):
        path = "/".join(parts[:end])
        for name in (f"{path}.py", f"{path}/__init__.py"):
            # The library's own `__init__.py` imports by the names that are taken from it (`_homes`).
            if name in _files() and (end == len(parts) or name.endswith("__init__.py") or end == len(parts) - 1):
                yield name


@cache
def _homes() -> dict[str, str]:
    """Public name of the library -> its module."""
    sys.path.insert(0, str(ROOT))
    from tools import public_api

    return {name: f"ibench_lib.{home}.{name}" for home, names in public_api.homes().items() for name in names}


@cache
def _files() -> frozenset[str]:
    """The Python files of the checkout, by their paths."""
    folders = ("ibench_lib", "tests", "tools", "benchmarks")
    paths = [*ROOT.glob("*.py"), *(path for folder in folders for path in (ROOT / folder).rglob("*.py"))]
    return frozenset(path.relative_to(ROOT).as_posix() for path in paths)


def _matching(pattern: str) -> list[str]:
    return [name for name in _files() if fnmatchcase(name, pattern)]


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"git {' '.join(arguments)}: {done.stderr.strip()}\nname a branch or a commit, as in BASE=main")
    return done.stdout.split("\n")[:-1]


if __name__ == "__main__":
    print("\n".join(reached_tests(changed_files(sys.argv[1] if len(sys.argv) > 1 else "origin/main"))))
