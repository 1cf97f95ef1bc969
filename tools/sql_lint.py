"""Read the library's SQL with sqlglot and name what is wrong with it; exit 1 if anything is.

The rules: a file can be read as DuckDB's SQL; its comment declares the parameters that it uses, and no others; every
CTE is read; reserved words are upper-case; NULL is compared by IS, and no NOT IN has a query, which one NULL empties;
no line is longer than LONGEST, but for a row of VALUES; and no block of COPIED lines stands twice.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import sqlglot
from sqlglot import exp

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "ibench_lib"
LONGEST = 130
COPIED = 5
_WORDS = (
    "ALL AND AS ASC BETWEEN BY CASE CROSS DESC DISTINCT ELSE END EXISTS FILTER FROM GROUP HAVING ILIKE IN INNER IS JOIN"
    " LATERAL LIKE LIMIT NOT NULL NULLS ON OR ORDER OUTER OVER PARTITION QUALIFY SELECT THEN UNION UNPIVOT USING VALUES"
    " WHEN WHERE WINDOW WITH"
)
RESERVED = frozenset(_WORDS.split())


def problems(files: Iterable[Path]) -> list[str]:
    """What is wrong in these files, a line each, such as `steps/sla.sql:12: WITH has targets, which nothing reads`."""
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    found = [f"{_place(path)}:{line}: {what}" for path, text in texts.items() for line, what in _of_file(path, text)]
    return sorted(found) + copied({_place(path): text for path, text in texts.items()})


def copied(texts: dict[str, str]) -> list[str]:
    """The blocks of COPIED lines of code that stand more than once in texts, by the name of each text."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, text in texts.items():
        lines = [(number, " ".join(line.split())) for number, line in enumerate(_code(text).split("\n"), 1)]
        lines = [(number, line) for number, line in lines if line]
        for first in range(len(lines) - COPIED + 1):
            block = lines[first : first + COPIED]
            places[tuple(line for _, line in block)].append(f"{name}:{block[0][0]}")
    return [
        f"{first}: these {COPIED} lines stand in {', '.join(others)}, too: make a macro or a view of them"
        for first, *others in places.values()
        if others
    ]


def _of_file(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line and problem."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST and not line.lstrip().startswith("("):
            yield number, f"{len(line)} characters, more than {LONGEST}"
    declared = set(re.findall(r"(?m)^-- \$([a-z_]+): \S", text))
    used = set(re.findall(r"\$([a-z_]+)", _code(text)))
    for name in sorted(declared ^ used):
        yield 1, f"${name} is {'declared and not used' if name in declared else 'used and not declared'}"
    sql = re.sub(r"\$([a-z_]+)", r"asked_\1", text)
    is_value = "functions" in path.parts and not re.match(r"\s*(FROM|SELECT|WITH)\b", _code(text))
    try:
        tree = sqlglot.parse_one(f"SELECT {sql}" if is_value else sql, dialect="duckdb")
        tokens = sqlglot.tokenize(sql, read="duckdb")
    except sqlglot.errors.SqlglotError as error:
        yield 1, f"sqlglot cannot read it: {str(error).splitlines()[0]}"
        return
    for token in tokens:
        if token.token_type.name not in ("STRING", "IDENTIFIER") and token.text.upper() in RESERVED - {token.text}:
            yield token.line, f"{token.text} is written {token.text.upper()}"
    yield from ((_line(text, name), f"WITH has {name}, which nothing reads") for name in unread(tree))
    for compared in tree.find_all(exp.EQ, exp.NEQ):
        if isinstance(compared.expression, exp.Null) or isinstance(compared.this, exp.Null):
            yield 1, f"{compared.sql('duckdb')} is always NULL: write IS NULL"
    for negated in tree.find_all(exp.Not):
        if isinstance(negated.this, exp.In) and negated.this.args.get("query"):
            yield 1, "NOT IN with a query holds nowhere if one of its rows is NULL: write ANTI JOIN"


def unread(tree: exp.Expression) -> list[str]:
    """CTEs that no FROM names, nor gives a macro to read."""
    calls = tree.find_all(exp.Anonymous)
    given = {of.name for call in calls for of in call.expressions if isinstance(of, exp.Column)}
    read = {table.name for table in tree.find_all(exp.Table)} | given
    return [cte.alias for cte in tree.find_all(exp.CTE) if cte.alias not in read]


def _code(text: str) -> str:
    return re.sub(r"--.*", "", text)


def _line(text: str, name: str) -> int:
    """The line on which a CTE begins."""
    found = re.search(rf"(?m)^(?:WITH|\),) {name}\b", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _place(path: Path) -> str:
    return path.relative_to(LIBRARY).as_posix() if path.is_relative_to(LIBRARY) else path.name


def main() -> int:
    """Print the problems of the library's SQL; 1 if there are any."""
    found = problems(sorted(LIBRARY.rglob("*.sql")))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
