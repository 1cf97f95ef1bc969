"""Throughput against the base: what is clearly better and worse."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.frames import by_position, measured, rate_label, rows_of
from ibench_lib.analysis.verdicts import BETTER, WORSE, Ratio
from ibench_lib.ask.bases import Bases, bases
from ibench_lib.base.wording import count, joined, shortened
from ibench_lib.show.kit.statements import (
    asks,
    caveated,
    caveats,
    columns_of,
    complete,
    noise_said,
    ratio_text,
    unfinished,
    without_short,
)
from ibench_lib.show.kit.wording import detectable_said, smallest_said

UNRECORDED = 0.02
"""The share of a step from which on a post says that a client spent it in statements which are no operations."""


@asks("step_throughput", base=True)
def throughput_statements(step_throughput: pl.DataFrame, base: str | Bases) -> list[str]:
    """For each step, what has more and what has clearly less throughput than the base; then where nothing does."""
    return _statements(step_throughput, bases(base), ratios_said=True)


@asks("step_throughput", base=True)
def throughput_caveat_statements(step_throughput: pl.DataFrame, base: str | Bases) -> list[str]:
    """What to know of throughput whose ratios the first screen has: how they are judged, and what limits them."""
    return _statements(step_throughput, bases(base), ratios_said=False)


def _statements(step_throughput: pl.DataFrame, base: Bases, *, ratios_said: bool) -> list[str]:
    sentences = list[str]()
    even: dict[tuple[str, str], dict[str, dict[str, Ratio]]] = {}
    without_base: dict[str, list[str]] = {}
    seen: list[Ratio] = []
    compared, short = without_short(step_throughput)
    to_base = against_base(step_throughput, base, ["throughput"])
    for setup, step, rows in columns_of(compared):
        others = [name for name in by_position(rows) if name != base.first and measured(rows, name, step)]
        places = {name: (setup, step, "throughput", name) for name in others}
        ratios = {name: to_base[place] for name, place in places.items() if place in to_base}
        if others and not ratios:
            without_base.setdefault(setup, []).append(step)
        if not ratios:
            continue
        seen += ratios.values()
        sentence = _step_sentence(setup, step, rows, ratios, base)
        if sentence:
            sentences.append(sentence)
        else:
            even.setdefault((setup, _apart(list(ratios.values()))), {})[step] = ratios
    for (setup, apart), alike in even.items():
        number = len({name for names in alike.values() for name in names})
        limits = smallest_said({step: detectable_said(of_step.values()) for step, of_step in alike.items()})
        sentences.append(
            f"{setup}: in {joined(list(alike))} no configuration {apart.format(base=base)} ({number} compared{limits})."
        )
    no_base = [
        f"{setup}, {joined(steps)}: {base} has no throughput to compare with." for setup, steps in without_base.items()
    ]
    sentences += no_base
    if not sentences and len(step_throughput) and not short:
        no_base.append(f"Nothing is compared, because no configuration other than {base} has completed a step.")
        sentences += no_base
    of_clients = [*_client_bound(step_throughput), *_unrecorded(step_throughput)]
    return [
        *noise_said(seen),
        *(sentences if ratios_said else no_base),
        *of_clients,
        *short,
        *unfinished(step_throughput),
    ]


def _apart(ratios: list[Ratio]) -> str:
    """The verb phrase for 'no difference': depends on how many runs the ratios are of."""
    of_one, of_two = any(ratio.low is None for ratio in ratios), any(ratio.is_range for ratio in ratios)
    of_more = any(ratio.p is not None for ratio in ratios)
    sentences = []
    if of_more:
        sentences.append("differs clearly from {base}")
    if of_one and of_more:
        sentences.append(f"all with one run lie within {WORSE}x to {BETTER}x of {{base}}")
    elif of_one:
        sentences.append(f"lies below {WORSE}x or above {BETTER}x of {{base}}")
    if of_two:
        sentences.append(
            "where there are only two runs, they are too few to tell"
            if sentences
            else "can be told from {base} with only two runs"
        )
    return ", and ".join(sentences)


def _client_bound(frame: pl.DataFrame) -> list[str]:
    """Which steps say more of the clients than of the server."""
    bound = complete(frame).filter(pl.col("client_bound").is_not_null()).sort("setup", "step_id", "dbms_position")
    items = [f"{row['dbms']} in {row['setup']}, {row['step']}" for row in bound.to_dicts()]
    return [f"Limited by the clients, not by the server: {shortened(list(dict.fromkeys(items)))}."] if items else []


def _unrecorded(frame: pl.DataFrame) -> list[str]:
    """In which steps clients spent much of T in statements that no rate and no response time counts."""
    if "unrecorded_share" not in frame.columns:
        return []
    much = complete(frame).filter(pl.col("unrecorded_share") > UNRECORDED)
    worst = much.sort("unrecorded_share", descending=True).unique(["setup", "step", "dbms"], keep="first")
    items = []
    worst = worst.sort("unrecorded_share", "setup", "step_id", "dbms_position", descending=[True, False, False, False])
    for row in worst.to_dicts():
        about = f"{row['unrecorded_role']}, {100 * row['unrecorded_share']:.0f} %"
        items.append(f"{row['dbms']} in {row['setup']}, {row['step']} ({about})")
    if not items:
        return []
    return [
        f"A client process spent over {100 * UNRECORDED:.0f} % of the step in statements that count in no rate and in "
        f"no response time: {shortened(items)}."
    ]


def _step_sentence(setup: str, step: str, rows: pl.DataFrame, ratios: dict[str, Ratio], base: Bases) -> str | None:
    """What differs from the base in one step; None when nothing does."""
    better = sorted((n for n, r in ratios.items() if r.verdict == "better"), key=lambda n: -ratios[n].value)
    worse = sorted((n for n, r in ratios.items() if r.verdict == "worse"), key=lambda n: ratios[n].value)
    if not better and not worse:
        return None
    unit = rate_label(rows, step)
    parts = []
    for word, names in (("faster", better), ("slower", worse)):
        for of_group, others in base.groups(names).items():
            items = [_item(name, ratios[name], rows, step) for name in others]
            if items:
                parts.append(f"{word} than {of_group}: {shortened(items, ', ')}")
    same = len(ratios) - len(better) - len(worse)
    change = detectable_said([ratio for name, ratio in ratios.items() if name not in (*better, *worse)])
    rest = f" {count(same, 'other')}: no difference found{smallest_said({'': change})}." if same else ""
    about_base = ""
    for name in base.names:
        of_base = caveats(rows_of(rows, name, step))
        about_base += f" {name}: {', '.join(of_base)}." if of_base else ""
    return f"{setup}, {step}, {unit}: {'; '.join(parts)}.{rest}{about_base}"


def _item(name: str, found: Ratio, rows: pl.DataFrame, step: str) -> str:
    return caveated(f"{name} {ratio_text(found)}", rows_of(rows, name, step))
