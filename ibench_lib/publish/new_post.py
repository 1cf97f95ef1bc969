"""A post's file for an experiment that has none: to build from at once, and to write on later."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import subprocess
from pathlib import Path

from ibench_lib.ask.selection import choose, measured_experiment
from ibench_lib.base.durable import write_atomically
from ibench_lib.base.wording import suggestion
from ibench_lib.errors import ParameterError
from ibench_lib.paths import LAKE_VARIABLE, Workspace, check_name
from ibench_lib.publish.post_file import LONGEST_AUTHOR
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
    lake = reader.lake(os.environ.get(LAKE_VARIABLE) or workspace)
    post = choose(lake, measured_experiment(lake, experiment))
    run = reader.question(lake, "evidence", runs=post.run_ids).row(0, named=True)
    default = str(json.loads(run["workload"] or "{}").get("benchmark") or "insert_benchmark")
    name = notebook or default
    if not workspace.notebook(name).is_file():
        near = suggestion(name, workspace.notebook_names())
        raise ParameterError(f"notebook {name!r:.80} does not exist in {workspace.notebooks.name}/{near}")
    path = workspace.root / "papermill_params" / name / f"{experiment}.yml"
    if path.exists():
        return path, False
    title = post.runs["title"][0] or experiment
    if name != default:  # a list of posts tells them apart
        title = f"{title}: {name.replace('_', ' ')}"
    author = _author(workspace.root)
    values = {
        "notebook": name,
        "slug": experiment if notebook is None else f"{experiment}-{name.replace('_', '-')}",
        "title": title,
        "author": author,
    }
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items() if value]
    lines += ["# author: your name, which the page shows"] if not author else []
    lines.append("# tldr: what a reader should remember; notes: texts for sections. See docs/posts.md.")
    lines.append(f"parameters: {{experiment: {json.dumps(experiment)}}}   # the others are the notebook's")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, ("\n".join(lines) + "\n").encode())
    return path, True


def _author(folder: Path) -> str:
    """Who writes: as the environment says, as git signs commits in a folder, or the user's name; '' for nobody's."""
    return os.environ.get(AUTHOR_VARIABLE, "").strip() or _git_user(folder) or _user()


def _git_user(folder: Path) -> str:
    """`user.name` of git; '' where git is not installed, or has none."""
    if not shutil.which("git"):
        return ""
    asked = ["git", "config", "user.name"]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    name = done.stdout.strip()
    return name if done.returncode == 0 and name.isprintable() and len(name) <= LONGEST_AUTHOR else ""


def _user() -> str:
    """The name of the user's account; '' for an account that is nobody's, such as root's in a container."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user without an account
        return ""
    return "" if name == "root" else name
