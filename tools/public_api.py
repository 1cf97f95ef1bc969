"""The public names of the library: the list in its `__init__.py`, the stub that type checkers read, and docs/api.md.

A module's list in `__init__.py` says what of it is public. Tables, charts and statements get into it by their names
alone, so that a new one needs no edit by hand.
"""

import ast
import textwrap
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "ibench_lib"
_INIT = PACKAGE / "__init__.py"
_NAME = "_HOMES"

_DRAWING = ("show/*/tables.py", "show/*/charts.py", "show/*/sentences.py", "workloads/*/results/*.py")
_ENDINGS = ("_table", "_chart", "_statements")
"""What functions of the modules in `_DRAWING` are public whether or not they are listed."""

_SECTIONS = (
    ("Run", ("runner.*",)),
    ("The answers of commands", ("analysis.results",)),
    ("Open a lake and choose runs", ("store.*", "ask.*", "analysis.*")),
    ("Publish", ("publish.*",)),
    ("Tables", ("show.*.tables",)),
    ("Charts", ("show.*.charts",)),
    ("Sentences", ("show.*.sentences",)),
    ("Workloads", ("workloads.*",)),
    ("Parts of a page", ("show.*",)),
)
"""Title -> patterns of modules. The first that fits has a module."""


def homes() -> dict[str, tuple[str, ...]]:
    """Module below `ibench_lib` -> its public names, both in alphabetical order."""
    homes = {home: {name for name in names if name in _functions(home)} for home, names in _listed().items()}
    for pattern in _DRAWING:
        for path in PACKAGE.glob(pattern):
            home = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            ours = {name for name in _functions(home) if name.endswith(_ENDINGS) and not name.startswith("_")}
            homes[home] = homes.get(home, set()) | ours
    return {home: tuple(sorted(names)) for home, names in sorted(homes.items()) if names}


def init_module() -> str:
    """ibench_lib/__init__.py with the list as it should be."""
    text = _INIT.read_text(encoding="utf-8")
    node = _list_of(text)
    lines = text.splitlines(keepends=True)
    assert node.end_lineno is not None
    return "".join([*lines[: node.lineno - 1], *_as_dict(homes()), *lines[node.end_lineno :]])


def stub() -> str:
    """ibench_lib/__init__.pyi: the public names as imports, which type checkers and editors follow."""
    lines = [
        "# Written by tools/write_docs.py from __init__.py: change that, then `make fix`.",
        *(_import(home, name) for home, names in homes().items() for name in names),
        "",
        "__all__: list[str]",
    ]
    return "\n".join(lines) + "\n"


def document() -> str:
    """docs/api.md: what a notebook may call."""
    lines = [
        "<!-- Written by tools/write_docs.py from the docstrings of ibench_lib: change those, then `make fix`. -->",
        "# The library in a notebook",
        "",
        "    import ibench_lib as ib",
        "",
        "Everything that a notebook may call is below; [versions.md](versions.md) says what of it may change.",
        "`help(ib.<name>)` shows the whole text of a function.",
    ]
    left = homes()
    for title, patterns in _SECTIONS:
        fitting = [home for home in left if any(fnmatch(home, pattern) for pattern in patterns)]
        functions = {name: _functions(home)[name] for home in fitting for name in left.pop(home)}
        lines += ["", f"## {title}"]
        for name, function in sorted(functions.items()):
            # Whoever calls a function that is `drawn` gets the figure of its drawing.
            is_drawn = any(ast.unparse(decorator) == "drawn" for decorator in function.decorator_list)
            given = "go.Figure" if is_drawn else ast.unparse(function.returns) if function.returns else ""
            returns = f" -> {given}" if given else ""
            signature = f"ib.{name}({ast.unparse(function.args)}){returns}"
            lines += ["", f"### {name}", ""]
            lines += textwrap.wrap(signature, 120, initial_indent="    ", subsequent_indent=" " * 8)
            lines += ["", *textwrap.wrap((ast.get_docstring(function) or "").split("\n\n")[0], 125)]
    assert not left, f"no section of docs/api.md has {sorted(left)}"
    return "\n".join(lines) + "\n"


def _listed() -> dict[str, tuple[str, ...]]:
    listed: dict[str, tuple[str, ...]] = ast.literal_eval(_list_of(_INIT.read_text(encoding="utf-8")).value)
    return {home: names for home, names in listed.items() if _file(home).is_file()}


def _list_of(text: str) -> ast.Assign:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == _NAME:
            return node
    raise AssertionError(f"{_INIT} has no {_NAME}")


def _as_dict(homes: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The list as `ruff format` leaves it."""
    yield f"{_NAME} = {{\n"
    for home, names in homes.items():
        quoted = [f'"{name}"' for name in names]
        line = f'    "{home}": ({", ".join(quoted)}{"," if len(quoted) == 1 else ""}),'
        if len(line) <= 120:
            yield f"{line}\n"
        else:
            yield f'    "{home}": (\n'
            yield from (f"        {name},\n" for name in quoted)
            yield "    ),\n"
    yield "}\n"


def _import(home: str, name: str) -> str:
    """An import as `ruff format` leaves it."""
    line = f"from ibench_lib.{home} import {name} as {name}"
    return line if len(line) <= 120 else f"from ibench_lib.{home} import (\n    {name} as {name},\n)"


def _file(home: str) -> Path:
    return PACKAGE.joinpath(*home.split(".")).with_suffix(".py")


@cache
def _functions(home: str) -> dict[str, ast.FunctionDef]:
    nodes = ast.parse(_file(home).read_text(encoding="utf-8")).body
    return {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
