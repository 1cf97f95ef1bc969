"""What holds for the sentences of every question: numbers come from answers, and only from what completed."""

import random
import re
from functools import cache
from inspect import signature
from itertools import cycle, product
from statistics import median
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.verdicts import ratio
from ibench_lib.ask.selection import choose
from ibench_lib.metrics import METRICS
from ibench_lib.paths import Workspace
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.display import say
from ibench_lib.show.kit.statements import verdict, without_short
from ibench_lib.show.kit.table_cells import factor_text
from ibench_lib.show.kit.wording import change_text
from ibench_lib.store import catalogue, reader
from tests.shared import lake_of
from tests.show.saying import COSTS, KINDS, STEPS, Statements
from tests.synthetic import Run, three_configurations, write_runs

pytestmark = pytest.mark.lake

BASE = "base"
DBMS = (BASE, "alpha", "beta", "gamma", "delta")
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
    if "fairness" in given:
        given["fairness"] = frame.with_columns(max_duration_s=pl.lit(60.0))
    if "rate_stability" in given or "fairness" in given:
        given = {name: value.filter(pl.col("kind") != "index") for name, value in given.items()}
    return function(**given)


def numbers(sentence: str) -> list[str]:
    """The numbers of a sentence, those in the names of steps left out."""
    without_steps = re.sub(r"l\.(i0|i1|x)", "", sentence)
    return re.findall(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]\d+)?(?:(?=x\b)|(?!\w))", without_steps)


@cache
def texts(value: float) -> set[str]:
    """A number in every format that a sentence may give it."""
    specs = {",.0f", ".3f", ",.3f", ".1f", ",.1f"} | {metric.format for metric in METRICS.values()}
    seconds = {theme.seconds(value).split()[0]}
    return {format(value, spec) for spec in specs} | {factor_text(value).split("/")[-1]} | seconds


def supported(frame: pl.DataFrame) -> set[str]:
    """Every number that complete steps support: values, medians, ratios to any other, their intervals, sums, counts."""
    done = frame.filter(pl.col("step_status") == "complete")
    found: set[str] = {str(n) for n in range(len(frame) + 1)}
    columns = [name for name, kind in done.schema.items() if kind.is_numeric() and name not in ("repeat", "step_id")]
    for rows in done.partition_by("setup", "step"):
        # The values of each column by dbms. The rates of a step are a list: each place in it is as a column of its own.
        of_dbms: dict[str, dict[str, list[float]]] = {}
        for row in rows.with_columns(pl.col("rates").list.get(n).alias(f"rate {n}") for n in range(2)).to_dicts():
            for column in [*columns, "rate 0", "rate 1"]:
                kept = of_dbms.setdefault(row["dbms"], {}).setdefault(column, [])
                kept += [row[column]] if row[column] is not None else []
            if (row["seconds_at_work"] or 0) >= 10:
                for column in ("seconds_at_work", "stalled_seconds"):
                    of_dbms[row["dbms"]].setdefault(f"{column} of enough", []).append(row[column])
        for runs in of_dbms.values():
            enough = (runs.get(f"{column} of enough") for column in ("seconds_at_work", "stalled_seconds"))
            found |= {f"{sum(values):,}" for values in enough if values}
        for column in [*columns, "rate 0", "rate 1"]:
            of_base = of_dbms.get(BASE, {}).get(column, [])
            for values in filter(None, (runs[column] for runs in of_dbms.values())):
                for value in [*values, median(values), sum(values)]:
                    found |= texts(value)
                against = ratio(values, of_base)
                inverse = ratio(of_base, values) if column == "get_min_s" else None
                for each in filter(None, (against, inverse)):
                    for value in filter(None, (each.value, each.low, each.high)):
                        found |= texts(value)
    for column in (["throughput"], COSTS):
        for each in against_base(frame if len(column) == 1 else without_short(frame)[0], BASE, column).values():
            found.add(f"{each.comparisons:,}")
            for value in filter(None, (each.value, each.low, each.high)):
                found |= texts(value)
            if each.detectable is not None:
                found.add(change_text(each.detectable).split()[0])
    return found


# Thresholds, which sentences name: as the functions' documentation has them.
RULES = {"0.95", "1.05", "10", "1,000", "100.0", "5", "1"} | {"95"}  # what intervals are worth
FRAMES = [random_frame(random.Random(seed)) for seed in range(25)]


@cache
def supported_by(number: int) -> set[str]:
    return supported(FRAMES[number]) | RULES


@cache
def told_of(function: Statements, number: int) -> list[str]:
    """The sentences of one of FRAMES, which several tests look at."""
    return told(function, FRAMES[number])


@pytest.mark.slow
@pytest.mark.parametrize("function", COMPARING)
def test_every_number_of_a_sentence_is_in_its_answer(function: Statements) -> None:
    sentences = 0
    for number in range(len(FRAMES)):
        for sentence in told_of(function, number):
            sentences += 1
            assert set(numbers(sentence)) <= supported_by(number), sentence
    assert sentences > len(FRAMES)


@pytest.mark.slow
@pytest.mark.parametrize("function", COMPARING)
def test_what_did_not_complete_changes_no_sentence(function: Statements) -> None:
    for number, frame in enumerate(FRAMES):
        other = random.Random(7)
        wild = pl.DataFrame([figures(other, step) for step in frame["step"]], infer_schema_length=None)
        broken = pl.col("step_status") != "complete"
        kept = ("operation", "timing", "target_per_s", "sla_failed", "seconds_at_work", "stalled_seconds")
        changed = frame.with_columns(
            pl.when(broken).then(wild[name].cast(frame.schema[name])).otherwise(pl.col(name)).alias(name)
            for name in wild.columns
            if name not in kept
        )
        assert told(function, changed) == told_of(function, number)


@pytest.mark.slow
@pytest.mark.parametrize("function", COMPARING)
def test_the_order_of_the_rows_changes_no_sentence(function: Statements) -> None:
    for number, frame in enumerate(FRAMES):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
        assert sorted(told(function, shuffled)) == sorted(told_of(function, number))


@pytest.mark.slow
@pytest.mark.parametrize("function", COMPARING)
def test_a_figure_of_a_run_that_did_not_complete_says_so(function: Statements) -> None:
    sentences = 0
    # Throughput tells of its base where it has no figure of it; another test has what it says.
    names = DBMS[function is ib.throughput_statements :]
    for frame, name in zip(FRAMES, cycle(names), strict=False):  # each name in turn
        status = pl.when(pl.col("dbms") == name).then(pl.lit("interrupted")).otherwise(pl.lit("complete"))
        for sentence in told(function, frame.with_columns(run_status=status)):
            if sentence.startswith(("Not compared", "Limited by")):
                continue
            is_named = re.search(rf"\b{name}\b(?!')", sentence) is not None
            sentences += is_named
            assert ("from a run that did not complete" in sentence) == is_named, (name, sentence)
    assert sentences > 5


@pytest.mark.parametrize("status", ["failed", "interrupted"])
@pytest.mark.parametrize("function", RESULTS)
def test_each_step_that_did_not_complete_is_named(function: Statements, status: str) -> None:
    for frame in FRAMES:
        failed = frame.filter(pl.col("step") == "l.i1").with_columns(step_status=pl.lit(status))
        sentences = told(function, failed) if function is not ib.sla_statements else [function(failed)[-1]]
        assert len(sentences) == 1 or function is ib.throughput_statements
        assert re.match(r"Not compared, because not complete: \w+ in \w+ \(l\.i1 " + status, sentences[-1])


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
    assert not any("more than 10x the" in s and "No" not in s for s in said)
    assert not any("alpha" in s for s in said), said
    assert said, "that nothing stands out is said"


@pytest.mark.parametrize("function", COMPARING)
def test_of_nothing_nothing_is_said(function: Statements) -> None:
    assert told(function, random_frame(random.Random(1)).clear()) == []


@pytest.mark.parametrize(
    ("held", "said"), [(2, "1 run did not complete, so nothing is proven about its data."),
                       (1, "2 runs did not complete, so nothing is proven about their data.")]
)  # fmt: skip
def test_runs_without_a_verdict_are_counted(held: int, said: str) -> None:
    assert verdict(held, 3, "passed")[-1] == f"Attention: {said}"


def test_a_sentence_links_to_the_query_that_it_comes_from() -> None:
    post = choose(lake_of(*three_configurations()), "demo")
    markup = say(post, ib.purge_lag_statements, ib.get_min_statements).markup
    links = re.findall(r'<a class="source" href="#evidence\.(\w+)"', markup)
    assert list(dict.fromkeys(links)) == ["purge_lag_at_step_end", "get_min"]
    assert markup.count("<li") == len(links)
    assert {asked.question for asked in post.asked} == set(links), "what is linked was asked, with this selection"
    for function in RESULTS:
        assert set(signature(function).parameters) - {"base"} <= catalogue.questions().keys()


@pytest.mark.slow
@pytest.mark.fault("F23")
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
