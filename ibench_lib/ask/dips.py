"""The dips of a selection, worked out with less than the question alone takes. The answer is the same."""

from __future__ import annotations

import duckdb

from ibench_lib.ask.selection import Selection
from ibench_lib.ask.shared import KEPT, read_kept, shared, work_out
from ibench_lib.store import reader
from ibench_lib.store.narrow import files_of, narrowed, read_only


def ask_dips(selection: Selection, *others: str) -> None:
    """Work out `dips`, and other questions of runs and steps, before the selection is asked for them.

    They go through the same seconds, which are worked out once. Most runs have no dip: what was sampled is read of
    those that have, because no answer needs it of the others.
    """
    runs, steps = selection.run_ids, selection.steps
    connection = narrowed(selection._lake, runs)
    used = shared(["dips", *others])
    try:
        for macro in [name for name in KEPT if any(name in of for of in used.values())] + ["dip_seconds"]:
            work_out(connection, macro, f"temp.kept_{macro}", runs, steps)
            read_kept(connection, macro, f"temp.kept_{macro}")
    except duckdb.Error:
        return  # the questions do without, or say what is wrong
    for name in others:
        selection.remember(name, reader.question(connection, name, runs=runs, steps=steps))
    dipped = connection.execute("SELECT DISTINCT run_id FROM temp.kept_dip_seconds WHERE dip IS NOT NULL").fetchall()
    read_only(connection, files_of(selection._lake, [run_id for (run_id,) in dipped]))
    selection.remember("dips", reader.question(connection, "dips", runs=runs, steps=steps))
