"""The `ibench config` commands: list fragments, show a configuration, compare two of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ibench_lib.cli import known_names
from ibench_lib.cli.output import err, out
from ibench_lib.configs import resolve
from ibench_lib.configs.meaning import differences, differences_of_builds
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import UsageError
from ibench_lib.paths import workspace
from ibench_lib.servers import find, on_this_machine
from ibench_lib.servers.accepts import check
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import rules_of
from ibench_lib.servers.variables import known_options

app = typer.Typer(no_args_is_help=True)

Scale = Annotated[
    float, typer.Option("--scale", min=1e-9, max=1, help="Shrink sizes as the scale of an experiment does.")
]
Folder = Annotated[
    Path | None,
    typer.Option("--folder", help="A folder with your own fragments; they take precedence over the built-in ones."),
]


@app.callback()
def config_main() -> None:
    """List configurations, show one as a my.cnf, or compare two.

    [bold]Example:[/] ibench config show system cy10a+a13
    """


@app.command("list")
def config_list(
    folder: Folder = None,
    with_files: Annotated[bool, typer.Option("--files", help="Also name the files of each fragment.")] = False,
) -> None:
    """List the fragments that configurations are made of.

    [bold]Example:[/] ibench config list
    """
    table = Table("name", "what", *(["files"] if with_files else []), box=None, header_style="bold")
    for name, files in resolve.names(folder).items():
        names = [", ".join(file.name for file in files)] if with_files else []
        table.add_row(*map(escape, (name, _what(name, files), *names)))
    out.print(table)


def _what(name: str, files: Sequence[Path]) -> str:
    """The first sentence of the comment at the top of a fragment's plainest file, and how many files there are."""
    plainest = min(files, key=lambda file: len(file.name))
    lines = plainest.read_text(encoding="utf-8").splitlines()
    comment = [line.lstrip("# ") for line in itertools.takewhile(lambda line: line.startswith("#"), lines)]
    # An empty line ends the first paragraph, and so does an option that is commented out.
    from_first = itertools.dropwhile(lambda line: not line, comment)
    text = " ".join(itertools.takewhile(lambda line: line and not re.match(r"[\w-]+\s*=", line), from_first))
    sentence = re.split(r"(?<=\.)\s+(?=[A-Z\[])", text, maxsplit=1)[0].removeprefix(f"{name}: ").removesuffix(".")
    return f"{sentence} ({len(files)} files)".lstrip() if len(files) > 1 else sentence


@app.command("show")
def config_show(
    label: Annotated[
        str, typer.Argument(metavar="BUILD", help="The build to show it for.", autocompletion=known_names.builds)
    ],
    config: Annotated[str, typer.Argument(help="Fragments joined by +, base first, or the path of a my.cnf.")],
    scale: Scale = 1.0,
    folder: Folder = None,
) -> None:
    """Print the my.cnf that a run would use, with the origin of each line.

    The server checks the options. Options that it would skip are listed on stderr.

    [bold]Example:[/] ibench config show system cy10a+a13 --scale 0.01
    """
    build = _build(label)
    resolved = _resolve(config, build, scale, folder)
    skipped = check(build, resolved)
    out.print(escape(resolved.render(skipped).rstrip("\n")), soft_wrap=True, highlight=False)
    for line in resolved.dropped:
        err.print(f"[yellow]left out[/] {escape(line)}: the sandbox sets it", soft_wrap=True)
    for line in skipped:
        err.print(f"[yellow]skipped[/] {escape(line)}: {escape(build.version)} does not know it", soft_wrap=True)


@app.command("diff")
def config_diff(
    first: Annotated[str, typer.Argument(help="Fragments joined by +, base first, or the path of a my.cnf.")],
    second: Annotated[str, typer.Argument(help="The configuration to compare with it, in the same form.")],
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--build",
            help="The build whose defaults apply, by default system; two of them: one for each configuration.",
            autocompletion=known_names.builds,
        ),
    ] = None,
    scale: Scale = 1.0,
    folder: Folder = None,
) -> None:
    """Show which settings of two configurations have different effects.

    Different spellings of a value are equal: 1G is 1073741824, ON is 1, and an option at its default is not set.
    With two builds, each configuration is that of its build, and defaults that differ are shown, too.

    [bold]Example:[/] ibench config diff cy10a cy10a+a13

    [bold]Example:[/] ibench config diff cy10a cy10a --build mysql-5.6.24 --build mysql-9.7
    """
    if labels and len(labels) > 2:
        raise UsageError("--build is given more than twice", hint="name one build, or one for each configuration")
    if labels and len(labels) == 2:
        _print_across((first, second), (_build(labels[0]), _build(labels[1])), scale, folder)
        return
    build = _build(labels[0] if labels else on_this_machine.LABEL)
    found = differences(
        _resolve(first, build, scale, folder), _resolve(second, build, scale, folder), known_options(build)
    )
    table = Table("option", escape(first), escape(second), "default", "from", box=None, header_style="bold")
    for difference in found:
        sides = ["not set" if value is None else value for value in (difference.first, difference.second)]
        origins = ", ".join(origin for origin in (difference.first_origin, difference.second_origin) if origin)
        fields = (difference.name, *sides, "none" if difference.default is None else difference.default, origins)
        table.add_row(*(escape(field) for field in fields))
    out.print(
        table if found else f"{escape(first)} and {escape(second)} have the same effect on {escape(build.version)}"
    )


def _print_across(configs: tuple[str, str], builds: tuple[Build, Build], scale: float, folder: Path | None) -> None:
    """What differs between two configurations, each on its own build."""
    one, other = (_resolve(config, build, scale, folder) for config, build in zip(configs, builds, strict=True))
    found = differences_of_builds(one, other, (known_options(builds[0]), known_options(builds[1])))
    heads = [escape(f"{config} on {build.label}") for config, build in zip(configs, builds, strict=True)]
    table = Table("option", heads[0], "from", heads[1], "from", box=None, header_style="bold")
    for name, *sides in found:
        values = [field for side in sides for field in ("none" if side.value is None else side.value, side.origin)]
        table.add_row(*(escape(field) for field in (name, *values)))
    out.print(table if found else f"{heads[0]} and {heads[1]} have the same settings")


def _build(label: str) -> Build:
    build = find.find_build(label, workspace())
    if build.local is None:
        raise UsageError(
            f"{label} is a remote server; its options cannot be listed", hint="name a build on this machine"
        )
    return build.local


def _resolve(config: str, build: Build, scale: float, folder: Path | None) -> ServerConfig:
    if "/" in config or Path(config).suffix in resolve.suffixes():
        return resolve.complete(Path(config).expanduser(), rules_of(build), scale)
    return resolve.resolve(config.split("+"), rules_of(build), scale, folder)
