"""The `ibench servers` commands: list, install, register, check and remove server builds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ibench_lib.cli import known_names
from ibench_lib.cli.output import err, out, working
from ibench_lib.errors import IbenchError, UsageError
from ibench_lib.paths import workspace
from ibench_lib.servers import catalogue, find, on_this_machine, registry, remote
from ibench_lib.servers.binary import TELLS_NOTHING, facts_of_build
from ibench_lib.servers.build import Build
from ibench_lib.servers.datadir import forget_templates
from ibench_lib.servers.flavours.flavour import Inspection
from ibench_lib.servers.inspection import build_variables, inspect, noted_innodb
from ibench_lib.servers.remote import Remote

app = typer.Typer(invoke_without_command=True)

Label = Annotated[
    str, typer.Argument(help="The build's label, as shown by `ibench servers list`.", autocompletion=known_names.builds)
]


@app.callback()
def servers_main(context: typer.Context) -> None:
    """List, install, register, check and remove server builds.

    [bold]Example:[/] ibench servers
    """
    if context.invoked_subcommand is None:
        servers_list()


@app.command("list")
def servers_list() -> None:
    """List the installed builds and those that you can install. Exit code 1 if a build does not run.

    [bold]Example:[/] ibench servers list
    """
    here = workspace()
    labels = find.labels(here)
    table = Table("label", "flavour", "version", "InnoDB", "from", "basedir", box=None, header_style="bold")
    broken: list[IbenchError] = []
    for label in labels:
        try:
            build = find.find_build(label, here)
        except IbenchError as error:
            broken.append(error)
            continue
        innodb = noted_innodb(build, here) or "not checked"
        fields = (build.label, build.flavour, build.version, innodb, build.source, str(build.basedir))
        table.add_row(*(escape(field) for field in fields))
    out.print(table if labels else "no server build found; `ibench servers install` installs MariaDB")
    offered = [offer for offer, _ in catalogue.offers().values() if offer.label not in labels]
    if offered:
        table = Table("label", "server", "from", box=None, header_style="bold")
        for offer in offered:
            table.add_row(escape(offer.label), escape(offer.what), escape(offer.origin))
        out.print("\navailable with `ibench servers install LABEL`:")
        out.print(table)
    for problem in broken:
        err.print(f"[red]broken[/] {escape(problem.what)}", soft_wrap=True)
    if broken:
        raise typer.Exit(1)


@app.command("install")
def servers_install(
    label: Annotated[
        str,
        typer.Argument(
            help="The build to install; by default the distribution's MariaDB.", autocompletion=known_names.installable
        ),
    ] = "",
) -> None:
    """Install a build and start it once as a test. An installed build stays as it is.

    If you are root or have sudo, the distribution's MariaDB is installed by apt. Otherwise, and for all other builds,
    the files are unpacked inside the project.

    [bold]Example:[/] ibench servers install mariadb-11.4.5
    """
    with working("installing the build"):
        build = catalogue.install(label or catalogue.default_label(), workspace())
    _report(build, _inspected(build))


@app.command("add")
def servers_add(
    label: Annotated[str, typer.Argument(help="Its name in experiments and results.")],
    basedir: Annotated[Path | None, typer.Argument(help="The folder that holds bin/mysqld or sbin/mariadbd.")] = None,
    host: Annotated[str, typer.Option("--remote", help="HOST or HOST:PORT of a server on another machine.")] = "",
    user: Annotated[str, typer.Option("--user", help="The user to connect as.")] = "root",
    password_variable: Annotated[
        str | None, typer.Option("--password-variable", help="The environment variable that holds the password.")
    ] = None,
    option_file: Annotated[
        str | None, typer.Option("--option-file", help="A my.cnf whose \\[client] group holds the password.")
    ] = None,
    tls_ca: Annotated[str | None, typer.Option("--tls-ca", help="A CA file; connections then use TLS.")] = None,
    family: Annotated[str, typer.Option("--family", help="What a server on another machine descends from.")] = "mysql",
) -> None:
    """Register a server of your own: Percona Server, a server that you compiled, or one on another machine.

    A server in a basedir is started once as a test; nothing is copied. A remote server keeps its own configuration and
    needs a user that may create databases. ibench stores where its password is, never the password.

    [bold]Example:[/] ibench servers add ps-8.0.33 ~/Percona-Server-8.0.33
    [bold]Example:[/] ibench servers add lab1 --remote lab1:3306 --user ibench --password-variable LAB1_PASSWORD
    """
    if bool(basedir) == bool(host):
        raise UsageError("name either a basedir, or a host with --remote", hint="ibench servers add --help")
    if basedir is not None:
        build: Build | Remote = on_this_machine.register(label, basedir, workspace())
    else:
        if bool(password_variable) == bool(option_file):
            raise UsageError(
                "a remote server needs either --password-variable or --option-file",
                hint="the password is never given on the command line and never stored",
            )
        name, _, port = host.partition(":")
        usual = remote.flavour_of_family(family).port
        if port and not port.isdigit():
            raise UsageError(f"--remote {host}: {port!r} is not a port", hint="use HOST:PORT, such as lab1:3306")
        access = remote.Access(name, int(port or usual), user, password_variable, option_file, tls_ca, family)
        build = remote.register(label, access, workspace())
    try:
        found = _inspected(build)
    except IbenchError:
        registry.remove(label, workspace())
        raise
    _report(build, found)


@app.command("check")
def servers_check(label: Label = on_this_machine.LABEL) -> None:
    """Start a build in a temporary sandbox and report its version, engines and counters.

    [bold]Example:[/] ibench servers check mariadb-10.1.23
    """
    build = find.find_build(label, workspace())
    found = _inspected(build)
    _report(build, found)
    out.print(f"version comment: {escape(found.version_comment)}")
    out.print("engines: " + escape(", ".join(f"{name} ({support})" for name, support in found.engines.items())))
    out.print(f"InnoDB metrics: {found.metrics}, {found.metrics_on} of them on")
    table = Table("figure", "read from", box=None, header_style="bold")
    for what, counter in found.counters.items():
        table.add_row(escape(what), "[yellow]not available[/]" if counter is None else escape(str(counter)))
    out.print(table)


@app.command("facts")
def servers_facts(label: Label = on_this_machine.LABEL) -> None:
    """Print how a build was made: what its binary contains, and what the server reports after a test start.

    Runs record the same facts.

    [bold]Example:[/] ibench servers facts mariadb-10.11.5
    """
    build = find.find_build(label, workspace())
    facts = facts_of_build(build)
    table = Table("fact", "value", box=None, header_style="bold")
    if facts is not None:
        stripped = {None: TELLS_NOTHING, True: "yes", False: "no"}[facts.stripped]
        linked = TELLS_NOTHING if facts.stripped is None else "none linked as a shared library"
        table.add_row("compiler", escape(facts.compiler or TELLS_NOTHING))
        table.add_row("build id", facts.build_id or TELLS_NOTHING)
        table.add_row("stripped", stripped)
        table.add_row("allocator", escape(facts.allocator or linked))
        table.add_row("TLS library", escape(facts.tls_library or linked))
    with working(f"starting {build.label}"):
        variables = build_variables(build, workspace())
    for name, value in variables.items():
        table.add_row(escape(name), escape(value or "(empty)"))
    out.print(f"{escape(build.label)}: {escape(build.flavour)} {escape(build.version)}, from {escape(build.source)}")
    if facts is None:
        out.print("the server's binary is not on this host")
    out.print(table)


@app.command("remove")
def servers_remove(label: Label) -> None:
    """Unregister a build and delete the files that ibench installed for it. A basedir of your own stays as it is.

    [bold]Example:[/] ibench servers remove mariadb-11.4.5
    """
    registry.remove(label, workspace())
    forget_templates(label, workspace().datadirs)
    out.print(f"removed {escape(label)}")


def _inspected(build: Build | Remote) -> Inspection:
    with working(f"starting {build.label}"):
        return inspect(build, workspace())


def _report(build: Build | Remote, found: Inspection) -> None:
    what = f"{build.label}: {build.flavour} {found.version}, {found.innodb}, in {build.basedir}"
    out.print(escape(what), soft_wrap=True)
