"""get_min next to dead rows: a question, a table, a chart and sentences, each false if its data are changed."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.parsed import Parsed
from tests.show.traces import traces
from tests.synthetic import Run

pytestmark = pytest.mark.lake

STEPS = ("l.i0", "l.x", "l.i1", "l.i2", "qr100")
START_S, SECONDS = 15, 10  # of l.i1 on the run's clock; qr100 begins at 26
TICKS = range(START_S, START_S + SECONDS)


def counted(**values: dict[int, int]) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Values of `tables.<name>` from these ticks on."""
    common = {"source": "status", "incarnation": 0}
    return tuple(
        ("server_counters", {"tick": tick, "name": f"tables.{name}", "value": value, **common})
        for name, of in values.items()
        for tick, value in of.items()
    )


def planned(client: int, seconds: float, blocks: int) -> tuple[str, dict[str, Any]]:
    """What planning the first delete of qr100 took a client."""
    key = {"step_id": 3, "step": "qr100", "client": client, "probe": "plan_delete", "start_s": 26.0}
    return "probes", {**key, "seconds": seconds, "result": blocks}


def test_dead_rows_are_those_at_the_time_of_the_query() -> None:
    """A vacuum between two steps counts, and so does a value that has not changed since."""
    run = Run(
        "pg", flavour="postgres", get_min_s=(0.001, 0.001, 0.002, 0.5),
        sampled=(("tick", tuple(TICKS)), ("uptime_s", tuple(TICKS)), ("incarnation", (0,) * SECONDS)),
        also=(
            *counted(dead_rows={15: 500, 20: 90_000}, vacuums={15: 1, 24: 3}, autovacuums={18: 2}),
            planned(1, 0.02, 700), planned(2, 0.03, 900),
        ),
    )  # fmt: skip
    frame = asked("get_min_dead_rows", run, Run("maria", minute=1))
    assert set(frame["dbms"]) == {"system.pg"}, "who counts no dead rows is not there"
    rows = {row["step"]: row for row in frame.to_dicts()}
    assert [rows[step]["dead_rows"] for step in ("l.i0", "l.i1", "qr100")] == [None, 500, 90_000]
    assert (rows["l.i1"]["vacuums"], rows["qr100"]["vacuums"]) == (1, 5)
    assert (rows["qr100"]["get_min_s"], rows["l.i1"]["get_min_s"]) == (0.5, 0.002)
    assert (rows["qr100"]["plan_delete_s"], rows["qr100"]["plan_delete_blocks"]) == (0.03, 900), "the worst client"
    assert rows["l.i1"]["plan_delete_s"] is None


Figures = tuple[tuple[float, ...], ...]
RISES: Figures = (
    (0, 0, 20, 400_000, 0),  # dead rows before each step
    (0.2, 0.3, 0.3, 41.0, 0.4),  # get_min, ms
    (0, 0, 1, 1, 3),  # vacuums
)


def told(*runs: Figures, name: str = "pg18.off") -> pl.DataFrame:
    """The question's answer with these figures of each repeat."""
    return pl.DataFrame(
        [
            {
                "setup": "cached", "dbms": name, "dbms_position": 1, "repeat": repeat, "run_id": f"{name}{repeat}",
                "run_status": "complete", "step_id": step_id, "step": step, "step_status": "complete",
                "existing_rows": 1000 * step_id, "dead_rows": int(dead), "get_min_s": milliseconds / 1e3,
                "plan_delete_s": milliseconds / 2e3,
                "plan_delete_blocks": 40 if step_id != 3 else int(40 + dead / 366), "vacuums": int(vacuums),
            }
            for repeat, run in enumerate(runs, 1)
            for step_id, (step, dead, milliseconds, vacuums) in enumerate(zip(STEPS, *run, strict=True))
        ]
    )  # fmt: skip


def changed(figure: int, step: str, value: float) -> Figures:
    """One figure of one step is another one."""
    lists = [list(values) for values in RISES]
    lists[figure][STEPS.index(step)] = value
    return tuple(tuple(values) for values in lists)


def test_sentences_say_what_dead_rows_do_and_what_vacuum_does() -> None:
    risen, fallen, plans = ib.get_min_dead_rows_statements(told(RISES, RISES, RISES))
    assert risen.startswith(
        "cached, pg18.off: before l.i2 there were 400,000 dead rows, and get_min took 41.0 ms; before l.x, with 0 dead "
        "rows, 300 us, so it took 137x"
    )
    assert fallen == "cached, pg18.off: vacuum left 0 dead rows before qr100, and get_min fell to 400 us."
    assert plans.startswith("cached, pg18.off: to plan a delete, the server read 1,132 blocks before l.i2 (20.5 ms)")


@pytest.mark.parametrize(
    ("run", "said", "unsaid"),
    [
        pytest.param(changed(1, "l.i2", 0.5), "the difference is not clear", "as long", id="get_min does not rise"),
        pytest.param(changed(1, "qr100", 50.0), "did not clearly fall: it was 50.0 ms", "fell to", id="nor fall"),
        pytest.param(changed(2, "qr100", 1), "as long", "vacuum left", id="there was no vacuum"),
        pytest.param(changed(0, "qr100", 300_000), "as long", "vacuum left", id="vacuum left many"),
        pytest.param(changed(0, "l.i2", 9_000), "more than 10,000 dead rows", "get_min took", id="few dead rows"),
    ],
)
def test_a_sentence_is_not_said_of_other_data(run: Figures, said: str, unsaid: str) -> None:
    text = " ".join(ib.get_min_dead_rows_statements(told(run, run, run)))
    assert said in text and unsaid not in text, text


def test_a_single_run_that_agrees_is_not_enough() -> None:
    text = " ".join(ib.get_min_dead_rows_statements(told(RISES, changed(1, "l.i2", 0.2), RISES)))
    assert "the difference is not clear" in text
    assert ib.get_min_dead_rows_statements(told(RISES))[0] == "One run of each: the noise is unknown."


def test_the_table_has_a_line_for_each_step_and_marks_what_is_slow() -> None:
    table = Parsed(ib.get_min_dead_rows_table(told(RISES)))
    assert table.rows[0] == ["get_min next to dead rows, pg18.off, cached"]
    assert table.of("l.i2") == ["400,000", "41.00 slow", "20.50", "1,132"]
    assert table.of("qr100") == ["0", "0.40", "0.20", "40"]
    empty = Parsed(ib.get_min_dead_rows_table(told(changed(1, "l.i0", 0.001))))
    assert empty.of("l.x")[1] == "0.30", "an empty table makes no other step slow"
    prepared = told(RISES).with_columns(plan_delete_s=None, plan_delete_blocks=None)
    assert Parsed(ib.get_min_dead_rows_table(prepared)).of("l.i2")[2:] == ["-", "-"]
    assert Parsed(ib.get_min_dead_rows_table(told(changed(1, "l.i2", 1.0)))).of("l.i2")[1] == "1.00"


def test_the_chart_has_the_time_over_the_dead_rows() -> None:
    figure = ib.get_min_dead_rows_chart(told(RISES, changed(1, "l.i2", 43.0)))
    (line,) = traces(figure, "pg18.off")
    assert list(line.x) == [1, 1, 1, 20, 400_000] and line.y[-1] == 42.0 and line.text[-1] == "l.i2"
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
