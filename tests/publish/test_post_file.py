"""Post files that cannot be used are refused before anything runs."""

import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import NameRefused, ParameterError
from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from ibench_lib.publish.post_file import check_post, check_posts
from ibench_lib.store.writer import RunWriter
from tests.places import ROOT
from tests.publish.posting import VALUES, params_file, tiny_post
from tests.synthetic import Run, manifest_of

pytestmark = pytest.mark.lake


def test_all_files_are_checked_before_the_first_kernel_starts(workspace: Workspace) -> None:
    tiny_post(workspace, "good")
    tiny_post(workspace, "bad", parameters={"wrod": "x"})
    tiny_post(workspace, "worse", title="")
    with pytest.raises(ParameterError) as caught:
        check_posts([workspace.root / "papermill_params"], workspace)
    assert caught.value.what == "2 problems in 3 post files"
    assert caught.value.hint == "no post was built"
    assert caught.value.detail is not None
    for line in (
        "bad.yml: parameters: 'wrod' is not a parameter",
        "worse.yml:6: title:",
    ):
        assert line in caught.value.detail, caught.value.detail
    assert not workspace.posts.exists()


def test_two_posts_with_one_slug_are_refused_before_anything_runs(workspace: Workspace) -> None:
    first, second = tiny_post(workspace, "one"), tiny_post(workspace, "two")
    second.write_text(second.read_text().replace("slug: two", "slug: one"))
    with pytest.raises(ParameterError, match=r"one\.yml and .*two\.yml have the same slug: one"):
        check_posts([first.parent], workspace)
    assert [post.path for post in check_posts([first, first, first.parent / "one.yml"], workspace)] == [first]


def test_a_folder_without_a_post_is_a_mistake(workspace: Workspace) -> None:
    workspace.notebooks.mkdir(parents=True)
    with pytest.raises(ParameterError, match="it contains no post"):
        check_posts([workspace.notebooks], workspace)


def test_a_parameter_the_notebook_does_not_have_is_refused_before_anything_runs(place: Workspace) -> None:
    path = params_file(place, parameters={**VALUES["parameters"], "stepps": []})
    with pytest.raises(ParameterError) as caught:
        build_post(path, place)
    assert caught.value.what == (
        f"{path}: parameters: 'stepps' is not a parameter of insert_benchmark.ipynb; did you mean 'steps'?"
    )
    assert not place.posts.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parameters": {"setups": []}}, "parameters: `experiment` or `runs` must say what the post is about"),
        ({"parameters": {**VALUES["parameters"], "setups": "small"}}, "setups should be a list, not 'small'"),
        ({"notebook": "insert_benchmarks"}, "notebook 'insert_benchmarks' does not exist in notebooks/; did you mean"),
        (
            {"notes": {"purgelag": "x"}},
            "notes: 'purgelag' is not a section of insert_benchmark.ipynb; did you mean 'purge-lag'",
        ),
        ({"slug": "../x"}, "slug"),
        ({"titel": "x"}, "unknown key 'titel'; did you mean 'title'?"),
        ({"date": "2026-13-45"}, "date"),
    ],
)
def test_a_post_file_that_cannot_be_used_says_why(place: Workspace, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        build_post(params_file(place, **changes), place)
    assert said in f"{caught.value.what}\n{caught.value.detail}"


def test_a_duplicate_key_is_refused_with_its_line(place: Workspace) -> None:
    path = params_file(place)
    path.write_text(path.read_text() + "slug: twice\n")
    with pytest.raises(ParameterError, match=r"post\.yml:\d+: .*'slug' is given twice"):
        build_post(path, place)


@pytest.mark.parametrize("slug", ["index.html", "feed.xml", "demo.failed.ipynb"])
def test_a_slug_that_is_a_file_of_the_site_is_refused(place: Workspace, slug: str) -> None:
    with pytest.raises(NameRefused, match="is the name of another file"):
        build_post(params_file(place, slug=slug), place)


def test_the_sample_is_a_name_for_its_runs_of_an_experiment(tmp_path: Path) -> None:
    place = Workspace(tmp_path)
    shutil.copytree(ROOT / "notebooks", place.notebooks)
    path = ROOT / "papermill_params" / "fairness/sample.yml"
    with pytest.raises(ParameterError, match=r"runs: there is no run of innodb_purge_lag_sample in .*sample"):
        check_post(path, place)
    ours = [Run(experiment="innodb_purge_lag_sample", minute=minute) for minute in (2, 1)]
    for run in (*ours, Run(minute=3)):
        writer = RunWriter(place.sample / run.run_id)
        writer.seal(manifest_of(run))
    (place.sample / "no-run").mkdir()
    assert check_post(path, place).spec.parameters["runs"] == sorted(run.run_id for run in ours)
    other = tmp_path / "sample.yml"
    other.write_text(path.read_text().replace("sample/innodb_purge_lag_sample", "sample"))
    with pytest.raises(ParameterError, match="runs: say of which experiment"):
        check_post(other, place)


def test_parameters_that_are_not_named_are_the_notebooks_and_a_date_needs_no_quotes(place: Workspace) -> None:
    path = params_file(place, parameters={"experiment": "demo", "points": 100})
    path.write_text(path.read_text().replace("'2026-11-21'", "2026-11-21"))
    assert "date: 2026-11-21\n" in path.read_text()
    checked = check_post(path, place)
    assert checked.spec.parameters["points"] == 100 and checked.spec.parameters["setups"] == []
    assert set(checked.spec.parameters) == set(VALUES["parameters"])
    assert checked.day == date(2026, 11, 21)
