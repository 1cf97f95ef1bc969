from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field
from ruamel.yaml.parser import Parser

from ibench_lib.base import strict_yaml
from ibench_lib.errors import ExperimentError


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    size: Annotated[int, Field(ge=1)]
    label: str = "x"


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    title: str
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    inner: Inner
    names: list[str] = []


GOOD = "title: t\ninner:\n  size: 2\nnames: [a]\n"


def problems(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "f.yaml"
    path.write_text(text)
    with pytest.raises(ExperimentError) as caught:
        strict_yaml.load(path, Outer, ExperimentError)
    lines = (caught.value.detail or caught.value.what).splitlines()
    assert all(line.startswith(f"{path}:") for line in lines)
    return [line.removeprefix(f"{path}:") for line in lines]


def test_a_good_file_comes_back_with_its_text(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(GOOD)
    model, text = strict_yaml.load(path, Outer, ExperimentError)
    assert (model.title, model.inner.size, model.names, text) == ("t", 2, ["a"], GOOD)


def test_a_file_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Parser] = []
    begin = Parser.parse_stream_start

    def counted(parser: Parser) -> Any:
        begun.append(parser)
        return begin(parser)

    monkeypatch.setattr(Parser, "parse_stream_start", counted)
    path = tmp_path / "f.yaml"
    path.write_text(f"# once\n{GOOD}")
    _, text = strict_yaml.load(path, Outer, ExperimentError)
    assert strict_yaml.line_at(text, ("inner", "size")) == 4
    assert strict_yaml.lines_of_keys(text, ("inner",)) == [4] and strict_yaml.lines_of_keys(text, ("absent",)) == []
    assert len(begun) == 1


@pytest.mark.parametrize("value", ["NO", "12:30", "12:30:45", "on", "1_000", "0x1F:"])
@pytest.mark.fault("F20")
def test_words_that_older_yaml_converts_stay_words(tmp_path: Path, value: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(GOOD.replace("[a]", f'["{value}"]'))
    assert strict_yaml.load(path, Outer, ExperimentError)[0].names == [value]
    if value in ("NO", "12:30", "on"):
        path.write_text(GOOD.replace("[a]", f"[{value}]"))
        assert strict_yaml.load(path, Outer, ExperimentError)[0].names == [value]


@pytest.mark.fault("F21")
def test_every_problem_is_named_with_its_line(tmp_path: Path) -> None:
    found = problems(tmp_path, "title: t\nrate: -1\ninner:\n  size: 0\n  lable: y\nnmes: []\n")
    assert found == [
        "2: rate: should be greater than 0, not -1",
        "4: inner.size: should be greater than or equal to 1, not 0",
        "5: unknown key 'inner.lable'; did you mean 'label'?",
        "6: unknown key 'nmes'; did you mean 'names'?",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD + "title: again\n", "5: key 'title' is given twice (first in line 1)"),
        (GOOD.replace("size: 2", "size: 0777"), "3: 0777 is ambiguous: put it in quotes, or remove the leading zero"),
        (GOOD.replace("[a]", "!!python/name:os.system []"), "4: tag tag:yaml.org,2002:python/name:os.system is not"),
        (GOOD.replace("title: t", "title: !secret t"), "1: tag !secret is not allowed"),
        (GOOD.replace("size: 2", 'size: "2"'), "3: inner.size: should be a valid integer, not '2'"),
        (GOOD.replace("size: 2", "size: 2.0"), "3: inner.size: should be a valid integer, not 2.0"),
        (GOOD.replace("size: 2", "size: true"), "3: inner.size: should be a valid integer, not True"),
        (GOOD + "rate: .nan\n", "5: rate: should be a finite number, not nan"),
        (GOOD.replace("title: t\n", ""), "1: missing key 'title'"),
        ("- a\n", "1: expected a mapping"),
        ("", "1: expected a mapping"),
        ("title: [\n", "2: not valid YAML"),
        ("title: t\n\tinner: 3\n", "2: not valid YAML"),
    ],
)
@pytest.mark.fault("F20")
def test_what_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    (found,) = problems(tmp_path, text)
    assert found.startswith(expected)


@pytest.mark.parametrize("size", ["!!int 0x", "0777", "[[[]]]"])
def test_a_file_that_is_read_again_has_the_same_problem(tmp_path: Path, size: str) -> None:
    text = GOOD.replace("size: 2", f"size: {size}")
    assert problems(tmp_path, text) == problems(tmp_path, text)


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text("")
    with pytest.raises(ExperimentError, match="no such file") as caught:
        strict_yaml.load(tmp_path / "dmeo.yaml", Outer, ExperimentError)
    assert "demo.yaml" in (caught.value.hint or "")
