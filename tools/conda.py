"""Write environment.yml, the conda environment with the lock's versions of what the product needs.

The tools of its developers are not in it: `make env` makes an environment with these.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Where conda-forge's name differs from the name on PyPI.
CONDA_NAMES = {"duckdb": "python-duckdb", "playwright": "playwright-python", "ruamel-yaml": "ruamel.yaml"}
# The server, what builds the project's own package, and what has no pin in the lock.
OTHERS = ("python>=3.11", "pip", "hatchling", "mysql-server", "make")


def normalised(name: str) -> str:
    """A package name as PyPI compares it: types_PyMySQL is types-pymysql."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(extra: str, root: Path = ROOT) -> list[str]:
    """pyproject.toml's dependencies as written, with those of an extra and of the extras that this one names."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    found: dict[str, None] = {}
    wanted = [*project["dependencies"], *extras[extra]]
    while wanted:
        text = wanted.pop(0)
        named = re.fullmatch(rf"{project['name']}\[([\w,]+)\]", text)
        if named:
            wanted += [each for name in named[1].split(",") for each in extras[name]]
        else:
            found[text] = None
    return list(found)


def direct_dependencies(extra: str = "all", root: Path = ROOT) -> list[str]:
    """Their names, normalised and sorted."""
    return sorted({normalised(re.split(r"[<>=!~; \[]", text, maxsplit=1)[0]) for text in requirements(extra, root)})


def locked_versions(root: Path = ROOT) -> dict[str, set[str]]:
    """Normalised name -> versions in requirements.lock; more than one where Python versions need different ones."""
    versions: dict[str, set[str]] = {}
    text = (root / "requirements.lock").read_text(encoding="utf-8")
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE):
        versions.setdefault(normalised(name), set()).add(version)
    return versions


def environment_yml(root: Path = ROOT) -> str:
    """The text of environment.yml."""
    versions = locked_versions(root)
    lines = [
        "# For conda users: conda env create -f environment.yml && conda activate ibench",
        "# then: pip install --no-deps --no-build-isolation -e .",
        "# Written by tools/conda.py: the versions are those of requirements.lock.",
        "name: ibench",
        "channels: [conda-forge, nodefaults]",
        "dependencies:",
        *(f"  - {other}" for other in OTHERS),
    ]
    for name in direct_dependencies(root=root):
        (version,) = versions[name]
        lines.append(f"  - {CONDA_NAMES.get(name, name)}={version}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (ROOT / "environment.yml").write_text(environment_yml(), encoding="utf-8")
