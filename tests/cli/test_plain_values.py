"""Values that need no conversion: commands get what typer would give them, and the same errors."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from ibench_lib.cli.plain_values import PlainCommand


class Form(StrEnum):
    table = "table"
    csv = "csv"


def _given(cls: type[TyperCommand], typed: list[str]) -> tuple[Any, ...]:
    """What a command of that kind gets, or what is printed, and the exit code."""
    app, got = typer.Typer(), []

    @app.command(cls=cls)
    def command(
        name: str,
        others: Annotated[list[str] | None, typer.Argument()] = None,
        form: Annotated[Form, typer.Option()] = Form.table,
        tag: Annotated[list[str] | None, typer.Option()] = None,
        base: Annotated[str, typer.Option(callback=lambda text: text.upper())] = "none",
        last: Annotated[int | None, typer.Option(min=1)] = None,
        scale: Annotated[float, typer.Option(min=1e-9, max=1)] = 1.0,
        folder: Annotated[Path | None, typer.Option()] = None,
        there: Annotated[list[Path] | None, typer.Option()] = None,
        file: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
        share: Annotated[float, typer.Option(parser=lambda text: float(text.rstrip("%")) / 100)] = "2%",  # type: ignore
        quick: bool = False,
        slow: Annotated[bool, typer.Option("--slow/--fast")] = True,
    ) -> None:
        got.append((name, others, form, tag, base, last, scale, folder, there, file, share, quick, slow))

    done = CliRunner().invoke(app, typed)
    return got, done.exit_code, done.output


@pytest.mark.parametrize(
    "typed",
    [
        "", "a", "a b c", "a --form csv", "a --form odd", "a --tag x --tag y", "a --base here", "a --last 0",
        "a --last 2", "a --last x", "a --scale 0.5", "a --scale 2", "a --folder f", "a --folder /", "a --folder -",
        "a --there f --there g", "a --file nowhere", "a --file /", "a --share 7%", "a --quick --fast", "a --tag",
        "a --there",
    ],
)  # fmt: skip
def test_commands_get_what_typer_would_give_them(typed: str) -> None:
    plain, by_typer = _given(PlainCommand, typed.split()), _given(TyperCommand, typed.split())
    assert plain == by_typer
    assert [list(map(type, values)) for values in plain[0]] == [list(map(type, values)) for values in by_typer[0]]
