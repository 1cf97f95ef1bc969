"""Write the documents that are derived from code; with --check, only name those that are out of date."""

import ast
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import typer
from ruamel.yaml import YAML

from ibench_lib import errors, schema
from ibench_lib.cli import changes
from ibench_lib.cli import main as cli
from ibench_lib.store import catalogue
from tools import public_api

ROOT = Path(__file__).resolve().parent.parent
EXPECTATIONS = Path("tests/faults.yaml")
MARKS = {"fault": "faults", "measurement": "measurements"}
EXIT_CODES = {
    0: "the command did what it was asked to do",
    errors.IbenchError.exit_code: "something went wrong: a cell, a post or a check failed, or a file could not be "
    "read; what was captured is kept. `doctor`, `servers list` and `runs verify` end so if they find something to fix",
    errors.UsageError.exit_code: "what you wrote or named cannot be used: a file, an option, a name, SQL, a build that "
    "does not start, or an extra that is not installed",
    changes.REGRESSION: "only `changes --gate`: a regression. With `--gate`, every error ends with 1",
    changes.ABSTAINS: "only `changes --gate`: no regression was found, but some data is inconclusive",
    errors.Interrupted.exit_code: "Ctrl-C; what was captured is kept",
}


def schema_document() -> str:
    """docs/schema.md from ibench_lib/schema.py."""
    lines = [
        "<!-- Written by tools/write_docs.py from ibench_lib/schema.py: change that, then `make fix`. -->",
        "# Tables of a run",
        "",
        f"Format version {schema.SCHEMA_VERSION}. A run is a directory, `data/runs/<run_id>/`, with a "
        f"manifest.json and one",
        "Parquet file per table below. In `ibench sql`, each table is a view of the same name over all runs.",
        "",
        *_introduction(),
    ]
    for table in schema.TABLES.values():
        lines += [
            "",
            f"## {table.name}",
            "",
            textwrap.fill(table.doc, 120),
            "",
            f"Key: {', '.join(f'`{name}`' for name in table.key)}",
            "",
        ]
        lines += ["| column | type | unit | NULL | meaning |", "|---|---|---|---|---|"]
        for column in table.columns:
            null = "may be" if column.nullable else "never"
            lines.append(f"| `{column.name}` | {_type(column)} | {column.unit or '-'} | {null} | {column.doc} |")
    return "\n".join(lines) + "\n"


def faults_document() -> str:
    """docs/faults.md from tests/faults.yaml and the marks of the tests. An id without a test says so."""
    expected, tests = expectations(), tests_by_id()
    lines = [
        "<!-- Written by tools/write_docs.py from tests/faults.yaml and the tests: change those, then `make fix`. -->",
        "# Faults and measurements, and the tests that prove them",
        "",
        "Each row says what can happen, what must follow, and which tests prove it. A test has the id of its row as a",
        'mark: `@pytest.mark.fault("F3")` or `@pytest.mark.measurement("M7")`.',
    ]
    for kind, title in (("faults", "Faults"), ("measurements", "Measurements")):
        lines += ["", f"## {title}", "", "| id | what happens | what must follow | tests |", "|---|---|---|---|"]
        for number, entry in expected[kind].items():
            proof = "<br>".join(f"`{test}`" for test in tests.get(number, [])) or "**no test**"
            lines.append(f"| {number} | {entry['what']} | {entry['expected']} | {proof} |")
    return "\n".join(lines) + "\n"


def rules_document() -> str:
    """docs/stall-rules.md from the views `dip_causes` and `dip_rules`."""
    connection = duckdb.connect()
    views = {piece.name: piece.statement for piece in catalogue.pieces() if piece.kind == "views"}
    for what in ("dip_causes", "dip_rules"):
        for name in (*(name for name in views if name.endswith(f"_{what}")), what):
            connection.execute(views[name])
    lines = [
        "<!-- Written by tools/write_docs.py from the files *_dip_*.sql: change those, then `make fix`. -->",
        "# The rules that assign causes to dips",
        "",
        "[stalls.md](stalls.md) explains how points are added up. In `ibench sql`, `FROM dip_rules` shows these rules,",
        "and `FROM questions.dip_evidence([...], [])` shows what each of them gave for each dip. Means are those of",
        "the samples in the dip. Extremes (max, min) are also those of samples that overlap the second before or",
        "after it: a cause may begin earlier, and what it held up may be counted later. A still mean is that of the",
        "seconds in which less than 5 % of the usual work was done, if the dip has such seconds: a cause may cover",
        "only part of its first and last second.",
    ]
    causes = connection.execute("SELECT cause, label, layer, words, look_at, family FROM dip_causes").fetchall()
    for cause, label, layer, words, look_at, family in causes:
        lines += [
            "",
            f"## {label}" + (f" ({family})" if family else ""),
            "",
            f"*because {words}* ({layer})",
            "",
            f"What to check: {look_at}.",
        ]
        lines += ["", "| points | measure | holds if | it means |", "|---|---|---|---|"]
        rules = connection.execute(
            "SELECT points, measure, statistic, test, threshold::DOUBLE, least::DOUBLE, says FROM dip_rules"
            " WHERE cause = ? ORDER BY points DESC, measure", [cause],
        ).fetchall()  # fmt: skip
        for points, measure, statistic, test, threshold, least, says in rules:
            condition = f"{statistic} is {test} {threshold:g}"
            if test == "times":
                condition = f"{statistic} is at least {threshold:g} times the mean outside, and {least:g} more"
            elif test == "rises to":
                condition = f"{statistic} is at least {threshold:g}, and {least:g} more than the mean outside"
            elif test == "falls to":
                condition = f"{statistic} is at most {threshold:g} times the mean outside" + (
                    f", and {least:g} less" if least else ""
                )
            lines.append(f"| {points:+d} | `{measure}` | {condition} | {says} |")
    return "\n".join(lines) + "\n"


def commands_document() -> str:
    """docs/commands.md from the help texts of the tool."""
    every = list(_commands(typer.main.get_command(cli.app), ()))
    lines = [
        "<!-- Written by tools/write_docs.py from ibench_lib/cli/: change the help texts there, then `make fix`. -->",
        "# Commands",
        "",
        "In a checkout the command is `.venv/bin/ibench`. `-h` after a command shows what this page says of it, and",
        "`ibench --install-completion` lets your shell complete what you type: commands, options, and the names of",
        "experiments, results, setups, steps, runs, questions, notebooks and builds. [The glossary](glossary.md)",
        "explains the words.",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    for name, command in every:
        first = (command.help or "").split("\n\n")[0]
        lines.append(f"| [`{name}`](#{name.replace(' ', '-')}) | {_in_table(first)} |")
    lines += ["", "## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    for name, command in every:
        lines += ["", f"## {name}", ""]
        # Click writes {this} for what must be there, and [this] for what may be left out.
        usage = " ".join(command.collect_usage_pieces(typer.Context(command)))
        lines += [f"    {name} {usage}".replace("{", "").replace("}", "").rstrip(), ""]
        texts, examples = _help(command)
        for text in texts:
            lines += [*textwrap.wrap(text, 125), ""]
        if examples:
            lines += ["Example:" if len(examples) == 1 else "Examples:", "", *(f"    {one}" for one in examples)]
        records = [parameter.get_help_record(typer.Context(command)) for parameter in command.params]
        rows = [record for record in records if record is not None]
        if rows:
            lines += ["", "| argument or option | meaning |", "|---|---|"]
            lines += [f"| `{_in_table(_readable(words))}` | {_in_table(meaning)} |" for words, meaning in rows]
    return "\n".join(lines) + "\n"


def _commands(command: typer.core.TyperGroup, above: tuple[str, ...]) -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """(name, command) of every command, and of each group that does something alone, in the order of the help."""
    for name, each in command.commands.items():
        words = (*above, name)
        within = getattr(each, "commands", None)
        if within is None or each.invoke_without_command:
            yield " ".join(("ibench", *words)), each
        if within is not None:
            yield from _commands(each, words)


def _help(command: typer.core.TyperCommand) -> tuple[list[str], list[str]]:
    """The paragraphs of a help text, and its examples."""
    texts: list[str] = []
    examples: list[str] = []
    for paragraph in (command.help or "").split("\n\n"):
        mark = "[bold]Example:[/] "
        if paragraph.startswith(mark):
            examples += [line.removeprefix(mark) for line in paragraph.splitlines()]
        else:
            texts.append(paragraph)
    return texts, examples


def _readable(name: str) -> str:
    """An option as it is typed: without the types of texts and switches."""
    return re.sub(r" ?<(?:bool|str|list\[str\]|path|list\[Path\])>", "", name)


def _in_table(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def expectations() -> dict[str, dict[str, dict[str, str]]]:
    """Kind (faults, measurements) -> id -> what happens and what is expected."""
    found: dict[str, dict[str, dict[str, str]]] = YAML(typ="safe").load(ROOT / EXPECTATIONS)
    return found


def tests_by_id() -> dict[str, list[str]]:
    """Id -> the tests with its mark, as `folder/test_file.py::test_name`, in the order of the files."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in marked_ids(node.decorator_list):
                    found[number].append(f"{path.relative_to(ROOT / 'tests').as_posix()}::{node.name}")
    return found


def marked_ids(decorators: list[ast.expr]) -> Iterator[str]:
    """Ids in marks such as `pytest.mark.fault("F3")`."""
    for decorator in decorators:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).removeprefix("pytest.mark.") in MARKS:
            yield from (ast.literal_eval(argument) for argument in decorator.args)


DOCUMENTS: dict[str, Callable[[], str]] = {
    "docs/schema.md": schema_document,
    "docs/faults.md": faults_document,
    "docs/stall-rules.md": rules_document,
    "docs/commands.md": commands_document,
    "docs/api.md": public_api.document,
    "ibench_lib/__init__.py": public_api.init_module,
    "ibench_lib/__init__.pyi": public_api.stub,
}


def drifted(root: Path = ROOT) -> list[str]:
    """Documents that are missing or are not what the code says."""
    return [name for name, write in DOCUMENTS.items() if _read(root / name) != write()]


def main() -> None:
    found = drifted()
    if "--check" in sys.argv:
        for name in found:
            print(f"{name}: differs from the code; `make fix` rewrites it")
        sys.exit(bool(found))
    for name in found:
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(DOCUMENTS[name](), encoding="utf-8")
        print(f"wrote {name}")


def _introduction() -> list[str]:
    """The module's own explanation, after its first paragraph."""
    assert schema.__doc__
    return schema.__doc__.strip().splitlines()[4:]


def _type(column: schema.Column) -> str:
    text = str(column.type)
    return text.replace("<item: ", "<").replace(" not null>", ">")


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    main()
