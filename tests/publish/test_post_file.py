"""What a post's YAML may say in place of a list."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ibench_lib.errors import ParameterError
from ibench_lib.paths import Workspace
from ibench_lib.publish.post_file import check_post
from tests.places import ROOT

POST = "fairness/sample.yml"


def test_the_sample_is_a_name_for_its_runs(tmp_path: Path) -> None:
    place = Workspace(tmp_path)
    shutil.copytree(ROOT / "notebooks", place.notebooks)
    with pytest.raises(ParameterError, match=r"runs: there is no run in .*sample"):
        check_post(ROOT / "papermill_params" / POST, place)
    for name in ("b", "a"):
        (place.sample / name).mkdir(parents=True)
        (place.sample / name / "manifest.json").write_text(json.dumps({}))
    (place.sample / "no-run").mkdir()
    checked = check_post(ROOT / "papermill_params" / POST, place)
    assert checked.spec.parameters["runs"] == ["a", "b"]
