"""Tables of published figures as nobody would write them: a value is taken as it stands, or its line is refused."""

import csv
import math

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportRequest
from ibench_lib.importers.intake import find_importer
from ibench_lib.importers.source import Source

HEADERS = ["setup", "dbms", "step", "ips", "qps", "get_min_s", "ipps", "ips ", "", "step"]
CELLS = st.sampled_from(
    ["cached", "my8033.base", "my8033.a13", "l.i1", "qr100", "../x", "1", "1.5", "-1", "1e3", "1e999", "nan", "inf",
     "1_0", "1,000", "0x1f", "", " ", '"', '""', "'", "=1+1", "\0", "\x1b", "\n", "\r", "é", "\u202e", "9" * 400]
)  # fmt: skip
GOOD = st.tuples(st.sampled_from(["cached", "io"]), st.sampled_from(["b.x", "b.y"]), st.sampled_from(["l.i1", "q9"]),
                 st.sampled_from(["1", "2.50", "0"]))  # fmt: skip


@settings(max_examples=500, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    header=st.one_of(
        st.just(["setup", "dbms", "step", "ips"]), st.lists(st.sampled_from(HEADERS), min_size=1, max_size=6)
    ),
    rows=st.lists(st.one_of(GOOD.map(list), st.lists(CELLS, max_size=6)), max_size=5),
    quoted=st.booleans(),
)
@example(header=["setup", "dbms", "step", "ips"], rows=[["cached", " ", "cached", "1"]], quoted=True)
@pytest.mark.slow
def test_generated_tables_are_taken_or_refused_by_line(
    tmp_path_factory: pytest.TempPathFactory, header: list[str], rows: list[list[str]], quoted: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "generated.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        if quoted:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([header, *rows])
        else:
            file.writelines(",".join(row) + "\n" for row in [header, *rows])
    try:
        with Source(path) as source:
            found = list(find_importer(source).runs(source, ImportRequest()))
    except UsageError as refused:
        event("refused")
        assert str(path) in refused.what and "\n" not in refused.what and len(refused.what) < 1000
        return
    event("taken")
    taken = [row["value"] for run in found for row in run.rows["published"]]
    assert all(math.isfinite(value) for value in taken)
    if quoted and header == ["setup", "dbms", "step", "ips"]:
        # The importer takes white space off the ends of a cell.
        cells = [[cell.strip() for cell in row] for row in rows]
        assert taken == [float(row[3]) for run in found for row in cells if tuple(row[:2]) == (run.setup, run.dbms)]
