"""`ibench post` and `ibench posts`."""

import subprocess
import sys
from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from tests.command import ibench, refused
from tests.places import ROOT


def test_a_parameter_that_the_notebook_does_not_have(workspace: Workspace) -> None:
    (workspace.root / "notebooks").symlink_to(ROOT / "notebooks")
    text = (ROOT / "papermill_params/insert_benchmark/demo.yml").read_text()
    path = workspace.root / "post.yml"
    path.write_text(text.replace("experiment:", "experimnet:", 1))
    refused(ibench(workspace, "post", str(path)), "post.yml", "experimnet", "experiment")


def test_a_post_does_not_wait_for_what_its_notebook_needs() -> None:
    look = (
        "import sys; from ibench_lib.publish import posts; from ibench_lib.cli.main import main\n"
        "def started(_): print(*sys.modules); sys.exit()\n"
        "posts._start = started; sys.argv = ['ibench', 'post', 'a.yml']; main()"
    )
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "psutil" in done.stdout
    assert not {"duckdb", "pyarrow", "numpy", "polars", "plotly", "pydantic"} & {*done.stdout.split()}


@pytest.mark.parametrize(
    ("named", "builders"), [(["a.yml"], 1), (["a.yml", "b.yml"], 2), (["."], 3), (["a.yml", "."], 3)]
)
def test_no_more_builders_are_started_than_files_are_named(tmp_path: Path, named: list[str], builders: int) -> None:
    for name in ("a.yml", "b.yml"):
        (tmp_path / name).touch()
    look = (
        "import sys; from ibench_lib.cli import posts; from ibench_lib.cli.main import main\n"
        "def started(_, jobs): print(jobs); sys.exit()\n"
        "posts.started_builders = started; sys.argv = ['ibench', 'posts', '-j', '3', *sys.argv[1:]]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", look, *named], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(builders)]
