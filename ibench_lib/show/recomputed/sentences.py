"""What an import of others consists of, what it cannot say, and how many published figures it gives again."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import listed
from ibench_lib.analysis.recomputed import Explained, explained_rows
from ibench_lib.base.wording import NOT_MEASURED, count, joined, shortened
from ibench_lib.show.kit.statements import asks

_STATUSES = ("equal", "explained", "unexplained", "alone")


@asks("imports")
def archive_statements(imports: pl.DataFrame) -> list[str]:
    """What was imported from where, which steps have seconds, and what the files do not say, by reason."""
    if imports.is_empty():
        return ["Nothing here was imported."]
    sentences = []
    for (name, origin), runs in imports.group_by("experiment", "origin", maintain_order=True):
        files = runs["files"].explode().drop_nulls().n_unique()  # there may be several imports of a name
        of_files = f" of {count(files, 'file')}" if files else ""
        made = f"{count(len(runs), 'run')} with {count(sum(runs['steps'].to_list()), 'step')}"
        whence = NOT_MEASURED[str(origin)]
        sentences.append(f"{name}: {made} from {whence}{of_files}. Source: {joined(listed(runs['source']))}.")
    logs = imports.filter(pl.col("origin") == "imported")
    if len(logs):
        seconds, steps = sum(logs["with_seconds"].to_list()), sum(logs["steps"].to_list())
        which = "all steps" if seconds == steps else count(seconds, "step") if seconds else "no step"
        longer = sum(logs["with_intervals"].to_list())
        more = f", and only longer intervals of {count(longer, 'step')}" if longer else ""
        sentences.append(f"The logs have single seconds of {which}{more}.")
        sentences += _missing(logs)
    return sentences


@asks("recomputed")
def recomputed_statements(frame: pl.DataFrame) -> list[str]:
    """How many published figures are what the files give, and why the others are not."""
    if frame.is_empty():
        return []
    frame, found = _figures(frame)
    statuses = Counter(one.status for one in found)
    judged = len(found) - statuses["alone"]
    sentences = []
    if judged:
        every = statuses["equal"] == judged
        equal = ("it is" if judged == 1 else "all are") if every else _are(statuses["equal"])
        sentences.append(
            f"Of {count(judged, 'published figure')} with files to recompute them from, {equal} what the files give, "
            "to the last printed digit that is no zero."
        )
    kinds = Counter(one.kind for one in found if one.status == "explained")
    for kind, number in kinds.most_common():
        where = _places(frame, [one.kind == kind for one in found])
        differ = "1 figure differs" if number == 1 else f"{number:,} figures differ"
        sentences.append(f"{differ} for a reason that the data prove, {kind}: {where}.")
    if statuses["unexplained"]:
        where = _places(frame, [one.status == "unexplained" for one in found])
        differ = "1 figure differs" if statuses["unexplained"] == 1 else f"{statuses['unexplained']:,} figures differ"
        sentences.append(f"{differ}, and no known mistake gives what is published: {where}.")
    if statuses["alone"]:
        sentences.append(
            f"{count(statuses['alone'], 'published figure')} cannot be recomputed: no completed step has what it takes."
        )
    return sentences


def _figures(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Explained]]:
    """A row for each published figure, which may stand next to several runs: that of the run that explains it best."""
    best: dict[tuple[str, ...], tuple[int, int]] = {}
    found = explained_rows(frame)
    keys = frame.select("setup", "dbms", "step", "metric").rows()
    for place, (key, one) in enumerate(zip(keys, found, strict=True)):
        best[key] = min(best.get(key, (len(_STATUSES), 0)), (_STATUSES.index(one.status), place))
    places = sorted(place for _, place in best.values())
    return frame[places], [found[place] for place in places]


def _are(number: int) -> str:
    return "1 is" if number == 1 else f"{number:,} are" if number else "no figure is"


def _places(frame: pl.DataFrame, chosen: list[bool]) -> str:
    """The steps with their dbms, shortened."""
    rows = frame.filter(pl.Series(chosen, dtype=pl.Boolean))
    steps: dict[str, list[str]] = {}
    for row in rows.to_dicts():
        steps.setdefault(row["step"], []).append(row["dbms"])
    return shortened([f"{step} ({shortened(list(dict.fromkeys(names)), ', ')})" for step, names in steps.items()])


def _missing(runs: pl.DataFrame) -> list[str]:
    """What is NULL in all of these runs, by the reason that the import gives."""
    given: list[dict[str, Any]] = [json.loads(text or "{}") for text in runs["null_reasons"].to_list()]
    of_all = {column: why for column, why in given[0].items() if all(one.get(column) == why for one in given)}
    reasons: dict[str, list[str]] = {}
    for column, why in of_all.items():
        reasons.setdefault(why, []).append(column)
    return [f"Not known: {joined(columns)}, because {why}." for why, columns in reasons.items()]
