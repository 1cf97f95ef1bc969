"""The server as a program: SQLite behind a wire of its own. Tests install it as `linedbd`; it needs Python only.

It refuses to run as root. Every `compact_every_s` it holds its only lock for `compact_s`, as a compaction would.
"""

import contextlib
import json
import os
import socket
import sqlite3
import sys
import threading
import time

OPTIONS = {"cache_kb": "2000", "compact_every_s": "0", "compact_s": "2", "seats": "50"}


def read(path):
    """The options of a file: `name: value ; note` on each line."""
    with open(path) as file:
        lines = [line.partition(" ;")[0].strip() for line in file]
    return dict((part.strip() for part in line.split(":", 1)) for line in lines if line)


class Server:
    """One database, one lock, a thread for each connection."""

    def __init__(self, options, folder, place):
        self.settings = {**OPTIONS, **options}
        self.database = sqlite3.connect(f"{folder}/rows.db", isolation_level=None, check_same_thread=False)
        self.database.execute("PRAGMA cache_size = -2000")
        self.database.execute("PRAGMA synchronous = OFF")
        self.lock, self.begun = threading.Lock(), time.monotonic()
        self.figures = {"statements": 0, "debris": 0, "compaction_ms": 0}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(place)
        self.listener.listen(64)

    def serve(self):
        if float(self.settings["compact_every_s"]):
            threading.Thread(target=self.compact, daemon=True).start()
        while True:
            connected, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=[connected], daemon=True).start()

    def compact(self):
        while True:
            time.sleep(float(self.settings["compact_every_s"]))
            with self.lock:
                end = time.monotonic() + float(self.settings["compact_s"])
                while time.monotonic() < end:
                    time.sleep(0.1)
                    self.figures["compaction_ms"] += 100
                self.figures["debris"] = 0

    def answer(self, connected):
        with connected, connected.makefile("rb") as lines, contextlib.suppress(ConnectionError, ValueError):
            while line := lines.readline():
                request = json.loads(lines.read(int(line)))
                connected.sendall(json.dumps(self.result(**request)).encode() + b"\n")

    def result(self, text, values, fetch):
        if text in ("SETTINGS", "FIGURES"):
            own = {"version": "7.2", "version_comment": "LineDB", **self.settings}
            uptime = {"uptime_s": int(time.monotonic() - self.begun)}
            return {
                "rows": [list(item) for item in (own if text == "SETTINGS" else {**self.figures, **uptime}).items()]
            }
        with self.lock:
            self.figures["statements"] += 1
            try:
                changed, rows = 0, []
                for part in [text] if values else text.split(";"):
                    cursor = self.database.execute(part, values)
                    rows = cursor.fetchall()
                    changed += max(cursor.rowcount, len(rows))
            except sqlite3.Error as error:
                return {"error": ["SQL", str(error)]}
            if text.startswith("DELETE"):
                self.figures["debris"] += changed
        return {"rows": rows if fetch else changed}


def main(command, *arguments):
    if command == "--version":
        print("linedbd (LineDB) 7.2")
        return
    if command == "--check":
        unknown = sorted(read(arguments[0]).keys() - OPTIONS.keys())
        sys.exit(f"linedbd: unknown option {unknown[0]}" if unknown else 0)
    if os.geteuid() == 0:
        sys.exit("linedbd: refuses to run as root")
    if command == "--make":
        sqlite3.connect(f"{arguments[0]}/rows.db").close()
    else:
        option_file, folder, place = arguments
        Server(read(option_file), folder, place).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
