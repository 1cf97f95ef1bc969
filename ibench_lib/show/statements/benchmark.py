"""What was run: clients, tables, and what each step does, for each setup."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.show.wording import count, joined

_PROTOCOLS = {"text": "statements as text", "prepared": "prepared statements"}
_TRANSPORTS = {"socket": "a Unix socket", "tcp": "TCP", "tls": "TCP with TLS"}


def workload_statements(workload: pl.DataFrame) -> list[str]:
    """Clients, tables and the way of the statements; whose they are where runs differ."""
    rows = workload.drop("runs", "dbms_count", "repeats").to_dicts()
    said: dict[str, list[str]] = {}
    for row in rows:
        experiment = f"{row['experiment']}, " if workload["experiment"].n_unique() > 1 else ""
        said.setdefault(_workload(row), []).append(f"{experiment}{row['setup']}")
    if len(said) == 1:
        return list(said)
    return [f"{joined(list(dict.fromkeys(places)))}: {sentence}" for sentence, places in said.items()]


def step_statements(planned_work: pl.DataFrame) -> list[str]:
    """What each step does and how long it goes on; steps that differ in their rate alone are told of together."""
    alike: dict[str, list[dict[str, Any]]] = {}
    for row in planned_work.to_dicts():
        alike.setdefault(_step(row), []).append(row)
    said = []
    for sentence, rows in alike.items():
        steps = list(dict.fromkeys(row["step"] for row in rows))
        rates = list(dict.fromkeys(row["rate"] for row in rows if row["rate"]))
        sizes = _sizes(rows)
        text = f"{', '.join(steps)}: {sentence.replace(_RATES, ', '.join(f'{rate:,g}' for rate in rates))}"
        said.append(f"{text}{f'; {sizes}' if sizes else ''}.")
    settled = [row["step"] for row in planned_work.to_dicts() if row["settle_before"]]
    if settled:
        said.append(
            f"Before {joined(list(dict.fromkeys(settled)))} the database is settled: statistics are updated and "
            "dirty pages are flushed."
        )
    held = [row["step"] for row in planned_work.to_dicts() if row["long_transaction"]]
    if held:
        said.append(f"During {joined(list(dict.fromkeys(held)))}, a transaction with a read view stays open.")
    return said


_RATES = "\0"


def _workload(row: dict[str, Any]) -> str:
    clients, tables = row["clients"], row["tables"]
    said = count(clients, "client")
    if tables:
        said += ", each with its own table" if tables == clients > 1 else f" on {count(tables, 'table')}"
    engine = {"innodb": "InnoDB", "rocksdb": "MyRocks"}.get(row["engine"])
    facts = [engine] if engine else []
    if row["data_length"]:
        facts.append(f"{row['data_length'][0]} to {row['data_length'][1]} bytes in column data")
    if row["protocol"] in _PROTOCOLS and row["transport"] in _TRANSPORTS:
        facts.append(f"{_PROTOCOLS[row['protocol']]} over {_TRANSPORTS[row['transport']]}")
    if row["bulk_load"]:
        facts.append("bulk load in l.i0")
    said += f" ({', '.join(facts)})" if facts else ""
    said += "; each client has its own processes and connections."
    if row["settle"] == "none":
        said += " The database is not settled between the steps."
    if row["count_rows"] is not None:
        counted = "is not checked"
        if row["count_rows"]:
            counted = "is compared with the rows that the clients' statements leave"
        said += f" After each step, the server's COUNT(*) {counted}."
    return said


def _step(row: dict[str, Any]) -> str:
    """What a step does, with a placeholder for its rate and without its sizes."""
    commit = f", {row['rows_per_commit']} per statement" if row["rows_per_commit"] else ""
    if row["kind"] == "load":
        return f"inserts rows in primary key order, without secondary indexes{commit}{_limit(row)}"
    if row["kind"] == "index":
        indexes = row["secondary_indexes"]
        return f"creates {'the' if indexes is None else indexes} secondary indexes of each table"
    if row["kind"] == "write":
        deletes = " and deletes the same number at its tail" if row["deletes"] else ""
        return f"inserts rows at the head of each table{deletes}, with all indexes{commit}{_limit(row)}"
    if row["kind"] == "query":
        what = {"range": f"range queries of up to {row['query_rows']} rows", "point": "point queries of ten keys"}
        queriers = f" from {count(row['queriers'], 'process', 'processes')} per client" if row["queriers"] else ""
        said = f"{what.get(row['query'], 'queries')} as fast as possible{queriers}"
        return said + (f", during {_RATES} inserts/s and as many deletes/s per client{commit}" if row["rate"] else "")
    return "a step of a kind that this version of ibench does not know"


def _limit(row: dict[str, Any]) -> str:
    return f", at most {_RATES} rows/s per client" if row["rate"] else ""


def _sizes(rows: list[dict[str, Any]]) -> str:
    """How many rows or seconds, setup by setup where they differ."""
    found = [
        (row["setup"], row["step"], f"{row['rows']:,} rows per client" if row["rows"] else f"{row['seconds']:,g} s")
        for row in rows
        if row["rows"] or row["seconds"]
    ]
    of_setup: dict[str, set[str]] = {}
    for setup, _, size in found:
        of_setup.setdefault(setup, set()).add(size)
    places: dict[str, list[str]] = {}
    for setup, step, size in found:
        places.setdefault(size, []).append(setup if len(of_setup[setup]) == 1 else f"{step} of {setup}")
    if len(places) == 1:
        return next(iter(places))
    return ", ".join(f"{size} in {joined(list(dict.fromkeys(where)))}" for size, where in places.items())
