"""What the runner makes of what a client process writes."""

import json
import os
from typing import Any

import pytest

from ibench_lib.client.process import WorkerProcess


def received(written: bytes) -> list[dict[str, Any]]:
    """The messages of a client that wrote this, and has ended."""
    reading, writing = os.pipe()
    os.write(writing, written)
    os.close(writing)
    client = WorkerProcess.__new__(WorkerProcess)
    client._buffer = b""
    client.fileno = lambda: reading  # type: ignore[method-assign]
    try:
        messages, closed = client.receive()
    finally:
        os.close(reading)
    assert closed
    return messages


@pytest.mark.parametrize(
    "line", [b"Warning: numpy", b"\xff\xfe", b"7", b"[]", b"{}", b'{"kind": 7}', b"[" * 50_000, b"null", b""]
)
def test_a_line_that_is_no_message_is_a_failure_of_that_client(line: bytes) -> None:
    """Also after messages, and before others."""
    ready = {"kind": "ready"}
    first, odd, last = received(b"\n".join([json.dumps(ready).encode(), line, json.dumps(ready).encode(), b""]))
    assert (first, last) == (ready, ready)
    assert odd["kind"] == "failed" and odd["error"].startswith("it wrote what is no message: b")
    assert len(odd["error"]) < 1000
