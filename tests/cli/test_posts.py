"""`ibench post` and `ibench posts`."""

import subprocess
import sys

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
