"""The difference of two dbms in one step, taken apart: rate, CPU, response time, functions and parts of the server."""

from __future__ import annotations

from collections.abc import Sequence

from ibench_lib.show.explain.wording import (
    MOST_FUNCTIONS,
    Explanation,
    Function,
    Part,
    around_text,
    change_text,
    rate_of,
    ratio_text,
    us,
    value_text,
)
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.theme import CHANGE_WORDS, Mark

_JUDGED = "more, less: the cost in B; the interval allows for all rows of the table, and excludes 0."


def rate_terms(found: Explanation) -> Grid | None:
    """The rate as the CPU in use over the CPU per operation; None where CPU was not captured."""
    if not found.rate:
        return None
    grid = _grid(found, "rate", "Rate = CPU in use / CPU per operation", ["A", "B", "B / A"], "term")
    for term in (*found.rate, *found.processor):
        cells = [value_text(term, term.a), value_text(term, term.b), ratio_text(term)]
        grid.rows.append((rate_of(found, term), [Cell(text) for text in cells]))
    grid.notes = [
        "Geometric means of the runs, so the log ratio of the rate is exactly that of CPU in use minus that of CPU per "
        "operation.",
        _interval_note(any(term.difference for term in found.rate)),
    ]
    return grid


def cpu_parts(found: Explanation) -> Grid | None:
    """The host's CPU per operation, by who used it; None where it was not captured."""
    notes = ["Means of the runs, microseconds. The parts sum to the host's CPU per operation."]
    return _parts(found, "cpu", "CPU per operation, us", found.cpu, notes)


def response_parts(found: Explanation) -> Grid | None:
    """The response time of a statement and the bounds of its parts; None where Little's law does not hold."""
    notes = [
        "Means per statement and connection, microseconds. Upper bounds overlap and include the work of background "
        "threads; the rest is a lower bound, what remains after they are subtracted. A part that grew with the "
        "response time did not necessarily cause the growth.",
    ]
    return _parts(found, "response", "Response time of a statement, us", found.response, notes)


def subsystem_costs(found: Explanation) -> Grid | None:
    """The server's CPU per operation by its parts; None without profiles."""
    if not found.subsystems:
        return None
    grid = _grid(
        found, "subsystems", "Server CPU per operation by part, us", ["A", "B", "change", "A %", "B %"], "part"
    )
    for one in found.subsystems:
        grid.rows.append((one.name, _cost_cells(one.a, one.b, change_text(one), one, [one.share_a, one.share_b])))
    total = [sum(one.a for one in found.subsystems), sum(one.b for one in found.subsystems)]
    grid.rows.append(
        ("all", [Cell(us(total[0])), Cell(us(total[1])), Cell(us(total[1] - total[0])), Cell(""), Cell("")])
    )
    grid.notes = [
        _samples(found),
        "A sample counts for the innermost function whose part of the server is known.",
        _JUDGED,
    ]
    return grid


def self_costs(found: Explanation) -> Grid | None:
    """Functions by themselves, without what they call; None without function names."""
    return _functions(found, "self", "Own time of functions, us per operation", found.self_costs)


def inclusive_costs(found: Explanation) -> Grid | None:
    """Functions with all that they call; None without function names."""
    return _functions(found, "inclusive", "Functions with all they call, us per operation", found.inclusive_costs)


def _functions(found: Explanation, name: str, title: str, functions: Sequence[Function]) -> Grid | None:
    if not functions:
        return None
    columns = ["A", "B", "change", "A %", "B %", "part of the server", "note"]
    grid = _grid(found, name, title, columns, "function")
    for one in functions[:MOST_FUNCTIONS]:
        cost = one.cost
        cells = _cost_cells(cost.a, cost.b, change_text(cost), cost, [cost.share_a, cost.share_b])
        note = f"{'moved' if one.moved else 'may have moved'}: {around_text(one.around)}" if one.around else ""
        grid.rows.append((cost.name, [*cells, Cell(one.subsystem), Cell(note)]))
    more = len(functions) - MOST_FUNCTIONS
    grid.notes = [
        _samples(found),
        f"Clear changes first, the largest on top{f'; {more:,} more functions are not shown' if more > 0 else ''}. "
        "Functions with fewer than 20 samples on both sides together are not judged.",
        _JUDGED,
        "A share alone misleads: on a slower server, a function that costs the same has a smaller share.",
    ]
    if any(one.moved for one in functions[:MOST_FUNCTIONS]):
        grid.notes.append(
            "Moved: its caller or its part of the server costs the same, so the work only has a new name. The whole "
            "interval of that cost lies within half of the function's own change."
        )
    if any(one.around and not one.moved for one in functions[:MOST_FUNCTIONS]):
        grid.notes.append(
            "May have moved: neither did its caller or its part of the server clearly change with it, nor are they "
            "known to cost the same."
        )
    return grid


def _cost_cells(a: float, b: float, change: str, one: object, shares: Sequence[float]) -> list[Cell]:
    clear = bool(getattr(one, "is_clear", False))
    mark: Mark | None = ("bad" if b > a else "good") if clear else None
    percent = [Cell(f"{100 * share:.1f}") for share in shares]
    return [Cell(us(a)), Cell(us(b)), Cell(change, mark), *percent]


def _parts(found: Explanation, name: str, title: str, parts: Sequence[Part], notes: list[str]) -> Grid | None:
    if not parts:
        return None
    grid = _grid(found, name, title, ["A", "B", "change", "what it is"], "part")
    for part in parts:
        mark: Mark | None = ("bad" if (part.change or 0) > 0 else "good") if part.is_clear else None
        cells = [Cell(us(part.a)), Cell(us(part.b)), Cell(change_text(part), mark), Cell(part.quality)]
        grid.rows.append((part.label, cells))
    said = "; ".join(f"{part.label}: {part.where}" for part in parts if part.where)
    grid.notes = [
        *notes,
        f"{said[0].upper()}{said[1:]}.",
        _JUDGED if any(part.difference for part in parts) else _interval_note(False),
    ]
    return grid


def _grid(found: Explanation, name: str, title: str, columns: list[str], head: str) -> Grid:
    where = f"{found.setup}.{found.step}"
    return Grid(f"explained.{name}.{where}", f"{title}: {found.step}, {found.setup}", head, columns, words=CHANGE_WORDS)


def _samples(found: Explanation) -> str:
    a, b = found.samples
    shares = ", ".join(f"{100 * share:.0f} % of {side}" for share, side in zip(found.unknown, ("A", "B"), strict=True))
    return f"From {a:,} samples of A and {b:,} of B; without a function name: {shares}."


def _interval_note(known: bool) -> str:
    if known:
        return (
            "[low, high]: 95 % interval, a t test of the logarithms with the noise of all selected results and steps."
        )
    return "Too few runs for an interval."
