"""Make the Python environment in .venv from requirements.lock; nothing happens when it is made. Standard library only.

uv does it when it is on PATH; else venv and pip do, and where Debian has left pip out, the pip of its own package
python3-pip-whl, unpacked without root. Every package is checked against the hashes of the lock.
"""

import glob
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import types

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOCK = os.path.join(ROOT, "requirements.lock")
CORES = sorted(glob.glob(os.path.join(ROOT, "ibench_lib", "**", "*.[ch]"), recursive=True))
CORES_FOUND = (
    "from ibench_lib.client.mysql.connection_core import CORE as mysql\n"
    "from ibench_lib.families.postgres.driver_core import CORE as postgres\n"
    "print(mysql.found().why, postgres.found().why, sep=', ')"
)
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "ibench-environment")


def main():
    if is_done(fingerprint()):
        return
    bring_compiler()
    wanted = fingerprint()
    uv = shutil.which("uv")
    if uv and make_with_uv(uv):
        tool = "uv"
    else:
        make_with_pip()
        tool = "pip"
    with open(STAMP, "w", encoding="utf-8") as file:
        file.write(wanted)
    say(f"environment ready in .venv (by {tool}); the client's compiled cores: {core()}")


def fingerprint():
    """What an environment depends on: the lock, the project's metadata, and the place (its scripts hold their path).

    And the compiled cores, their hook, and whether there is a compiler now.
    """
    digest = hashlib.sha256(ROOT.encode())
    for path in (LOCK, os.path.join(ROOT, "pyproject.toml"), os.path.join(ROOT, "hatch_build.py"), *CORES):
        with open(path, "rb") as file:
            digest.update(file.read())
    digest.update(str(has_compiler()).encode())
    return digest.hexdigest()


def has_compiler():
    """Whether one of the compilers that the build hook looks for is on PATH."""
    return any(shutil.which(name) for name in ("cc", "gcc", "clang"))


def bring_compiler():
    """A compiler and Python's headers for the load client's core, where that needs no question: as root, with apt.

    Without them, the client is Python alone: more CPU, the same answers.
    """
    has_headers = os.path.isfile(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
    lacks = [] if has_compiler() else ["gcc", "libc6-dev"]
    if not has_headers and sys.executable.startswith("/usr/bin/"):  # another Python has its own, or none
        lacks.append("python3-dev")
    if not lacks or os.environ.get("IBENCH_CORE") == "0":
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    say(f"getting {' and '.join(lacks)} with apt, for the client's compiled core")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *lacks]
    for command in (["apt-get", "update", "-q"], install):
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            said = done.stdout.decode(errors="replace").strip().splitlines() or ["apt-get said nothing"]
            say(f"apt-get failed ({said[-1]}); going on without")
            return


def core():
    """Whether the client has its compiled cores, in a few words."""
    try:
        done = subprocess.run([VENV_PYTHON, "-c", CORES_FOUND], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    except OSError:
        return "unknown"
    return done.stdout.decode().strip() or "unknown"


def is_done(wanted):
    try:
        with open(STAMP, encoding="utf-8") as file:
            return file.read() == wanted and succeeds([VENV_PYTHON, "-c", ""])
    except OSError:
        return False


def make_with_uv(uv):
    """True when uv has made it; whatever stops uv need not stop pip."""
    # Trust the certificate authorities that this machine trusts, as pip and git do; an older uv knows the second name.
    environment = {"UV_SYSTEM_CERTS": "true", "UV_NATIVE_TLS": "true", **os.environ}
    say("making the environment in .venv with uv")
    oldest = ".".join(map(str, OLDEST))
    sync = [uv, "pip", "sync", "-q", "--python", VENV_PYTHON, "--require-hashes", LOCK]
    project = [uv, "pip", "install", "-q", "--python", VENV_PYTHON, "--no-deps", "--no-build-isolation", "-e", ROOT]
    venv = [uv, "venv", "-q", "--python", f">={oldest}", VENV]
    usable = is_usable(VENV_PYTHON)
    if not usable:
        shutil.rmtree(VENV, ignore_errors=True)
    for command in ([] if usable else [venv]) + [sync, project]:
        if subprocess.call(command, cwd=ROOT, env=environment) != 0:
            say("uv did not manage; trying venv and pip")
            return False
    return True


def make_with_pip():
    if not is_usable(VENV_PYTHON):
        python = find_python()
        say(f"making the environment in .venv with {python} and pip (the first time takes a minute or two)")
        shutil.rmtree(VENV, ignore_errors=True)
        # Without pip: Debian's python3 cannot make one with pip unless python3-venv is installed.
        run([python, "-m", "venv", "--without-pip", VENV], "python3 has no venv module: apt-get install python3-venv")
    else:
        say("updating .venv with pip")
    bring_pip()
    pip = [VENV_PYTHON, "-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check", "--no-deps"]
    unreachable = "pip's words are above; the usual cause is a package index out of reach"
    run([*pip, "--require-hashes", "--only-binary=:all:", "-r", LOCK], unreachable)
    run([*pip, "--no-build-isolation", "-e", ROOT], "pip's words are above")


def find_python():
    """The interpreter that runs this, else a newer one on PATH."""
    names = ["python3"] + [f"python3.{minor}" for minor in range(19, OLDEST[1] - 1, -1)]
    for candidate in [sys.executable] + [shutil.which(name) for name in names]:
        if candidate and is_usable(candidate):
            return candidate
    needed, have = ".".join(map(str, OLDEST)), ".".join(map(str, sys.version_info[:2]))
    sys.exit(
        f"python3 is {have}, ibench needs {needed} or later: install one (or uv, which includes Python), then try again"
    )


def is_usable(python):
    return succeeds([python, "-c", f"import sys; sys.exit(sys.version_info[:2] < {OLDEST})"])


def bring_pip():
    if succeeds([VENV_PYTHON, "-m", "pip", "--version"]) or succeeds([VENV_PYTHON, "-m", "ensurepip"]):
        return
    say("this python3 comes without pip; taking it from Debian's package python3-pip-whl")
    with tempfile.TemporaryDirectory(prefix=".pip-", dir=VENV) as scratch:
        unpack_pip_package(scratch)
        wheels = glob.glob(os.path.join(scratch, "root", "usr", "share", "python-wheels", "pip-*.whl"))
        if len(wheels) != 1:
            sys.exit("the package python3-pip-whl has no pip in it: install python3-venv, then again")
        # A wheel is a zip file, and Python runs pip straight out of it.
        pip = [VENV_PYTHON, os.path.join(wheels[0], "pip"), "install", "-q", "--disable-pip-version-check"]
        run([*pip, "--no-index", wheels[0]], "pip's words are above")


def unpack_pip_package(scratch):
    # The library's own apt module, without ibench_lib/__init__.py: that may import what is not installed yet.
    package = types.ModuleType("ibench_lib")
    package.__path__ = [os.path.join(ROOT, "ibench_lib")]
    sys.modules["ibench_lib"] = package
    from pathlib import Path

    from ibench_lib.base import debian
    from ibench_lib.errors import IbenchError

    root = Path(scratch) / "root"
    root.mkdir()
    try:
        debian.unpack(["python3-pip-whl"], root)
    except IbenchError as error:
        sys.exit(f"{error.detail or ''}\nno pip: {error.what}\ninstall the package python3-venv, then again")


def run(command, hint):
    if subprocess.call(command, cwd=ROOT) != 0:
        sys.exit(f"failed: {' '.join(command)}\n{hint}")


def succeeds(command):
    try:
        return subprocess.call(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def say(text):
    print(f"ibench: {text}", flush=True)


if __name__ == "__main__":
    main()
