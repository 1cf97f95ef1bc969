"""The main program of a client process: `python -m ibench_lib.client.worker`, started by the runner.

The parent writes the specification as one JSON line to standard input; the server's password comes that way and no
other, so it is in no argument list and no environment. Answers go to standard output as JSON lines:

    ready                       connected
    probed   {probes}           after the parent's `probe`
    made                        the first operation, after the parent's `make`: all probes are done then
    second   {row of `ops`}     while running, after the parent's `go {start_ns}`
    done     {totals}           the end, also after an error or SIGTERM
    failed   {error}            it could not even begin
"""

from __future__ import annotations

import gc
import importlib
import json
import signal
import sys
from dataclasses import asdict, replace
from types import FrameType
from typing import Any

from ibench_lib.client.coupling import Coupling
from ibench_lib.client.driver import Connection, ConnectionLost, DriverMissing, StatementError, connect
from ibench_lib.client.load import Load, Stopped
from ibench_lib.client.many import ManyLoad, Terminal
from ibench_lib.client.recorder import SecondRecorder
from ibench_lib.client.role import Role, Transaction, next_operation
from ibench_lib.client.shared import SharedNumber
from ibench_lib.client.spec import Spec


def _send(kind: str, **content: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **content}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        raise Stopped  # the parent is gone or wants no more
    message: dict[str, Any] = json.loads(line)
    return message


def _load(
    spec: Spec,
    coupling: list[int] | None,
    roles: list[Role],
    connections: list[Connection],
    first: list[bytes | Transaction],
    start_ns: int,
) -> Load | ManyLoad:
    recorder = SecondRecorder(
        start_ns,
        paced=spec.tick_ns is not None,
        emit=lambda row: _send("second", row=row),
        operations=spec.operations,
    )
    end_ns = None if spec.seconds is None else start_ns + round(spec.seconds * 1e9)
    if spec.connections > 1:
        terminals = [Terminal(*each) for each in zip(roles, connections, first, strict=True)]
        return ManyLoad(terminals, recorder, start_ns, spec.statements, end_ns, spec.tick_ns, spec.timeout_s)
    return Load(
        role=roles[0],
        connection=connections[0],
        recorder=recorder,
        start_ns=start_ns,
        statements=spec.statements,
        end_ns=end_ns,
        tick_ns=spec.tick_ns,
        coupling=Coupling(*coupling) if coupling else None,
        first=first[0],
    )


def main() -> None:
    """Run one worker from specification to totals."""
    load: Load | ManyLoad | None = None

    def stop(_signal: int, _frame: FrameType | None) -> None:
        # With a statement in flight, which may already have happened, let it be answered and counted first.
        if load is not None and load.must_not_stop:
            load.stop_requested = True
        else:
            raise Stopped

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        told = _receive()
        spec = Spec.of(told["spec"])
        make_role = importlib.import_module(spec.module).make_role
        connections: list[Connection] = []
        for _ in range(spec.connections):
            like = connections[0] if connections else None
            connections.append(connect(told["driver"], told["address"], told["database"], spec.timeout_s, like))
        roles: list[Role] = [
            make_role(replace(spec, terminal=terminal), connection) for terminal, connection in enumerate(connections)
        ]
        if told["shared"] is not None:
            for role in roles:
                role.shared = SharedNumber(told["shared"])
        _send("ready")
        _receive()
        probes = [probe for role in roles for probe in role.probe()] if spec.probes else []
        _send("probed", probes=[asdict(probe) for probe in probes])
        _receive()
        first = [next_operation(role) for role in roles]
        gc.freeze()  # what is there now stays: collections under load need not look at it
        _send("made")
        start_ns = _receive()["start_ns"]
        load = _load(spec, told["coupling"], roles, connections, first, start_ns)
        totals = load.run()
        _send("done", totals=totals, probes=[asdict(probe) for role in roles for probe in role.late_probes])
        for connection in connections:
            connection.close()
    except Stopped:
        _send("failed", error="stopped before its load began")
    except (ConnectionLost, DriverMissing, StatementError) as error:
        _send("failed", error=str(error))


if __name__ == "__main__":
    main()
