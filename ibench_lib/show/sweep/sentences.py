"""Where throughput has its peak over the number of clients, or over the values of an option."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.sweep import Line, sweep_of, swept_steps
from ibench_lib.base.wording import count, joined, shortened
from ibench_lib.show.kit.statements import asks, unfinished


@asks("sweep")
def sweep_statements(sweep: pl.DataFrame) -> list[str]:
    """For each step the place where each dbms is fastest, its rate against the ends, and what is not clearly slower."""
    sentences: list[str] = []
    unknown = False
    for axis, setup, step, rows in swept_steps(sweep):
        found = sweep_of(rows)
        unknown |= not found.known
        items = [_peak_text(axis, line) for line in found.lines if len(line.points) > 1]
        if items:
            sentences.append(f"{setup}, {step}, {rows['rate_label'][0]} over {axis}: {shortened(items)}.")
    if sentences and unknown:
        sentences.insert(0, "Peaks without an interval come from too few runs to estimate the noise.")
    return [*sentences, *unfinished(sweep)]


def _peak_text(axis: str, line: Line) -> str:
    """base is fastest with 4 clients (12,345 [11,900, 12,800], 3.1x of 1 client; as fast with 8 clients)."""
    best, first, last = line.peak.point, line.points[0], line.points[-1]
    if line.peak.clear and len(line.peak.alike) == len(line.points) - 1:
        rates = [point.value for point in line.points]
        return f"{line.dbms} has no clear peak ({min(rates):,.0f} to {max(rates):,.0f})"
    value = f"{best.value:,.0f}"
    if line.peak.clear and best.low is not None and best.high is not None:
        value += f" [{best.low:,.0f}, {best.high:,.0f}]"
    facts = [value]
    if best != first:
        facts.append(f"{best.value / first.value:.2f}x the rate {_at(axis, first.place)}")
    if best != last:
        facts.append(f"{best.value / last.value:.2f}x that {_at(axis, last.place)}")
    elif best not in line.peak.alike and not line.peak.alike and axis == "clients":
        facts.append("the most that were measured")
    fastest = "is fastest" if line.peak.clear else "had its highest rate"
    text = f"{line.dbms} {fastest} {_at(axis, best.place)} ({', '.join(facts)})"
    if line.peak.alike:
        text += f", not clearly faster than {joined([_at(axis, point.place) for point in line.peak.alike])}"
    return text


def _at(axis: str, place: str) -> str:
    return f"with {count(int(place), 'client')}" if axis == "clients" else f"at {place}"
