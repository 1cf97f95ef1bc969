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
from typing import TYPE_CHECKING

from ibench_lib.base import debian
from ibench_lib.client.external import CannotDrive
from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace, workspace
from ibench_lib.workloads.programs import ProgramHere
from ibench_lib.workloads.sysbench.lua_files import options_of, require_options
from ibench_lib.workloads.sysbench.microbenchmarks import OURS

if TYPE_CHECKING:
    from ibench_lib.workloads.sysbench.options import Options

VARIABLE = "IBENCH_SYSBENCH"
"""Environment variable: the program to use in place of the one on PATH."""

FIX = f"make sysbench, or install sysbench 1.0 yourself, or set {VARIABLE} to its program"
_FOLDER, _LAUNCHER = "sysbench", "sysbench-unpacked"
_DRIVERS = re.compile(r"Compiled-in database drivers:\n(?: .*\n?)*")
ENGINE = "mysql-storage-engine"
"""The option of scripts that make tables."""
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
def _has_driver(path: str) -> bool:
    """Whether it can reach a server of MySQL's family; True where it does not say."""
    try:
        said = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return True
    drivers = _DRIVERS.search(said)
    return drivers is None or "mysql - " in drivers[0]


def program_here() -> ProgramHere:
    """What `ibench doctor` says of it, and why a run cannot begin."""
    path, known = find_sysbench(), identity()
    why = ""
    if shutil.which(path) is None:
        why = f"{path}: there is no such program" + ("" if os.sep in path else " on PATH")
    elif not known:
        why = f"{path} does not run"
    elif known["version"].startswith("sysbench 1.") and not _has_driver(shutil.which(path) or path):
        why = f"{path} has been built without the driver of MySQL"
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


def why_not(options: Options) -> str | None:
    """What speaks against the tests with options of an experiment, by what their scripts say; None for nothing."""
    binary = find_sysbench()
    if shutil.which(binary) is None:
        return None  # `program_here` says so
    try:
        bundled = folder_of_tests(binary)
        for test in filter(None, [options.prepare, *options.tests]):
            makes_engine = test is options.prepare and options.engine != "innodb"
            if test.known.is_own:
                script = options.lua_files[test.known.script].path
            elif test.options:
                script = str((OURS if test.known.is_ours else bundled) / f"{test.known.script}.lua")
            else:
                continue
            known = options_of(binary, script, str(bundled))
            if makes_engine:
                require_options(script, known or frozenset(), [ENGINE])
            require_options(script, known, test.options)
    except CannotDrive as error:
        return str(error)
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
