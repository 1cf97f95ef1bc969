"""What a page gets of a flame graph: the tree packed, facts, a table of functions, files."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import pytest

from ibench_lib.analysis.flame.sides import NOT_TOLD_APART, Recording, Side
from ibench_lib.show.flame import exports
from ibench_lib.show.flame.graph import content, facts, files, functions_table, graph_of, links, markup
from tests.show.parsed import Parsed
from tests.show.profiled import COPY, INSERT, NO_NAMES, PARSE, PURGE, SEND, STACKS


def side(name: str, stacks: dict[str, int], us: float | None = 200.0) -> Side:
    samples = sum(stacks.values())
    weight = None if us is None else us / samples
    return Side(f"{name}, 2026-11-22", name, (Recording("r", 1, weight, stacks),), 50.0, 4.0)


A = side("a", STACKS)
MORE = {PARSE: 100, INSERT: 160, PURGE: 10, SEND: 10}  # without COPY
B = side("b", MORE, 280.0)


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def heads(table: Parsed) -> list[str]:
    return [row[0] for row in table.rows if len(row) > 5 and row[-1].isdigit()]


def test_the_packed_tree_has_all_samples_and_all_cpu() -> None:
    found = unpacked(content(graph_of([A, B], "l.i0, cached")))
    assert found["unit"] == "us/op" and [one["name"] for one in found["sides"]] == ["a, 2026-11-22", "b, 2026-11-22"]
    assert [sum(samples) for samples in found["s"]] == [200, 280]
    for side_of, us in enumerate((200.0, 280.0)):
        assert sum(found["u"][side_of]) * found["scale"][side_of] == pytest.approx(us, rel=1e-6)
    names = [found["names"][at] for at in found["n"]]
    at = names.index("memcpy")
    callers = []
    while at:
        at -= found["p"][at]
        callers.append(names[at])
    assert callers == [
        "btr_cur_insert",
        "row_ins",
        "do_command",
        "handle_one_connection",
        "start_thread",
        "connections",
        "",
    ]
    kernel = {found["names"][at] for at in found["kernel"]}
    assert kernel == {"entry_SYSCALL_64_after_hwframe", "do_syscall_64"}


def test_without_the_cpu_of_an_operation_samples_are_shown() -> None:
    graph = graph_of([A, side("b", MORE, None)], "l.i0, cached")
    found = unpacked(content(graph))
    assert found["unit"] == "samples" and set(found["u"][0]) == {0}
    assert "The CPU per operation is not known, so all figures here are numbers of samples." in facts(graph)
    assert Parsed(functions_table(graph)).of("MYSQLparse")[:4] == ["100", "100", "+0", "-"]


def test_a_graph_is_headed_by_what_its_sides_can_tell() -> None:
    told = facts(graph_of([A, side("b", NO_NAMES)], "l.i0, cached"))
    assert told == [
        "A: a, 2026-11-22: 200.00 us/op of the server's CPU; 1 run, 1 recording, 200 samples. "
        "0.0 % of CPU without a name, 5.0 % of stacks cut.",
        "B: b, 2026-11-22: 200.00 us/op of the server's CPU; 1 run, 1 recording, 200 samples. "
        "40.0 % of CPU without a name, 10.0 % of stacks cut.",
        "In B, more than 20 % of CPU has no name, so only functions with a name on both sides are shown; "
        "(names are missing) stands for all others.",
        "No change is coloured: each side needs two runs with a profile to tell a change from noise.",
    ]


def test_many_cut_stacks_are_told() -> None:
    cut = side("b", {PARSE: 70, SEND: 30})
    said = "more than 20 % of stacks are cut. They stand under (cut off), because their callers are not known."
    assert f"In B, {said}" in facts(graph_of([A, cut], "l.i0, cached"))
    assert f"M{said[1:]}" in facts(graph_of([cut], "l.i0, cached"))


def test_functions_without_a_name_on_one_side_are_not_told_apart() -> None:
    graph = graph_of([A, side("b", NO_NAMES)], "l.i0, cached")
    found = {graph.trie.path(at): samples for at, samples in enumerate(graph.trie.totals)}
    # Of A 60 in btr_cur_insert and 20 in memcpy below it, of B 80 in a function without a name.
    assert found["connections", "start_thread", "handle_one_connection", "do_command", "row_ins", NOT_TOLD_APART] == [
        80,
        80,
    ]
    assert not {"btr_cur_insert", "memcpy", "[unknown] (mariadbd)"} & set(graph.trie.names)
    assert found[()] == [200, 200]
    both = graph_of([A, B], "l.i0, cached")
    assert "btr_cur_insert" in both.trie.names and NOT_TOLD_APART not in both.trie.names
    alone = graph_of([side("b", NO_NAMES)], "l.i0, cached")
    assert "[unknown] (mariadbd)" in alone.trie.names
    said = "More than 20 % of the CPU has no function name, so little can be said about functions here."
    assert said in facts(alone)


def test_the_table_has_own_cpu_and_cpu_with_callees() -> None:
    table = Parsed(functions_table(graph_of([A], "l.i0, cached")))
    assert heads(table)[:3] == ["MYSQLparse", "btr_cur_insert", "memcpy"]
    assert table.of("btr_cur_insert") == ["60.000", "30.0", "80.000", "40.0", "80"]
    assert table.of("memcpy") == ["20.000", "10.0", "20.000", "10.0", "20"]
    assert "connections" not in heads(table)


def test_a_recursive_function_is_counted_once_a_stack() -> None:
    graph = graph_of([side("a", {"t;start_thread;f;g;f": 30, "t;start_thread;g": 10}, 40.0)], "l.i0, cached")
    assert Parsed(functions_table(graph)).of("f") == ["30.000", "75.0", "30.000", "75.0", "30"]


def test_the_table_of_two_is_sorted_by_the_change() -> None:
    table = Parsed(functions_table(graph_of([A, B], "l.i0, cached")))
    assert heads(table)[:2] == ["btr_cur_insert", "memcpy"]
    grown = ["60.000", "160.000", "+100.000", "-", "80.000", "160.000", "+80.000", "80", "160"]
    assert table.of("btr_cur_insert") == grown
    assert table.of("memcpy") == ["20.000", "0.000", "-20.000", "-", "20.000", "0.000", "-20.000", "20", "0"]


def test_files_are_named_by_build_and_date() -> None:
    found = dict(files(graph_of([A, B], "l.i0, cached"), "l.i0"))
    assert list(found) == [
        "A-a-2026-11-22-l.i0.folded", "A-a-2026-11-22-l.i0.pb.gz", "a-2026-11-22-b-2026-11-22-l.i0.folded",
        "B-b-2026-11-22-l.i0.folded", "B-b-2026-11-22-l.i0.pb.gz", "a-2026-11-22-b-2026-11-22-l.i0.speedscope.json",
    ]  # fmt: skip
    assert found["A-a-2026-11-22-l.i0.folded"] == exports.folded(A)
    assert f"{COPY} 20 0" in found["a-2026-11-22-b-2026-11-22-l.i0.folded"].decode()


def test_links_hold_the_files_and_leave_out_the_longest() -> None:
    plain, long = b"short", bytes(range(256)) * 400
    found = links([("long.folded", long), ("short.folded", plain)]).markup
    data = dict(re.findall(r'download="([^"]*)" href="data:[^,]*,([^"]*)"', found))
    assert base64.b64decode(data["short.folded"]) == plain
    assert gzip.decompress(base64.b64decode(data["long.folded.gz"])) == long
    without = links([("long.folded", long), ("short.folded", plain)], room=20).markup
    assert "long.folded.gz" not in dict(re.findall(r'download="([^"]*)" href="data:[^,]*,([^"]*)"', without))
    assert re.search(r"long\.folded\.gz, \d.* kB: left out", without)


def test_names_of_functions_are_no_markup() -> None:
    hostile = side("<b>", {"t;start_thread;<script>x</script>": 5, "t;start_thread;operator<": 5})
    shown = markup(graph_of([hostile], "l.i0, <i>")).markup
    assert "<b>" not in shown and "<i>" not in shown and shown.count("<script") == 1
    assert "&lt;b&gt;" in shown
