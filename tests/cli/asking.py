"""Which questions a command asks."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest

from ibench_lib.store import reader


def questions_asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that gets the name of each question that is asked from now on."""
    asked: list[str] = []
    question = reader.question

    def noted(connection: duckdb.DuckDBPyConnection, name: str, **parameters: Any) -> pl.DataFrame:
        asked.append(name)
        return question(connection, name, **parameters)

    monkeypatch.setattr(reader, "question", noted)
    return asked
