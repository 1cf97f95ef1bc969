"""A post's file for an experiment that has none: to build from at once, and to write on later."""

from __future__ import annotations

import getpass
import json
import os
from pathlib import Path

from ibench_lib.ask.selection import choose, measured_experiment
from ibench_lib.base import strict_yaml
from ibench_lib.base.durable import write_atomically
from ibench_lib.errors import ParameterError
from ibench_lib.paths import Workspace, check_name
from ibench_lib.store import reader

AUTHOR_VARIABLE = "IBENCH_AUTHOR"


def new_post(experiment: str, workspace: Workspace, notebook: str | None = None) -> tuple[Path, bool]:
    """The file papermill_params/<notebook>/<experiment>.yml, and whether it was made now.

    The notebook is by default that of the experiment's workload. A file that is there stays as it is.

    Raises
    ------
    ParameterError : the lake has no run of the experiment; no such notebook.
    NameRefused : a name that cannot be the name of a file.
    """
    check_name(experiment, "experiment")
    lake = reader.lake(os.environ.get(reader.ADDRESS_VARIABLE) or workspace)
    post = choose(lake, measured_experiment(lake, experiment))
    run = reader.question(lake, "evidence", runs=post.run_ids).row(0, named=True)
    default = str(json.loads(run["workload"] or "{}").get("benchmark") or "insert_benchmark")
    name = notebook or default
    if not workspace.notebook(name).is_file():
        near = strict_yaml.suggestion(name, workspace.notebook_names())
        raise ParameterError(f"notebook {name!r:.80} does not exist in {workspace.notebooks.name}/{near}")
    path = workspace.root / "papermill_params" / name / f"{experiment}.yml"
    if path.exists():
        return path, False
    title = post.runs["title"][0] or experiment
    if name != default:  # a list of posts tells them apart
        title = f"{title}: {name.replace('_', ' ')}"
    values = {
        "notebook": name,
        "slug": experiment if notebook is None else f"{experiment}-{name.replace('_', '-')}",
        "title": title,
        "author": os.environ.get(AUTHOR_VARIABLE) or getpass.getuser(),
    }
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    lines.append("# tldr: what a reader should remember; notes: texts for sections. See docs/posts.md.")
    lines.append(f"parameters: {{experiment: {json.dumps(experiment)}}}   # the others are the notebook's")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, ("\n".join(lines) + "\n").encode())
    return path, True
