"""The server: SQLite behind a wire of its own, in a thread for each connection."""

from __future__ import annotations

import contextlib
import json
import socket
import sqlite3
import threading
from pathlib import Path
from types import TracebackType
from typing import Any


class LineServer:
    """Context manager. A request is its length, a line feed and JSON; an answer is one line of JSON.

    `busy_every`: every so many statements that change rows are refused once, as when another connection holds the lock.
    """

    def __init__(self, folder: Path, busy_every: int | None = None) -> None:
        self.address = {"unix_socket": str(folder / "line.sock"), "user": "nobody", "password": ""}
        self._database = sqlite3.connect(folder / "rows.db", isolation_level=None, check_same_thread=False)
        self._lock, self._busy_every, self._changes = threading.Lock(), busy_every, 0
        self.refused = 0
        self.texts: set[str] = set()

    def __enter__(self) -> LineServer:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address["unix_socket"])
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement on the server's own database."""
        with self._lock:
            return self._database.execute(text).fetchall()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connected, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=[connected], daemon=True).start()

    def _serve(self, connected: socket.socket) -> None:
        with connected, connected.makefile("rb") as lines, contextlib.suppress(ConnectionError, ValueError):
            while line := lines.readline():
                request = json.loads(lines.read(int(line)))
                connected.sendall(json.dumps(self._answer(request)).encode() + b"\n")

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        text = request["text"]
        with self._lock:
            self.texts.add(text[:60])
            if self._is_busy(text):
                return {"error": ["BUSY", "the database is locked"]}
            try:
                cursor = self._database.execute(text, request["values"])
            except sqlite3.Error as error:
                return {"error": ["SQL", str(error)]}
            rows = cursor.fetchall()
        return {"rows": rows if request["fetch"] else max(cursor.rowcount, len(rows))}

    def _is_busy(self, text: str) -> bool:
        if self._busy_every is None or not text.startswith(("INSERT", "DELETE")):
            return False
        self._changes += 1
        busy = self._changes % self._busy_every == 0
        self.refused += busy
        return busy
