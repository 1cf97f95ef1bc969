"""sysbench itself: found on this machine, or got from the distribution's packages."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibench_lib.base import debian
from ibench_lib.client.driver import DriverMissing, statements_of
from ibench_lib.client.external import CannotDrive
from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace, workspace
from ibench_lib.workloads.programs import ProgramHere
from ibench_lib.workloads.sysbench import servers
from ibench_lib.workloads.sysbench.lua_files import options_of, require_options
from ibench_lib.workloads.sysbench.microbenchmarks import OURS

if TYPE_CHECKING:
    from ibench_lib.workloads.sysbench.options import Options

VARIABLE = "IBENCH_SYSBENCH"
"""Environment variable: the program to use in place of the one on PATH."""

FIX = f"make sysbench, or install sysbench 1.0 yourself, or set {VARIABLE} to its program"
_FOLDER, _LAUNCHER = "sysbench", "sysbench-unpacked"
_DRIVERS = re.compile(r"Compiled-in database drivers:\n(?: .*\n?)*")
_TESTS_MARK = "oltp_common.lua"


def find_sysbench() -> str:
    """IBENCH_SYSBENCH, else the one on PATH, else the one in data/builds/sysbench; the bare name if there is none."""
    if named := os.environ.get(VARIABLE):
        return named
    launcher = workspace().build_dir(_FOLDER) / _LAUNCHER
    return shutil.which("sysbench") or (str(launcher) if launcher.is_file() else "sysbench")


def identity() -> dict[str, str]:
    """Version and SHA-256 of sysbench here, and its name; empty if there is none that runs."""
    found = shutil.which(find_sysbench())
    return dict(_identity(found)) if found else {}


@cache
def _identity(path: str) -> dict[str, str]:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return {"version": said.strip()[:80], "sha256": digest, "name": os.path.basename(path)} if said.strip() else {}


@cache
def _drivers(path: str) -> frozenset[str] | None:
    """The database drivers that it has been built with; None where it does not say."""
    try:
        said = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    drivers = _DRIVERS.search(said)
    return None if drivers is None else frozenset(re.findall(r"^ +(\w+) - ", drivers[0], re.MULTILINE))


def server_of(family: str) -> Any:
    """How sysbench reaches servers of a family: a module as `servers/mysql.py`. Raises CannotDrive."""
    try:
        return statements_of(servers, family)
    except DriverMissing:
        raise CannotDrive(f"ibench does not know how sysbench reaches servers of the family {family}") from None


def program_here() -> ProgramHere:
    """What `ibench doctor` says of it, and why a run cannot begin."""
    path, known = find_sysbench(), identity()
    why = ""
    if shutil.which(path) is None:
        why = f"{path}: there is no such program" + ("" if os.sep in path else " on PATH")
    elif not known:
        why = f"{path} does not run"
    elif known["version"].startswith("sysbench 1.") and _drivers(shutil.which(path) or path) == frozenset():
        why = f"{path} has been built without a driver of any database"
    elif not known["version"].startswith("sysbench 1."):
        why = f"{path} is {known['version']!r}: ibench drives sysbench 1.0 and later"
    else:
        try:
            folder_of_tests(path)
        except CannotDrive as error:
            why = str(error)
    if why:
        return ProgramHere("sysbench", None, why, FIX)
    return ProgramHere("sysbench", f"{known['version']} at {path}")


def why_not(options: Options, family: str | None) -> ProgramHere | None:
    """What speaks against an experiment on servers of a family, by sysbench's drivers and scripts; None for nothing.

    Without a family, drivers and engines are not looked at.
    """
    binary = find_sysbench()
    found = shutil.which(binary)
    if found is None:
        return None  # `program_here` says so
    try:
        server = None if family is None else server_of(family)
        drivers = _drivers(found)
        if server is not None and drivers is not None and server.DRIVER not in drivers:
            return ProgramHere("sysbench", None, f"{binary} has been built without the driver of {server.NAME}", FIX)
        takes_engine: str | None = None if server is None else server.TAKES_ENGINE
        bundled = folder_of_tests(binary)
        for test in filter(None, [options.prepare, *options.tests]):
            if test.known.is_own:
                script = options.lua_files[test.known.script].path
            elif test.options:
                script = str((OURS if test.known.is_ours else bundled) / f"{test.known.script}.lua")
            else:
                continue
            known = options_of(binary, script, str(bundled))
            if takes_engine and test is options.prepare and options.engine != "innodb":
                require_options(script, known or frozenset(), [takes_engine])
            require_options(script, known, test.options)
    except CannotDrive as error:
        return ProgramHere("sysbench", None, str(error), "see `sysbench FILE help`")
    return None


def folder_of_tests(program: str) -> Path:
    """Where the tests are that this sysbench has come with. Raises CannotDrive."""
    found = shutil.which(program)
    home = Path(found).resolve().parent if found else Path("/usr/bin")
    places = [home / "usr/share/sysbench", home.parent / "share/sysbench"]
    places += [Path("/usr/share/sysbench"), Path("/usr/local/share/sysbench")]
    for place in places:
        if (place / _TESTS_MARK).is_file():
            return place
    raise CannotDrive(f"{program} has come without its tests: no {_TESTS_MARK} in {', '.join(map(str, places[1:]))}")


def install_sysbench(workspace: Workspace) -> str:
    """Get sysbench by apt: installed as root or with sudo, else unpacked inside the project. Returns its path.

    Raises
    ------
    IbenchError : there is no apt, or it has no sysbench to give.
    """
    by_hand = f"install sysbench 1.0 yourself and set {VARIABLE} to its program"
    if not debian.has_apt():
        raise IbenchError("no apt-get on this machine, so sysbench cannot be installed from packages", hint=by_hand)
    as_root = debian.privilege()
    try:
        if as_root is None:
            _unpack(workspace)
        else:
            debian.install([_FOLDER], as_root)
    except IbenchError as error:
        raise IbenchError(f"sysbench: {error.what}", hint=by_hand, detail=error.detail) from error
    here = program_here()
    if here.found is None:
        raise IbenchError(here.why, hint=by_hand)
    return here.found


def _unpack(workspace: Workspace) -> None:
    workspace.builds.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".arriving-", dir=workspace.builds) as scratch:
        root = Path(scratch) / "root"
        root.mkdir()
        debian.unpack([_FOLDER], root)
        debian.write_launcher(root, _LAUNCHER, "usr/bin/sysbench")
        os.rename(root, workspace.build_dir(_FOLDER))
