"""Runs of two dbms with CPU and profiles in l.i0, whose figures can be worked out in the head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.synthetic import Run

STEP = {"step_id": 0, "step": "l.i0"}
SECONDS = 10.0
ROWS = 20_000  # 2,000/s

MAIN = "mysqld;start_thread;handle_one_connection(void*);do_command(THD*);row_ins_step(que_thr_t*)"
ENGINE = {
    f"{MAIN};btr_cur_optimistic_insert(unsigned long)": 300,
    f"{MAIN};btr_cur_optimistic_insert(unsigned long);rec_get_offsets_func(unsigned char const*)": 200,
    f"{MAIN};lock_clust_rec_read_check_and_lock(unsigned long)": 300,
    "mysqld;start_thread;handle_one_connection(void*);do_command(THD*);MYSQLparse(THD*)": 600,
}


def slowed(stacks: Mapping[str, int], leaf: str, times: float) -> dict[str, int]:
    """The stacks with more samples of those that end in a function of that name."""
    return {
        stack: round(samples * times) if stack.rpartition(";")[2].startswith(leaf) else samples
        for stack, samples in stacks.items()
    }


def cpu(user_s: float, system_s: float = 2.0, *, host_s: float = 15.0) -> list[tuple[str, dict[str, Any]]]:
    """What the server and the whole host used in the step."""
    used = {
        ("process", "cpu_user_s"): user_s, ("process", "cpu_system_s"): system_s,
        ("host", "cpu_user_s"): host_s, ("host", "cpu_system_s"): 1.0, ("host", "cpu_idle_s"): 20.0 - host_s - 1.0,
        ("host", "cpu_iowait_s"): 0.0, ("host", "cpu_steal_s"): 0.0,
    }  # fmt: skip
    return [
        ("step_counters", {**STEP, "source": source, "name": "", "counter": counter, "start_s": 1.0,
                           "start_value": 0.0, "end_s": 1.0 + SECONDS, "end_value": value})
        for (source, counter), value in used.items()
    ]  # fmt: skip


def profile(stacks: Mapping[str, int], *, cpu_s: float | None = None) -> list[tuple[str, dict[str, Any]]]:
    """One recording of 5 s in the step; `cpu_s` is what the samples stand for unless given."""
    whole = sum(stacks.values()) / 199 if cpu_s is None else cpu_s
    return [
        ("profile_stacks", {"tick": 2, "t_s": 8.0, "seconds": 5.0, "event": "cpu-clock", "frequency": 199.0, "lost": 0,
                            "cpu_s": whole, "thread_group": "mysqld", "stack": stack, "samples": samples})
        for stack, samples in stacks.items()
    ]  # fmt: skip


def pair_runs(
    a: Mapping[str, int] | None,
    b: Mapping[str, int] | None,
    *,
    user: tuple[float, float] = (8.0, 8.0),
    rounds: int = 3,
    **of_both: Any,
) -> list[Run]:
    """Runs of the configurations cy10a and b, interleaved; their CPU varies by 1 % from round to round."""
    runs = []
    for repeat in range(1, rounds + 1):
        for place, (config, stacks, user_s) in enumerate((("cy10a", a, user[0]), ("b", b, user[1]))):
            mine = user_s * (1 + (repeat - 2) * 0.01 * (1 - 2 * place))
            also = cpu(mine, host_s=10.0 + mine - user[0])
            if stacks is not None:
                also += profile({stack: round(n * (1 + (repeat - 2) * 0.005)) for stack, n in stacks.items()})
            runs.append(Run(config, repeat=repeat, minute=2 * repeat + place, also=tuple(also), **of_both))
    return runs
