"""Packages that a slim installation lacks: which part of the product needs them, and how to install that part."""

from __future__ import annotations

import importlib.util

from ibench_lib.paths import SOURCE_ROOT

EXTRAS = {
    "post": ("bleach", "jinja2", "mistune", "nbclient", "nbconvert", "nbformat", "papermill", "PIL"),
    "lab": ("jupyterlab", "pandas"),
    "dask": ("dask", "distributed"),
    "s3": ("s3fs",),
    "image": ("kaleido",),
}
"""Extra of pyproject.toml -> modules that come with it, directly or not, and that this library imports."""


def extra_of(module: str | None) -> str | None:
    """The extra that a module comes with; None for one that every installation has, or that is not ours to install."""
    top = (module or "").partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)


def how_to_install(extra: str) -> str:
    """The command that installs an extra where this library was installed."""
    if (SOURCE_ROOT / "pyproject.toml").is_file() and extra != "image":
        return "make env"
    return f"pip install 'ibench[{extra}]', or: uv tool install 'ibench[{extra}]'"


def installed() -> list[str]:
    """The extras of which this installation has every module."""
    return [extra for extra, modules in EXTRAS.items() if all(map(importlib.util.find_spec, modules))]


def require(module: str) -> None:
    """Raises ModuleNotFoundError where a module is not installed, as importing it would."""
    if importlib.util.find_spec(module) is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
