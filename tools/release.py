"""Build the archives of a release into dist/, and check them: `make release`.

Refuses a checkout with changes, and a version without a section in CHANGELOG.md. Nothing is published: the archives are
what is to be published.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from tools.environment import CORES_FOUND

ROOT = Path(__file__).resolve().parent.parent

WANTED = (
    "ibench_lib/py.typed",
    "ibench_lib/sql/",
    "ibench_lib/configs/fragments/",
    "ibench_lib/project/notebooks/explore.ipynb",
    "ibench_lib/project/papermill_params/",
    "ibench_lib/project/experiments/",
)
"""What the wheel must hold; a folder must not be empty."""

UNWANTED = re.compile(r"^(tests|data|benchmarks|tools|docs)/|__pycache__|\.pyc$")

BUILD = """
import sys
from hatchling import build
print(getattr(build, sys.argv[1])(sys.argv[2]))
"""


class ReleaseError(Exception):
    """Why there is no release, in one line."""


def main() -> int:
    try:
        for archive in release(ROOT, ROOT / "dist"):
            print(f"release: {archive.relative_to(ROOT)}, {archive.stat().st_size / 1e6:.1f} MB")
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def release(root: Path, dist: Path) -> list[Path]:
    """The wheel without the client's compiled core, that with it for this platform, and the source distribution."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if changes(root / "CHANGELOG.md", version) is None:
        raise ReleaseError(f"CHANGELOG.md has no section {version}, or an empty one: write what this version changes")
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True)
    if changed.stdout:
        raise ReleaseError(f"the checkout has changes, first {changed.stdout.splitlines()[0][3:]}: commit them")
    wheel, source = built(root, dist, "build_wheel"), built(root, dist, "build_sdist")
    native = built(root, dist, "build_wheel", core="")
    with zipfile.ZipFile(wheel) as archive:
        check_names(archive.namelist())
    with tempfile.TemporaryDirectory(prefix="ibench-release-") as place:
        folder = Path(place)
        with tarfile.open(source) as unpacked:
            unpacked.extractall(folder, filter="data")
        again = built(folder / source.name.removesuffix(".tar.gz"), folder, "build_wheel")
        check_same(wheel, again)
        check_works(wheel, folder / "site", version, core="not built, not built")
        if native == wheel:
            raise ReleaseError("the client's core was not compiled: `python hatch_build.py` says why")
        check_works(native, folder / "native", version, core="compiled, compiled")
    return [wheel, native, source]


def changes(changelog: Path, version: str) -> str | None:
    """What a changelog says of a version; None if it says nothing."""
    sections = re.split(r"(?m)^## ", changelog.read_text(encoding="utf-8"))[1:]
    for section in sections:
        head, _, body = section.partition("\n")
        if head.split()[0] == version and body.strip():
            return body.strip()
    return None


def built(root: Path, dist: Path, hook: str, core: str = "0") -> Path:
    """An archive that the build backend makes of a folder. `core` is IBENCH_CORE: whether hatch_build.py compiles."""
    dist.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-P", "-c", BUILD, hook, str(dist)],
        cwd=root, env={**os.environ, "IBENCH_CORE": core}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ReleaseError(f"{hook} failed: {done.stderr.strip().splitlines()[-1]}")
    return dist / done.stdout.split()[-1]


def check_names(names: list[str]) -> None:
    """What a wheel must hold is there, and nothing else of the checkout."""
    missing = [wanted for wanted in WANTED if not any(name.startswith(wanted) for name in names)]
    if missing:
        raise ReleaseError(f"the wheel lacks {missing[0]}")
    unwanted = [name for name in names if UNWANTED.search(name)]
    if unwanted:
        raise ReleaseError(f"the wheel holds {unwanted[0]}")


def check_same(wheel: Path, again: Path) -> None:
    """The source distribution makes the same wheel as the checkout, file by file."""
    contents = []
    for path in (wheel, again):
        with zipfile.ZipFile(path) as archive:
            contents.append({name: archive.read(name) for name in archive.namelist() if not name.endswith("RECORD")})
    for name in sorted(contents[0].keys() | contents[1].keys()):
        if contents[0].get(name) != contents[1].get(name):
            raise ReleaseError(f"the source distribution makes another {name} than the checkout")


def check_works(wheel: Path, site: Path, version: str, core: str) -> None:
    """Unpacked on its own, the wheel prints its version and begins a project, and its client has this core."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IBENCH_")}
    environment["PYTHONPATH"] = str(site)
    ibench = "import sys; from ibench_lib.cli.main import main; sys.exit(main())"
    for program, arguments, wanted in (
        (ibench, ["--version"], f"ibench {version},"), (ibench, ["init", "project"], ""), (CORES_FOUND, [], core),
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-P", "-c", program, *arguments],
            cwd=site, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode or wanted not in done.stdout:
            said = (done.stderr or done.stdout).strip()
            raise ReleaseError(f"ibench {' '.join(arguments)} of {wheel.name} failed: {said}")


if __name__ == "__main__":
    sys.exit(main())
