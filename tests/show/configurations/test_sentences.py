"""Sentences about fragments of configurations."""

import re
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.show.configurations.sentences import same_server_statements
from ibench_lib.store import reader
from tests.places import ROOT
from tests.show.saying import made_of, spoken
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def test_fragments_that_all_have_are_told_once() -> None:
    both = ["a", "b"]
    rows = [("cy10a.cnf", "# base", 0, both), ("p2.cnf", "# p2: trouble", 1, both), ("x.cnf", "# x", 2, ["b"])]
    frame = pl.DataFrame(rows, schema=["fragment", "text", "position", "dbms"], orient="row")
    assert ib.shared_statements(frame) == ["All 2 configurations include p2.cnf: “p2: trouble”"]
    alone = frame.with_columns(dbms=pl.lit(["a"]))
    assert ib.shared_statements(alone) == []


def test_configurations_that_the_server_runs_alike_are_named(workspace: Workspace) -> None:
    """Their option files differ, and what the server says of itself does not."""
    asked = Run("a18", minute=1, options="innodb_page_cleaners=4\n")
    other = Run("a20", minute=2, options="innodb_max_purge_lag=4\n", variables=(("innodb_max_purge_lag", "4"),))
    made_of(workspace, Run(), asked, other, Run("same", minute=3))
    (said,) = spoken(workspace, same_server_statements)
    assert said.startswith("Attention: system ran a18 and same as cy10a: it reported the same variables, ")
    assert said in re.sub("<.*?>", "", str(ib.headline(choose(reader.lake(workspace), "demo")).items[0]))
    assert spoken(workspace, same_server_statements, dbms=["system.cy10a", "system.a20"]) == []
    assert spoken(workspace, same_server_statements, dbms=["system.cy10a", "system.same"]) == [], "one option file"


def test_the_sample_has_five_servers_for_seven_configurations() -> None:
    post = choose(reader.lake(str(ROOT / "data" / "sample")), "innodb_purge_lag_sample")
    groups = [[name.removeprefix("mysql-9.7.") for name in names] for names in post.ask("same_servers")["dbms"]]
    assert groups == [["base", "a18"], ["a20", "a22"]]


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
    drawn = ib.fragments_table(post.ask("fragments")).html()
    assert "The base." in drawn and "a report" not in drawn and "x=1" not in drawn
