"""Every path and every name rule of the project, declared once.

A name that comes from a user (build label, config label, setup, experiment, post slug) passes `check_name`
before it becomes part of a path. Nothing else in the library joins user text to a path.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ibench_lib import plugins
from ibench_lib.errors import NameRefused, UsageError

# This is the only module that knows how deep it lies.
PACKAGE = Path(__file__).resolve().parent
SOURCE_ROOT = PACKAGE.parent
SHIPPED = PACKAGE / "project" if (PACKAGE / "project").is_dir() else SOURCE_ROOT
"""Has the notebooks, experiments and posts that come with the library: in a wheel inside of it, else the checkout."""
PROJECT_MARK = ".ibench-project"
"""The file that marks a folder as a project that `ibench init` made."""
SQL = PACKAGE / "sql"

LAKE_VARIABLE = "IBENCH_LAKE"
"""The environment variable that says where another lake is: a folder, an archive or an object store."""
WORKLOADS = PACKAGE / "workloads"
FRAGMENTS = PACKAGE / "configs" / "fragments"
TEMPLATES = PACKAGE / "publish" / "templates"

NAME_RULE = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
RUN_ID_RULE = r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}"

SITE_INDEX, SITE_FEED = "index.html", "feed.xml"
FAILED_NOTEBOOK = ".failed.ipynb"

_NAME = re.compile(NAME_RULE)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_RUN_ID = re.compile(RUN_ID_RULE)


def check_name(name: object, what: str) -> str:
    """Return `name` when it obeys the name rule, else raise NameRefused. `what` says what it names."""
    if isinstance(name, str) and _NAME.fullmatch(name) and ".." not in name:
        return name
    raise NameRefused(
        f"{what} {name!r:.80} is not a usable name",
        hint=f"use letters, digits, '.', '_' and '-', starting with a letter or digit, at most 64: {NAME_RULE}",
    )


def check_slug(slug: object) -> str:
    """Return `slug` when a post can have it: the name rule, and not the name of a file that lies next to the posts."""
    name = check_name(slug, "post slug")
    if name in (SITE_INDEX, SITE_FEED) or name.endswith(FAILED_NOTEBOOK):
        raise NameRefused(f"post slug {name!r} is the name of another file of data/posts", hint="choose another one")
    return name


def check_run_id(run_id: object) -> str:
    """Return `run_id` when it obeys the rule for run ids (the name rule, up to 200 characters)."""
    if isinstance(run_id, str) and _RUN_ID.fullmatch(run_id) and ".." not in run_id:
        return run_id
    raise NameRefused(f"run id {run_id!r:.80} is not usable", hint="`ibench runs` lists the run ids of this lake")


def make_run_id(experiment: str, setup: str, dbms: str, repeat: int, when: datetime) -> str:
    """A run id that sorts by time and names its cell: `20261121T101500Z-demo-cached-system.cy10a-r1`."""
    stamp = when.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    return check_run_id(f"{stamp}-{experiment}-{setup}-{dbms}-r{repeat}")


@cache
def workload_modules() -> dict[str, str]:
    """Name -> package of every workload: ours, and those that installed packages add.

    Raises
    ------
    PluginRefused : see `plugins.added`.
    """
    ours = {path.parent.name: f"ibench_lib.workloads.{path.parent.name}" for path in WORKLOADS.glob("*/__init__.py")}
    return dict(sorted({**ours, **plugins.added("workloads", ours)}.items()))


def workload_folders(file: str) -> dict[str, Path]:
    """Name -> folder of the workloads whose folder has this file or folder, such as results/metrics.py."""
    folders = {name: plugins.folder_of(module) for name, module in workload_modules().items()}
    return {name: folder for name, folder in folders.items() if (folder / file).exists()}


def family_folders(file: str) -> dict[str, Path]:
    """Name -> folder of the families of servers whose folder has this file or folder, such as results/sql."""
    folders = {name: plugins.folder_of(package) for name, package in plugins.families().items()}
    return {name: folder for name, folder in folders.items() if (folder / file).exists()}


def flavours_of_families() -> dict[str, str]:
    """Flavour -> family, for each flavour in the folder of a family. Nothing of a family is imported."""
    families: dict[str, str] = {}
    for family, folder in family_folders("flavours").items():
        families |= {
            path.stem: family for path in sorted((folder / "flavours").glob("*.py")) if path.stem != "__init__"
        }
    return families


def fragment_folders() -> list[Path]:
    """The folders of configurations that come with the library, and with each family of servers."""
    return [FRAGMENTS, *(folder / "fragments" for folder in family_folders("fragments").values())]


def nearest_existing(path: Path) -> Path:
    """The path itself, or the nearest folder above it that is there: whose disk it will lie on."""
    while not path.exists():
        path = path.parent
    return path


@cache
def installed_notebooks() -> list[Path]:
    """Notebooks in the folders that installed packages name, but for names of those that came with the library."""
    ours = {path.stem for path in (SHIPPED / "notebooks").glob("*.ipynb")}
    folders = [plugins.folder_of(module) for module in plugins.added("notebooks").values()]
    return [path for folder in folders for path in sorted(folder.glob("*.ipynb")) if path.stem not in ours]


@dataclass(frozen=True)
class Workspace:
    """The project's directories. `root` holds data/, experiments/, notebooks/ and papermill_params/."""

    root: Path

    @property
    def data(self) -> Path:
        """What ibench has recorded, built and downloaded."""
        return self.root / "data"

    @property
    def runs(self) -> Path:
        """One directory per run. Deleting anything below loses a measurement."""
        return self.data / "runs"

    @property
    def sample(self) -> Path:
        """Runs that came with the project, to look at before there are any of one's own; nothing writes here."""
        return self.data / "sample"

    @property
    def ledger(self) -> Path:
        """What was tried of every experiment (SQLite)."""
        return self.data / "ledger.sqlite"

    @property
    def events(self) -> Path:
        """One log of events per experiment, JSON lines."""
        return self.data / "events"

    @property
    def posts(self) -> Path:
        """Disposable: every post can be built again."""
        return self.data / "posts"

    @property
    def sandboxes(self) -> Path:
        """Data directories of running servers; empty when nothing runs."""
        return self.data / "sandboxes"

    @property
    def snapshots(self) -> Path:
        """Loaded data directories that cells of the experiment under way share; empty when nothing runs."""
        return self.data / "snapshots"

    @property
    def builds(self) -> Path:
        """Server builds that the project knows."""
        return self.data / "builds"

    @property
    def datadirs(self) -> Path:
        """Initialised data directories, one per build, to copy from."""
        return self.builds / ".datadirs"

    @property
    def notebooks(self) -> Path:
        """The notebooks of the project."""
        return self.root / "notebooks"

    def notebook(self, name: str) -> Path:
        """The notebook of that name: the workspace's own, else that of an installed package or the library, if any."""
        own = self.notebooks / f"{check_name(name, 'notebook')}.ipynb"
        others = [path for path in installed_notebooks() if path.stem == name]
        return own if own.is_file() else next(iter(others), SHIPPED / "notebooks" / own.name)

    def notebook_names(self) -> list[str]:
        """The names that `notebook` finds."""
        ours = {path.stem for folder in (self.root, SHIPPED) for path in (folder / "notebooks").glob("*.ipynb")}
        return sorted(ours | {path.stem for path in installed_notebooks()})

    def experiment_names(self) -> list[str]:
        """The experiments that have a file: those of the workspace and those that came with the library."""
        return sorted(
            {path.stem for folder in (self.root, SHIPPED) for path in (folder / "experiments").glob("*.y*ml")}
        )

    def run_dir(self, run_id: str) -> Path:
        """The folder of a sealed run."""
        return self.runs / check_run_id(run_id)

    def post_dir(self, slug: str) -> Path:
        """The folder of a built post."""
        return self.posts / check_slug(slug)

    def failed_notebook(self, slug: str) -> Path:
        """The notebook of a build that failed, as far as it ran."""
        return self.posts / f"{check_slug(slug)}{FAILED_NOTEBOOK}"

    def asked(self, notebook: str) -> Path:
        """The questions that a notebook asked when it last became a post."""
        return self.data / f".asked-{check_name(notebook, 'notebook')}.json"

    def sandbox_dir(self, run_id: str) -> Path:
        """The folder of a run's server while it runs."""
        return self.sandboxes / check_run_id(run_id)

    def snapshot_dir(self, digest: str) -> Path:
        """By the digest of its load settings."""
        if not _DIGEST.fullmatch(digest):
            raise NameRefused(f"{digest!r:.80} is not the digest of a snapshot")
        return self.snapshots / digest

    def build_dir(self, label: str) -> Path:
        """The folder of an installed build."""
        return self.builds / check_name(label, "build label")


def workspace() -> Workspace:
    """The workspace in use.

    IBENCH_HOME; else the project that the current directory is in, as `ibench init` made it; else the checkout that
    this library comes from; else the current directory. A project or current directory that is neither ours nor root's
    is not used; the user is shown that.

    Raises
    ------
    UsageError : IBENCH_HOME is not a folder, or only the current directory is left and it is another user's.
    """
    home = os.environ.get("IBENCH_HOME")
    if home and not Path(home).is_dir():
        raise UsageError(f"IBENCH_HOME is {home!r:.200}, which is not a folder", hint="make it, or unset IBENCH_HOME")
    if home:
        return Workspace(Path(home).resolve())
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / PROJECT_MARK).is_file():
            if (stranger := _of_a_stranger(folder)) is None:
                return Workspace(folder)
            say_once(f"ibench: project {folder} is ignored: {stranger}; IBENCH_HOME={folder} would use it")
    if (SOURCE_ROOT / "pyproject.toml").is_file():
        return Workspace(SOURCE_ROOT)
    if (stranger := _of_a_stranger(here)) is not None:
        raise UsageError(
            f"{here} is not used as the project: {stranger}",
            hint="a project's files run as code: use a folder of your own, or set IBENCH_HOME to it if you trust it",
        )
    return Workspace(here)


def _of_a_stranger(folder: Path) -> str | None:
    """Which part of a project belongs to another user; None if all is ours or root's, or not there.

    The registered builds and the notebooks of a project run as code.
    """
    trusted = {0, os.geteuid()}
    if os.geteuid() == 0:  # by sudo: who is root now trusts the files of the own account
        trusted |= {int(account) for account in [os.environ.get("SUDO_UID", "")] if account.isdigit()}
    for part in (folder, folder / PROJECT_MARK, folder / "data", folder / "data" / "builds"):
        with suppress(FileNotFoundError):
            for facts in (part.lstat(), part.stat()):  # a link of a stranger's may lead to a file of root's
                if facts.st_uid not in trusted:
                    return f"{part} belongs to another user (uid {facts.st_uid})"
    return None


@cache
def say_once(line: str) -> None:
    """One line on stderr that ends nothing, once in this process."""
    print("".join(c if c.isprintable() else "?" for c in line), file=sys.stderr)
