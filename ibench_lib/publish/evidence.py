"""What a post rests on, folded at its end: runs, experiment, configurations, versions, warnings, SQL and data.

Everything that somebody else has written is escaped here.
"""

from __future__ import annotations

import html
import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Any

from ibench_lib.ask.bases import Bases
from ibench_lib.ask.selection import AskedQuestion, Selection
from ibench_lib.base.mask import mask_of_machine
from ibench_lib.base.wording import NOT_MEASURED, count, joined
from ibench_lib.paths import workspace
from ibench_lib.publish.downloads import Download, downloads
from ibench_lib.show.kit.display import sentence
from ibench_lib.show.kit.pieces import RUNS_MIME, Html, Piece, Sentence
from ibench_lib.store import catalogue

_LIBRARIES = ("ibench", "duckdb", "polars", "pyarrow", "numpy", "plotly", "papermill", "nbconvert")

Row = dict[str, Any]


@dataclass(frozen=True)
class Evidence:
    """The section as HTML; the runs that it speaks of, for the list of posts, and the names of its answers."""

    html: Html
    runs: list[Row]
    questions: list[str]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {**self.html.bundle, RUNS_MIME: {"runs": self.runs, "questions": self.questions}}


def evidence(selection: Selection) -> Evidence:
    """What the answers of a selection rest on; call it last, it shows what was asked before.

    Each question has the id `evidence.<question>`; one that was asked again with other parameters has `-2` after it.
    """
    runs = selection.looked_up("evidence", {"runs": selection.run_ids}).to_dicts()
    parts = [
        _runs(runs),
        _experiments(runs),
        _configurations(runs, selection.bases),
        _versions(runs),
        _warnings(runs),
        _questions(selection),
    ]
    section = Html('<div class="evidence">', *parts, "</div>")
    listed = [
        {
            "run_id": run["run_id"],
            "status": run["status"],
            "experiment": run["experiment"],
            "workload": json.loads(run["workload"] or "{}").get("benchmark"),
            "build": run["build"],
            "server": _server_name(run),
        }
        for run in runs
    ]
    return Evidence(section, listed, [asked.name for asked in selection.asked])


def _runs(runs: list[Row]) -> Html:
    if not runs:
        return sentence("There is no run, so there is no evidence.")
    columns = ("run", "dbms", "setup", "repeat", "status", "started (UTC)", "ended", "server", "scale", "ibench")
    rows = [
        [
            run["run_id"], run["dbms"], run["setup"], run["repeat"], _status(run), _when(run["origin_wall"]),
            _when(run["ended_wall"]), _server(run), f"{run['scale']:g}", run["tool_version"],
        ]
        for run in runs
    ]  # fmt: skip
    hosts: dict[str, list[Row]] = {}
    for run in runs:
        hosts.setdefault(_host(run), []).append(run)
    measured = [Sentence(f"{host} ({_whose(those, runs)})") for host, those in hosts.items()]
    table = _table("Runs in this post", columns, rows)
    shown = _folded("evidence-runs", f"Runs ({len(runs)})", table, "<p>Measured on:</p><ul>", *measured, "</ul>")
    return Html(*_unvouched(runs), shown)


_UNVOUCHED = {
    "manifest": (
        "No checksum vouches for {files} of {runs}, made by an older ibench: nobody would notice a change of the "
        "status, the options, the versions or the warnings."
    ),
    "text": ("No checksum vouches for {files} of {runs}, made by an older ibench: nobody would notice a change there."),
    "unlisted": (
        "In the folder of {runs}, the manifest does not list {files}: no checksum vouches for what is not listed, and "
        "nothing on this page is made from it."
    ),
}
_FILES_NAMED = 5


def _unvouched(runs: list[Row]) -> list[Sentence]:
    """A sentence for each kind of file that no checksum vouches for, with the runs that have such files."""
    files_of: dict[str, tuple[dict[str, None], list[Row]]] = {}
    for run in runs:
        for one in run["unvouched"] or []:
            files, those = files_of.setdefault(one["kind"], ({}, []))
            files[one["file"]] = None
            if run not in those[-1:]:
                those.append(run)
    sentences = []
    for kind, pattern in _UNVOUCHED.items():
        if kind in files_of:
            names, those = list(files_of[kind][0]), files_of[kind][1]
            named = [
                *names[:_FILES_NAMED],
                *([f"{len(names) - _FILES_NAMED} more"] if len(names) > _FILES_NAMED else []),
            ]
            sentences.append(pattern.format(files=joined(named), runs=_whose(those, runs)))
    return [Sentence(text, kind="said unvouched", element="p") for text in sentences]


def _status(run: Row) -> str:
    step = f" in {run['failed_step']}" if run["failed_step"] else ""
    error = f": {run['error']}" if run["error"] else ""
    status = f"{run['status']}{step}{error}"
    if run["source"] is None:
        return status
    origin = f"{run['origin']}, not measured here: {run['source']}"
    return origin if run["status"] == "complete" else f"{status}; {origin}"


def _server(run: Row) -> str:
    known = [run["flavour"], run["server_version"], run["version_comment"]]
    return f"{run['build']}: {' '.join(part for part in known if part) or 'version unknown'}"


def _server_name(run: Row) -> str:
    known = " ".join(part for part in (run["flavour"], run["server_version"]) if part)
    return f"{run['build']} ({known})" if known else str(run["build"])


def _host(run: Row) -> str:
    """The class of machine: processor, CPUs, memory, system."""
    host = json.loads(run["host"] or "{}")
    memory = host.get("memory_bytes")
    cpus = host.get("usable_cpus") or host.get("logical_cpus") or host.get("cpus")
    known = [
        host.get("cpu_model"),
        f"{cpus} CPUs" if cpus else None,
        f"{memory / 2**30:.0f} GiB" if memory else None,
        host.get("os"),
        f"Linux {host['kernel']}" if host.get("kernel") else None,
        "virtual" if host.get("hypervisor") else None,
    ]
    return ", ".join(str(part) for part in known if part) or "unknown"


def _when(value: Any) -> str:
    return "-" if value is None else f"{value:%Y-%m-%d %H:%M:%S}"


def _experiments(runs: list[Row]) -> Html:
    files: dict[tuple[str, str, str | None, str], list[Row]] = {}
    for run in runs:
        key = run["experiment"], run["experiment_text"], run["source"], run["origin"]
        files.setdefault(key, []).append(run)
    blocks = []
    for (name, text, source, origin), those in files.items():
        what = f"{name}.yaml" if source is None else f"{name}, {NOT_MEASURED[origin]} ({source})"
        heading = f"{what}, as it was in {count(len(those), 'run')}"
        blocks.append(f"<p>{_text(heading)}</p>{_pre(text)}")
    return _folded("evidence-experiment", f"Experiment ({count(len(files), 'file')})", *blocks) if runs else Html()


def _configurations(runs: list[Row], bases: Bases) -> Html:
    """One block for each option file: those of repeats are the same, those of setups may differ by their sizes."""
    files: dict[tuple[str, str, str], list[Row]] = {}
    for run in runs:
        files.setdefault((run["setup"], run["dbms"], run["my_cnf"]), []).append(run)
    known = {(run["setup"], run["dbms"]): run["my_cnf"] for run in reversed(runs) if run["my_cnf"]}
    blocks = []
    for setup, dbms, text in files:
        diff, base = "", bases.of(dbms)
        if not text:
            against = "its option file is not known"
        elif dbms == base:
            against = "the base"
        elif (setup, base) not in known:
            against = f"the option file of the base {base} is not known in this setup"
        else:
            diff = _diff(known[setup, base], text)
            changed = {line[1:].partition("=")[0].strip() for line in diff.splitlines()}
            against = f"{count(len(changed), 'option')} different from {base}" if changed else f"same options as {base}"
        shown = f"<p>Options compared with {_text(base)}:</p>{_pre(diff)}" if diff else ""
        shown += f"<p>Option file:</p>{_pre(text)}" if text else ""
        blocks.append(f"<details><summary>{_text(f'{dbms}, {setup}: {against}')}</summary>{shown}</details>")
    return _folded("evidence-configurations", f"Configurations ({len(files)})", *blocks) if runs else Html()


def _diff(base: str, text: str) -> str:
    """Options of one option file that the other has not, sorted: where in a file they stand decides nothing."""
    changes = unified_diff(sorted(_options(base)), sorted(_options(text)), n=0, lineterm="")
    return "\n".join(line for line in islice(changes, 2, None) if not line.startswith("@@"))


def _options(my_cnf: str) -> Iterable[str]:
    for line in my_cnf.splitlines():
        option = line.partition(" # ")[0].strip()
        if option and not option.startswith(("[", "#")):
            yield option


def _versions(runs: list[Row]) -> Html:
    """What measured, as each manifest tells, and what made this page."""
    measured: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, value in {"ibench": run["tool_version"], **json.loads(run["versions"] or "{}")}.items():
            measured.setdefault(name, {})[str(value)] = None
    here = {"python": platform.python_version(), **{name: _installed(name) for name in _LIBRARIES}}
    rows = [
        [name, ", ".join(measured.get(name, {})) or "-", here.get(name, "-")]
        for name in dict.fromkeys(["ibench", *here, *measured])
    ]
    return _folded("evidence-versions", "Versions", _table("Versions", ("", "measured with", "page made with"), rows))


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _warnings(runs: list[Row]) -> Html:
    """What runs warn of, and why columns are empty: each text once, with the runs that say it."""
    warned: dict[str, list[Row]] = {}
    missing: dict[str, list[Row]] = {}
    for run in runs:
        for warning in run["warnings"] or []:
            warned.setdefault(warning, []).append(run)
        for column, reason in json.loads(run["null_reasons"] or "{}").items():
            missing.setdefault(f"{column}: {reason}", []).append(run)
    if not runs:
        return Html()
    blocks = []
    for title, texts in (("Warnings:", warned), ("Not captured:", missing)):
        if texts:
            items = [Sentence(f"{text} ({_whose(those, runs)})") for text, those in texts.items()]
            blocks.append(Html(f"<p>{title}</p><ul>", *items, "</ul>"))
    title = f"Warnings ({len(warned)}), and what was not captured ({len(missing)})"
    return _folded("evidence-warnings", title, *(blocks or [sentence("There are none.")]))


def _whose(some: list[Row], runs: list[Row]) -> str:
    if len(some) == len(runs):
        return "all runs"
    return ", ".join(dict.fromkeys(f"{run['dbms']}, {run['setup']}, repeat {run['repeat']}" for run in some))


def _questions(selection: Selection) -> Html:
    asked = selection.asked
    # The rest of the section is masked with the page it stands in; a file in it cannot be.
    files = downloads([(one.name, one.answer) for one in asked], mask_of_machine(workspace()))
    blocks: list[Html | str] = [_question(one, file, selection) for one, file in zip(asked, files, strict=True)]
    used: dict[str, str] = {}
    for one in asked:
        used |= catalogue.building_blocks(catalogue.question_text(one.question))
    blocks += [
        f'<details id="evidence.sql.{name}"><summary>Shared SQL: {name}</summary>{_pre(text)}</details>'
        for name, text in sorted(used.items())
    ]
    return _folded("evidence-questions", f"Questions, SQL and data ({len(asked)})", *blocks)


def _question(asked: AskedQuestion, file: Download, selection: Selection) -> Html:
    rows = [[f"${key}", _value(key, value, selection)] for key, value in sorted(asked.parameters.items())]
    parameters = _table(f"Parameters of {asked.name}", ("parameter", "value"), rows) if rows else ""
    return Html(
        f'<details class="question" id="evidence.{_text(asked.name)}">'
        f"<summary>{_text(asked.name)} ({count(file.rows, 'row')})</summary>",
        file.html,
        f"{parameters}{_pre(catalogue.question_text(asked.question))}</details>",
    )


def _value(key: str, value: Any, selection: Selection) -> str:
    if key == "runs" and value == selection.run_ids:
        return f"the {count(len(value), 'run')} of this post"
    if value == []:
        return "[] (all)" if key == "steps" else "[]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _folded(name: str, title: str, *content: Html | Piece) -> Html:
    head = f'<details class="part" id="{name}"><summary>{_text(title)}</summary>'
    return Html(head, *content, "</details>")


def _table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f'<th scope="col">{_text(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{_text(first)}</th>{"".join(f"<td>{_text(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return (
        f'<div class="table" role="region" aria-label="{_text(caption)}" tabindex="0"><table class="plain">'
        f"<caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _pre(text: str) -> str:
    return f'<pre tabindex="0"><code>{_text(text)}</code></pre>'


def _text(value: Any) -> str:
    return html.escape(str(value))
