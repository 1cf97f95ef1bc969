"""`ibench doctor`: what this machine has of what the workbench needs, and the command that installs the rest."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import typer
from rich.table import Table

from ibench_lib.base import debian, extras
from ibench_lib.base.chromium import find_chromium
from ibench_lib.base.locks import is_locked
from ibench_lib.cli.output import out, safe
from ibench_lib.client.driver import CoreState, core_of
from ibench_lib.errors import IbenchError
from ibench_lib.paths import SOURCE_ROOT, Workspace, nearest_existing, workspace
from ibench_lib.servers.find import find_system
from ibench_lib.servers.flavours.flavour import every, flavour_of
from ibench_lib.servers.sandbox_directory import FILES_MARKER, MARKER
from ibench_lib.workloads import programs

Status = Literal["ok", "missing", "warning"]

LOW_DISK_BYTES = 2 * 1024**3
_INITIALISER = "server initialiser"
_OLDEST_PYTHON = (3, 11)
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)\s*(;?)", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """The result of one check. `fix` is the command or action that fixes it; None when nothing needs fixing."""

    name: str
    status: Status
    found: str
    fix: str | None = None


def doctor_command() -> None:
    """Show what is installed and what is missing, with the command that fixes it. Exit code 1 if something is missing.

    [bold]Example:[/] ibench doctor
    """
    findings = examine(workspace())
    styles = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "missing": "[red]missing[/]"}
    table = Table("", "what", "found", "to fix", box=None, header_style="bold")
    for finding in findings:
        table.add_row(styles[finding.status], safe(finding.name), safe(finding.found), safe(finding.fix or ""))
    out.print(table)
    if any(finding.status == "missing" for finding in findings):
        raise typer.Exit(1)


def examine(workspace: Workspace) -> list[Finding]:
    """Make all checks, without changing anything. `missing` prevents work, `warning` does not."""
    return [
        _python(),
        _environment(),
        _client_core(),
        *_server(workspace),
        _chromium(workspace),
        _perf(),
        _apt(),
        _data_directory(workspace),
        _disk(workspace),
        _sandboxes(workspace),
        *_programs(),
    ]


def _python() -> Finding:
    found = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] >= _OLDEST_PYTHON:
        return Finding("python", "ok", found)
    return Finding("python", "missing", found, "install Python 3.11 or later, then: make demo")


def _environment() -> Finding:
    lock = SOURCE_ROOT / "requirements.lock"
    if not lock.is_file():
        has = extras.installed()
        lacks = [name for name in extras.EXTRAS if name not in has]
        found = f"ibench {importlib.metadata.version('ibench')} with the extras: {', '.join(has) or 'none'}"
        return Finding("environment", "ok", f"{found}; not installed: {', '.join(lacks) or 'none'}")
    locked: dict[str, set[str]] = {}
    conditional: set[str] = set()
    for name, version, marker in _LOCKED.findall(lock.read_text(encoding="utf-8")):
        locked.setdefault(name, set()).add(version)
        if marker:
            conditional.add(name)
    wrong, there = [], _installed()
    for name, versions in locked.items():
        installed = there.get(name) or _version_in_its_file(name)
        if installed is None:
            if name not in conditional:
                wrong.append(f"{name} is not installed")
        elif installed not in versions:
            wrong.append(f"{name} is {installed}, the lock file has {' or '.join(sorted(versions))}")
    if not wrong:
        return Finding("environment", "ok", f"{len(locked)} packages, as in the lock file")
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return Finding("environment", "warning", "; ".join(wrong[:3]) + more, "make env")


def _installed() -> dict[str, str]:
    """Package -> version, by the names of their folders: to read the files in them takes a third of a second."""
    found: dict[str, str] = {}
    for place in sys.path:
        with suppress(OSError):
            for folder in os.listdir(place):
                name, _, version = folder.removesuffix(".dist-info").partition("-")
                if folder.endswith(".dist-info") and version:
                    found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    return found


def _version_in_its_file(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _client_core() -> Finding:
    of_drivers = dict.fromkeys(core_of(driver) for driver in sorted({flavour.driver for flavour in every()}))
    # Of a driver that no core is for, there is nothing to say.
    states = [state for state in of_drivers if state != CoreState("Python")] or list(of_drivers)
    wrong = [state.why for state in states if state.why]
    if any(state.name == "missing" for state in states):
        return Finding("client core", "missing", "; ".join(wrong), "make env")
    if wrong:
        return Finding("client core", "warning", f"Python's, which takes more CPU: {'; '.join(wrong)}", "make env")
    return Finding("client core", "ok", ", ".join(state.name for state in states))


def _server(workspace: Workspace) -> list[Finding]:
    """The build `system`, whose binary is asked once, and what initialises its data directory."""
    try:
        build = find_system(workspace)
    except IbenchError as error:
        server = Finding("server", "missing", error.what, error.hint or "ibench servers install")
        return [server, _initialiser_lacks(error)]
    server = Finding("server", "ok", f"{build.flavour} {build.version} at {build.command[-1]} ({build.source})")
    try:
        # MySQL does it itself; MariaDB needs a script that some packages leave out.
        command = flavour_of(build).initialise_command(build, Path("options.cnf"), Path("datadir"), [])
    except IbenchError as error:
        return [server, _initialiser_lacks(error)]
    return [server, Finding(_INITIALISER, "ok", command[0])]


def _initialiser_lacks(error: IbenchError) -> Finding:
    return Finding(_INITIALISER, "missing", error.what, "ibench servers install")


def _chromium(workspace: Workspace) -> Finding:
    program = find_chromium(workspace)
    if program is None:
        return Finding("chromium", "warning", "not found; only the tests need it", "make chromium")
    version = _first_line([str(program), "--version"])
    if version is None:
        return Finding("chromium", "warning", f"{program} does not run", "make chromium")
    return Finding("chromium", "ok", f"{version} at {program}")


def _perf() -> Finding:
    program = shutil.which("perf")
    if program is None:
        return Finding(
            "perf", "warning", "not found; it is optional", "apt-get install linux-perf (Ubuntu: linux-tools-generic)"
        )
    version = _first_line([program, "--version"])
    if version is None:
        return Finding("perf", "warning", f"{program} does not run with this kernel", "apt-get install linux-perf")
    return Finding("perf", "ok", f"{version} at {program}")


def _programs() -> list[Finding]:
    """The programs that workloads drive."""
    return [
        Finding(here.name, "ok", here.found)
        if here.found
        else Finding(here.name, "warning", f"{here.why}; only `benchmark: {workload}` needs it", here.fix)
        for workload, here in programs.driven().items()
    ]


def _apt() -> Finding:
    if not debian.has_apt():
        return Finding("apt", "warning", "not found; install servers and Chromium from elsewhere", "set IBENCH_BASEDIR")
    way = "packages are unpacked inside the project" if debian.privilege() is None else "packages can be installed"
    return Finding("apt", "ok", way)


def _data_directory(workspace: Workspace) -> Finding:
    place = nearest_existing(workspace.data)
    if os.access(place, os.W_OK | os.X_OK):
        return Finding("data directory", "ok", f"{workspace.data} is writable")
    return Finding("data directory", "missing", f"{place} is not writable", f"chown -R {os.getuid()} {place}")


def _disk(workspace: Workspace) -> Finding:
    free = shutil.disk_usage(nearest_existing(workspace.data)).free
    found = f"{free / 1024**3:.1f} GiB free for {workspace.data}"
    if free >= LOW_DISK_BYTES:
        return Finding("disk", "ok", found)
    return Finding("disk", "warning", found, f"free {LOW_DISK_BYTES / 1024**3:.0f} GiB; data/posts can be built again")


def _sandboxes(workspace: Workspace) -> Finding:
    there = sorted(workspace.sandboxes.iterdir()) if workspace.sandboxes.is_dir() else []
    directories = [directory for directory in there if not (directory / FILES_MARKER).is_file()]
    live = [directory for directory in directories if is_locked(directory / MARKER)]
    left = [directory.name for directory in directories if directory not in live and (directory / MARKER).is_file()]
    foreign = [directory.name for directory in directories if not (directory / MARKER).is_file()]
    running = f"{len(live)} running" if live else "none running"
    if foreign:
        return Finding(
            "sandboxes",
            "warning",
            f"unknown folders: {', '.join(foreign)}",
            f"check them in {workspace.sandboxes}, then remove them",
        )
    if left:
        return Finding("sandboxes", "warning", f"left behind: {', '.join(left)}", "the next `ibench run` removes them")
    return Finding("sandboxes", "ok", f"{running}, none left behind")


def _first_line(command: list[str]) -> str | None:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = answer.stdout.strip().splitlines()
    return lines[0] if answer.returncode == 0 and lines else None
