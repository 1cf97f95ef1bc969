"""What a server counts and where: finds the place of each figure, switches on the InnoDB metrics that are needed."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import pymysql

from ibench_lib.families.mysql.connection import LOST, connect, denied, named_rows, pairs, rows, said
from ibench_lib.server_figures import FIGURES, Counter, FigurePlaces, Place, available


class Places:
    """Where one server has the figures, looked up on one connection. `known` is where servers of its flavour have them.

    `metrics_query` gives name and count of the metrics that are on, None where they cannot be read.
    `variables_query` gives the variables that are figures in one row, in the order of `variable_names`. `reasons` says
    why a figure has no place, by its column. `unset` are metrics switched on here whose 0 means nothing until they have
    said something else.

    Raises
    ------
    pymysql.err.MySQLError, OSError : the connection is lost.
    """

    def __init__(self, connection: pymysql.Connection[Any], known: FigurePlaces) -> None:
        self.reasons: dict[str, str] = {}
        self.metrics_query: str | None = None
        self._unreadable: str | None = None
        metrics = self._metrics(connection)
        status = pairs(connection, "SHOW GLOBAL STATUS")
        self._variables = pairs(connection, "SHOW GLOBAL VARIABLES")
        counters = available(known, metrics, status, self._variables)
        switched_on, not_switched_on = _switch_on(connection, known, counters, metrics)
        variable, beginning = known.set_later_in
        sets_later = self._variables.get(variable, "").startswith(beginning)
        self.unset = switched_on & known.set_later if sets_later else set()
        self.counters: dict[str, Counter] = {}
        for figure in FIGURES:
            counter = counters[figure.column]
            why_off = not_switched_on.get(counter.name) if counter and counter.kind == "metric" else None
            if counter is None:
                self.reasons[figure.column] = self._nowhere(known.of(figure.column))
            elif why_off is not None:
                self.reasons[figure.column] = why_off
            else:
                self.counters[figure.column] = counter
        names = {name for one in self.counters.values() if one.kind == "variable" for name in one.factors}
        self.variable_names = sorted(names)
        self.variables_query = "SELECT " + ", ".join(f"@@global.{name}" for name in self.variable_names)

    def _metrics(self, connection: pymysql.Connection[Any]) -> dict[str, bool]:
        """Name of each InnoDB metric, and whether it is on."""
        try:
            listed = named_rows(connection, "SELECT * FROM information_schema.INNODB_METRICS")
        except pymysql.err.MySQLError as error:
            if not connection.open:
                raise
            self._unreadable = f"{'access denied: ' if denied(error) else ''}INNODB_METRICS: {said(error)}"
            return {}
        # MariaDB 10.5 and later have an integer ENABLED where the others have the word STATUS.
        on = "ENABLED = 1" if listed and "enabled" in listed[0] else "STATUS = 'enabled'"
        self.metrics_query = f"SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE {on}"
        return {str(row["name"]): row.get("status", row.get("enabled")) in ("enabled", 1) for row in listed}

    def _nowhere(self, places: tuple[Place, ...]) -> str:
        if not places:
            return "servers of this flavour have no such figure"
        if self._unreadable and any(kind == "metric" for kind, _ in places):
            return self._unreadable
        looked_for = ", ".join(f"{kind} {name}" for kind, name in places)
        return f"this server has no {looked_for}"


def _switch_on(
    connection: pymysql.Connection[Any],
    known: FigurePlaces,
    found: Mapping[str, Counter | None],
    metrics: Mapping[str, bool],
) -> tuple[set[str], dict[str, str]]:
    """Switch on the metrics that figures are read from. Returns those that were off, and those that stay so and why."""
    needed = [counter.name for counter in found.values() if counter is not None and counter.kind == "metric"]
    switched_on: set[str] = set()
    refused: dict[str, str] = {}
    for name in needed:
        for one in (known.owners.get(name), name):
            if one is None or metrics.get(one, False):
                continue
            try:
                rows(connection, f"SET GLOBAL innodb_monitor_enable = '{one}'")
                switched_on.add(one)
            except pymysql.err.MySQLError as error:
                if not connection.open:
                    raise
                why = "access denied: " if denied(error) else ""
                refused[name] = f"{why}metric {name} is off, and innodb_monitor_enable: {said(error)}"
    return switched_on, refused


def history_list_length(address: Mapping[str, Any], known: FigurePlaces) -> tuple[int | None, str | None]:
    """One value now, on a fresh connection; None and the reason where the server cannot say.

    `known` says where servers of this flavour have it.
    """
    try:
        connection = connect(address)
    except LOST as error:
        return None, f"no connection: {said(error)}"
    try:
        return history_list(connection, known)
    except LOST as error:
        return None, f"no answer: {said(error)}"
    finally:
        with contextlib.suppress(*LOST):
            connection.close()


def history_list(connection: pymysql.Connection[Any], known: FigurePlaces) -> tuple[int | None, str | None]:
    """The history list length now, or None and the reason.

    Raises
    ------
    pymysql.err.MySQLError, OSError : the connection is lost.
    """
    places = known.of("history_list_length")
    reason = None if places else "servers of this flavour have no history list"
    for kind, name in places:
        try:
            if kind == "metric":
                metrics = "SELECT * FROM information_schema.INNODB_METRICS WHERE NAME = %r"
                answer = [row for row in named_rows(connection, metrics % name) if _is_on(row)]
                value = answer[0]["count"] if answer else None
            else:
                value = pairs(connection, f"SHOW GLOBAL STATUS LIKE '{name}'").get(name)
        except pymysql.err.MySQLError as error:
            if not connection.open:
                raise
            reason = f"{'access denied: ' if denied(error) else ''}{said(error)}"
            continue
        if value is not None:
            return int(value), None
    return None, reason or "this server has neither the metric, switched on, nor the status"


def _is_on(row: Mapping[str, Any]) -> bool:
    return row.get("status", row.get("enabled")) in ("enabled", 1)
