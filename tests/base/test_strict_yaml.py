from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field

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


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text("")
    with pytest.raises(ExperimentError, match="no such file") as caught:
        strict_yaml.load(tmp_path / "dmeo.yaml", Outer, ExperimentError)
    assert "demo.yaml" in (caught.value.hint or "")
