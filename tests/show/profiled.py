"""Runs whose server was profiled in l.i0, with figures that can be worked out in the head.

Two clients insert 2,000 rows a second for 10 s, and the server uses 0.4 CPUs: 200 us for each row. There are two
recordings of 4 s in the step, and one that begins before it.
"""

from __future__ import annotations

from typing import Any

from tests.synthetic import Run

Rows = tuple[tuple[str, dict[str, Any]], ...]

PARSE = "mariadbd;start_thread;handle_one_connection;do_command;MYSQLparse"
INSERT = "mariadbd;start_thread;handle_one_connection;do_command;row_ins(que_thr_t*);btr_cur_insert(unsigned long)"
COPY = f"{INSERT};memcpy"
PURGE = "mariadbd;start_thread;srv_purge_coordinator_thread;row_purge"
SEND = "mariadbd;__send;entry_SYSCALL_64_after_hwframe;do_syscall_64;tcp_sendmsg"
STACKS = {PARSE: 100, INSERT: 60, COPY: 20, PURGE: 10, SEND: 10}
NO_NAMES = {PARSE: 90, f"{INSERT.rpartition(';')[0]};[unknown] (mariadbd)": 80, PURGE: 10, SEND: 20}


def recording(tick: int, stacks: dict[str, int], **values: Any) -> Rows:
    """A recording of 4 s, at once of 4 s of CPU at 50 Hz: 200 samples."""
    row = {
        "tick": tick,
        "t_s": tick + 4.5,
        "seconds": 4.0,
        "event": "cycles",
        "frequency": 50.0,
        "lost": 0,
        "cpu_s": 4.0,
    }
    return tuple(
        ("profile_stacks", {**row, "thread_group": "mariadbd", "stack": stack, "samples": samples, **values})
        for stack, samples in stacks.items()
    )


def cpu(cpus: float = 0.4) -> Rows:
    """What the server's process used in l.i0."""
    at = {
        "step_id": 0,
        "step": "l.i0",
        "source": "process",
        "name": "",
        "start_s": 1.0,
        "end_s": 11.0,
        "start_value": 0.0,
    }
    used = {"cpu_user_s": 7.5 * cpus, "cpu_system_s": 2.5 * cpus}
    return tuple(("step_counters", {**at, "counter": name, "end_value": value}) for name, value in used.items())


def profiled(config: str, stacks: dict[str, int] | None = None, cpus: float | None = 0.4, **more: Any) -> Run:
    """A run whose server was profiled; without `cpus` nothing is known of its CPU."""
    stacks = STACKS if stacks is None else stacks
    rows = (*recording(0, {"too;early": 7}), *recording(1, stacks), *recording(6, stacks))
    return Run(config, also=(*rows, *(cpu(cpus) if cpus is not None else ())), **more)


def with_dips(config: str, rest: dict[str, int], in_dips: dict[str, int], **more: Any) -> Run:
    """A run with a stall in the seconds 4 and 5 of l.i1, and two recordings of 2 s: outside it, and 1.5 s of it inside.

    l.i1 begins at 15 s. In its other seconds 6,250 rows are inserted: 12,500 in the first recording, with 2 s of CPU,
    and 3,125 in the second one, with 1 s.
    """
    row = {"seconds": 2.0}
    rows = (
        *recording(15, rest, t_s=17.5, cpu_s=2.0, **row),
        *recording(18, in_dips, t_s=20.5, cpu_s=1.0, **row),
    )
    return Run(config, stall=(4, 5), also=rows, **more)
