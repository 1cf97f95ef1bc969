"""The catalogue of all SQL: questions, views, macros and functions, what they take, and what they say of themselves.

Texts only: nothing here asks a database. `ibench_lib.store.reader` makes them known to one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from ibench_lib.errors import QueryError
from ibench_lib.metrics import METRICS, SLA_SHARE, Metric, rates
from ibench_lib.paths import PACKAGE, SQL, family_folders, workload_folders
from ibench_lib.schema import TABLES
from ibench_lib.store import family_views
from ibench_lib.store.index import quoted
from ibench_lib.store.manifest_tables import MANIFEST_TABLES
from ibench_lib.store.sample_views import sample_macros, sample_views

RATE_METRICS = "rate_metrics"
"""Table: which metric is the rate of which families of operations."""

WITHOUT_COLUMNS = ("functions", "macros")
"""Kinds of what has no columns of its own."""

DECLARED = re.compile(r"\$([a-z_]+): \S")

_USED = re.compile(r"\$([a-z_]+)")

PieceKind = Literal["functions", "views", "macros", "questions"]


@dataclass(frozen=True)
class Piece:
    """One SQL text and what it becomes: a view, a macro or a question. `place` is for messages."""

    kind: PieceKind
    name: str
    place: str
    text: str

    @property
    def called(self) -> str:
        """What another SQL text calls it."""
        return f"questions.{self.name}" if self.kind == "questions" else self.name

    @property
    def takes_a_table(self) -> bool:
        """Whether a parameter is the name of a table to read."""
        return "query_table($" in self.text

    @property
    def statement(self) -> str:
        """The statement that creates it."""
        if self.kind == "views":
            return f'CREATE VIEW "{self.name}" AS {self.text}'
        return _macro(f'{"questions" if self.kind == "questions" else "main"}."{self.name}"', self.text, self.kind)


def questions() -> dict[str, str]:
    """All questions: name -> documentation (the leading comment of its file). `documentation` adds the columns."""
    return {name: comment(text) for name, text in sorted(question_texts().items())}


def question_text(name: str) -> str:
    """The SQL of a question."""
    return load_question(name)[0]


def parameters_of(name: str) -> frozenset[str]:
    """The parameters that a question declares."""
    return load_question(name)[1]


def parameters_in_order(name: str) -> list[str]:
    """What a question, macro or function takes, by its name in `documented`; nothing for a table or view."""
    texts = [piece.text for piece in pieces() if piece.called == name]
    return DECLARED.findall(comment(texts[0])) if texts else []


def building_blocks(text: str) -> dict[str, str]:
    """SQL of the project's views, macros and other questions that a text is made from, directly or not, by name."""
    known = {piece.called: piece.text for piece in pieces()}
    blocks: dict[str, str] = {}
    texts = [text]
    while texts:
        words = set(re.findall(r"(?:questions\.)?[a-z_][a-z_0-9]*", re.sub(r"--.*", "", texts.pop())))
        for name in sorted(words & known.keys() - blocks.keys()):
            blocks[name] = known[name]
            texts.append(blocks[name])
    return blocks


def documented() -> Iterator[tuple[str, str, str]]:
    """(kind, name, documentation) of everything that SQL can name: tables, views, functions, macros and questions."""
    for table in TABLES.values():
        yield "tables", table.name, table.doc
    for name in MANIFEST_TABLES:
        yield "tables", name, "From the manifests of the runs."
    for piece in pieces():
        yield piece.kind, piece.called, comment(piece.text)


def columns_documented(table: str) -> dict[str, tuple[str, str]]:
    """Column -> (unit, meaning) of a table of docs/schema.md; empty for anything else."""
    return {column.name: (column.unit, column.doc) for column in TABLES[table].columns} if table in TABLES else {}


@cache
def load_question(name: str) -> tuple[str, frozenset[str]]:
    """Text and declared parameters of a question; what is declared must be what is used."""
    known = question_texts()
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise QueryError(f"no question {name!r:.80}{meant}", hint=f"there are: {', '.join(sorted(known))}")
    text = known[name]
    declared = frozenset(DECLARED.findall(comment(text)))
    used = frozenset(_USED.findall(re.sub(r"--.*", "", text)))
    if declared != used:
        raise QueryError(
            f"question {name}: declares {sorted(declared)} but uses {sorted(used)}",
            hint="its leading comment must have one line `$name: what it is` for each parameter",
        )
    return text, declared


def question_texts() -> dict[str, str]:
    """The SQL of every question, by its name."""
    return {piece.name: piece.text for piece in pieces() if piece.kind == "questions"}


def statements() -> dict[str, str]:
    """The statement of each view, macro and question, by where it comes from."""
    return {piece.place: piece.statement for piece in pieces()}


def sql_folders() -> list[Path]:
    """The folders with SQL: the library's, each workload's and each family's."""
    own = [*workload_folders("results/sql").values(), *family_folders("results/sql").values()]
    return [SQL, *(folder / "results" / "sql" for folder in own)]


@cache
def pieces() -> tuple[Piece, ...]:
    """All SQL: ibench_lib/sql/, results/sql/ of each workload and family, and what is made of declarations."""
    folders = sql_folders()
    known = [_read_piece(path, folder) for folder in folders for path in sorted(folder.rglob("*.sql"))]
    known += _made_pieces({piece.name for piece in known})
    names = [piece.called for piece in known]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        places = ", ".join(piece.place for piece in known if piece.called == twice[0])
        raise QueryError(f"{twice[0]} is there twice: {places}", hint="rename one of the files")
    order = get_args(PieceKind)
    return tuple(sorted(known, key=lambda piece: order.index(piece.kind)))


def rate_metrics() -> list[tuple[str, str, int]]:
    """Which metric is the rate of which families of operations, the first one foremost."""
    return [
        (metric.name, family, position)
        for metric in METRICS.values()
        for position, family in enumerate(metric.families)
    ]


def comment(text: str) -> str:
    """The leading comment without its dashes."""
    match = re.match(r"(?:--.*\n)+", text)
    return re.sub(r"(?m)^-- ?", "", match[0]).strip() if match else ""


def _read_piece(path: Path, folder: Path) -> Piece:
    """A file below views/, macros/ or functions/ is that; any other one is a question, in whatever folder it lies."""
    kinds: dict[str, PieceKind] = {"views": "views", "macros": "macros", "functions": "functions"}
    kind = kinds.get(path.relative_to(folder).parts[0], "questions")
    return Piece(kind, path.stem, _place(path), path.read_text(encoding="utf-8"))


def _place(path: Path) -> str:
    """A file of SQL for people: of ours the path in the library, of an installed package the whole path."""
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else str(path)


def _made_pieces(there: set[str]) -> list[Piece]:
    """The SQL that is made of what metrics.py and schema.py declare, and of which workloads there are."""
    own = [f"{workload}_metrics" for workload in workload_folders("results")]
    metrics = [f"FROM {name}($ids, $names)" for name in own if name in there]
    parameters = "--\n-- $ids: ids of runs\n-- $names: names of the steps; an empty list means all\n"
    # Typed and empty, so that there is something to unite with when no workload has its own.
    none = "SELECT NULL::VARCHAR AS run_id, NULL::BIGINT AS step_id, NULL::VARCHAR AS metric, NULL::DOUBLE AS value"
    nothing = "WHERE len($ids::VARCHAR[]) + len($names::VARCHAR[]) < 0"
    texts: list[tuple[PieceKind, str, str]] = [
        (
            "macros",
            "workload_metrics",
            "-- The values of metrics that only one workload has: those of the macros <workload>_metrics.\n"
            + parameters
            + "\nUNION ALL BY NAME\n".join([f"{none} {nothing}", *metrics]),
        ),
        (
            "functions",
            "workload_rates",
            "-- The rates that workloads have names for, by their metrics.py: NULL in runs of another workload.\n--\n"
            "-- $benchmark: the workload of a run\n-- $rates: map of the rates of a step\n" + _rates_by_name(),
        ),
        (
            "functions",
            "has_rates",
            "-- Whether a workload has names of its own for its rates.\n--\n-- $benchmark: the workload\n"
            f"$benchmark IN ({', '.join(quoted(name) for name in rates())})\n",
        ),
        (
            "functions",
            "metrics_of_step",
            "-- The metrics of a step that every workload has, by ibench_lib/metrics.py.\n--\n-- $w: a row of a step\n"
            + _structs([metric for metric in METRICS.values() if metric.of == "step"]),
        ),
        (
            "functions",
            "rates_of_step",
            "-- Those of `metrics_of_step` that are rates of operations.\n--\n"
            "-- $w: a row of a step, as `step_throughput` has it\n"
            + _structs([metric for metric in METRICS.values() if metric.is_rate_of_step]),
        ),
        (
            "functions",
            "metrics_of_operation",
            "-- The metrics of an operation's response times, by ibench_lib/metrics.py.\n--\n"
            "-- $w: a row of response times; `fewest` is how many responses the complete run with the fewest has\n"
            + _structs([metric for metric in METRICS.values() if metric.of == "operation"]),
        ),
        (
            "functions",
            "sla_share",
            f"-- The share of a target rate below which it is missed, by ibench_lib/metrics.py.\n{SLA_SHARE}\n",
        ),
    ]
    texts += [("views", name, text) for name, text in sample_views().items()]
    texts += [("macros", name, text) for name, text in sample_macros().items()]
    texts += [("views", "server_families", family_views.server_families())]
    texts += [("views", "server_caches", family_views.server_caches(there))]
    texts += [("views", "dip_causes", family_views.dip_causes(there))]
    texts += [("views", "dip_rules", family_views.dip_rules(there))]
    texts += [("macros", "family_dip_samples", family_views.family_dip_samples(there))]
    return [Piece(kind, name, f"{name}, which is made of declarations", text) for kind, name, text in texts]


def _structs(metrics: list[Metric]) -> str:
    """A list of structs in SQL, one for each metric that has a value."""
    lines = []
    for metric in metrics:
        if metric.value is None:
            continue
        applies = metric.applies if metric.least_responses == 1 else f"w.fewest >= {metric.least_responses}"
        value = re.sub(r"\bw\.", "$w.", metric.value or f"w.{metric.name}")
        applies = re.sub(r"\bw\.", "$w.", applies)
        lines.append(f"    {{name: '{metric.name}', value: ({value})::DOUBLE, applies: {applies}}}")
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _rates_by_name() -> str:
    """A struct in SQL: the rate of the first of a metric's families that a step has, by the metric's name."""
    fields = []
    for benchmark, metrics in rates().items():
        for metric in metrics:
            values = ", ".join(f"$rates[{quoted(family)}]" for family in metric.families)
            of_mine = f"CASE WHEN $benchmark = {quoted(benchmark)} THEN coalesce({values}) END"
            fields.append(f"    {metric.name}: ({of_mine})::DOUBLE")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _macro(name: str, text: str, kind: PieceKind) -> str:
    """A macro that takes what its comment declares, in that order: a table, or of kind `functions` one value."""
    # Not by their own names: `runs` is a table as well.
    parameters = ", ".join(f"asked_{parameter}" for parameter in DECLARED.findall(comment(text)))
    body = _USED.sub(lambda used: f"asked_{used[1]}", text)
    return f"CREATE MACRO {name}({parameters}) AS " + (f"(\n{body})" if kind == "functions" else f"TABLE {body}")
