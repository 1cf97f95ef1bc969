"""Published figures next to what the imported files give."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.recomputed import ANOTHER_UNIT, Explained, decimals_of, explained_rows
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid

NO_RUN = "nothing to recompute it from"
NOT_EXPLAINED = "no known reason"


@answers("recomputed", "No published figure.", by=["setup", "dbms"], fold=True, every="recomputed")
def recomputed_table(frame: pl.DataFrame, every: pl.DataFrame | None = None) -> Grid:
    """The published figures of one result, each with what its files give, the difference and its reason (`recomputed`).

    A reason is named only where repeating the mistake on the data gives the published figure. `every`: the figures of
    all results, of which some reasons are known.
    """
    setup, dbms = frame["setup"][0], frame["dbms"][0]
    metrics, repeats = frame["metric"].n_unique() > 1, frame["repeat"].n_unique() > 1
    head = ", ".join(["step", *(["figure"] if metrics else []), *(["repeat"] if repeats else [])])
    what = "Published figures" if metrics else f"Published {METRICS[frame['metric'][0]].label}"
    grid = Grid(
        f"recomputed.{dbms}.{setup}", f"{what} of {dbms}, {setup}", head,
        ["published", "recomputed", "difference", "reason"], left=[3],
    )  # fmt: skip
    whole = frame if every is None else every
    rows = zip(whole.to_dicts(), explained_rows(whole), strict=True)
    for row, found in ((row, found) for row, found in rows if (row["setup"], row["dbms"]) == (setup, dbms)):
        parts = [row["step"]]
        parts += [METRICS[row["metric"]].label] if metrics else []
        parts += [f"r{row['repeat']}"] if repeats else []
        grid.rows.append((", ".join(parts), _cells(row, found)))
    origins = sorted({origin for origin in frame["origin"].to_list() if origin})
    by = f", from {' and '.join(origins)} runs" if origins else ""
    grid.notes = [
        f"Published: as printed. Recomputed: by the definition of the figure{by}.",
        "equal: the recomputed figure, rounded or cut off to as many digits, is the published one.",
        "A reason is a known mistake that, repeated on the data, gives the published figure to its last digit; "
        f"{NOT_EXPLAINED}: no such mistake does.",
    ]
    return grid


def _cells(row: dict[str, Any], found: Explained) -> list[Cell]:
    published, recomputed = row["published"], row["recomputed"]
    decimals = decimals_of(published)
    cells = [Cell(f"{published:,.{decimals}f}")]
    if recomputed is None:
        return [*cells, Cell("-"), Cell("-"), Cell(NO_RUN)]
    cells.append(Cell(f"{recomputed:,.{decimals + 1}f}"))
    if found.status == "equal":
        return [*cells, Cell("equal"), Cell("-")]
    if found.kind == ANOTHER_UNIT:
        return [*cells, Cell("-"), Cell(found.reason)]
    percent = 100 * (published / recomputed - 1) if recomputed else float("inf")
    return [*cells, Cell(f"{percent:+,.2f} %"), Cell(found.reason or NOT_EXPLAINED)]
