"""Network interfaces, once a second, from /proc/net/dev."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from ibench_lib.capture.collector import Collector
from ibench_lib.capture.proc import ProcFile


class Network(Collector):
    """Every interface, the loopback included: clients may reach a server through it."""

    name: ClassVar[str] = "network"
    tables: ClassVar[tuple[str, ...]] = ("network_samples",)

    def open(self) -> None:
        self._dev = ProcFile("/proc/self/net/dev")

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        t_s = now_s()
        for columns in interfaces(self._dev.read()):
            yield "network_samples", {"t_s": t_s, **columns}


def interfaces(text: bytes) -> Iterator[dict[str, Any]]:
    """The columns of each interface in a /proc/net/dev."""
    for line in text.decode(errors="replace").splitlines()[2:]:  # two lines of headings
        name, _, rest = line.rpartition(":")
        numbers = [int(part) for part in rest.split()]
        received, sent = numbers[:8], numbers[8:]
        yield {
            "interface": name.strip(),
            "received_bytes": received[0],
            "received_packets": received[1],
            "received_drops": received[2] + received[3],
            "sent_bytes": sent[0],
            "sent_packets": sent[1],
            "sent_drops": sent[2] + sent[3],
        }
