"""Sentences say what their data says: each number is in the answer, nothing comes from a step that did not complete."""

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from inspect import signature
from itertools import product
from statistics import median
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.lake import reader
from ibench_lib.lake.manifest import with_checksum
from ibench_lib.metrics import METRICS
from ibench_lib.paths import Workspace
from ibench_lib.show import theme
from ibench_lib.show.display import say
from ibench_lib.show.verdicts import ratio
from ibench_lib.show.wording import comment, joined, shortened, times
from tests.places import ROOT
from tests.synthetic import Run, three_configurations, write_runs

BASE = "base"
DBMS = (BASE, "alpha", "beta", "gamma", "delta")
STEPS = ("l.i0", "l.x", "l.i1", "qr")
KINDS = dict(zip(STEPS, ("load", "index", "write", "query"), strict=True))
COSTS = ("cpupq", "cspq", "rpq", "rkbpq", "wpi", "wkbpi")

Statements = Callable[..., list[str]]
RESULTS: list[Statements] = [
    ib.throughput_statements,
    ib.sla_statements,
    ib.fairness_statements,
    ib.response_statements,
    ib.stability_statements,
    ib.purge_lag_statements,
    ib.get_min_statements,
    ib.cost_statements,
]
COMPARING: list[Statements] = [*RESULTS, ib.mvcc_gc_statements]  # this one leaves what did not complete to get_min's


def figures(draw: random.Random, step: str) -> dict[str, Any]:
    """Figures of one run and step for every question at once; often NULL, zero, or the same as others."""
    positive = draw.choice([0.0, 1.0, 7.0, 7.0, draw.uniform(0.001, 90), draw.uniform(90, 1e6)])
    target = draw.choice([None, 100.0, 200.0]) if KINDS[step] == "query" else None
    seconds = draw.choice([None, 0, 9, 10, 250])
    found = {
        "duration_s": draw.choice([None, 0.25, 0.75, 30.0, 30.0, 30.0]),
        "throughput": positive,
        "rates": [draw.choice([None, 0.0, positive]), draw.choice([None, positive / 2])],
        "labels": ["inserts/s", "deletes/s"],
        "counts": ["rows", "rows"],
        "rated": True,
        "target_per_s": target,
        "sla_failed": target is not None and draw.random() < 0.3,
        "diff_s": positive / 10,
        "pct": draw.choice([None, positive / 3]),
        "timing": draw.choice(["service", "service", "intended"]),
        "operation": "range_query" if KINDS[step] == "query" else draw.choice(["insert", "delete"]),
        "max_s": positive / 100,
        "seconds_at_work": seconds,
        "stalled_seconds": None if seconds is None else draw.randint(0, seconds // 3),
        "history_list_length": round(positive),
        "get_min_s": positive / 1000,
        "client_bound": draw.choice([None, None, "a client was busy"]),
        **{metric: draw.choice([None, positive, positive * draw.uniform(0.9, 1.1)]) for metric in COSTS},
    }
    for name in ("throughput", "max_s", "history_list_length", "get_min_s", "diff_s"):
        if draw.random() < 0.1:
            found[name] = None
    if found["pct"] is None:  # a share of a difference that is not known
        found["diff_s"] = None
    return found


def random_frame(draw: random.Random) -> pl.DataFrame:
    """Some setups, steps, dbms and repeats in the order of the questions; not all are there, not all are complete."""
    records = []
    for setup, (step_id, step) in product(("cached", "bound")[: draw.randint(1, 2)], enumerate(STEPS)):
        for position, name in enumerate(DBMS[: draw.randint(1, 5)], start=1):
            for repeat in range(1, draw.randint(1, 3) + 1):
                status = draw.choice(["complete"] * 6 + ["failed", "running", "not run", "interrupted"])
                records.append(
                    {
                        "setup": setup, "dbms": name, "dbms_position": position, "repeat": repeat, "step_id": step_id,
                        "step": step, "kind": KINDS[step], "step_status": status,
                        "run_status": draw.choice(["complete", "complete", "failed"]),
                        "rate_label": "queries/s" if KINDS[step] == "query" else "inserts/s", **figures(draw, step),
                    }
                )  # fmt: skip
    return pl.DataFrame(records, infer_schema_length=None, schema_overrides={"client_bound": pl.String})


def told(function: Statements, frame: pl.DataFrame) -> list[str]:
    given = {name: BASE if name == "base" else frame for name in signature(function).parameters}
    if "sla" in given:  # the question leaves out steps without a target
        given["sla"] = frame.filter(pl.col("target_per_s").is_not_null() | (pl.col("step_status") != "complete"))
    if "rate_stability" in given or "fairness" in given:
        given = {name: value.filter(pl.col("kind") != "index") for name, value in given.items()}
    return function(**given)


def numbers(sentence: str) -> list[str]:
    """The numbers of a sentence, those in the names of steps left out."""
    return re.findall(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]\d+)?(?!\w)", re.sub(r"l\.(i0|i1|x)", "", sentence))


def texts(value: float) -> set[str]:
    """A number in every format that a sentence may give it."""
    specs = {",.0f", ".3f", ",.3f", ".1f", ",.1f"} | {metric.format for metric in METRICS.values()}
    seconds = {theme.seconds(value).split()[0]}
    return {format(value, spec) for spec in specs} | {times(value)} | seconds


def supported(frame: pl.DataFrame) -> set[str]:
    """Every number that complete steps support: values, medians, ratios to any other, their intervals, sums, counts."""
    done = frame.filter(pl.col("step_status") == "complete")
    found: set[str] = {str(n) for n in range(len(frame) + 1)}
    columns = [name for name, kind in done.schema.items() if kind.is_numeric() and name not in ("repeat", "step_id")]
    for _, rows in done.group_by("setup", "step"):
        enough = (
            rows.filter(pl.col("seconds_at_work") >= 10)
            .group_by("dbms")
            .agg(pl.col("seconds_at_work", "stalled_seconds").sum())
        )
        found |= {f"{value:,}" for name in ("seconds_at_work", "stalled_seconds") for value in enough[name]}
        for column in columns:
            runs = [group[column].drop_nulls().to_list() for _, group in rows.group_by("dbms", maintain_order=True)]
            of_base = rows.filter(pl.col("dbms") == BASE)[column].drop_nulls().to_list()
            for values in filter(None, runs):
                for value in [*values, median(values), sum(values)]:
                    found |= texts(value)
                against = ratio(values, of_base)
                inverse = ratio(of_base, values) if column == "get_min_s" else None
                for each in filter(None, (against, inverse)):
                    for value in filter(None, (each.value, each.low, each.high)):
                        found |= texts(value)
    return found


# Thresholds, which sentences name: as the functions' documentation has them.
RULES = {"0.95", "1.05", "10", "1,000", "100.0", "5", "1"}


FRAMES = [random_frame(random.Random(seed)) for seed in range(25)]


@cache
def supported_by(number: int) -> set[str]:
    return supported(FRAMES[number]) | RULES


@pytest.mark.parametrize("function", COMPARING)
def test_every_number_of_a_sentence_is_in_its_answer(function: Statements) -> None:
    sentences = 0
    for number, frame in enumerate(FRAMES):
        for sentence in told(function, frame):
            sentences += 1
            assert set(numbers(sentence)) <= supported_by(number), sentence
    assert sentences > len(FRAMES)


@pytest.mark.parametrize("function", COMPARING)
def test_what_did_not_complete_changes_no_sentence(function: Statements) -> None:
    for frame in FRAMES:
        other = random.Random(7)
        wild = pl.DataFrame([figures(other, step) for step in frame["step"]], infer_schema_length=None)
        broken = pl.col("step_status") != "complete"
        kept = ("operation", "timing", "target_per_s", "sla_failed", "seconds_at_work", "stalled_seconds")
        changed = frame.with_columns(
            pl.when(broken).then(wild[name].cast(frame.schema[name])).otherwise(pl.col(name)).alias(name)
            for name in wild.columns
            if name not in kept
        )
        assert told(function, changed) == told(function, frame)


@pytest.mark.parametrize("function", COMPARING)
def test_the_order_of_the_rows_changes_no_sentence(function: Statements) -> None:
    for frame in FRAMES:
        shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
        assert sorted(told(function, shuffled)) == sorted(told(function, frame))


@pytest.mark.parametrize("function", COMPARING)
def test_a_figure_of_a_run_that_did_not_complete_says_so(function: Statements) -> None:
    sentences = 0
    # Throughput tells of its base where it has no figure of it; another test has what it says.
    names = DBMS[function is ib.throughput_statements :]
    for frame, name in product(FRAMES, names):
        status = pl.when(pl.col("dbms") == name).then(pl.lit("interrupted")).otherwise(pl.lit("complete"))
        for sentence in told(function, frame.with_columns(run_status=status)):
            if sentence.startswith(("Not compared", "Limited by")):
                continue
            told_of = re.search(rf"\b{name}\b(?!')", sentence) is not None
            sentences += told_of
            assert ("from a run that did not complete" in sentence) == told_of, (name, sentence)
    assert sentences > 5


@pytest.mark.parametrize("status", ["failed", "interrupted"])
@pytest.mark.parametrize("function", RESULTS)
def test_each_step_that_did_not_complete_is_named(function: Statements, status: str) -> None:
    for frame in FRAMES:
        failed = frame.filter(pl.col("step") == "l.i1").with_columns(step_status=pl.lit(status))
        sentences = told(function, failed) if function is not ib.sla_statements else [function(failed)[-1]]
        assert len(sentences) == 1 or function is ib.throughput_statements
        assert re.match(r"Not compared, because they did not complete: \w+ in \w+ \(l\.i1 " + status, sentences[-1])


@pytest.mark.parametrize("function", RESULTS)
def test_of_equals_none_stands_out(function: Statements) -> None:
    rows = [row for row in random_frame(random.Random(1)).to_dicts() if row["step"] == "l.i1"][:1]
    even = figures(random.Random(5), "l.i1") | {
        "duration_s": 9.0,
        "throughput": 50.0, "sla_failed": False, "target_per_s": 100.0, "pct": 1.0, "diff_s": 2.0, "max_s": 9.0,
        "timing": "service", "seconds_at_work": 100, "stalled_seconds": 0, "history_list_length": 10**6,
        "get_min_s": 90.0, "client_bound": None, **dict.fromkeys(COSTS, 40.0),
    }  # fmt: skip
    steady = {"setup": "cached", "repeat": 1, "step_status": "complete", "run_status": "complete"}
    frame = pl.DataFrame([rows[0] | even | steady | {"dbms": n, "dbms_position": p} for p, n in enumerate(DBMS)])
    said = [sentence for sentence in told(function, frame) if not sentence.startswith("One run")]
    assert not any("over 10 times the" in s and "No" not in s for s in said)
    assert not any("alpha" in s for s in said), said
    assert said, "that nothing stands out is said"


@pytest.mark.parametrize("function", COMPARING)
def test_of_nothing_nothing_is_said(function: Statements) -> None:
    assert told(function, random_frame(random.Random(1)).clear()) == []


def frame_of(column: str, step: str = "l.i1", **runs: list[float | None]) -> pl.DataFrame:
    """One complete step: the runs of each dbms."""
    records = [
        {
            "setup": "cached", "dbms": name, "dbms_position": position, "repeat": repeat, "step_id": 2, "step": step,
            "kind": KINDS[step], "step_status": "complete", "run_status": "complete",
            "rate_label": "queries/s" if KINDS[step] == "query" else "inserts/s", "client_bound": None,
            "duration_s": 30.0,
            column: value,
        }
        for position, (name, values) in enumerate(runs.items(), start=1)
        for repeat, value in enumerate(values, start=1)
    ]  # fmt: skip
    return pl.DataFrame(records, infer_schema_length=None, schema_overrides={"client_bound": pl.String})


def test_throughput_is_compared_with_the_base_beyond_noise() -> None:
    frame = frame_of(
        "throughput", base=[100, 101, 102], fast=[200, 202, 204], noisy=[60, 120, 200], slow=[50, 50.5, 51]
    )
    (said,) = ib.throughput_statements(frame, "base")
    low, high = (ratio([200, 202, 204], [100, 101, 102]), ratio([50, 50.5, 51], [100, 101, 102]))
    assert low and high
    assert said == (
        f"cached, l.i1: more inserts/s than base with fast (2.00 times [{low.low:.2f}, {low.high:.2f}]); fewer "
        f"inserts/s than base with slow (0.50 times [{high.low:.2f}, {high.high:.2f}]). 1 other is not clearly "
        "different from it."
    )
    assert ib.throughput_statements(frame_of("throughput", base=[100, 101], other=[90, 120]), "base") == [
        "cached: in l.i1 no throughput differs beyond noise from that of base (1 configuration compared)."
    ]


def test_a_step_of_less_than_a_second_is_not_compared() -> None:
    frame = frame_of("throughput", base=[100], fast=[200]).with_columns(
        duration_s=pl.Series([0.4, 0.2]), **dict.fromkeys(COSTS, pl.col("throughput"))
    )
    short = "Not compared, because they took less than 1 s: l.i1 in cached (0.20 s to 0.40 s)."
    assert ib.throughput_statements(frame, "base") == ib.cost_statements(frame, "base") == [short]
    compared = frame.with_columns(duration_s=pl.Series([1.4, 0.2]))
    for said in (ib.throughput_statements(compared, "base"), ib.cost_statements(compared, "base")):
        assert short not in said and any("2.00 times" in sentence for sentence in said)


def test_single_runs_carry_their_caveat() -> None:
    said = ib.throughput_statements(frame_of("throughput", "qr", base=[100], fast=[142], near=[104]), "base")
    assert said[0].startswith("One run, noise unknown")
    assert said[1:] == [
        "cached, qr: more queries/s than base with fast (1.42 times, one run). 1 other is not clearly "
        "different from it."
    ]
    assert sum("noise unknown" in sentence for sentence in said) == 1


def test_what_noise_hides_is_not_called_equal() -> None:
    # 1.4 times the base, but its runs scatter: nothing is said of 0.95 to 1.05, also where another has one run.
    frame = frame_of("throughput", base=[100, 101, 102], scattering=[60, 141, 220], single=[104])
    assert ib.throughput_statements(frame, "base")[1:] == [
        "cached: in l.i1 no throughput differs beyond noise from that of base, and where there is only "
        "one run, all lie "
        "within 0.95 to 1.05 times that of base (2 configurations compared)."
    ]
    assert ib.throughput_statements(frame_of("throughput", base=[100], single=[104]), "base")[1:] == [
        "cached: in l.i1 no throughput lies outside 0.95 to 1.05 times that of base (1 configuration compared)."
    ]


def test_a_number_that_is_not_the_server_s_alone_says_so() -> None:
    frame = frame_of("throughput", "qr", base=[100], fast=[150]).with_columns(
        client_bound=pl.when(pl.col("dbms") == "fast").then(pl.lit("busy")),
        sla_failed=pl.col("dbms") == "fast",
        run_status=pl.when(pl.col("dbms") == "base").then(pl.lit("failed")).otherwise(pl.lit("complete")),
    )
    assert ib.throughput_statements(frame, "base")[1:] == [
        "cached, qr: more queries/s than base with fast (1.50 times, one run, limited by the clients, missed the "
        "target rate of its writes). base: from a run that did not complete.",
        "Limited by the clients, not by the server: fast in cached, qr.",
    ]


@pytest.mark.parametrize("of_base", [[None], [0.0]])
def test_without_a_number_of_the_base_nothing_is_compared(of_base: list[float | None]) -> None:
    frame = frame_of("throughput", base=of_base, other=[100])
    assert ib.throughput_statements(frame, "base") == ["cached, l.i1: base has no throughput to compare with."]
    alone = frame_of("throughput", base=[100])
    assert ib.throughput_statements(alone, "base") == [
        "Nothing is compared, because no configuration other than base has completed a step."
    ]


def test_get_min_over_ten_times_the_best_is_named_with_what_its_runs_were() -> None:
    frame = frame_of("get_min_s", "qr", fast=[0.001], slow=[95.307], middling=[0.02])
    assert ib.get_min_statements(frame) == [
        "There is one run of each, so the noise is unknown.",
        "cached, qr: the get_min query is over 10 times the best, 1.0 ms with fast: slow (95.307 s).",
    ]
    frame = frame_of("get_min_s", "qr", fast=[0.001, 0.002], slow=[0.001, 4.0], always=[30.0, 31.0])
    assert ib.get_min_statements(frame) == [
        "cached, qr: the get_min query is over 10 times the best, 1.5 ms with fast: always (median 30.500 s, 30.000 s "
        "to 31.000 s in 2 runs), slow (median 2.001 s, 1.0 ms to 4.000 s in 2 runs, over the limit in 1 of them)."
    ]
    assert ib.get_min_statements(frame_of("get_min_s", "qr", fast=[0.0], slow=[0.05]))[1:] == [
        "In every step, the get_min query is less than 10 times the best of the step, or less than 100.0 ms (1 step "
        "compared)."
    ]


def test_get_min_far_from_the_base_is_told_with_what_purge_had_left() -> None:
    seconds = frame_of("get_min_s", "qr", base=[0.4, 0.5, 0.3], quick=[0.003, 0.004, 0.003], alike=[0.1, 0.2, 0.3])
    before = frame_of("history_list_length", base=[9000, 11000, 10000], quick=[6, 4, 38], alike=[5, None, 5])
    found = ratio([0.4, 0.5, 0.3], [0.003, 0.004, 0.003])
    assert found and found.low and found.high
    told_of_it = (
        "cached, qr: get_min took 400.0 ms with base (median of 3 runs, history list 10,000 at the end of l.i1). That "
        f"is 133 times [{times(found.low)}, {times(found.high)}] as long as with quick (3.0 ms, history list 6)."
    )
    after = before.with_columns(step_id=pl.col("step_id") - 1)  # not that of the step right before
    seconds = seconds.with_columns(step_id=pl.lit(3))
    assert ib.mvcc_gc_statements(seconds, before.with_columns(step_id=pl.lit(2)), "base") == [told_of_it]
    assert "history" not in ib.mvcc_gc_statements(seconds, after, "base")[0]
    (other,) = ib.mvcc_gc_statements(seconds, before.with_columns(step_id=pl.lit(2)), "quick")
    assert other.startswith("cached, qr: get_min took 3.0 ms with quick (median of 3 runs, history list 6")
    assert " It took 133 times [" in other and "as long with base (400.0 ms, history list 10,000" in other
    assert "alike" not in told_of_it
    # Noise that reaches below ten times, and little time whatever the ratio, are nothing to tell.
    noisy = frame_of("get_min_s", "qr", base=[0.4, 0.02, 0.5], quick=[0.003, 0.004, 0.003])
    little = frame_of("get_min_s", "qr", base=[0.09], quick=[0.0001])
    for frame in (noisy, little):
        assert ib.mvcc_gc_statements(frame, before.clear(), "base") == []


def test_fragments_that_all_have_are_told_once() -> None:
    both = ["a", "b"]
    rows = [("cy10a.cnf", "# base", 0, both), ("p2.cnf", "# p2: trouble", 1, both), ("x.cnf", "# x", 2, ["b"])]
    frame = pl.DataFrame(rows, schema=["fragment", "text", "position", "dbms"], orient="row")
    assert ib.shared_statements(frame) == ["All 2 configurations include p2.cnf: “p2: trouble”"]
    alone = frame.with_columns(dbms=pl.lit(["a"]))
    assert ib.shared_statements(alone) == []


def test_a_purge_lag_against_none_has_no_ratio() -> None:
    frame = frame_of("history_list_length", none=[0], some=[900], much=[30_000])
    assert ib.purge_lag_statements(frame)[1:] == [
        "cached, l.i1: the history list at the end is over 10 times the best, 0 with none: much (30,000)."
    ]


def test_an_sla_failure_names_its_rates_and_runs() -> None:
    frame = frame_of("ips", "qr", good=[8000, 8000], bad=[8000, 5123]).with_columns(
        rates=pl.concat_list("ips", pl.col("ips") - 3),
        labels=pl.lit(["inserts/s", "deletes/s"]),
        counts=pl.lit(["rows", "rows"]),
        target_per_s=8000.0,
        sla_failed=pl.col("ips") < 7600,
    )
    assert ib.sla_statements(frame) == [
        "cached, qr: less than 0.95 of the target of 8,000 rows/s: bad (5,123 inserts/s, 5,120 deletes/s, in 1 of 2 "
        "runs)."
    ]
    assert ib.sla_statements(frame.filter(pl.col("dbms") == "good")) == [
        "No target rate was missed (1 configuration in 1 step)."
    ]


def test_a_worst_response_far_from_the_others_is_an_outlier() -> None:
    frame = frame_of("max_s", a=[0.447], b=[18.493], c=[2.0]).with_columns(
        timing=pl.lit("service"), operation=pl.lit("insert"), rated=pl.lit(True)
    )
    assert ib.response_statements(frame) == [
        "cached, l.i1: the worst response of insert is over 10 times the 447.0 ms of a, the best of 3: b (18.493 s).",
        "The longest response in a complete step: 18.493 s, insert in cached, l.i1 with b.",
    ]


def test_clients_that_finish_far_apart_are_named_and_short_steps_are_not() -> None:
    frame = frame_of("pct", a=[44.2], b=[6.0]).with_columns(diff_s=pl.Series([0.1, 441.0]))
    assert ib.fairness_statements(frame) == [
        "Clients finished over 5 % of the fastest client's time and over 1 s apart: 441.0 s (6.0 %) with b in cached, "
        "l.i1."
    ]
    frame = frame_of("pct", a=[6.0, 9.0, 1.0]).with_columns(diff_s=pl.Series([44.0, 60.0, 9.0]))
    (said,) = ib.fairness_statements(frame)
    assert said.endswith("apart: 44.0 s (6.0 %; medians of 3 runs) with a in cached, l.i1.")


def test_stalled_seconds_are_told_as_a_share_of_those_in_which_all_were_at_work() -> None:
    frame = frame_of("stalled_seconds", a=[0, 1], b=[12, 8]).with_columns(seconds_at_work=pl.lit(100))
    assert ib.stability_statements(frame) == [
        "cached, l.i1: throughput was below half of its own median for more than 1 % of the seconds: b (in 20 of 200)."
    ]


def test_costs_are_told_largest_difference_first_and_rounding_is_none() -> None:
    frame = frame_of("cpupq", base=[100.0], other=[180.0]).with_columns(
        cspq=pl.Series([1.0, 0.1]),
        rpq=pl.Series([0.001, 0.004]),
        **dict.fromkeys(("rkbpq", "wpi", "wkbpi"), pl.lit(1.0)),
    )
    assert ib.cost_statements(frame, "base")[1:] == [
        "cached, l.i1, compared with base: cspq (context switches/op) of other 0.10 times, one run; cpupq "
        "(CPU/op) of other "
        "1.80 times, one run."
    ]


def spoken(workspace: Workspace, *functions: Statements, experiment: str = "demo", **chosen: Any) -> list[str]:
    markup = say(choose(reader.lake(workspace), experiment, **chosen), *functions).markup
    return re.findall(r"<li[^>]*>(.*?) <a", markup)


def test_a_sentence_links_to_the_query_that_it_comes_from(workspace: Workspace) -> None:
    write_runs(workspace, *three_configurations())
    post = choose(reader.lake(workspace), "demo")
    markup = say(post, ib.purge_lag_statements, ib.get_min_statements).markup
    links = re.findall(r'<a class="source" href="#evidence\.(\w+)"', markup)
    assert list(dict.fromkeys(links)) == ["purge_lag_at_step_end", "get_min"]
    assert markup.count("<li") == len(links)
    assert {asked.question for asked in post.asked} == set(links), "what is linked was asked, with this selection"
    for function in RESULTS:
        assert set(signature(function).parameters) - {"base"} <= reader.questions().keys()


def test_hostile_names_are_text(workspace: Workspace) -> None:
    nasty = "<img src=x onerror=alert(1)>"
    write_runs(
        workspace,
        Run(dbms=nasty, setup=nasty, experiment=nasty),
        Run("b", minute=1, setup=nasty, queries=9, experiment=nasty),
    )
    post = choose(reader.lake(workspace), nasty)
    markup = say(post, ib.run_statements, *RESULTS).markup
    assert "<img" not in markup and "&lt;img" in markup


def made_of(workspace: Workspace, *runs: Run, change: Callable[[dict[str, Any]], None] | None = None) -> None:
    import json

    for writer in write_runs(workspace, *runs):
        path = writer.run_dir / "manifest.json"
        manifest = json.loads(path.read_text())
        if change:
            change(manifest)
        path.write_bytes(with_checksum(manifest))


FULL: dict[str, Any] = {
    "clients": 2, "engine": "innodb", "data_length": [10, 20], "protocol": "prepared", "transport": "socket",
    "settle": "flush", "count_rows": True, "queriers": 1, "query_rows": 10, "secondary_indexes": 3,
    "rocksdb_bulk_load": False, "tables_used": ["pi1", "pi2"],
}  # fmt: skip


def step(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "form": name, "kind": kind, "rows_per_commit": 50, "rows": None, "seconds": None, "rate": None,
        "deletes": kind in ("write", "query"), "query": "range" if kind == "query" else None, "settle_before": False,
        "long_transaction": False,
    } | more  # fmt: skip


def test_the_benchmark_is_told_as_it_was_run(workspace: Workspace) -> None:
    def cached(manifest: dict[str, Any]) -> None:
        io_bound = manifest["cell"]["setup"] == "io_bound"
        manifest["workload"] = FULL | {
            "resolved_steps": [
                step("l.i0", "load", rows=500 if io_bound else 20, rows_per_commit=100),
                step("l.i1", "write", rows=50, rate=40.0),
                step("qr100", "query", seconds=7200.0, rate=100.0, settle_before=True),
                step("qr500", "query", seconds=7200.0, rate=500.0, long_transaction=True),
            ]
        }

    made_of(workspace, Run(), Run("b", minute=1), Run(setup="io_bound", minute=2), change=cached)
    assert spoken(workspace, ib.insert_benchmark_statements, ib.step_statements) == [
        "2 clients, each with its own table (InnoDB, 10 to 20 bytes in column data, prepared "
        "statements over a Unix socket); each client has its own processes and connections. After each step, the "
        "server&#x27;s COUNT(*) is compared with the rows that the clients&#x27; statements leave.",
        "l.i0: inserts rows in primary key order, without secondary indexes, 100 per statement; 20 rows per client in "
        "cached, 500 rows per client in io_bound.",
        "l.i1: inserts rows at the head of each table and deletes the same number at its tail, with all "
        "indexes, 50 per "
        "statement, at most 40 rows/s per client; 50 rows per client.",
        "qr100, qr500: range queries of up to 10 rows as fast as possible from 1 process per client, during "
        "100, 500 inserts/s and as many deletes/s per client, 50 per statement; 7,200 s.",
        "Before qr100 the database is settled: statistics are updated and dirty pages are flushed.",
        "During qr500, a transaction with a read view stays open.",
    ]
    assert [line[:5] for line in spoken(workspace, ib.step_statements, steps=["l.i1"])] == ["l.i1:"]


def test_a_workload_of_which_little_is_known_is_told_in_few_words(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    assert spoken(workspace, ib.insert_benchmark_statements) == [
        "2 clients; each client has its own processes and connections."
    ]
    assert len(spoken(workspace, ib.step_statements)) == 4


def test_runs_say_what_they_are_made_from(workspace: Workspace) -> None:
    def standing(manifest: dict[str, Any]) -> None:
        manifest["cell"] |= {"build": "my8033", "build_label": "mysql-9.7", "stands_for": "MySQL 8.0.33"}
        manifest["cell"]["order"] = "interleaved"

    made_of(workspace, Run(repeat=1), Run(repeat=2, minute=1), Run("b", minute=2, scale=0.5), change=standing)
    assert spoken(workspace, ib.run_statements) == [
        "Made from 3 runs of experiment demo (“Purge lag”), experiments/demo.yaml: 2 configurations, 1 setup (cached), "
        "2 clients, up to 2 runs of each, interleaved.",
        "The runs were started from 2026-11-21 10:00 to 2026-11-21 10:02 UTC with ibench 0.1.0.",
        "my8033 is mysql-9.7 (10.11.19-MariaDB), used in place of MySQL 8.0.33.",
        "Scaled: rows, durations and server memory are 0.5, 1 of the experiment&#x27;s full size. Compare these "
        "configurations with each other, not with full-size results.",
    ]


def test_one_run_of_each_and_two_experiments_are_said(workspace: Workspace) -> None:
    write_runs(workspace, Run(), Run(minute=1, experiment="other", title="Another"))
    said = spoken(workspace, ib.run_statements, experiment="*")
    assert [line for line in said if line.startswith("Made from 1 run of experiment")] == said[:2]
    assert "There is one run of each, so the noise is unknown." in said


def test_several_hosts_are_said_loudly(workspace: Workspace) -> None:
    hosts: Iterator[dict[str, Any]] = iter(
        [
            {
                "usable_cpus": 2,
                "logical_cpus": 4,
                "cpu_model": "A",
                "memory_bytes": 2**34,
                "kernel": "6.1",
                "os": "Debian",
            },
            {
                "usable_cpus": 8,
                "logical_cpus": 8,
                "memory_bytes": 2**35,
                "filesystem": {"type": "xfs"},
                "hypervisor": True,
            },
            {},
        ]
    )
    made_of(workspace, Run(), Run("b", minute=1), Run("c", minute=2), change=lambda m: m.update(host=next(hosts)))
    markup = say(choose(reader.lake(workspace), "demo"), ib.host_statements).markup
    assert '<li class="loud">Attention: These runs were made on 2 different hosts' in markup
    assert "1 run (system.cy10a) on 2 of 4 CPUs (A), 16.0 GiB of memory, Debian, kernel 6.1; 1 run (system.b) on 8 CPUs, 32.0 GiB of memory, data on xfs, a virtual machine." in markup  # fmt: skip  # noqa: E501
    assert spoken(workspace, ib.host_statements, dbms=["system.b"])[0].startswith(
        "All runs were made on one kind of host: 8 CPUs"
    )


def test_a_caution_of_a_configuration_is_loud_and_its_words_are_shown(workspace: Workspace) -> None:
    def fragments(manifest: dict[str, Any]) -> None:
        manifest["config"]["fragments"] = {"cy10a.cnf": "# The base.\n# Source: a report.\n[mysqld]\nx=1\n# later\n"}
        if manifest["cell"]["config"] == "a17":
            text = (ROOT / "ibench_lib/configs/fragments/a17.cnf").read_text()
            manifest["config"]["fragments"]["a17.cnf"] = text

    made_of(workspace, Run(), Run("a17", minute=1), change=fragments)
    post = choose(reader.lake(workspace), "demo")
    (said,) = spoken(workspace, ib.caution_statements)
    assert said == "Attention: a17.cnf (system.a17): not safe for production, because a torn page cannot be repaired."
    drawn = ib.fragments_table(post.ask("fragments")).as_raw_html()
    assert "The base." in drawn and "a report" not in drawn and "x=1" not in drawn


def test_wording() -> None:
    assert [joined(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert shortened(list("abcde"), ", ") == "a, b, c, and 2 more"
    assert [times(value) for value in (0, 0.0042, 0.09, 0.5, 9.999, 1234.5)] == ["0.00", "0.0042", "0.09", "0.50", "10.00", "1,234"]  # fmt: skip  # noqa: E501
    assert comment("# One\n#\n# two.\n# Source: x\nkey: 1\n# three") == "One two."
