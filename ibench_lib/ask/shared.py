"""Macros that several questions about the same runs use, worked out once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb

from ibench_lib.store import catalogue, reader
from ibench_lib.store.narrow import narrowed

if TYPE_CHECKING:
    import polars as pl

KEPT = ("selected_runs", "rates_of_steps", "whole_seconds", "rated_seconds", "step_use", "resources")
"""Macros of runs and steps that questions use again and again, each after those that it is made of."""


def shared(questions: Sequence[str]) -> dict[str, list[str]]:
    """Those of `KEPT` that each question uses, and that it or another uses once more."""
    uses = {name: _uses_of(name) for name in questions}
    often = [macro for macro in KEPT if sum(of[macro] for of in uses.values()) > 1]
    return {name: [macro for macro in often if of[macro]] for name, of in uses.items()}


def work_out(
    connection: duckdb.DuckDBPyConnection, macro: str, table: str, runs: Sequence[str], steps: Sequence[str]
) -> None:
    """Make a table of what a macro gives for these runs and steps, a temporary one if it is in `temp`.

    Raises duckdb.Error.
    """
    kind = "TEMP TABLE" if table.startswith("temp.") else "TABLE"
    given = "$runs, $steps" if _is_of_steps(macro) else "$runs"
    values = {"runs": runs, "steps": steps} if _is_of_steps(macro) else {"runs": runs}
    connection.execute(f"CREATE {kind} {table} AS FROM {macro}({given})", values)


def read_kept(connection: duckdb.DuckDBPyConnection, macro: str, table: str) -> None:
    """Let a macro give what is in a table, on this connection alone and whatever it is asked for."""
    taken = "ids, names" if _is_of_steps(macro) else "ids"
    connection.execute(f"CREATE TEMP MACRO {macro}({taken}) AS TABLE FROM {table}")


def ask_alone(lake: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Any]) -> pl.DataFrame | None:
    """The answer of one question, for which the macros that it uses several times are worked out once.

    None if there are none, or if they cannot be worked out: the question itself says why.
    """
    uses = _uses_of(name) if {"runs", "steps"} <= values.keys() else Counter()
    macros = [macro for macro in KEPT if uses[macro]]
    if not any(uses[macro] > 1 for macro in KEPT[1:]):  # the first one takes less than another connection
        return None
    connection = narrowed(lake, values["runs"])
    try:
        for macro in macros:
            work_out(connection, macro, f"temp.kept_{macro}", values["runs"], values["steps"])
            read_kept(connection, macro, f"temp.kept_{macro}")
    except duckdb.Error:
        return None
    return reader.question(connection, name, **values)


def _is_of_steps(macro: str) -> bool:
    return "names" in catalogue.parameters_in_order(macro)


def _uses_of(question: str) -> Counter[str]:
    """How often the texts that a question is made from name each of `KEPT`."""
    text = catalogue.question_text(question)
    texts = (text, *catalogue.building_blocks(text).values())
    return Counter(name for one in texts for name in re.findall(rf"\b({'|'.join(KEPT)})\(", one))
