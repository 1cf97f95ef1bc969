"""How a table of one setup is named and titled."""

import polars as pl

from ibench_lib.show.kit.naming import grid_name, grid_title, step_grid


def test_a_grid_has_the_setups_name_and_its_steps_in_their_order_below_the_name_of_their_rate() -> None:
    kinds = {"l.i0": "rows", "qr100": "queries", "l.i1": "rows"}
    frame = pl.DataFrame(
        [
            {"setup": "cached", "step": step, "step_id": number, "counts": kind, "row_rate": None, "rate_label": kind}
            for number, (step, kind) in enumerate(kinds.items())
        ]
    )
    assert grid_name("throughput", frame) == "throughput.cached"
    assert grid_title("Throughput", frame) == "Throughput, cached"
    steps, grid = step_grid(frame, "throughput", "Throughput")
    assert steps == ["l.i0", "qr100", "l.i1"] and grid.rows == []
    # Only neighbours share a heading: a column never moves.
    assert [places for _, places in grid.spanners] == [[0], [1], [2]]
