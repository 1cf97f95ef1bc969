import inspect
import re

from ibench_lib import errors
from ibench_lib.errors import IbenchError


def all_errors() -> dict[str, type[IbenchError]]:
    return {
        name: member
        for name, member in inspect.getmembers(errors, inspect.isclass)
        if member.__module__ == errors.__name__
    }


def test_the_tree_drawn_at_the_top_is_the_tree_of_the_classes() -> None:
    drawn: dict[str, tuple[str, int]] = {}
    above: list[str] = []
    exit_codes: list[int] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"    ([│├└─ ]*)([A-Z]\w+) +(\d+)? ", line)
        if match:
            depth = len(match[1]) // 4
            above[depth:] = [match[2]]
            exit_codes[depth:] = [int(match[3]) if match[3] else exit_codes[depth - 1]]
            drawn[match[2]] = (above[depth - 1] if depth else "Exception", exit_codes[depth])
    assert drawn == {name: (error.__bases__[0].__name__, error.exit_code) for name, error in all_errors().items()}


def test_every_error_carries_what_hint_and_detail() -> None:
    for kind in all_errors().values():
        error = kind("run r1: step l.i1 failed", hint="run it again", detail="line 1\nline 2")
        assert (str(error), error.what) == ("run r1: step l.i1 failed",) * 2
        assert (error.hint, error.detail) == ("run it again", "line 1\nline 2")
        assert kind("x").hint is kind("x").detail is None
