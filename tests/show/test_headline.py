"""The first screen of a post."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.bases import bases
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.paths import Workspace
from ibench_lib.show.headline import headline, headline_statements, short_names, strips_of
from ibench_lib.show.kit.display import Html
from ibench_lib.store import reader
from tests.ask.pairs import pair_of
from tests.shared import lake_of
from tests.show.saying import frame_of
from tests.synthetic import Run, answer

pytestmark = pytest.mark.lake


def repeated(config: str, queries: int, minute: int, build: str = "system", **others: object) -> list[Run]:
    return [
        Run(config, build=build, repeat=n, minute=minute + n, queries=queries + 10 * n, **others)  # type: ignore[arg-type]
        for n in (1, 2, 3)
    ]


def chosen(*runs: Run) -> Selection:
    return choose(lake_of(*runs), "demo")


def markup(post: Selection) -> str:
    (item,) = headline(post).items
    assert isinstance(item, Html)
    return item.markup


@pytest.mark.slow
def test_it_says_what_won_by_how_much_and_what_noise_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    post = chosen(*repeated("cy10a", 5000, 0), *repeated("b", 2500, 10), *repeated("c", 5050, 20))
    slower, even = headline_statements(post.ask("step_throughput"), post.bases)
    assert re.fullmatch(
        r"qr100, queries/s: slower than cy10a: b 0\.50x \[0\.\d\d, 0\.\d\d\]\. 1 other: no difference found\.",
        slower,
    )
    assert re.fullmatch(
        r"l\.i0, l\.x and l\.i1: no difference found; the smallest detectable changes are .* power\)\.", even
    )
    page = markup(post)
    assert "system, 3 configurations; 3 runs of each; setup cached; 2 clients." in page
    sizes = [{"what": "database", "name": "", "bytes": size * 2**20} for size in (45, 252)]
    variables = (("default_storage_engine", "InnoDB"), ("innodb_buffer_pool_size", str(40 * 2**20)))
    small, grown = (
        Run(name, minute=minute, variables=variables, also=(("sizes", {"step_id": 2, "step": "l.i1", **size}),))
        for minute, (name, size) in enumerate(zip(("a", "b"), sizes, strict=True))
    )
    known = markup(chosen(small, grown)).replace("\N{NO-BREAK SPACE}", " ")
    assert "; setup cached (database files of 45 to 252 MiB, buffer pool of 40 MiB); 2 clients." in known
    assert "(database files of 45 MiB, buffer pool of 40 MiB)" in markup(chosen(small)).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    shared = chosen(Run(connections=8), Run("other", minute=1, connections=8))
    assert "setup cached; 2 clients with 16 connections in all." in markup(shared)
    assert page.count("<figure") == 4 and page.count("x, slower</td>") == 1 and "faster</td>" not in page
    assert re.search(r'<p class="finding">Range queries \(qr100\): 0\.50x, slower with b than with cy10a</p>', page)
    assert (
        "Each dot: the ratio to cy10a, with its 95 % interval. Filled: a difference. Hollow: none that is clear."
        in page
    )
    assert '<figcaption>Inserts with secondary indexes<span class="code"> l.i1</span>, inserts/s<' in page
    sentences, strip = page.split('<div class="ran"')
    for part in (sentences, strip):
        assert 'href="#evidence.step_throughput"' in part, "the sentences and the strip lead to its query"
    assert "The costs of an operation that were captured do not show the cause of the difference in qr100." in page
    assert "slower than" not in page, "the strip has the ratio with its interval, and the caption names it"
    monkeypatch.setattr("ibench_lib.show.headline._MOST_STRIPS", 3)
    monkeypatch.setattr("ibench_lib.show.headline._MOST_SAID", 1)
    many = markup(post)
    assert many.count("<figure") == many.count('<figure class="heat"') == 2, "too many for strips"
    key = many[many.index("Each figure: the ratio to cy10a. <span") : many.index('<figure class="heat"')]
    assert ">faster</span>" in key and ">slower</span> Grey: may be noise." in key
    # Of the two steps that measure, b and c differ in the queries only: one is slower there, the other faster.
    alone = re.escape("This alone shows nothing: the steps of a run share its host&#x27;s speed.</p>")
    below = re.search(rf"Below 1x, without [\w. ,]+: b in (\d) of 2 and c in (\d) of 2\. {alone}", key)
    assert below and int(below[1]) == int(below[2]) + 1
    assert "<summary>2 more sentences</summary>" in many and "slower than cy10a: b 0.50x [" in many


@pytest.mark.slow
def test_a_configuration_is_told_by_the_options_that_it_changes() -> None:
    asked = repeated("b", 2500, 10, options="innodb_purge_threads=8\n")
    other = [replace(run, variables=(("innodb_purge_threads", "8"),)) for run in asked]
    more = [*repeated("cy10a", 5000, 0), *other]
    ran_as_base = markup(chosen(*repeated("cy10a", 5000, 0), *asked))
    assert '<th scope="row">b<span class="code"> ran as cy10a</span></th>' in ran_as_base, "whatever it asks for"
    elsewhere = [replace(run, setup="large", minute=run.minute + 20) for run in [*repeated("cy10a", 5000, 0), *other]]
    in_one_setup = markup(chosen(*repeated("cy10a", 5000, 0), *asked, *elsewhere))
    assert "ran as cy10a" not in in_one_setup, "its rows are of both setups"
    page, same = markup(chosen(*more)), markup(chosen(*repeated("cy10a", 5000, 0), *repeated("b", 2500, 10)))
    assert "<summary>What b changes</summary>" in page and "innodb_purge_threads 8 (" in page
    assert (
        '<th scope="row">b<span class="code"> innodb_purge_threads 8</span></th>' in page
        and "slower with b than with cy10a</p>" in page
    )
    assert "changes</summary>" not in same


def test_next_to_strips_a_sentence_has_only_the_costs_of_a_difference() -> None:
    rates = frame_of("throughput", base=[100, 101, 99], a=[200, 202, 198], b=[300, 303, 297], slow=[50, 51, 49])
    costs = frame_of("cpupq", base=[100, 101, 99], a=[50, 51, 49], b=[33, 34, 32], slow=[100, 101, 99])
    metrics = costs.with_columns(rates["throughput"], flavour=pl.lit("mysql"))
    said, drawn = (headline_statements(rates, bases("base"), metrics, drawn=drawn) for drawn in (False, True))
    assert re.search(
        r"faster than base: b 3\.00x \[.*\], a 2\.00x \[.*\] \(with CPU/op .*\); slower .*: slow 0\.50x", said[0]
    )
    assert re.fullmatch(r"l\.i1: b and a are faster than base \(with CPU/op 0\.33x to 0\.50x\)\.", drawn[0])
    (unexplained,) = drawn[1:]
    assert unexplained == (
        "The costs of an operation that were captured do not show the cause of the difference in l.i1 "
        "(slower than base)."
    )
    fitting = metrics.with_columns(cpupq=pl.when(dbms="slow").then(2 * pl.col("cpupq")).otherwise("cpupq"))
    told = headline_statements(rates, bases("base"), fitting, drawn=True)
    assert len(told) == 2 and all("with CPU/op" in text for text in told)
    nothing = headline_statements(rates, bases("base"), metrics.with_columns(cpupq=None), drawn=True)
    assert nothing == ["No cost of an operation was captured that could explain the difference in l.i1."]


@pytest.mark.slow
def test_its_figures_are_those_of_the_throughput_table() -> None:
    """Intervals depend on the noise of all steps, so both have to look at the same ones."""
    post = chosen(*repeated("cy10a", 5000, 0), *repeated("b", 2500, 10, l_i1_s=11))
    table = ib.throughput_table(post.ask("step_throughput"), post.bases)
    cells = [cell.text for _, row in table.rows for cell in row]
    said = " ".join(headline_statements(post.ask("step_throughput"), post.bases))
    found = re.findall(r"b (\d\.\d\dx \[[^]]*\])", said)
    assert len(found) == 2 and all(any(text in cell for cell in cells) for text in found)


@pytest.mark.slow
def test_with_a_base_of_each_build_it_names_them() -> None:
    runs = [
        *repeated("base", 4000, 0, "maria"), *repeated("f1", 4000, 10, "maria"), *repeated("base", 8000, 20, "mysql"),
        *repeated("f1", 4000, 30, "mysql"),
    ]  # fmt: skip
    post = chosen(*runs)
    said = headline_statements(post.ask("step_throughput"), post.bases)[0]
    assert "faster than maria.base: mysql.base 2.00x" in said and "slower than mysql.base: f1 0.50x" in said
    page = markup(post)
    assert (
        "Each dot: the ratio to the base of its own build, and of each base to maria.base, with its 95 % interval."
        in page
    )
    labels = re.findall(r'<th scope="row">([^<]*)</th>', page)[:4]
    assert labels == ["maria: base", "\u2003f1", "mysql: base", "\u2003f1"]


def test_where_each_build_has_a_setup_of_its_own_no_base_is_said_to_have_another() -> None:
    runs = [
        Run(config, minute=minute, build=build, setup=setup)
        for minute, (build, setup) in enumerate((("maria", "cached"), ("mysql", "io_bound")))
        for config in ("base", "f1")
    ]
    page = markup(chosen(*runs))
    assert "Each dot: the ratio to the base of its own build. One run of each: the noise is unknown." in page


def test_one_run_of_each_is_no_result() -> None:
    post = chosen(Run(), Run("b", minute=1, queries=2500))
    (said,) = headline_statements(post.ask("step_throughput"), post.bases)
    assert said == "One run of each, so a difference may be noise."
    page = markup(post)
    assert '<li title="The noise is unknown.">one run of each</li>' in page and "slower" not in page
    assert "(qr100): b has 0.50x the rate of cy10a; too few runs to tell a difference from noise</p>" in page
    assert "x, noise unknown" not in page, "what is so of all rows is said above them"
    alone = markup(chosen(Run()))
    assert (
        "1 configuration; one run; setup cached" in alone and '<li title="The noise is unknown.">one run</li>' in alone
    )


def test_a_ratio_of_one_run_next_to_others_is_said_to_have_no_noise_known() -> None:
    """A table that is loaded once, and measured three times."""
    frame = frame_of("throughput", base=[100, 101, 99], a=[200, 202, 198])
    once = frame.filter(pl.col("repeat") == pl.col("repeat").min()).with_columns(step=pl.lit("l.i0"), setup=pl.lit("x"))
    page = str(strips_of(pl.concat([frame, once]), bases("base"), "default"))
    assert page.count("x, noise unknown<") == 1 and "2.00x faster" in page


def test_a_warning_of_one_of_several_results_names_it() -> None:
    both = chosen(Run(warnings=("swap", "no perf")), Run("x", minute=1, warnings=("swap",)))
    assert "warnings in 2 of 2 runs: swap, and 1 other kind<" in markup(both)
    assert "warnings in 1 of 1 run: swap<" in markup(chosen(Run(warnings=("swap",))))


def test_reservations_come_before_the_numbers() -> None:
    failed = Run("x", minute=1, status="failed", failed_step="l.i1", error="lost", steps=("l.i0", "l.x", "l.i1"))
    post = chosen(
        Run(scale=0.002, warnings=("swap",)), failed, Run("slow", minute=2, background_rows=900, client_bound="busy")
    )
    badges = re.findall(r"<li title=[^>]*>([^<]*)</li>", markup(post))
    assert badges == [
        "1 of 3 runs not complete", "one run of each", "rows, seconds and memory at scale 1/500",
        "warnings in 1 of 3 runs: swap (cy10a)",
        "client-bound: qr100", "target rate missed: qr100",
    ]  # fmt: skip


def test_that_load_clients_differ_stands_above_the_verdict() -> None:
    compiled = (("client core", "compiled 0123456789ab"),)
    mixed = [*repeated("a", 5000, 0), *repeated("b", 2500, 10, versions=compiled)]
    post = chosen(*mixed)
    (opened,) = ib.opening(post, ib.throughput_statements).items
    (paired,) = ib.pair_headline(ib.pair(post)).items
    for screen in (markup(post), str(opened), str(paired)):
        warned = screen.index('<li class="loud">Attention: The load clients of these runs differ: 3 runs (system.a)')
        assert screen.index("</p>") < warned < screen.index("0.50x")
        assert 'href="#evidence.client_cores"' in screen
    assert "load clients" not in markup(chosen(*repeated("a", 5000, 0), *repeated("b", 2500, 10)))


def test_a_single_dbms_has_its_rates_also_over_time() -> None:
    post = chosen(Run())
    said = headline_statements(post.ask("step_throughput"), post.bases)
    assert "qr100: 1,000 queries/s with cy10a." in said
    (item,) = headline(post).items
    assert isinstance(item, Html)
    drawn = re.findall(r'<figure class="strip over-time"[^>]*><figcaption>([^<]*)</figcaption>', item.markup)
    assert "system.cy10a: queries/s in qr100" in drawn and item.markup.count("<figure") == len(drawn)
    assert {"one_second", "steadiness", "dips"} <= set(headline(post).answers)


def test_without_runs_there_is_one_sentence(workspace: Workspace) -> None:
    post = choose(reader.lake(workspace), "demo")
    assert "There is no run yet" in markup(post)
    assert answer(reader.lake(workspace), "step_throughput").is_empty()


def test_a_build_that_all_have_is_left_out_of_names() -> None:
    builds = {"mysql-9.7.base": "mysql-9.7", "mysql-9.7.a13": "mysql-9.7", "maria.base": "maria"}
    assert list(short_names(["mysql-9.7.base", "mysql-9.7.a13"], builds).values()) == ["base", "a13"]
    assert short_names(list(builds), builds) == {name: name for name in builds}


def test_a_configuration_that_all_builds_have_is_left_out_of_names() -> None:
    builds = {"mysql-9.7.a": "mysql-9.7", "maria.a": "maria"}
    assert short_names(list(builds), builds) == builds
    assert short_names(list(builds), builds, typed=True) == {name: name for name in builds}
    more = builds | {"maria.b": "maria"}
    assert short_names(list(more), more) == {name: name for name in more}
    assert short_names(["x", "y"], {}) == {"x": "x", "y": "y"}, "nothing is known of their builds"
    others = {"mysql-9.7.a (imported)": "mysql-9.7", "maria.a": "maria", "mysql-9.7.a": "mysql-9.7"}
    assert list(short_names(list(others), others).values()) == ["mysql-9.7 (imported)", "maria", "mysql-9.7"]


def test_a_rate_that_is_at_its_target_is_not_said_to_be_noise() -> None:
    frame = frame_of("throughput", base=[300, 301, 299], even=[300, 299, 300], late=[299, 300, 301])
    missed = frame.with_columns(paced=True, sla_failed=pl.col("dbms") == "late")
    drawn = str(strips_of(missed, bases("base"), "default"))
    assert drawn.count(">1.00x, both at their target<") == drawn.count(">1.00x, may be noise<") == 1
    assert "target" not in str(strips_of(missed.with_columns(paced=False), bases("base"), "default"))


@pytest.mark.slow
def test_what_only_prepares_what_others_measure_comes_last_in_the_strips() -> None:
    """In all setups: of LinkBench the first strip is not that of the load."""
    runs = [
        run
        for place, config in enumerate(("cy10a", "quick"))
        for run in repeated(config, 5000, 10 * place, setup="cached")
        + repeated(config, 4000, 5 + 10 * place, setup="io")
    ]
    post = chosen(*runs)
    code = r'<figcaption>Setup (?:cached|io), [^<,]*<span class="code"> ([^<]*)</span>'
    assert re.findall(code, markup(post)) == ["l.i1", "qr100", "l.i1", "qr100", "l.i0", "l.x", "l.i0", "l.x"]
    (item,) = ib.opening(post, question="step_throughput", column="throughput").items
    assert isinstance(item, Html)
    shown = re.findall(code, item.markup)
    assert shown[:2] == ["l.i1", "qr100"] and shown[-2:] == ["l.i0", "l.x"]


@pytest.mark.slow
def test_a_post_with_a_question_of_its_own_opens_with_its_figure() -> None:
    post = chosen(
        *repeated("cy10a", 5000, 0, get_min_s=(0.001, 0.001, 0.001, 0.5)),
        *repeated("quick", 5000, 10, get_min_s=(0.001, 0.001, 0.001, 0.004)),
    )
    figure = {"question": "get_min", "column": "get_min_s", "label": "seconds of the query"}
    (item,) = ib.opening(post, ib.mvcc_gc_statements, **figure, better="lower").items
    assert isinstance(item, Html)
    page = item.markup
    assert "2 configurations; 3 runs of each" in page
    of_queries = 'Range queries<span class="code"> qr100</span>'
    assert f"<figcaption>{of_queries}, seconds of the query" in page
    first, *_ = re.findall("<figcaption>([^,]*),", page)
    assert first == of_queries, "in no other step is there a difference"
    assert "1/125x, better</td>" in page and "Arrow: beyond the axis." in page
    assert "get_min took" in page and 'href="#evidence.get_min"' in page
    (item,) = ib.opening(post, ib.mvcc_gc_statements).items
    assert isinstance(item, Html) and "<figure" not in item.markup


@pytest.mark.slow
def test_every_first_screen_ends_with_what_was_run() -> None:
    runs = [Run("a"), Run("b", minute=1), Run("a", setup="io", minute=2), Run("b", setup="io", minute=3)]
    post, both = chosen(*runs), pair_of(*runs)
    shown = (headline(post), ib.opening(post, ib.steadiness_statements), ib.pair_headline(both))
    screens = [item for one in shown for item in one.items if isinstance(item, Html)]
    for screen in (*screens, ib.explained(ib.explanations(both))):
        before, strip = screen.markup.split('<div class="ran"')
        assert 'class="tested"' in before and "statements" not in strip and screen.headline
        facts = dict(re.findall("<dt>([^<]*)</dt><dd>([^<]*)</dd>", strip))
        assert facts["Setups"] == "cached and io" and facts["Configurations"] == "a and b"
        assert facts["Runs"].startswith("4: one of each") and facts["Missing"] == "no step, no second"
    assert len(screens) == 3
