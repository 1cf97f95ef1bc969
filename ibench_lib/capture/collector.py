"""What a collector is. Each is a class in a file of this folder, or of a family's `collectors/`; nothing lists them.

A collector samples in a thread of its own, at whole seconds of the run's clock. What it cannot read is NULL with a
reason; whatever it raises is its own affair and never stops the load.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ibench_lib.capture.options import CaptureOptions
from ibench_lib.server_figures import FigurePlaces

Emit = Callable[..., None]
"""`emit(table, **columns)`: hand over one row of a table of `schema.py`; `run_id` is filled in."""


class Unavailable(Exception):
    """What a collector reads does not exist here at all; the text says why. It is not tried again."""


@dataclass(frozen=True)
class CaptureTarget:
    """What there is to watch.

    Parameters
    ----------
    origin_ns : zero of the run's clock (CLOCK_MONOTONIC).
    family : the server's family, whose collectors watch it next to those of this folder.
    address : where and who, with the password, as the family's driver takes it.
    server_pid : the server's process on this host now; None for a remote server, and while there is none.
    datadir, tmpdir : the server's, on this host; None for a remote server.
    database : name of the benchmark's database.
    tables : the benchmark's tables.
    variables : the server's settings after the start.
    places : where servers of this flavour have the figures.
    scratch : a private folder for files that need not outlive the run.
    incarnation : starts of the server before the present one, within this run.
    """

    origin_ns: int
    family: str
    address: Mapping[str, Any]
    server_pid: Callable[[], int | None]
    datadir: Path | None
    tmpdir: Path | None
    database: str
    tables: tuple[str, ...]
    variables: Mapping[str, str]
    places: FigurePlaces
    scratch: Path
    options: CaptureOptions = field(default_factory=CaptureOptions)
    incarnation: int = 0


class Collector:
    """One collector.

    `sample`, `counters`, `open` and `close` run in its thread; `step_ended` in another one, between steps.

    `null_reasons` says why a column is NULL: `table.column` -> reason. `warnings` are sentences for the manifest.
    `tables` are those that it fills; `close_s` is how long its last sample and `close` may take together, `step_end_s`
    how long `step_ended` may hold up the next step. `children_cpu_s` is the CPU of processes that it started.
    `stopping` is set when the run has ended, for a sample that takes long. `reads_before_start`: `counters` is
    called, and waited for, before a step's clients start, so that nothing they send is missed.
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[str, ...]]
    every_s: int = 1
    close_s: ClassVar[float] = 30.0
    step_end_s: ClassVar[float] = 60.0
    children_cpu_s: float = 0.0
    reads_before_start: ClassVar[bool] = False

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        self.scene = scene
        self.emit = emit
        self.null_reasons: dict[str, str] = {}
        self.warnings: list[str] = []
        self.stopping = threading.Event()

    @classmethod
    def wanted(cls, options: CaptureOptions) -> bool:
        """Whether the experiment wants this collector. Most are wanted unless they are left out."""
        return True

    def open(self) -> None:
        """Before the first sample.

        Raises
        ------
        Unavailable : there is nothing to sample here.
        """

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        """Emit the rows of one tick: its own, or those of `counters`.

        `now_s` reads the run's clock: `t_s` is read together with the values. What it raises counts as a missed sample,
        its text as the reason; the next tick tries again.
        """
        for table, columns in self.counters(now_s, starts=False):
            self.emit(table, tick=tick, **columns)

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterable[tuple[str, dict[str, Any]]]:
        """Rows as of now of the tables whose cumulative columns a step is measured by: (table, columns).

        Called when a step's clients start (`starts`), or a little earlier with `reads_before_start`, and when the last
        of them has ended. Nothing of it is emitted as a sample.
        """
        return ()

    def step_ended(self, step_id: int, step: str) -> None:
        """The clients of a step have ended; the next one waits until this returns, or `step_end_s` are over.

        `sample` may be at work at the same time in the collector's own thread.
        """

    def close(self) -> None:
        """After the last sample, also after a failure. May be called when `open` failed."""
