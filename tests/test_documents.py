"""The documents hold: commands both ways, modules that exist, line length, and words that the house style avoids."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ibench_lib import errors
from ibench_lib.cli import changes
from ibench_lib.cli import main as cli
from ibench_lib.importers.intake import importers
from ibench_lib.servers.flavours import flavour
from ibench_lib.workloads import workload
from tests.places import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LONGEST_LINE = 130
BANNED = re.compile(
    r"\b(bring|brings|brought|bringing|mend|mends|mended|beside|anew|whoever"
    r"|(?:is|are|was) told\b(?! to)|to be had|(?:is|are|was) had|comes by"
    r"|in order\b(?! (?:to|of|in|by))|given trouble)\b",
    re.IGNORECASE,
)
ALLOWED = {
    # The house style itself names the words.
    "CONTRIBUTING.md": ("House style",),
    # The file is stored in the runs of the sample, and has to stay as it is.
    "experiments/innodb_purge_lag_sample.yaml": ("given trouble",),
}


def prose(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines of a page that are neither code nor tables."""
    in_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith("|"):
            yield number, line


def commands() -> dict[str, Any]:
    """Every command and group of the tool, such as `servers install`."""
    found: dict[str, Any] = {}

    def walk(command: Any, name: str) -> None:
        if name:
            found[name] = command
        for sub in getattr(command, "commands", {}).values():
            walk(sub, f"{name} {sub.name}".strip())

    walk(typer.main.get_command(cli.app), "")
    return found


def named_commands(text: str) -> set[str]:
    """The words after `ibench` wherever a page quotes or lists a command."""
    lines = re.findall(r"(?:`|^ {4}|^\.venv/bin/)(?:\.venv/bin/)?ibench ((?:[a-z]+ ?)+)", text, re.MULTILINE)
    return {" ".join(line.split()) for line in lines}


def known(words: str, tool: dict[str, Any]) -> str | None:
    """The command that the words begin with; None when there is none, or a group is followed by an unknown word."""
    first, *rest = words.split()
    if first not in tool:
        return None
    subcommands = getattr(tool[first], "commands", {})
    if not subcommands or not rest:
        return first
    return f"{first} {rest[0]}" if rest[0] in subcommands else None


def test_every_command_has_a_section_and_every_documented_command_exists() -> None:
    tool = commands()
    pages = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    sections = set(re.findall(r"^## ibench (.*)$", pages["commands.md"], re.MULTILINE))
    assert sections == set(tool) - {"experiment", "config", "profile"}, "groups that do nothing alone need no section"
    for name, page in pages.items():
        for words in named_commands(page):
            assert known(words, tool), f"{name}: ibench {words}"


def test_every_option_and_argument_of_a_command_is_in_its_section() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    sections = dict(zip(*[iter(re.split(r"^## ibench (.*)$", page, flags=re.MULTILINE)[1:])] * 2, strict=True))
    for name, section in sections.items():
        command = commands()[name]
        rows = [line for line in section.splitlines() if line.startswith("| `")]
        assert len(rows) == sum(not parameter.hidden for parameter in command.params), name
        for parameter in command.params:
            for option in parameter.opts if parameter.opts[0].startswith("-") else ():
                assert any(option in row for row in rows), f"{name} {option}"
        assert f"    ibench {name}" in section and "[bold]" not in section, name


def test_every_exit_code_is_in_the_page_of_commands() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    codes = {each.exit_code for each in vars(errors).values() if isinstance(each, type)}
    listed = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert sorted(int(code) for code in listed) == sorted({0, *codes, changes.REGRESSION, changes.ABSTAINS})


def test_the_readme_is_short_and_leads_on() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 900, "a screen and a half; details belong in docs/"
    named = set(re.findall(r"(?:^|^ {4}\.venv/bin/|`)(make [a-z]+|(?<!^)ibench [a-z]+)", text, re.MULTILINE))
    assert {"make demo", "make test", "ibench run", "ibench post"} <= named
    assert len(named) <= 8, "the other commands are in docs/commands.md"
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)", text))
    unlinked = {f"docs/{page.name}" for page in PAGES if page.parent.name == "docs"} - linked
    # docs/faults.md is for those who change something, and CONTRIBUTING.md links it.
    assert unlinked == {"docs/faults.md"}


def test_the_readme_says_which_servers_benchmarks_and_files_there_are() -> None:
    """What it denies must stay true: a new workload, flavour or importer fails here until the README knows it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    titles = {workload.find(name).title for name in workload.known()}
    assert titles == {"Insert Benchmark", "TPC-C", "LinkBench", "sysbench", "a command of your own"}
    assert set(flavour.names()) == {"mysql", "percona", "mariadb", "postgres"}
    assert set(importers()) == {
        "benchbase",
        "go-tpc",
        "hammerdb",
        "iibench",
        "linkbench",
        "published",
        "sysbench",
        "sysbench-means",
        "sysbench-tables",
        "tpcc-mysql",
    }
    for words in (
        "**No servers** except MySQL's family and PostgreSQL",
        "**No percentiles of other clients** than sysbench",
        "**No import of other tools' logs** except sysbench, iibench.py, tpcc-mysql, go-tpc, BenchBase, LinkBench and",
    ):
        assert words in text


def test_links_to_sections_lead_to_a_heading() -> None:
    for page in PAGES:
        for target, section in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            text = (page.parent / target if target else page).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
            assert section in anchors, f"{page.name} links to {target}#{section}"


@pytest.mark.parametrize("words", ["runz", "servers instal x"])
def test_a_command_that_does_not_exist_is_seen(words: str) -> None:
    assert known(words, commands()) is None


def test_every_documented_option_exists() -> None:
    every = [typer.main.get_command(cli.app), *commands().values()]
    options = {name for command in every for each in command.params for name in each.opts}
    options |= {name for command in every for each in command.params for name in each.secondary_opts}
    for page in PAGES:
        for line in re.findall(
            r"(?:`|^ {4}|^\.venv/bin/)(?:\.venv/bin/)?ibench [^`\n]*", page.read_text(), re.MULTILINE
        ):
            for option in re.findall(r"(?<=\s)--[a-z][a-z-]+", line):
                assert option in options | {"--help"}, f"{page.name}: {option} in {line.strip()}"


def test_no_line_of_a_page_is_too_long() -> None:
    for page in PAGES:
        for number, line in prose(page.read_text(encoding="utf-8")):
            assert len(line) <= LONGEST_LINE, f"{page.name}:{number}: {len(line)} characters"


def test_modules_and_folders_that_pages_name_exist() -> None:
    library = ROOT / "ibench_lib"
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"`((?:[\w.]+/)*[\w.]+\.(?:py|sql))`", text):
            places = [ROOT, library, *(path for path in library.rglob("*") if path.is_dir())]
            assert any((place / name).is_file() for place in places), f"{page.name} names {name}"
        for name in re.findall(r"`((?:ibench_lib|tests|docs|notebooks|papermill_params)/[\w./]*/)`", text):
            assert (ROOT / name).is_dir(), f"{page.name} names {name}"


def test_every_promise_names_a_test_that_exists() -> None:
    """A row of the tables of checks, limits and promises ends with one or more `path::name`."""
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    rows = []
    for title in ("Runs", "Files that you or others write", "Promises"):
        section = page.split(f"\n## {title}\n")[1].split("\n## ")[0]
        _, *found = [line.strip(" |").split(" | ") for line in section.splitlines() if line.startswith("| ")]
        assert found, title
        rows += found
    for promise, *rest in rows:
        named = re.findall(r"`([\w/.]+)::(\w+)`", rest[-1] if rest else "")
        assert named, promise
    for path, name in re.findall(r"`([\w/.]+)::(\w+)`", page):
        assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"


def texts() -> Iterator[tuple[str, str]]:
    """(place, text) of all that users read: pages, comments of files that are shown, and messages in the code."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if page.name == "CONTRIBUTING.md":
            text = re.sub(r"## House style.*?(?=\n## )", "", text, flags=re.DOTALL)
        yield page.name, text
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            yield path.name, "".join(cell["source"])
    for pattern in ("ibench_lib/**/*.sql", "ibench_lib/**/*.cnf", "papermill_params/**/*.yml", "experiments/*.yaml"):
        for path in sorted(ROOT.glob(pattern)):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    yield "Makefile", (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in sorted((ROOT / "ibench_lib").rglob("*.py")):
        yield from messages(path)


def messages(path: Path) -> Iterator[tuple[str, str]]:
    """Strings with several words that are no docstrings, except the docstrings of commands, which are help texts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documents = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    is_help = path.parent.name == "cli"
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip()
        if is_text and (is_help or id(node) not in documents):
            assert isinstance(node, ast.Constant)
            yield f"{path.relative_to(ROOT)}:{node.lineno}", str(node.value)


def test_texts_avoid_the_words_of_the_house_style() -> None:
    found = []
    for place, text in texts():
        for match in BANNED.finditer(text):
            if match[0].lower() not in ALLOWED.get(place, ()):
                found.append(f"{place}: {match[0]!r} in {text[max(0, match.start() - 40) : match.end() + 20]!r}")
    assert found == []


@pytest.mark.parametrize(
    "text", ["`make env` brings it", "purge given trouble", "ended in order.", "a limit beside none"]
)
def test_a_word_to_avoid_is_seen(text: str) -> None:
    assert BANNED.search(text)


@pytest.mark.parametrize("text", ["in order to test", "in order of preference", "besides", "a brand new file"])
def test_other_words_may_stay(text: str) -> None:
    assert not BANNED.search(text)


READ_TWICE = (
    "would be found in four out of five", "difference beyond noise", "Ratio to the base of the same build",
    "A filled dot is a difference", "noise of all configurations of a step", "chance produces a difference",
    "not clearly different", "which may differ from that of the medians", "that the median rate would have done",
    "dips lasted", "dip lasted", "a step counts once for each run", "that was measured here completed",
    "All results of a setup share", "because they took less than", "loads, for cells", "name a post's file, or new",
    "the noise of the repeats lets it vary", "cannot tell a difference from a drift", "The loaded rows are those of",
    "of the requests and the bytes of one kind", "If two of these layers", "as DuckDB binds them",
    "both from when a statement was due", "matched against build, config, setup and dbms",
)  # fmt: skip
"""Of sentences that a reader had to read twice, and that have been replaced."""


def test_sentences_that_a_reader_had_to_read_twice_do_not_come_back() -> None:
    found = [(place, phrase) for place, text in texts() for phrase in READ_TWICE if phrase in " ".join(text.split())]
    assert found == []


def test_every_environment_variable_is_listed_with_its_default() -> None:
    used = {
        name
        for folder in ("ibench_lib", "tools")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"\bIBENCH_[A-Z_]+\b", path.read_text(encoding="utf-8"))
    }
    install = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert used == set(re.findall(r"^\| `(IBENCH_[A-Z_]+)` \|", install, re.MULTILINE))
