"""What authors wrote above the posts of shipped runs is what these runs say: no page is built for it.

`test_every_notebook.py` looks up the figures of the other tl;drs in their pages. Those here have few figures; what they
claim is asked of the runs themselves, and the words of the claim have to be in the tl;dr.
"""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.costs import cost_ratios
from ibench_lib.analysis.summary import selected_rows
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.paths import Workspace
from ibench_lib.publish.post_file import check_posts
from ibench_lib.store import reader
from tests.places import ROOT

pytestmark = [pytest.mark.lake, pytest.mark.long]

BASE, LIMITED = "mysql-9.7.base", "mysql-9.7.a13"
MYSQL, MARIADB = "mysql-5.6.24.lb13", "mariadb-10.1.23.lb13"


@pytest.fixture(scope="module")
def posts() -> dict[str, Any]:
    return {post.spec.slug: post.spec for post in check_posts([ROOT / "papermill_params"], Workspace(ROOT))}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    place = Workspace(tmp_path_factory.mktemp("shipped"))
    place.data.mkdir()
    place.sample.symlink_to(ROOT / "data" / "sample")
    return reader.lake(place)


def of_post(spec: Any, lake: duckdb.DuckDBPyConnection, *claims: str, steps: str = "") -> Selection:
    """The runs of a post, which has to make these claims."""
    text = " ".join(" ".join(spec.tldr).split())
    for claim in claims:
        assert claim in text, f"{spec.slug} does not claim this any more"
    return choose(lake, runs=spec.parameters["runs"], steps=[steps] if steps else [])


def test_compare(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample-compare"], lake, "A is base. B is a13", "has twice the purge threads",
        "The threads alone do none of this, as a10", "queries step over few row versions that wait for purge",
        "(get_min) and queries/s of qr100 are better", "Inserts/s of l.i1 are worse: the limit delays them",
    )  # fmt: skip
    assert post.base == BASE and dict(post.runs.group_by("dbms").len().rows()) == {BASE: 3, LIMITED: 3}
    options = {row["option"]: (row["base_value"], row["value"]) for row in post.ask("config_diff").to_dicts()}
    assert options["innodb_max_purge_lag"] == (None, "100") and options["innodb_purge_threads"] == ("4", "8")
    verdicts = {row.step: row.verdict for row in selected_rows(post) if row.dbms == LIMITED}
    assert (verdicts["qr100"], verdicts["l.i1"]) == ("faster", "slower")
    threads = choose(lake, "innodb_purge_lag_sample", dbms=[BASE, "mysql-9.7.a10"])
    of_threads = {row.step: row.verdict for row in selected_rows(threads) if row.dbms != BASE}
    assert of_threads["qr100"] == of_threads["l.i1"] == "unclear", "and that of get_min is in the tl;dr of sample"
    options_of_a10 = {row["option"]: row["value"] for row in threads.ask("config_diff").to_dicts()}
    assert options_of_a10["innodb_purge_threads"] == "8" and "innodb_max_purge_lag" not in options_of_a10
    waited = post.ask("get_min").filter(step="qr100")
    lags = post.ask("purge_lag_at_step_end").filter(step="l.i1")
    with_limit, without = (lags.filter(dbms=dbms)["history_list_length"].to_list() for dbms in (LIMITED, BASE))
    assert max(with_limit) < 100 < min(without)
    assert waited.filter(dbms=LIMITED)["get_min_s"].max() < waited.filter(dbms=BASE)["get_min_s"].min()  # type: ignore[operator]


def sampled(lake: duckdb.DuckDBPyConnection, post: Selection, step: str, columns: str) -> pl.DataFrame:
    """Columns of the server's samples that were taken during a step, by dbms; what is no aggregate makes groups."""
    ids = ", ".join(f"'{run_id}'" for run_id in post.run_ids)
    return ib.sql(
        lake,
        f"SELECT dbms, {columns} FROM server_samples x JOIN steps s USING (run_id) JOIN runs r USING (run_id)"
        f" WHERE s.step = '{step}' AND x.t_s BETWEEN s.start_s AND s.end_s AND run_id IN ({ids}) GROUP BY ALL",
    )


def test_purge_lag_limits(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample"], lake, "Purge is slowed on purpose", "over 22,000 pages in qr100, where a13 reads at most 127",
        "A limit delays inserts, but spares them reads, too; that of a13 costs them more than it spares",
        "a13 inserts more slowly in l.i1 than base", "their l.i1 is faster than that of base",
        "with fewer reads and 0.70x to 0.81x of its CPU for a row",
        "a10 has them without a limit, and its query is about as slow as base's",
    )  # fmt: skip
    pages = sampled(lake, post, "qr100", "repeat, max(x.pages_read) - min(x.pages_read) AS pages")
    of_base, of_limited = (pages.filter(dbms=dbms)["pages"].to_list() for dbms in (BASE, LIMITED))
    assert min(of_base) > 22_000 and max(of_limited) == 127
    verdicts = {
        row.dbms.partition(".")[2].removeprefix("7."): row.verdict for row in selected_rows(post) if row.step == "l.i1"
    }
    assert (verdicts["a13"], verdicts["a20"], verdicts["a21"]) == ("slower", "faster", "faster")
    costs = {
        (column, dbms): ratio
        for (_, step, column, dbms), ratio in cost_ratios(post.ask("step_metrics"), post.bases).items()
        if step == "l.i1" and dbms != BASE
    }
    reads, cpu = ([costs[column, f"mysql-9.7.{name}"] for name in ("a20", "a21")] for column in ("rpq", "cpupq"))
    assert all(one.is_clear and one.value < 1 for one in (*reads, *cpu))
    assert [f"{one.value:.2f}" for one in cpu] == ["0.70", "0.81"]
    assert costs["rpq", LIMITED].is_clear and costs["rpq", LIMITED].value < 0.2, "a13 saves reads, too, and is slower"
    changed = {
        name: {
            row["option"]: row["value"] for row in post.ask("config_diff").filter(dbms=f"mysql-9.7.{name}").to_dicts()
        }
        for name in ("a10", "a13")
    }
    assert changed["a10"]["innodb_purge_threads"] == "8" and "innodb_max_purge_lag" not in changed["a10"]
    assert changed["a13"]["innodb_max_purge_lag"] == "100"
    seconds = post.ask("get_min").filter(step="qr100").group_by("dbms").agg(pl.col("get_min_s").median())
    of_each = dict(seconds.rows())
    assert 0.8 < of_each["mysql-9.7.a10"] / of_each[BASE] < 1.25
    purge = ib.sql(
        lake,
        "SELECT DISTINCT value FROM config_options JOIN runs USING (run_id)"
        " WHERE name = 'innodb_purge_batch_size' AND experiment = 'innodb_purge_lag_sample'",
    )
    assert purge["value"].to_list() == ["1"], "that is how purge is slowed"


def test_mvcc_gc(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample-mvcc-gc"], lake, "It steps over deleted rows that are not purged yet",
        "a21 is the fastest (1/480x), though its limit is the most generous", "a20 and a22, which are the same server",
    )  # fmt: skip
    assert ["mysql-9.7.a20", "mysql-9.7.a22"] in post.ask("same_servers")["dbms"].to_list()
    apart = dict[str, dict[str, Ratio]]()
    for base in ("a20", "a21"):
        based = choose(lake, runs=post.run_ids, base=f"mysql-9.7.{base}")
        ratios = against_base(based.ask("get_min").filter(step="qr100"), based.bases, ["get_min_s"])
        apart[base] = {dbms.removeprefix("mysql-9.7."): one for (_, _, _, dbms), one in ratios.items()}
    assert min(one.value for one in apart["a21"].values()) > 1 and apart["a21"]["a13"].is_clear
    assert not apart["a20"]["a22"].is_clear and not apart["a20"]["a21"].is_clear
    most = {
        name: int(row["value"])
        for name in ("a13", "a20", "a21")
        for row in post.ask("config_diff").filter(dbms=f"mysql-9.7.{name}", option="innodb_max_purge_lag").to_dicts()
    }
    assert max(most, key=lambda name: most[name]) == "a21"
    lengths = dict(
        post.ask("purge_lag_at_step_end")
        .filter(step="l.i1")
        .group_by("dbms")
        .agg(pl.col("history_list_length").min())
        .rows()
    )
    assert lengths[BASE] > 9_000, "what it steps over"


def history(lake: duckdb.DuckDBPyConnection, post: Selection) -> dict[str, int]:
    """dbms -> the longest history list in any sample of l.i1 of its run."""
    return dict(sampled(lake, post, "l.i1", "max(x.history_list_length) AS longest").rows())


def test_step_detail_of_l_i1(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample-l-i1"], lake,
        "It begins with more than twice the insert rate of a13, 23,114 against 10,875 inserts/s in the first tenth",
        "ends below it, 9,233 against 11,721 in the last", "base reads and writes more and more",
        "its reads and writes do not grow", "Its history list grows to over 10,000 entries",
        "No thread waits for a free page", "delays inserts to keep its list short",
        "In three runs, a13 inserts more slowly than base",
        "grows to over 10,000", "at most 115 entries in any sample", "Its rate does not fall in this run",
        "In this run, the first of three, base has one dip, of one second. Its other runs have none", steps="l.i1",
    )  # fmt: skip
    rates = dict(post.ask("rate_by_tenth").select("dbms", "rates").rows())
    assert rates[BASE][0] > 2 * rates[LIMITED][0] and rates[BASE][-1] < rates[LIMITED][-1]
    ends = [round(rates[dbms][tenth]) for tenth in (0, -1) for dbms in (BASE, LIMITED)]
    assert ends == [23_114, 10_875, 9_233, 11_721]
    assert rates[LIMITED][-1] >= rates[LIMITED][0]
    of_tenths = sampled(
        lake, post, "l.i1",
        "floor(10 * (x.t_s - s.start_s) / (s.end_s - s.start_s))::INT AS tenth,"
        " max(pages_read) - min(pages_read) AS reads, max(pages_written) - min(pages_written) AS writes,"
        " max(free_page_waits) - min(free_page_waits) AS waits",
    )  # fmt: skip
    used = {(row["dbms"], row["tenth"]): row for row in of_tenths.to_dicts()}
    for what in ("reads", "writes"):
        assert used[BASE, 9][what] > 2 * used[BASE, 0][what] and used[LIMITED, 9][what] < used[LIMITED, 0][what]
    assert of_tenths.filter(dbms=LIMITED)["waits"].sum() == 0 < of_tenths.filter(dbms=BASE)["waits"].sum()
    longest = history(lake, post)
    assert longest[BASE] > 10_000 and longest[LIMITED] == 115
    of_all = selected_rows(choose(lake, "innodb_purge_lag_sample"))
    assert [row.verdict for row in of_all if (row.dbms, row.step) == (LIMITED, "l.i1")] == ["slower"]
    others = choose(lake, "innodb_purge_lag_sample", dbms=BASE, steps="l.i1").ask("dips")
    assert others.select("repeat", "seconds").rows() == [(1, 1)]


def test_step_detail_of_stalls(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample-stalls"], lake, "we stopped the clients for three seconds, from 12 to 15 s",
        "Writers waited for a checkpoint from 28 to 30 s", "Nothing explains it", "(the band with a question mark)",
        "The first second of the step was slow, too", "No statement was at work in the server", steps="l.i1",
    )  # fmt: skip
    first, paused, full = post.ask("dips").to_dicts()
    assert (first["from_s"], first["seconds"], first["cause"]) == (0, 1, None)
    assert [(dip["from_s"], dip["to_s"]) for dip in (paused, full)] == [(12, 15), (28, 30)]
    assert (paused["cause"], paused["seconds"]) == ("client_pause", 3)
    assert any(text.startswith("hardly a connection was at work") for text in paused["evidence"])
    assert full["cause"] == "checkpoint" and full["words"] == "writers waited for a checkpoint"
    assert first["to_s"] <= paused["from_s"] < paused["to_s"] <= full["from_s"], "later"


def test_waits(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample-linkbench-waits"], lake,
        "Both wait most often for the mutex of the redo log with 16 requesters", "(`log0log.cc:844` is",
        "clearly differs in one case only, a graph that fits into the buffer pool (setup 1x) with 1 requester",
        "MariaDB waits **3.66x** as often there",
        "With fewer requesters and a graph that does not fit into the buffer pool", "`buf0buf.cc:1270`",
        "such as the one for the LRU list", "count waits and do not time them",
    )  # fmt: skip
    waits = post.ask("waits").filter(pl.col("kind") != "file")
    assert waits["timed"].unique().to_list() == [False]
    total = pl.col("waits_per_1000").sum()
    totals = waits.group_by("setup", "step", "step_status", "dbms", "dbms_position", "repeat", "step_id").agg(total)
    ratios = against_base(totals, post.bases, ["waits_per_1000"])
    clear = {(setup, step): one for (setup, step, _, _), one in ratios.items() if one.is_clear}
    assert {place: f"{one.value:.2f}" for place, one in clear.items() if place[1][0] == "t"} == {("1x", "t1"): "3.66"}
    often = waits.group_by("setup", "step", "dbms", "event").agg(pl.col("waits_per_1000").median())
    first = often.sort("waits_per_1000", descending=True).group_by("setup", "step", "dbms").first()
    top = {
        (setup, step, dbms): event for setup, step, dbms, event in first.select("setup", "step", "dbms", "event").rows()
    }
    for setup in ("1x", "10x"):
        assert top[setup, "t16", MYSQL] == "log0log.cc:844" and "log" in top[setup, "t16", MARIADB]
    for step in ("t1", "t4"):
        assert top["10x", step, MYSQL] == "buf0buf.cc:1270"
        assert top["10x", step, MARIADB].startswith("&buf_pool->"), "parts of the mutex of the buffer pool"
    assert top["10x", "t4", MARIADB] == "&buf_pool->LRU_list_mutex"


def test_purge_lag_and_fairness(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample-purge-lag"],
        lake,
        "Without a limit on purge lag the history list grows to 10,093 entries in l.i1, which inserts and deletes rows "
        "(base, median at the end; its three runs have 9,449 to 10,350)",
        "keeps it short, 6 (4 to 38) with the strictest (a13) and 818 (749 to 922) with the most generous (a21)",
        "Each run without a limit ends with more than four times the entries of any run with one",
    )
    limited = {"mysql-9.7." + name for name in ("a13", "a20", "a21", "a22")}
    ends = post.ask("purge_lag_at_step_end").filter(step="l.i1")
    lengths = {name: (ends.filter(pl.col("dbms").is_in(limited) == is_limited))["history_list_length"]
               for name, is_limited in (("with", True), ("without", False))}  # fmt: skip
    of_each = dict(ends.group_by("dbms").agg(pl.col("history_list_length").median()).rows())
    assert [of_each[f"mysql-9.7.{name}"] for name in ("base", "a13", "a21")] == [10_093, 6, 818]
    by_name = {name: rows["history_list_length"] for (name,), rows in ends.group_by("dbms")}
    reach = [
        (by_name[f"mysql-9.7.{name}"].min(), by_name[f"mysql-9.7.{name}"].max()) for name in ("base", "a13", "a21")
    ]
    assert reach == [(9_449, 10_350), (4, 38), (749, 922)]
    assert max(of_each[name] for name in limited) == 818 and min(of_each.values()) == 6
    assert 4 * lengths["with"].max() < lengths["without"].min()  # type: ignore[operator]
    post = of_post(
        posts["sample-fairness"],
        lake,
        "No such effect was found, but the intervals are so wide that a change of several times could be missed",
        "The largest gap, 1.6 s in the median run, is that of a18",
    )
    ratios = against_base(post.ask("fairness"), post.bases, ["pct"])
    assert min(ratio.high or 0 for (_, step, _, _), ratio in ratios.items() if step == "l.i1") > 3
    gaps = post.ask("fairness").filter(step="l.i1").group_by("dbms").agg(pl.col("diff_s").median())
    name, gap = gaps.sort("diff_s").rows()[-1]
    assert (name, round(gap, 1)) == ("mysql-9.7.a18", 1.6) and name not in limited


def differences(post: Selection) -> dict[str, dict[str, str]]:
    """dbms -> test -> the ratio to what it is compared with, where that is a difference."""
    found: dict[str, dict[str, str]] = {}
    for row in selected_rows(post):
        if row.verdict in ("faster", "slower"):
            found.setdefault(row.dbms, {})[row.step.removesuffix(".t1")] = f"{row.ratio:.2f}x"
    return found


def kept_by_hypervisor(lake: duckdb.DuckDBPyConnection, per: str) -> dict[tuple[str, int], float]:
    """(dbms, repeat) -> the share of the CPUs that the hypervisor kept: of the run, or the most of a step (`per`)."""
    steal, every = (f"sum(end_value - start_value) FILTER ({one})" for one in ("counter = 'cpu_steal_s'", "true"))
    shares = ib.sql(
        lake,
        f"SELECT dbms, repeat, max(share) AS share FROM (SELECT dbms, repeat, {steal} / {every} AS share"
        " FROM step_counters s JOIN runs USING (run_id) WHERE experiment = 'sysbench_versions' AND s.source = 'host'"
        f" AND regexp_full_match(counter, 'cpu_(user|system|iowait|steal|idle)_s') GROUP BY dbms, repeat, {per})"
        " GROUP BY ALL",
    )
    return {(dbms, repeat): share for dbms, repeat, share in shares.rows()}


def test_sysbench(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample-sysbench"], lake, "in four of the ten tests that write", "All other differences may be noise",
        "MySQL runs with its performance schema, MariaDB without", "is repeated three times",
    )  # fmt: skip
    new, mariadb, latest = "mysql-9.7.cy10a", "mariadb-10.11.cy10a", "mariadb-11.4.5.cy10a"
    slower = {"write-only": "0.44x", "insert": "0.56x", "update-index": "0.61x", "update-zipf": "0.62x"}
    found = {new: slower, mariadb: {"update-index": "3.23x"}, latest: {"update-index": "2.41x"}}
    assert differences(post) == found
    summary = post.ask("sysbench_summary")
    writes = summary.filter(test_group="writes")["test"].unique().to_list()
    assert len(writes) == 10 and slower.keys() < set(writes)
    assert set(post.runs.group_by("dbms").len()["len"]) == {3}
    schema = ib.sql(
        lake,
        "SELECT DISTINCT starts_with(dbms, 'mysql') AS is_mysql, value FROM server_variables JOIN runs USING (run_id)"
        " WHERE experiment = 'sysbench_versions' AND name = 'performance_schema'",
    )
    assert sorted(schema.rows()) == [(False, "OFF"), (True, "ON")]
    of_steps, of_runs = kept_by_hypervisor(lake, "step"), kept_by_hypervisor(lake, "run_id")
    assert max(of_steps, key=lambda run: of_steps[run]) == (latest, 2) and round(of_steps[latest, 2], 2) == 0.27
    assert round(of_runs.pop((latest, 2)), 2) == 0.07 and max(of_runs.values()) < 0.03
    post = of_post(
        posts["sample-sysbench-chain"], lake,
        "slower in write-only, insert, update-index and update-zipf: 0.44x to 0.62x,",
        "faster in update-index, write-only, delete and update-zipf: 1.54x to 5.27x,",
        "no clear difference. What takes the CPU was not profiled",
        "MariaDB 11.4.5 has the lower rate in 30 of 34 tests",
        "in the second of its three runs the hypervisor kept 7 % of the CPUs",
    )  # fmt: skip
    chained = choose(lake, runs=posts["sample-sysbench-chain"].parameters["runs"], base="previous")
    rates = chained.ask("step_throughput")
    drawn = set(chained.ask("sysbench_summary")["step"])
    assert not chained.ask("profiled")["recordings"].sum()
    relative = against_base(rates, chained.bases, ["throughput"])
    newest = [
        one.value for (_, step, _, dbms), one in relative.items() if dbms == "mariadb-11.4.5.cy10a" and step in drawn
    ]
    assert (sum(value < 1 for value in newest), len(newest)) == (30, 34)
    assert differences(chained) == {
        new: slower,
        mariadb: {"update-index": "5.27x", "write-only": "2.81x", "delete": "1.81x", "update-zipf": "1.54x"},
    }


def test_linkbench(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample-linkbench"], lake, "In cache (setup 1x, where hardly a page is read), no difference was found",
        "of 25 s each", "Without the first 5 s of these steps, MariaDB comes closer to MySQL, but stays slower",
        "23 % of the CPUs in one of MariaDB's three runs with 1 requester, and 10 % in another of its runs, with 16",
        "The host was not quiet.", "MariaDB's other two runs are slower than each of MySQL's three, too",
    )  # fmt: skip
    later = ib.sql(
        lake,
        "SELECT step, dbms, exp(avg(ln(rate))) AS rate FROM (SELECT s.step, r.dbms, run_id,"
        " sum(o.ops) FILTER (o.second >= 5) / (any_value(s.duration_s) - 5) AS rate"
        " FROM ops o JOIN steps s USING (run_id, step_id) JOIN runs r USING (run_id)"
        " WHERE r.experiment = 'linkbench_small' AND r.setup = '10x' AND s.step IN ('t1', 't16') GROUP BY ALL)"
        " GROUP BY ALL",
    )
    rate = {(step, dbms): value for step, dbms, value in later.rows()}
    without = {step: rate[step, MARIADB] / rate[step, MYSQL] for step in ("t1", "t16")}
    whole = {row.step: row.ratio for row in selected_rows(post) if (row.setup, row.dbms) == ("10x", MARIADB)}
    assert all((whole[step] or 1) + 0.05 < ratio < 0.95 for step, ratio in without.items()), without
    reads = ib.sql(
        lake,
        "SELECT max(end_value - start_value) AS pages FROM step_counters s JOIN runs r USING (run_id)"
        " WHERE r.experiment = 'linkbench_small' AND r.setup = '1x' AND counter = 'pages_read' AND s.step LIKE 't%'",
    )
    assert reads["pages"].item() <= 1
    verdicts = {(row.setup, row.step): row.verdict for row in selected_rows(post) if row.dbms == MARIADB}
    assert {verdicts["1x", step] for step in ("t1", "t4", "t16")} == {"unclear"}
    assert verdicts["10x", "t1"] == verdicts["10x", "t16"] == "slower"
    taken = post.runs.select("dbms", "setup", "repeat", "taken").explode("taken").unnest("taken")
    busy = taken.filter(pl.col("share") > 0.05, pl.col("step").str.contains("^t"), setup="10x")
    shares = {(row["step"], row["dbms"], row["repeat"]): round(row["share"], 2) for row in busy.to_dicts()}
    assert shares == {("t1", MARIADB, 1): 0.23, ("t16", MARIADB, 2): 0.10}
    rates = post.ask("step_throughput").filter(setup="10x")
    for step, _, disturbed in shares:
        of_step = rates.filter(pl.col("throughput").is_not_null(), step=step)
        undisturbed = of_step.filter(pl.col("repeat") != disturbed, dbms=MARIADB)["throughput"]
        fastest, slowest = undisturbed.max(), of_step.filter(dbms=MYSQL)["throughput"].min()
        assert len(undisturbed) == 2 and fastest < slowest  # type: ignore[operator]


def test_tpcc_waves(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    post = of_post(
        posts["sample-tpcc-waves"], lake, "**capped** (innodb_flush_sync=OFF) does not: it flushes about 400 pages/s",
        "The base, orig, flushes faster than its I/O capacity (innodb_io_capacity_max=400) when a checkpoint is due",
    )  # fmt: skip
    of_post(posts["sample-tpcc-waves-stability"], lake, "(innodb_flush_sync=OFF; orig, the base, has ON)")
    changed = post.ask("config_diff").filter(dbms="mysql-9.7.capped")
    assert changed.select("option", "value").rows() == [("innodb_flush_sync", "OFF")]
    sync = ib.sql(
        lake,
        "SELECT DISTINCT value FROM server_variables JOIN runs USING (run_id)"
        " WHERE dbms = 'mysql-9.7.orig' AND name = 'innodb_flush_sync'",
    )
    assert sync["value"].to_list() == ["ON"]
    most = ib.sql(
        lake,
        "SELECT DISTINCT value FROM server_variables JOIN runs USING (run_id)"
        " WHERE dbms IN ('mysql-9.7.orig', 'mysql-9.7.capped') AND name = 'innodb_io_capacity_max'",
    )
    assert most["value"].to_list() == ["400"]


def test_postgres(posts: dict[str, Any], lake: duckdb.DuckDBPyConnection) -> None:
    gap = "The largest gap of a median run is 0.5 s, 2.9 % (PostgreSQL 18 without autovacuum, l.i2)"
    post = of_post(
        posts["sample-postgres"], lake, "**No server wins everywhere.**", gap.replace("0.5 s", "**0.5 s**"),
        "In queries, PostgreSQL 18 has 0.83x to 0.95x the rate of MySQL,",
        "and MariaDB 10.11 at 1.73x. They use 0.38x to 0.56x of its CPU for a row.",
        "What takes the CPU was not profiled", "with 1.08x to 1.22x of its CPU.",
        "without it PostgreSQL 18 inserts", "_novac is without autovacuum",
        "Less than no vacuum", "MariaDB is first (**2.58x**, with 0.39x of the CPU)", "All tables fit into the cache",
        "the longest step takes 33 s", "checks its pages, which 15 does not", "with no clear difference",
    )  # fmt: skip
    other = of_post(
        posts["sample-postgres-fairness"], lake, gap, "7.6 % (a gap of 0.1 s; PostgreSQL 15, l.i0)",
        "No gap differs clearly from MySQL's, but the intervals are wide", "cx10a and cy10a are option files",
    )  # fmt: skip
    fair = choose(lake, runs=other.run_ids, base="mysql-9.7.cy10a")
    ratios = against_base(fair.ask("fairness"), fair.bases, ["pct"])
    assert ratios and not any(one.is_clear for one in ratios.values())
    assert max(one.high or 0 for one in ratios.values()) > 10
    gaps = post.ask("fairness").group_by("step", "dbms").agg(pl.col("diff_s", "pct").median()).sort("diff_s")
    step, dbms, seconds, share = gaps.rows()[-1]
    assert (step, dbms, round(seconds, 1), round(share, 1)) == ("l.i2", "postgres-18.cx10a_novac", 0.5, 2.9)
    based = choose(lake, runs=posts["sample-postgres"].parameters["runs"], base="postgres-18.cx10a")
    without = {row.step: row.verdict for row in selected_rows(based) if row.dbms == "postgres-18.cx10a_novac"}
    assert without["l.i1"] == without["l.i2"] == "slower"
    best: dict[str, tuple[float, str]] = {}
    for row in selected_rows(based):
        best[row.step] = max(best.get(row.step, (0.0, "")), (row.value or 0.0, row.dbms))
    assert (best["l.i1"][1], best["l.i2"][1]) == ("postgres-18.cx10a", "mariadb-10.11.cy10a"), "none wins everywhere"
    mysql = choose(lake, runs=posts["sample-postgres"].parameters["runs"], base="mysql-9.7.cy10a")
    of_18 = [row for row in selected_rows(mysql) if row.dbms == "postgres-18.cx10a" and row.step.startswith("q")]
    of_queries = sorted(row.ratio or 0 for row in of_18)
    assert [f"{of_queries[0]:.2f}", f"{of_queries[-1]:.2f}"] == ["0.83", "0.95"]
    assert {row.verdict for row in of_18} == {"slower"}
    assert round(post.ask("step_throughput")["duration_s"].max()) == 33  # type: ignore[arg-type]
    costs = {place: one.value for place, one in cost_ratios(mysql.ask("step_metrics"), mysql.bases).items()}
    per_row = sorted(cost for (_, step, column, _), cost in costs.items() if (step, column) == ("l.i1", "cpupq"))
    per_query = sorted(
        cost
        for (_, step, column, dbms), cost in costs.items()
        if step[0] == "q" and column == "cpupq" and dbms.startswith("postgres-18")
    )
    ends = [f"{cost:.2f}" for cost in (per_row[0], per_row[-1], per_query[0], per_query[-1])]
    assert ends == ["0.38", "0.56", "1.08", "1.22"]
    assert f"{costs['cached', 'l.i2', 'cpupq', 'mariadb-10.11.cy10a']:.2f}" == "0.39"
    assert not post.ask("profiled")["recordings"].sum()
    checked = ib.sql(
        lake,
        "SELECT DISTINCT build, value FROM server_variables JOIN runs USING (run_id)"
        " WHERE experiment = 'postgres_innodb_small' AND name = 'data_checksums'",
    )
    assert sorted(checked.rows()) == [("postgres-15", "off"), ("postgres-18", "on")]
    cached = ib.sql(
        lake,
        "SELECT max(s.end_value - s.start_value) AS pages FROM step_counters s JOIN runs USING (run_id)"
        " WHERE experiment = 'postgres_innodb_small' AND counter = 'pages_read' AND s.step LIKE 'q%'",
    )
    assert cached["pages"].item() == 0
    said = " ".join(ib.get_min_dead_rows_statements(post.ask("get_min_dead_rows")))
    for claimed in (
        "before l.i2 there were 173,783 dead rows, and get_min took 2.0 ms; before l.x, with 0 dead rows, 1.1 ms, "
        "and the difference is not clear",
        "before l.i2 there were 823,350 dead rows, and get_min took 5.7 ms; before l.x, with 0 dead rows, 1.1 ms, "
        "so it took 4.40x",
        "as long before l.i2 (geometric means)",
        "cached, postgres-18.cx10a_novac: vacuum left 0 dead rows before qr100",
        "the server read 1,129 blocks before l.i2",
    ):
        assert claimed in said, said
    schema = ib.sql(
        lake,
        "SELECT DISTINCT build, value FROM server_variables JOIN runs USING (run_id)"
        " WHERE experiment = 'postgres_innodb_small' AND name = 'performance_schema'",
    )
    assert sorted(schema.rows()) == [("mariadb-10.11", "OFF"), ("mysql-9.7", "ON")]
    (settled,) = ib.settling_statements(post.ask("settling_times"))
    assert "with postgres-18.cx10a (VACUUM 0.2 s, " in settled and "cx10a_novac (VACUUM 0.6 s, " in settled, settled
    (clients,) = ib.client_statements(post.ask("client_cores"))
    assert clients.startswith("Each family of servers has its own load client: compiled ") and "Python" not in clients
    page = " ".join((ROOT / "docs" / "postgres.md").read_text(encoding="utf-8").split())
    for claimed in (
        gap,
        "823,350 dead rows make it take 4.40x as long before l.i2 as before l.x (geometric means; the medians are "
        "5.7 ms and 1.1 ms)",
        "reads 1,129 blocks instead of 12",
        "Autovacuum leaves 173,783 dead rows there, with no clear difference",
        "After the VACUUM before qr100 no dead row is left",
        "MySQL runs with its performance schema, MariaDB without",
        "The VACUUM before qr100 takes 0.2 s, and 0.6 s where nothing was vacuumed before",
        "Each family has its own load client, both compiled",
        "the longest step takes 33 s",
        "checks its pages, which 15 does not",
    ):
        assert claimed in page, claimed
