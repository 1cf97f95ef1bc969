"""A command of a user's own: how it is started, and what its lines say."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from ibench_lib.base.text_file import NotReadable, read_text
from ibench_lib.client.external import CannotDrive, Program, Target, private_file
from ibench_lib.client.intervals import IntervalCount, Reading, Unreadable
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.command.lines import LineReader, Pattern
from ibench_lib.workloads.command.placeholders import PASSWORD, PYTHON, filled, named_in

MOST_SCRIPT_BYTES = 1_000_000


class Command(Program):
    """One run of a command."""

    def __init__(self, spec: Spec, target: Target) -> None:
        given = spec.details
        self._operation = spec.operations[0]
        self._reader = LineReader(given["lines"]) if given["lines"] is not None else None
        self._total = Pattern(given["total"]) if given["total"] is not None else None
        self._count: int | None = given["amount"]
        self.counts = self._reader is None
        self.at_most_s = given["at_most_s"]
        server = {
            "socket": target.socket, "host": target.host, "port": target.port, "user": target.user,
            "database": target.database, "option_file": target.option_file,
        }  # fmt: skip
        known: dict[str, object] = {
            PYTHON: sys.executable,
            **given["values"],
            **{name: value for name, value in server.items() if value},
        }
        for name, (path, digest) in given["scripts"].items():
            known[name] = _unchanged(name, path, digest)
        named = {name for argument in given["argv"] for name in named_in(argument)}
        for name, text in given["private_files"].items():
            if name in named:
                known[name] = private_file(_filled(text, {**known, PASSWORD: target.password}))
        self.argv = [_filled(argument, known) for argument in given["argv"]]

    def read_line(self, line: str) -> Reading | Sequence[IntervalCount] | None:
        if self._reader is not None:
            return self._reader.read(line)
        if self._total is not None and (total := self._total.search(line)):
            try:
                self._count = int(total["count"])
            except ValueError:
                raise Unreadable(f"its total is no whole number: {total['count']!r:.40}") from None
        return ()

    def finish(self, ran_s: float) -> Sequence[IntervalCount]:
        if self._reader is not None:
            return ()
        if self._count is None:
            raise Unreadable("no line that it printed has the total")
        return [IntervalCount(operation=self._operation, start_s=0.0, end_s=ran_s, count=self._count, by_second=False)]


def _unchanged(name: str, path: str, digest: str) -> str:
    """The path of a script that is as it was when the experiment was read. Raises CannotDrive."""
    try:
        now = hashlib.sha256(read_text(Path(path), MOST_SCRIPT_BYTES).encode()).hexdigest()
    except (OSError, NotReadable) as error:
        raise CannotDrive(f"script {name} cannot be read: {error}") from None
    if now != digest:
        raise CannotDrive(f"script {name} has changed since the experiment was started")
    return path


def _filled(text: str, values: dict[str, object]) -> str:
    try:
        return filled(text, values)
    except KeyError as error:
        name = error.args[0]
        by_tcp = "this server is reached by TCP" if name == "socket" else "this server is reached by a socket"
        why = by_tcp if name in ("socket", "host", "port") else "this server has none"
        raise CannotDrive(f"{{{name}}}: {why}") from None


make_program = Command
