"""Saved variables of servers: every form that a client prints, and nothing that a damaged file makes up."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers import saved_variables
from ibench_lib.importers.lines import LineBlocks
from ibench_lib.importers.saved_variables import Variables, read_variables, recognised
from tests.importers.host_text import vmstat
from tests.importers.saved_outputs import FORMS, OF_A_SESSION, STATUS, VARIABLES, tabbed, table, vertical
from tests.importers.sysbench_logs import log
from tests.importers.test_fuzz import damaged

Form = Callable[[Mapping[str, str]], str]


def read(content: str | bytes) -> tuple[Variables, int]:
    """What a file has, and how many lines were lost."""
    known = recognised(VARIABLES_ALONE)
    assert known is not None
    blocks = LineBlocks(Path("vars.txt"), [content.encode() if isinstance(content, str) else content])
    return read_variables(blocks, known[0]), blocks.lost.count


VARIABLES_ALONE = tabbed(VARIABLES)


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_every_form_has_the_same_variables(form: Form) -> None:
    found, lost = read(form(VARIABLES))
    assert lost == 0 and found.values.keys() == VARIABLES.keys()
    assert found.server == ("mysql", "8.0.33", "MySQL Community Server - GPL")
    as_they_are = {name: value for name, value in found.values.items() if value == VARIABLES[name]}
    assert found.values.keys() - as_they_are.keys() == {
        "basedir", "datadir", "general_log_file", "hostname", "init_connect", "report_password", "server_id",
    }  # fmt: skip
    told = {name: found.values[name] for name in ("basedir", "datadir", "hostname", "init_connect")}
    assert told == {"basedir": "<basedir>", "datadir": "<datadir>", "hostname": "<host>", "init_connect": "<masked>"}
    assert (found.of_a_session, found.differing, found.status_rows) == (False, set(), 0)


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_it_is_recognised_by_its_beginning(form: Form) -> None:
    for rows, kind in ((VARIABLES, "variables"), (STATUS, "status")):
        found = recognised(form(rows)[:400])
        assert found is not None and found[1] == kind
    wide = table({**VARIABLES, "version_comment": 500 * "x"})[:4096]
    found = recognised(wide)
    assert found is not None and found[1] == "variables"


def test_without_a_header_three_known_names_show_what_it_is() -> None:
    for rows, kind in ((VARIABLES, "variables"), (STATUS, "status")):
        found = recognised(tabbed(rows, header=False))
        assert found is not None and found[1] == kind
    assert recognised("autocommit\tON\nback_log\t80\nname\tvalue\n") is None
    assert recognised("# Percona Toolkit MySQL Summary Report #####\n")[1] == "summary"  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    [log(), vmstat([5]), "[mysqld]\nback_log = 1\nautocommit = 1\nbasedir = /\n", "setup,dbms,step\n", "", "\n\n"],
    ids=["a log", "vmstat", "an option file", "figures", "nothing", "empty lines"],
)
def test_other_text_is_not_recognised(text: str) -> None:
    assert recognised(text) is None


def test_variables_of_a_session_are_none_of_the_server() -> None:
    found, lost = read(tabbed({**VARIABLES, **OF_A_SESSION}))
    assert found.of_a_session and found.values.keys() == VARIABLES.keys() and lost == 0


def test_a_name_with_several_values_has_none() -> None:
    found, lost = read(tabbed(VARIABLES) + tabbed({**VARIABLES, "back_log": "80"}))
    assert (found.differing, lost) == ({"back_log"}, 0)
    assert found.values.keys() == VARIABLES.keys() - {"back_log"}


@pytest.mark.parametrize("header", [True, False])
def test_status_in_the_same_file_is_counted_and_not_read(header: bool) -> None:
    both = tabbed(STATUS, header=header) + tabbed(VARIABLES, header=header) + tabbed(STATUS, header=header)
    found, lost = read(both)
    assert (found.status_rows, lost) == (2 * len(STATUS), 0)
    assert found.values.keys() == VARIABLES.keys(), "names of status that begin with a small letter are no variables"


def test_lines_that_are_no_row_are_lost() -> None:
    text = tabbed(VARIABLES).replace("back_log\t3500", "back_log 3500\na\tb\tc\nNo name\t1\nname\t1\nx_y\t\x01")
    found, lost = read(f"{text}x_z\t1")
    assert lost == 6 and found.values.keys() == VARIABLES.keys() - {"back_log"}
    cut = vertical(VARIABLES) + "Variable_name: x_y\n"
    assert read(cut)[1] == 1 and read(cut + "Variable_name: x_z\n        Value: 1\n")[1] == 1
    assert read(table({"a_b": "1"}).replace("| 1     |", "| 1     "))[1] == 1, "its end is missing"


def test_without_a_version_nothing_says_which_server_it_is() -> None:
    for unknown in ({"version": ""}, {"version_comment": "OceanBase 4.2"}, {"version": "seven"}):
        assert read(tabbed({**VARIABLES, **unknown}))[0].server is None
    found, _ = read(tabbed({**VARIABLES, "version": "10.11.6-MariaDB-log", "version_comment": "built by alice"}))
    assert found.server == ("mariadb", "10.11.6-MariaDB-log", "<masked> by <masked>")
    percona, _ = read(tabbed({**VARIABLES, "version_comment": "Percona Server (GPL), Release 8, Revision 3f0b2bda"}))
    assert percona.server == ("percona", "8.0.33", "Percona Server (GPL), Release 8, Revision 3f0b2bda")


def test_a_file_has_at_most_so_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_variables, "MOST_NAMES", 10)
    found, lost = read(tabbed(VARIABLES))
    assert lost == len(VARIABLES) - 10 and len(found.values) == 10
    long, _ = read(tabbed({"innodb_x": 5000 * "9"}))
    assert long.values == {"innodb_x": "<masked>"}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_no_damage_makes_a_value(form: Form) -> None:
    text = form({**VARIABLES, **OF_A_SESSION})
    whole = read(text)[0]
    other = tabbed({**STATUS, "Handler_read_key": "1"})
    for what, content in damaged(text, other, random.Random("variables")):
        if what.startswith("columns of line"):
            continue  # a value that could be a name has nothing that shows that they have changed places
        try:
            found = read(content)[0]
        except UsageError:
            continue
        assert found.values.items() <= whole.values.items(), what
        assert found.server in (None, whole.server), what
