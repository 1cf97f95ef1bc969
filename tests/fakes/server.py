"""A server that keeps to a script: how long each statement takes, when it stalls, which statement goes wrong and how.

`FakeServer` starts it as a process of its own. It is told by JSON lines on standard input and answers in kind:

    the script                          {"ready": address}
    {"epoch_ns": n}                     stalls count from then (CLOCK_MONOTONIC); no answer
    {"report": true}                    {"connections", "statements", "texts": the first 1,000 of them}

What goes wrong is given by the number of the statement, from 1, over all connections; statements that set the session
up are neither counted nor delayed:

    "error CODE"    an error packet with that code; the connection stays
    "killed CODE"   an error packet with that code, then the end of the connection
    "close"         the end of the connection, without an answer
    "reset"         a connection reset, without an answer
    "half"          half of the answer, then the end of the connection
    "silent"        no answer, ever: a black hole
"""

from __future__ import annotations

import contextlib
import gc
import json
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any

from ibench_lib.base.tether import tethered
from tests.fakes import protocol
from tests.fakes.counter import Counter, Stall
from tests.fakes.priority import come_first
from tests.places import ROOT

TEXTS_KEPT = 1_000
_SPIN_NS = 40_000
_TEXT_BYTES = 120


@dataclass(frozen=True)
class Script:
    """What the server does. `rows` are changed or returned by each statement; `greet` is False for one that never does.

    `stall_s` is (every, from, to) in seconds.
    """

    service_ms: float = 0.0
    stall_s: tuple[float, float, float] | None = None
    faults: dict[int, str] = field(default_factory=dict)
    rows: int = 1
    tcp: bool = False
    greet: bool = True
    deprecate_eof: bool = False

    def counter(self) -> Counter:
        """A counter that serves and stalls like this."""
        stall = None if self.stall_s is None else Stall(*(round(seconds * 1e9) for seconds in self.stall_s))
        return Counter(round(self.service_ms * 1e6), stall)


class FakeServer:
    """Context manager: the server as a process of its own. `address` is what `Connection` takes."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._folder = tempfile.TemporaryDirectory(prefix="fake-")

    def __enter__(self) -> FakeServer:
        self._process = subprocess.Popen(
            tethered([sys.executable, "-m", "tests.fakes.server"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        answer = self._ask({**asdict(self.script), "socket": f"{self._folder.name}/s"})
        self.address: dict[str, Any] = {"user": "nobody", "password": "", **answer["ready"]}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        """Whether its process is there, also when it is stopped."""
        return self._process.poll() is None

    def begin(self, epoch_ns: int) -> None:
        """Let stalls count from then."""
        self._tell({"epoch_ns": epoch_ns})

    def report(self) -> dict[str, Any]:
        """What it has been asked so far."""
        return self._ask({"report": True})

    def _tell(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self._tell(message)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the fake server has died; what it said is on standard error"
        answer: dict[str, Any] = json.loads(line)
        return answer


class _Serving:
    """The server's side."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.epoch_ns: int | None = None
        self.connections = self.statements = 0
        self.texts: list[str] = []
        self._lock = threading.Lock()

    def listen(self, path: str) -> dict[str, Any]:
        """Start to accept; returns where."""
        if self.script.tcp:
            listener = socket.create_server(("127.0.0.1", 0))
            where: dict[str, Any] = {"host": "127.0.0.1", "port": listener.getsockname()[1]}
        else:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen()
            where = {"unix_socket": path}
        threading.Thread(target=self._accept, args=[listener], daemon=True).start()
        return where

    def _accept(self, listener: socket.socket) -> None:
        while True:
            connected, _ = listener.accept()
            if self.script.tcp:
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            threading.Thread(target=self._connection, args=[connected], daemon=True).start()

    def _connection(self, connected: socket.socket) -> None:
        if not self.script.greet:
            threading.Event().wait()
        commands = protocol.Commands(connected)
        with contextlib.suppress(ConnectionError):
            connected.sendall(protocol.greeting(deprecate_eof=self.script.deprecate_eof))
            login = commands.next()
            if login is None:
                return
            flags = int.from_bytes(login[:4], "little")
            connected.sendall(protocol.ok(number=2))
            self._serve(connected, commands, self.script.deprecate_eof and bool(flags & protocol.DEPRECATE_EOF))
        connected.close()

    def _serve(self, connected: socket.socket, commands: protocol.Commands, deprecate_eof: bool) -> None:
        answers = {
            (command, kind): protocol.result(self.script.rows, deprecate_eof=deprecate_eof, binary=command != 3)
            if kind == b"SELECT"
            else protocol.ok(self.script.rows)
            for command in (protocol.COM_QUERY, protocol.COM_STMT_EXECUTE)
            for kind in (b"SELECT", b"")
        }
        counter = self.script.counter() if self.script.service_ms else None
        clock, send = time.monotonic_ns, connected.sendall
        prepared = b""
        while True:
            body = commands.next()
            arrival_ns = clock()
            if body is None or body[0] == protocol.COM_QUIT:
                return
            command, text = body[0], body[1:]
            if command == protocol.COM_STMT_PREPARE:
                prepared = text[:6].upper()
                columns = 1 if prepared == b"SELECT" else 0
                send(protocol.prepared(text.count(b"?"), columns, deprecate_eof=deprecate_eof))
                continue
            if command not in (protocol.COM_QUERY, protocol.COM_STMT_EXECUTE) or text[:4].upper() in (b"SET ", b"USE "):
                send(protocol.ok())
                continue
            with self._lock:
                self.statements += 1
                number = self.statements
                if number <= TEXTS_KEPT:
                    self.texts.append(text[:_TEXT_BYTES].decode(errors="replace"))
            if counter is not None:
                counter.epoch_ns = self.epoch_ns
                _wait_until(counter.answer_at(arrival_ns))
            kind = text[:6].upper() if command == protocol.COM_QUERY else prepared
            answer = answers[command, kind if kind == b"SELECT" else b""]
            fault = self.script.faults.get(number)
            if fault is None:
                send(answer)
            elif not _go_wrong(fault, connected, answer):
                return


def _go_wrong(fault: str, connected: socket.socket, answer: bytes) -> bool:
    """Do what the script says; whether the connection goes on."""
    what, _, code = fault.partition(" ")
    if what in ("error", "killed"):
        connected.sendall(protocol.error(int(code), f"as the script says: {what}"))
        return what == "error"
    if what == "half":
        connected.sendall(answer[: len(answer) // 2])
    elif what == "reset":
        _reset(connected)
    elif what == "silent":
        threading.Event().wait()
    elif what != "close":
        raise ValueError(f"the script says {fault!r}")
    return False


def _reset(connected: socket.socket) -> None:
    """End the connection so that the other side's read fails, not ends."""
    if connected.family == socket.AF_UNIX:
        raise ValueError("a reset needs TCP: the end of a Unix socket is an end")
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connected.close()


def _wait_until(moment_ns: int) -> None:
    clock = time.monotonic_ns
    remaining = moment_ns - clock() - _SPIN_NS
    if remaining > 0:
        time.sleep(remaining / 1e9)
    while clock() < moment_ns:
        pass


def main() -> None:
    """Serve until standard input ends."""
    come_first()
    sys.setswitchinterval(50e-6)
    settings = json.loads(sys.stdin.readline())
    path = settings.pop("socket")
    faults = {int(number): fault for number, fault in settings.pop("faults").items()}
    serving = _Serving(Script(**settings, faults=faults))
    print(json.dumps({"ready": serving.listen(path)}), flush=True)
    gc.disable()
    for line in sys.stdin:
        message = json.loads(line)
        if "epoch_ns" in message:
            serving.epoch_ns = message["epoch_ns"]
        if "report" in message:
            names = ("connections", "statements", "texts")
            print(json.dumps({name: getattr(serving, name) for name in names}), flush=True)


if __name__ == "__main__":
    main()
