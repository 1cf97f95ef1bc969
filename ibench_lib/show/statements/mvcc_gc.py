"""How many times as long get_min takes with one configuration as with another, and what purge had left in its way."""

from __future__ import annotations

from statistics import median

import polars as pl

from ibench_lib.metrics import METRICS
from ibench_lib.show import theme
from ibench_lib.show.frames import by_position, measured, rows_of
from ibench_lib.show.statements.common import caveats, columns_of, complete
from ibench_lib.show.statements.purge_lag import SLOW_S
from ibench_lib.show.verdicts import FAR, Ratio, ratio
from ibench_lib.show.wording import shortened, times


def mvcc_gc_statements(get_min: pl.DataFrame, purge_lag_at_step_end: pl.DataFrame, base: str) -> list[str]:
    """For each step, whose get_min is over ten times faster or slower than the base's, beyond noise, and over 0.1 s.

    Beside the seconds stands the history list at the end of the step before, which the query had to step over.
    """
    said = []
    for setup, step, rows in columns_of(_with_history(complete(get_min), purge_lag_at_step_end)):
        of_base = measured(rows, base, step, "get_min_s")
        faster: list[tuple[float, str]] = []
        slower: list[tuple[float, str]] = []
        for name in by_position(rows):
            values = measured(rows, name, step, "get_min_s")
            if name == base or not values or not of_base:
                continue
            less, more = ratio(of_base, values), ratio(values, of_base)
            left = _history(rows, name, step)
            facts = [theme.seconds(median(values)), *([f"history list {left}"] if left else [])]
            about = f"{name} ({', '.join([*facts, *caveats(rows_of(rows, name, step))])})"
            if less and _far(less) and median(of_base) > SLOW_S:
                faster.append((less.value, f"{_times(less)} as long as with {about}"))
            elif more and _far(more) and median(values) > SLOW_S:
                slower.append((more.value, f"{_times(more)} as long with {about}"))
        if faster or slower:
            runs = f"median of {len(of_base)} runs" if len(of_base) > 1 else "one run"
            left = _history(rows, base, step)
            facts = [runs, *([f"history list {left} at the end of {_before(rows, base)}"] if left else [])]
            facts += caveats(rows_of(rows, base, step))
            text = f"{setup}, {step}: get_min took {theme.seconds(median(of_base))} with {base} ({', '.join(facts)})."
            for begin, found in (("That is", faster), ("It took", slower)):
                if found:
                    text += f" {begin} {shortened([item for _, item in sorted(found, reverse=True)])}."
            said.append(text)
    return said


def _with_history(get_min: pl.DataFrame, lag: pl.DataFrame) -> pl.DataFrame:
    """Each row with the step before it and the history list at that step's end, NULL where it did not complete."""
    before = complete(lag).select(
        "setup", "dbms", "repeat", pl.col("step_id") + 1, before="step", left="history_list_length"
    )
    return get_min.join(before, on=["setup", "dbms", "repeat", "step_id"], how="left", maintain_order="left")


def _history(rows: pl.DataFrame, name: str, step: str) -> str:
    left = measured(rows, name, step, "left")
    return format(median(left), METRICS["hll"].format) if left else ""


def _before(rows: pl.DataFrame, name: str) -> str:
    return str(rows.filter(pl.col("dbms") == name, pl.col("left").is_not_null())["before"][0])


def _far(found: Ratio) -> bool:
    return (found.value if found.low is None else found.low) > FAR


def _times(found: Ratio) -> str:
    interval = "" if found.low is None or found.high is None else f" [{times(found.low)}, {times(found.high)}]"
    return f"{times(found.value)} times{interval}"
