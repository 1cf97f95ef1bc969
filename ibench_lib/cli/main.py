"""The `ibench` command. It turns arguments into calls, and errors into one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import inspect
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ibench_lib.base.extras import extra_of, how_to_install
from ibench_lib.base.later import later
from ibench_lib.cli import kept
from ibench_lib.errors import IbenchError
from ibench_lib.paths import nearest_existing, workspace

if TYPE_CHECKING:
    import typer

    from ibench_lib.cli import output, plain_values
else:
    # They take most of the time of what needs none of them.
    typer, output, plain_values = (later(n) for n in ("typer", "ibench_lib.cli.output", "ibench_lib.cli.plain_values"))

_COMMANDS = {
    "run": "run.run",
    "worker": "run.worker_command",
    "init": "project.init",
    "lab": "project.lab",
    "status": "status.status",
    "sql": "sql.sql",
    "post": "posts.post",
    "posts": "posts.posts",
    "site": "posts.site",
    "changes": "changes.changes",
    "summary": "summary.summary_command",
    "compare": "summary.compare_command",
    "explain": "explain.explain",
    "stalls": "stalls.stalls",
    "doctor": "doctor.doctor_command",
}
"""The functions of this folder that are commands."""

_EXAMPLE = "[bold]Example:[/]"

_GROUPS = ("experiment", "runs", "servers", "config", "profile")
"""The modules of this folder that have commands of their own."""


_COMPLETES = "_IBENCH_COMPLETE"
"""Set by a shell that asks what could be typed next."""

_HELP = ("-h", "--help")
_ABOUT_ALL = (*_HELP, "--version")
"""Options of the command itself: no command runs after them."""


def application(name: str = "") -> typer.Typer:
    """The command of this name or, if there is none, all commands: what all of them import takes most of a second.

    For the options of `ibench` itself the commands are only listed, and none of them is imported.
    """
    made = typer.Typer(
        cls=plain_values.PlainGroup,
        help="Run database benchmarks, record every second in Parquet, and publish the comparison.",
        no_args_is_help=True,
        context_settings={"help_option_names": list(_HELP)},
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    made.callback()(ibench)
    if name in _ABOUT_ALL:
        _list_commands(made)
        return made
    alone = name in _COMMANDS or name in _GROUPS
    for group in _GROUPS:
        if group == name or not alone:
            of_group = _module(group).app
            made.add_typer(of_group, name=group, cls=plain_values.PlainGroup)
            _reflow(of_group)
    for command, place in _COMMANDS.items():
        if command == name or not alone:
            module, _, function = place.partition(".")
            made.command(command)(getattr(_module(module), function))
    _reflow(made)
    return made


def _first_word() -> str:
    """The command, or the option of `ibench` itself; a shell that completes what is typed has the words elsewhere."""
    if _COMPLETES not in os.environ:
        return (sys.argv[1:2] or _ABOUT_ALL)[0]
    # The last word may be half typed: run may become runs. With the command alone all of them are listed.
    if "COMP_WORDS" in os.environ:  # bash
        typed = os.environ["COMP_WORDS"].split()[: int(os.environ.get("COMP_CWORD", "0"))]
    else:
        words = os.environ.get("_TYPER_COMPLETE_ARGS", "")
        typed = words.split() if words.endswith(" ") else words.split()[:-1]
    return next((word for word in typed[1:] if word in _COMMANDS or word in _GROUPS), _ABOUT_ALL[0])


def _list_commands(made: typer.Typer) -> None:
    """Commands that have nothing but their help, as it stands in their source."""
    for group in _GROUPS:
        listed = typer.Typer(help=_help_in(group, r"^app = typer\.Typer\(\s*help=|^@app\.callback\(\)\ndef "))
        listed.callback()(_stub())
        made.add_typer(listed, name=group)
    for command, place in _COMMANDS.items():
        module, _, function = place.partition(".")
        stub = _stub()
        stub.__doc__ = _help_in(module, rf"^def {function}\(")
        made.command(command)(stub)
    _reflow(made)


def _stub() -> Callable[[], None]:
    """A command that does nothing, another one with each call."""
    return lambda: None


def _help_in(module: str, beginning: str) -> str:
    """The first text in three quotes after what begins so in a module. To parse all modules would take too long."""
    source = (Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    found = re.search(f'(?ms)(?:{beginning}).*?"""(.*?)"""', source)
    assert found, f"{module} has no help"
    return found[1]


def _reflow(app: typer.Typer) -> None:
    """Let the help of its commands fill any width: typer keeps the line breaks of all paragraphs but the first."""
    for command in app.registered_commands:
        command.cls = plain_values.PlainCommand
        paragraphs = inspect.cleandoc((command.callback and command.callback.__doc__) or "").split("\n\n")
        command.help = "\n\n".join(one if _EXAMPLE in one else one.replace("\n", " ") for one in paragraphs)


def __getattr__(name: str) -> Any:
    if name == "app":
        return application()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _module(name: str) -> Any:
    return importlib.import_module(f"ibench_lib.cli.{name}")


def _help_alone(typed: list[str]) -> Callable[[], Any] | None:
    """What prints the help of a command, where only that is asked for; None for anything else.

    The groups above the command would first read their own options, for which typer imports pydantic.
    """
    *words, last = typed or [""]
    if last not in _HELP or not words or not (words[0] in _COMMANDS or words[0] in _GROUPS):
        return None
    command: Any = typer.main.get_command(application(words[0]))
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return None
    return partial(command.main, [last], prog_name=" ".join(["ibench", *words]), help_option_names=list(_HELP))


def _print_version(asked: bool) -> None:
    if asked:
        print(_versions(), flush=True)
        raise typer.Exit


def _versions() -> str:
    from importlib.metadata import version  # as slow to import as half of typer

    return f"ibench {version('ibench')}, Python {platform.python_version()}, DuckDB {version('duckdb')}"


def ibench(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run database benchmarks, record every second in Parquet, and publish the comparison."""


def main() -> None:
    """Entry point of the console script."""
    # Arrow's own pool reserves a gigabyte of addresses, a third of what `ulimit -v` may leave a command.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        if sys.argv[1:] == ["--version"]:
            print(_versions(), flush=True)
        else:
            kept.printed(sys.argv[1:], lambda: (_help_alone(sys.argv[1:]) or application(_first_word()))())
    except IbenchError as error:
        # Detail first: the line that says what is wrong and what to do is the last one on the screen.
        if error.detail:
            output.err.print(output.safe(error.detail), highlight=False, soft_wrap=True)
        output.err.print(f"[red]ibench:[/] {output.safe(error.what)}", highlight=False, soft_wrap=True)
        if error.hint:
            output.err.print(f"        {output.safe(error.hint)}", highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        extra = extra_of(error.name)
        if extra is None:
            raise
        output.err.print(f"[red]ibench:[/] {error.name} is not installed: this needs the extra {extra}", soft_wrap=True)
        output.err.print(f"        {output.safe(how_to_install(extra))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        output.err.print("[red]ibench:[/] interrupted")
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does; Python would complain once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except _of_files() as error:
        what, hint = _of_this_machine(error)
        output.err.print(f"[red]ibench:[/] {output.safe(what)}", highlight=False, soft_wrap=True)
        output.err.print(f"        {output.safe(hint)}", highlight=False, soft_wrap=True)
        sys.exit(1)


ROOM = "make room on that disk, or raise the quota, and try again; what was complete is kept"
_PROBE_BYTES = 1 << 20
WRITABLE = "check that you may write there, and that the disk is not read-only"


def _of_files() -> tuple[type[Exception], ...]:
    """The errors of files and of memory; those of libraries where they are in use."""
    used = (sys.modules.get(name) for name in ("sqlite3", "duckdb"))
    return (OSError, MemoryError, *(library.Error for library in used if library))


def _of_this_machine(error: Exception) -> tuple[str, str]:
    """What is wrong with the machine or its files, where no part of the library said it better; and what to do."""
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if "sqlite3" in sys.modules and isinstance(error, sys.modules["sqlite3"].Error):
        known = {"full": ROOM, "readonly": WRITABLE, "unable to open": WRITABLE}
        damaged = "the ledger is damaged; move it away, and the next `ibench run` starts a new one (no run is lost)"
        return f"{workspace().ledger}: {first}", next((hint for part, hint in known.items() if part in first), damaged)
    if isinstance(error, MemoryError):
        return "there is not enough memory", "request less data at a time"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = _full() if error.filename is None else os.fsdecode(error.filename)
        return f"{where}: {error.strerror}", ROOM
    if isinstance(error, OSError) and error.filename is not None:
        first = f"{os.fsdecode(error.filename)}: {error.strerror or type(error).__name__}"
    return first, "check that it exists, is of the right kind, and that you may read and write it"


def _full() -> str:
    """The folder that we write to and that takes nothing, as over its quota: a failed write does not name its file.

    If all of them take something, it is the one on the disk with the least room.
    """
    folders = [nearest_existing(workspace().data), Path(tempfile.gettempdir())]
    for folder in folders:
        try:
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(_PROBE_BYTES))
                probe.flush()
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return str(folder)
    return str(min(folders, key=lambda folder: shutil.disk_usage(folder).free))
