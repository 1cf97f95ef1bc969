"""A value is validated as the form that it is written in, and only that form is spoken of."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ibench_lib.base import strict_yaml
from ibench_lib.base.choices import BY_FORM
from ibench_lib.errors import ExperimentError

Name = Annotated[str, Field(pattern="^[a-z]+$")]


class Sizes(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    rows: Annotated[int, Field(ge=1)]


class File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    setups: list[Annotated[Name | Sizes, BY_FORM]] = []
    order: Annotated[Literal["asc", "desc"] | Sizes, BY_FORM] = "asc"
    steps: Annotated[Literal["short", "long"] | Annotated[list[int], Field(min_length=1)], BY_FORM] = "short"


def load(tmp_path: Path, text: str) -> File:
    path = tmp_path / "f.yaml"
    path.write_text(text)
    return strict_yaml.load(path, File, ExperimentError)[0]


def test_each_form_is_taken(tmp_path: Path) -> None:
    file = load(tmp_path, "setups: [cached, {rows: 5}]\norder: {rows: 1}\nsteps: [1, 2]\n")
    assert file == File(setups=["cached", Sizes(rows=5)], order=Sizes(rows=1), steps=[1, 2])
    assert load(tmp_path, "setups: []\norder: desc\nsteps: long\n") == File(order="desc", steps="long")


def test_what_is_read_can_be_written_and_read_again(tmp_path: Path) -> None:
    file = load(tmp_path, "setups: [cached, {rows: 5}]\nsteps: [1]\n")
    assert file.model_dump() == {"setups": ["cached", {"rows": 5}], "order": "asc", "steps": [1]}
    assert File.model_validate_json(file.model_dump_json()) == file


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("setups: [Cached]", "1: setups[1]: 'Cached' is not a usable name"),
        ("setups: [{rows: 0}]", "1: setups[1].rows: should be greater than or equal to 1, not 0"),
        ("setups: [{row: 1, rows: 1}]", "1: unknown key 'setups[1].row'; did you mean 'rows'?"),
        ("setups: [{}]", "1: missing key 'setups[1].rows'"),
        ("setups: [7]", "1: setups[1]: should be a valid dictionary or instance of Sizes, not 7"),
        ("setups: [null]", "1: setups[1]: should be a valid dictionary or instance of Sizes, not None"),
        ("order: up", "1: order: should be 'asc' or 'desc', not 'up'"),
        ("steps: middle", "1: steps: should be 'short' or 'long', not 'middle'"),
        ("steps: []", "1: steps: List should have at least 1 item"),
        ("steps: [a]", "1: steps[1]: should be a valid integer, not 'a'"),
    ],
)
def test_a_mistake_is_described_in_the_form_that_was_written(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, text)
    assert f":{problem}" in caught.value.what


def test_members_of_one_form_cannot_be_told_apart() -> None:
    with pytest.raises(TypeError, match="no union of different forms"):
        TypeAdapter(Annotated[str | int, BY_FORM])
