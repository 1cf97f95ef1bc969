"""`ibench init` and `ibench lab`: a project of one's own, and JupyterLab in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ibench_lib.base.extras import require
from ibench_lib.base.python_process import python_module
from ibench_lib.base.wording import count
from ibench_lib.cli.output import out, safe
from ibench_lib.errors import UsageError
from ibench_lib.paths import PROJECT_MARK, SHIPPED, workspace

START = "explore"
"""The notebook that JupyterLab opens on."""

_README = """\
# Benchmarks

A project of ibench. The commands find it from this folder and from every folder in it.

    ibench doctor                                             shows what is installed and what is missing
    ibench servers install mysql-9.7                          install a server, unless mysqld or mariadbd is on PATH
    ibench run experiments/demo.yaml                          run an experiment; the runs are in data/runs
    ibench summary                                            its throughput
    ibench post papermill_params/insert_benchmark/demo.yml    build its post, in data/posts
    ibench lab                                                JupyterLab on notebooks/explore.ipynb

- `experiments/` has an example of each workload.
- `papermill_params/` has a file for each post.
- `notebooks/` has the notebook for exploring the lake. Posts use the notebooks that came with ibench. A notebook of the
  same name in this folder is used instead: `ibench init . --notebooks` copies all of them here, to change them.
"""

_GITIGNORE = "/data/\n.ipynb_checkpoints/\n"


def init(
    directory: Annotated[Path, typer.Argument(help="The folder; it is created if it does not exist.")],
    notebooks: Annotated[
        bool, typer.Option("--notebooks", help="Also copy the notebooks that posts are made from, to change them.")
    ] = False,
) -> None:
    """Make a folder for experiments, posts and notebooks of your own. A file that already exists is not changed.

    [bold]Example:[/] ibench init benchmarks
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a folder", hint="name a new folder or an empty one")
    files = {PROJECT_MARK: b"", "README.md": _README.encode(), ".gitignore": _GITIGNORE.encode()}
    for path in _shipped(notebooks):
        files[path.relative_to(SHIPPED).as_posix()] = path.read_bytes()
    kept = 0
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(path, "xb") as file:
                file.write(content)
        except FileExistsError:
            kept += 1
    there = f", {count(kept, 'existing file')} kept" if kept else ""
    out.print(f"{safe(str(directory))}: {count(len(files) - kept, 'new file')}{there}", highlight=False, soft_wrap=True)
    out.print(f"next: cd {safe(str(directory))} && ibench doctor", highlight=False, soft_wrap=True)


def _shipped(notebooks: bool) -> list[Path]:
    """Experiments with their scripts, posts but for the sample's, which come with a checkout only, and notebooks."""
    found = sorted((SHIPPED / "experiments").glob("*.yaml"))
    found += sorted((SHIPPED / "experiments").glob("*/*.py"))  # scripts of theirs
    found += sorted((SHIPPED / "papermill_params").glob("*/*.yml"))
    found = [path for path in found if "sample" not in path.name]
    wanted = sorted((SHIPPED / "notebooks").glob("*.ipynb"))
    return found + [path for path in wanted if notebooks or path.stem == START]


def lab(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="The port to listen on; by default 8888 or the next one that is free."),
    ] = None,
) -> None:
    """Open JupyterLab in the project, on notebooks/explore.ipynb.

    [bold]Example:[/] ibench lab --port 8890
    """
    require("jupyterlab")
    root = workspace().root
    place = workspace().notebooks / f"{START}.ipynb"
    if not place.is_file():
        raise UsageError(f"{place} does not exist", hint=f"ibench init {root} makes it; no other file is changed")
    root_user = ["--allow-root"] if os.geteuid() == 0 else []
    own_port = [] if port is None else [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    address = f"/lab/tree/{place.relative_to(root).as_posix()}"
    options = [f"--ServerApp.root_dir={root}", f"--LabApp.default_url={address}", *own_port]
    command = python_module("jupyterlab", *root_user, *options)
    os.execv(command[0], command)
