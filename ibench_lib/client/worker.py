"""The main program of a client process: `python -m ibench_lib.client.worker`, started by the runner.

The parent writes the specification as one JSON line to standard input; the server's password comes that way and no
other, so it is in no argument list and no environment. Answers go to standard output as JSON lines:

    ready                       connected
    probed   {probes}           after the parent's `probe`
    second   {row of `ops`}     while running, after the parent's `go {start_ns}`
    done     {totals}           the end, also after an error or SIGTERM
    failed   {error}            it could not even begin
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
from dataclasses import asdict
from types import FrameType
from typing import Any

from ibench_lib.client.coupling import Coupling
from ibench_lib.client.load import Load, Role, Stopped
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import ConnectionLost, StatementError
from ibench_lib.client.recorder import SecondRecorder


def _send(kind: str, **content: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **content}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        raise Stopped  # the parent is gone or wants no more
    message: dict[str, Any] = json.loads(line)
    return message


def _load(spec: dict[str, Any], role: Role, connection: Connection, first: bytes, start_ns: int) -> Load:
    paced = spec["tick_ns"] is not None
    seconds = spec["seconds"]
    return Load(
        role=role,
        connection=connection,
        recorder=SecondRecorder(start_ns, paced=paced, emit=lambda row: _send("second", row=row)),
        start_ns=start_ns,
        statements=spec["statements"],
        end_ns=None if seconds is None else start_ns + round(seconds * 1e9),
        tick_ns=spec["tick_ns"],
        coupling=Coupling(*spec["coupling"]) if spec["coupling"] else None,
        first=first,
    )


def main() -> None:
    """Run one worker from specification to totals."""
    load: Load | None = None

    def stop(_signal: int, _frame: FrameType | None) -> None:
        # With a statement in flight, which may already have happened, let it be answered and counted first.
        if load is not None and load.must_not_stop:
            load.stop_requested = True
        else:
            raise Stopped

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        spec = _receive()
        connection = Connection(spec["address"], spec["database"], spec["timeout_s"])
        role: Role = importlib.import_module(spec["module"]).make_role(spec, connection)
        _send("ready")
        _receive()
        probes = role.probe() if spec["probes"] else []
        first = role.next_statement()
        _send("probed", probes=[asdict(probe) for probe in probes])
        start_ns = _receive()["start_ns"]
        load = _load(spec, role, connection, first, start_ns)
        totals = load.run()
        _send("done", totals=totals, probes=[asdict(probe) for probe in role.late_probes])
        connection.close()
    except Stopped:
        _send("failed", error="stopped before its load began")
    except (ConnectionLost, StatementError) as error:
        _send("failed", error=str(error))


if __name__ == "__main__":
    main()
