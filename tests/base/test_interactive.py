"""Help for IPython: how it shows objects of other libraries, and what it completes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ibench_lib.base import interactive
from tests.interactive_shell import completions, make_shell
from tests.places import ROOT


class Thing:
    """Of another library."""


def test_outside_of_ipython_nothing_happens_and_ipython_is_not_imported() -> None:
    program = (
        "import sys; from ibench_lib.base import interactive as i\n"
        "i.show_as(int, str, str); i.complete('x', list)\n"
        "print(i.session(), 'IPython' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.split() == ["None", "False"]


def test_a_class_of_others_is_shown_as_html_and_text_but_for_objects_that_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = make_shell(tmp_path, monkeypatch)
    ours, other = Thing(), Thing()
    interactive.show_as(
        Thing, lambda thing: "<p>ours</p>" if thing is ours else None, lambda thing: "ours" if thing is ours else None
    )
    assert shell.display_formatter.format(ours)[0] == {"text/html": "<p>ours</p>", "text/plain": "ours"}
    assert shell.display_formatter.format(other)[0] == {"text/plain": repr(other)}


def test_tab_completes_names_in_a_place_and_leaves_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = make_shell(tmp_path, monkeypatch)
    for _ in range(2):
        interactive.complete(r"\.ask\(['\"](\w*)", lambda: ["one_second", "dips"])
    assert completions(shell, "x.ask('") == ["one_second", "dips"], "once, though it was told twice"
    assert completions(shell, 'y = x.ask("di') == ["dips"]
    assert not {"one_second", "dips"} & set(completions(shell, "x.other('"))
