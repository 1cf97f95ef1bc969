"""A post without a run is skipped."""

import json

import pytest

from ibench_lib.paths import Workspace
from tests.command import ibench
from tests.publish.posting import TINY, tiny_post
from tests.shared import give_views
from tests.synthetic import Run, write_runs

pytestmark = [pytest.mark.lake, pytest.mark.slow]


@pytest.mark.long
def test_a_post_without_a_run_is_skipped_and_refused_if_it_is_asked_for_alone(workspace: Workspace) -> None:
    there = Run(experiment="there")
    write_runs(give_views(workspace), there)
    asking = json.loads(TINY)
    asking["cells"][0]["source"] = "experiment = ''\nruns = []"
    for slug, experiment, runs in (
        ("demo", "demo", []),
        ("glob", "oth*", []),
        ("gone", "", ["20261121T100000Z-there-cached-gone-r1"]),
        ("known", "the*", []),
        ("pinned", "", [there.run_id]),
    ):
        tiny_post(workspace, slug, parameters={"experiment": experiment, "runs": runs})
        asking["cells"][-1]["source"] = "print(experiment, runs)"
        (workspace.notebooks / f"{slug}-notebook.ipynb").write_text(json.dumps(asking))
    params = workspace.root / "papermill_params"
    done = ibench(workspace, "posts", str(params))
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("skipped")] == [
        "skipped demo: the lake has no run of experiment demo yet (make some with: make demo)",
        "skipped glob: the lake has no run of experiment oth* yet",
        "skipped gone: the lake has none of the runs that it names",
    ]
    assert sorted(path.name for path in workspace.posts.iterdir()) == ["known", "pinned"]
    alone = ibench(workspace, "post", str(params / "demo.yml"))
    assert alone.returncode == 1 and not workspace.post_dir("demo").exists()
    assert "post demo: the lake has no run of experiment demo yet (make some with: make demo)" in alone.stderr
    tiny_post(workspace, "typo", parameters={"experiment": "thre", "runs": []})
    (workspace.notebooks / "typo-notebook.ipynb").write_text(json.dumps(asking))
    typo = ibench(workspace, "post", str(params / "typo.yml"))
    assert "the lake has no run of experiment thre yet; did you mean 'there'?" in typo.stderr
