"""Heat maps of response times."""

import polars as pl

import ibench_lib as ib


def test_rows_of_runs_share_one_scale_and_where_nothing_was_answered_is_a_gap() -> None:
    def bucket(repeat: int, t_s: int, p50_s: float | None) -> dict[str, object]:
        times = {"p50_s": p50_s, "p99_s": p50_s, "p999_s": p50_s, "max_s": p50_s and 10 * p50_s}
        names = {"setup": "cached", "dbms": "m.a", "step": "l.i1", "operation": "insert", "timing": "service"}
        position = {"dbms_position": 0, "repeat": repeat, "run_id": f"r{repeat}", "run_status": "complete"}
        return {**names, **position, "step_status": "complete", "t_s": t_s, "bucket_s": 2, "responses": 5, **times}

    cells = [bucket(1, 0, 0.001), bucket(1, 4, 0.01), bucket(2, 0, 0.1)]
    figure = ib.response_heat_chart(pl.DataFrame(cells))
    assert [trace.name for trace in figure.data] == ["p50", "p99", "p99.9", "largest"]
    median, largest = figure.data[0], figure.data[3]
    assert [list(row) for row in median.customdata] == [[1.0, None, 10.0], [100.0, None, None]]
    assert [list(row) for row in largest.customdata] == [[10.0, None, 100.0], [1000.0, None, None]]
    assert {(trace.zmin, trace.zmax) for trace in figure.data} == {(0.0, 3.0)}, "1 ms to 1 s, in all rows"
