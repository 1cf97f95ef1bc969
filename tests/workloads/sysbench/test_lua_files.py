"""Lua files of one's own: read, asked for their options, and run by the real sysbench on a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ibench_lib.client.external import CannotDrive
from ibench_lib.errors import ExperimentError, HostUnfit
from ibench_lib.runner.preflight import require_program
from ibench_lib.workloads import workload
from ibench_lib.workloads.sysbench import lua_files, steps
from ibench_lib.workloads.sysbench.lua_files import options_of, read_lua, require_options, require_unchanged
from ibench_lib.workloads.sysbench.options import Options
from ibench_lib.workloads.sysbench.program import folder_of_tests
from tests.workloads.sysbench.place import SETUP, Place
from tests.workloads.sysbench.test_options import options

MINE = """\
require("parts")
sysbench.cmdline.options = { first_id = {"The first id", 1}, table_size = {"Rows", 10} }
function prepare()
   local c = sysbench.sql.driver():connect()
   c:query("DROP TABLE IF EXISTS mine")
   c:query("CREATE TABLE mine (id INT PRIMARY KEY, n INT NOT NULL)")
   for id = 1, sysbench.opt.table_size do c:query("INSERT INTO mine VALUES (" .. id .. ", 0)") end
end
function thread_init() con = sysbench.sql.driver():connect() end
function event() one_update(con, sysbench.opt.first_id) end
"""
PARTS = 'function one_update(c, id) c:query("UPDATE mine SET n = n + 1 WHERE id = " .. id) end\n'


@pytest.fixture
def mine(tmp_path: Path) -> Options:
    """Options with a script that requires another one."""
    return chosen(tmp_path, MINE)


def chosen(folder: Path, text: str, **given: Any) -> Options:
    (folder / "mine.lua").write_text(text)
    (folder / "parts.lua").write_text(PARTS)
    told = {"tests": ["mine"], "lua": ["own/mine.lua", "own/parts.lua"], "prepare": "mine", **given}
    return options(**told).with_files({name: folder / name for name in ("mine.lua", "parts.lua")})


def test_a_script_is_known_by_its_digest_and_not_by_its_place(mine: Options, tmp_path: Path) -> None:
    digest = read_lua(tmp_path / "mine.lua").sha256
    assert mine.model_dump()["lua"][0] == f"mine.lua ({digest[:16]})" and str(tmp_path) not in str(mine.model_dump())
    assert mine.model_dump()["prepare"]["test"] == "mine"
    assert not {"lua", "prepare"} & options().model_dump().keys(), "cells that were finished before stay done"
    assert "keep" not in options().model_dump()["tests"][0]
    with pytest.raises(ExperimentError, match=r"^workload\.lua: there is no file .*none\.lua$"):
        read_lua(tmp_path / "none.lua")
    (tmp_path / "mine.lua").write_text("changed")
    with pytest.raises(CannotDrive, match=r"^mine\.lua has changed since the experiment was started$"):
        require_unchanged(mine.lua_files.values())


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"tests": ["min"], "lua": ["mine.lua"]}, "tests: number 1: unknown test 'min'; did you mean 'mine'?"),
        ({"lua": ["scan.lua"]}, "lua: there is another test scan"),
        ({"lua": ["a.lua", "b/a.lua"]}, "lua: there is another test a"),
        ({"lua": ["a.txt"]}, "lua: 'a.txt' is no name such as my_test.lua"),
        ({"prepare": "oltp_read_only"}, "prepare: 'oltp_read_only' is no file of `lua`"),
        ({"tests": [{"test": "oltp_delete", "keep": True}]}, "oltp_delete: keep is for Lua files of your own"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        options(**given)
    assert why in str(caught.value)


def test_tables_are_prepared_again_unless_what_was_done_to_them_is_kept() -> None:
    own = {"test": "mine", "name": "kept", "keep": True}
    several = options(tests=["mine", own, "oltp_point_select"], lua=["mine.lua"], threads=[1])
    planned = steps.plan(several, SETUP, 1.0)
    assert [step.name for step in planned] == [
        "prepare", "mine.t1", "prepare.2", "kept.t1", "oltp_point_select.t1",
    ]  # fmt: skip
    assert [len(steps.checks(several, step, {})) for step in planned] == [2, 0, 2, 0, 0]
    other = options(tests=[own], lua=["mine.lua"], prepare="mine")
    assert [step.kind for step in steps.plan(other, SETUP, 1.0)] == ["prepare_own", "test"]


@pytest.mark.parametrize(
    ("text", "given", "why"),
    [
        ("this is no Lua", {}, r"^mine\.lua does not load: .*'='? expected near '?is"),
        ('require("nowhere")', {}, r"^mine\.lua does not load: .*module 'nowhere' not found"),
        (MINE, {"first_id": 3, "first-id": 2}, None),
        (MINE, {"first-idx": 3}, r"^mine\.lua has no option first-idx; did you mean 'first-id'\?$"),
    ],
)
def test_options_are_checked_against_what_the_script_says(
    text: str, given: dict[str, Any], why: str | None, sysbench: str, tmp_path: Path
) -> None:
    file = chosen(tmp_path, text).lua_files["mine"]

    def check() -> None:
        known = options_of(sysbench, file.path, str(folder_of_tests(sysbench)))
        assert known == {"first-id", "table-size"}
        require_options(file.path, known, {name.replace("_", "-"): value for name, value in given.items()})

    if why is None:
        check()
        return
    with pytest.raises(CannotDrive, match=why) as caught:
        check()
    assert "\n" not in str(caught.value) and str(tmp_path) not in str(caught.value)


def test_a_script_that_never_ends_is_stopped(sysbench: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lua_files, "HELP_S", 1)
    file = chosen(tmp_path, "while true do end").lua_files["mine"]
    with pytest.raises(CannotDrive, match=r"^mine\.lua did not say its options within 1 s: does it loop"):
        options_of(sysbench, file.path, str(folder_of_tests(sysbench)))


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("function event() end", frozenset()),
        ('function event() end function help() print("ask me") end', None),
    ],
)
def test_a_script_without_options_has_none_and_one_with_its_own_help_may_have_any(
    text: str, known: frozenset[str] | None, sysbench: str, tmp_path: Path
) -> None:
    file = chosen(tmp_path, text).lua_files["mine"]
    assert options_of(sysbench, file.path, str(folder_of_tests(sysbench))) == known
    if known is None:
        require_options(file.path, known, {"any": 1})


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ([{"test": "mine", "options": {"none": 1}}], "mine.lua has no option none"),
        ([{"test": "scan", "options": {"none": 1}}], "scan.lua has no option none"),
        ([{"test": "oltp_read_only", "options": {"range-sizes": 1}}],
         "oltp_read_only.lua has no option range-sizes; did you mean 'range-size'?"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("sysbench")
def test_an_option_that_no_script_has_ends_an_experiment_before_it_starts(
    tests: list[dict[str, Any]], why: str, tmp_path: Path
) -> None:
    with pytest.raises(HostUnfit) as caught:
        require_program(workload.find("sysbench"), chosen(tmp_path, MINE, tests=tests))
    assert caught.value.what.startswith(why)


@pytest.mark.usefixtures("sysbench")
def test_a_script_that_cannot_make_tables_of_the_engine_ends_it_too(tmp_path: Path) -> None:
    with pytest.raises(HostUnfit) as caught:
        require_program(workload.find("sysbench"), chosen(tmp_path, MINE, engine="rocksdb"), "mysql")
    assert caught.value.what.startswith("mine.lua has no option mysql-storage-engine")
    able = MINE.replace("= { first", '= { mysql_storage_engine = {"engine", "innodb"}, first')
    (folder := tmp_path / "able").mkdir()
    require_program(workload.find("sysbench"), chosen(folder, able, engine="rocksdb"), "mysql")


@pytest.mark.slow
def test_a_script_prepares_its_own_tables_and_every_event_is_counted(place: Place, mine: Options) -> None:
    driven, rows = place.run(mine, 0)
    assert (driven.error, driven.seconds.ops, rows) == (None, 1, [])
    assert place.connection.scalar("SELECT COUNT(*) FROM mine") == SETUP.table_size
    driven, rows = place.run(mine, 1)
    assert driven.error is None and driven.unread == 0, driven.error
    done = {name: sum(row["ops"] for row in rows if row["operation"] == name) for name in ("transaction", "write")}
    assert done["transaction"] == done["write"] == place.connection.scalar("SELECT n FROM mine WHERE id = 1") > 0
    place.connection.query("DROP TABLE mine")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('error("my own reason")', "my own reason"),
        ('con:query("SELECT * FROM nowhere")', "nowhere"),
        ("while true do end", "it did not end"),
    ],
)
def test_an_event_that_fails_or_never_ends_is_one_line(
    place: Place, body: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ibench_lib.client.external.LATE_S", 1.0)
    text = MINE.replace("one_update(con, sysbench.opt.first_id)", body)
    driven, _ = place.run(chosen(tmp_path, text), 1, seconds=1.0)
    assert driven.error and why in driven.error and "\n" not in driven.error
