"""A post from YAML to files: what is refused before anything runs, what a failure leaves, what reaches the kernel."""

import base64
import gzip
import itertools
import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import nbformat
import polars as pl
import pytest
from nbclient.exceptions import CellExecutionError

from ibench_lib.ask.selection import choose
from ibench_lib.base.mask import mask_of_machine
from ibench_lib.errors import PostFailed
from ibench_lib.paths import Workspace
from ibench_lib.publish import charts
from ibench_lib.publish.notebook import parameters
from ibench_lib.publish.post import _forget_paths, build_post
from ibench_lib.publish.record import RECORD_NAME, read_record
from ibench_lib.show.kit.chart_text import PLOTLY_MIME
from ibench_lib.store import reader
from tests.publish.posting import ROOT, VALUES, SharedKernel, params_file, tiny_post
from tests.synthetic import Run, begin_run, end_run, manifest_of, write_runs

pytestmark = [pytest.mark.lake, pytest.mark.slow]


@pytest.mark.parametrize(
    "wrong", [{"setups": ["smal"]}, {"base": "system.cy10"}, {"steps": ["l.i9"]}, {"palette": "red"}]
)
def test_a_value_that_no_run_has_fails_the_notebook(
    place: Workspace, kernel: SharedKernel, wrong: dict[str, Any]
) -> None:
    write_runs(place, Run(setup="small"))
    with pytest.raises(CellExecutionError) as caught:
        kernel.run(place.notebooks / "insert_benchmark.ipynb", {**VALUES["parameters"], **wrong}, place.root)
    assert caught.value.ename == "ParameterError"
    assert re.search("did you mean|does not exist|known: ", caught.value.evalue)


def test_what_runs_a_notebook_does_not_wait_for_what_writes_its_page() -> None:
    look = "import sys; from ibench_lib.publish import post_process; post_process._import(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {*done.stdout.split()}
    assert "papermill" in loaded
    assert not {"duckdb", "pyarrow", "numpy", "polars", "plotly", "nbconvert", "PIL"} & loaded


def test_charts_are_made_ahead_and_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[tuple[str, threading.Thread]]()

    def watched(figure: dict[str, Any]) -> charts.ChartBlock:
        made.append((figure["layout"]["meta"]["title"], threading.current_thread()))
        return chart_block(figure)

    chart_block = charts.chart_block
    monkeypatch.setattr(charts, "chart_block", watched)
    shown = {"data": [{"type": "scatter", "y": [1, 2]}], "layout": {"meta": {"title": "Mine"}}}
    source = f"from IPython.display import display; display({{{PLOTLY_MIME!r}: {shown}}}, raw=True)"
    page = build_post(tiny_post(workspace, "p", source), workspace).read_text()
    assert page.count("<figcaption>Mine</figcaption>") == 1
    ((title, thread),) = made
    assert title == "Mine" and thread is not threading.current_thread()


@pytest.mark.fault("F35")
def test_f35_a_failed_cell_keeps_the_previous_post_and_links_to_itself_in_the_failed_notebook(
    workspace: Workspace,
) -> None:
    page = build_post(tiny_post(workspace, "p"), workspace)
    before = {path.name: path.read_bytes() for path in page.parent.iterdir()}
    broken = tiny_post(workspace, "p", "raise ValueError('first line\\nsecond line')", title="Changed")
    with pytest.raises(PostFailed) as caught:
        build_post(broken, workspace)
    assert caught.value.what == "post p: cell 3 raised ValueError: first line"
    assert caught.value.hint == (
        "data/posts/p.failed.ipynb shows how far it got, with the error at the top; the previous post is kept"
    )
    assert {path.name: path.read_bytes() for path in page.parent.iterdir()} == before
    assert sorted(path.name for path in workspace.posts.iterdir()) == ["p", "p.failed.ipynb"]
    cells = nbformat.read(workspace.failed_notebook("p"), as_version=4).cells
    assert re.search(r"""exception.*<a href=["']#papermill-error-cell["']>In \[3\]""", cells[0].source, re.IGNORECASE)
    (place,) = [number for number, cell in enumerate(cells) if 'id="papermill-error-cell"' in cell.source]
    assert cells[place + 1].outputs[0].ename == "ValueError"
    fixed = build_post(tiny_post(workspace, "p", title="Changed"), workspace)
    assert b"<title>Changed</title>" in fixed.read_bytes()
    assert not workspace.failed_notebook("p").exists()


@pytest.mark.fault("F35")
def test_f35_a_kernel_that_dies_is_no_stack_trace_and_the_notebook_says_where(workspace: Workspace) -> None:
    with pytest.raises(PostFailed) as caught:
        build_post(tiny_post(workspace, "p", "import os\nos._exit(1)"), workspace)
    assert caught.value.what == "post p: the notebook stopped in cell 4 of 4: DeadKernelError: Kernel died"
    assert caught.value.hint == "data/posts/p.failed.ipynb shows how far it got, with the error at the top"
    cells = nbformat.read(workspace.failed_notebook("p"), as_version=4).cells
    assert "Kernel died" in cells[0].source and "(#papermill-error-cell)" in cells[0].source
    assert "papermill-error-cell" in cells[-2].source and "_exit" in cells[-1].source


@pytest.mark.fault("F35")
def test_f35_a_page_that_cannot_be_made_keeps_the_notebook_too(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ibench_lib.publish.page.MOST_BYTES", 4_000_000)
    with pytest.raises(PostFailed, match=r"post p: the page would have 4\.\d MB, over 4"):
        build_post(tiny_post(workspace, "p", "print('x' * 4_200_000)"), workspace)
    first = nbformat.read(workspace.failed_notebook("p"), as_version=4).cells[0]
    assert "the page would have 4." in first.source
    assert [path.name for path in workspace.posts.iterdir()] == ["p.failed.ipynb"]


@pytest.mark.long
@pytest.mark.fault("F35")
def test_f35_a_disk_that_fills_up_leaves_the_previous_post_as_it_was(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = build_post(tiny_post(workspace, "p"), workspace)
    before = {path.name: path.read_bytes() for path in page.parent.iterdir()}

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ibench_lib.publish.post.write_record", full)  # the last that is written
    with pytest.raises(PostFailed, match=r"post p: making the page failed: OSError: .* No space left on device"):
        build_post(tiny_post(workspace, "p", title="Changed"), workspace)
    assert {path.name: path.read_bytes() for path in page.parent.iterdir()} == before
    assert sorted(path.name for path in workspace.posts.iterdir()) == ["p", "p.failed.ipynb"]


def test_the_same_post_built_again_is_the_same_page_and_no_news(workspace: Workspace) -> None:
    page = build_post(tiny_post(workspace, "p"), workspace)
    first, written = page.read_bytes(), read_record(page.parent)
    old = written.model_copy(update={"updated": written.updated.replace(year=2020)})
    (page.parent / RECORD_NAME).write_text(old.model_dump_json())
    build_post(tiny_post(workspace, "p"), workspace)
    assert page.read_bytes() == first
    assert read_record(page.parent).updated.year == 2020
    build_post(tiny_post(workspace, "p", title="Another"), workspace)
    assert read_record(page.parent).updated.year > 2020


def test_a_post_without_a_date_keeps_the_day_it_was_first_built(workspace: Workspace) -> None:
    page = build_post(tiny_post(workspace, "p", date=None), workspace)
    record = read_record(page.parent)
    old = record.model_copy(update={"date": record.date.replace(year=2020)})
    (page.parent / RECORD_NAME).write_text(old.model_dump_json())
    build_post(tiny_post(workspace, "p", date=None), workspace)
    assert read_record(page.parent).date.year == 2020


def saved_answer(page: Path, question: str) -> pl.DataFrame:
    """The answer to a question as the post offers it for saving."""
    html = "".join(
        output.data.get("text/html", "")
        for cell in nbformat.read(page.parent / "post.ipynb", as_version=4).cells
        for output in cell.get("outputs", [])
        if "data" in output
    )
    (found,) = re.finditer(rf'download="{question}\.csv(\.gz)?" href="data:[^,]*,([^"]*)"', html)
    content = base64.b64decode(found[2])
    return pl.read_csv(gzip.decompress(content) if found[1] else content)


@pytest.mark.long
@pytest.mark.fault("F34")
def test_f34_a_post_built_while_a_run_is_live_shows_one_moment_of_it_and_says_running(place: Workspace) -> None:
    live = Run("live", status="running", minute=1, steps=("l.i0", "l.x", "l.i1"), l_i1_s=2)
    write_runs(place, Run())
    writer = begin_run(place, live, sealed=("l.i0", "l.x"))
    stop = threading.Event()
    response = {
        "step_id": 2, "step": "l.i1", "client": 1, "worker": 0, "operation": "insert", "second": 0, "ops": 1, "rows": 1,
        "errors": 0, "retries": 0, "unknown": 0, "service_sum_us": 1.0, "service_max_us": 1.0, "service_bins": [1],
        "service_counts": [1],
    }  # fmt: skip

    def go_on() -> None:  # seconds come in and steps are sealed all the time that the post is built
        for second in itertools.count():
            if stop.wait(0.005):
                return
            writer.append("server_samples", t_s=100.0 + second, history_list_length=second)
            # One more second with a response: questions that count them agree when they are of one moment.
            writer.append("ops", **response | {"second": 2 + second})
            if second % 50 == 49:
                writer.seal_step(manifest_of(live))

    going = threading.Thread(target=go_on)
    going.start()
    every_second = VALUES["parameters"] | {"points": 2000}
    try:
        page = build_post(params_file(place, parameters=every_second), place)
    finally:
        stop.set()
        going.join()
    end_run(writer, live)
    text = page.read_text()
    rows = re.findall(r"<tr>.*?</tr>", text, re.DOTALL)
    mine = [re.sub(r"<[^>]+>", " ", row) for row in rows if "system.live" in row]
    assert any(re.search(r"2,?000\b", row) and "running" in row for row in mine), mine
    assert not any("complete" in row and live.run_id in row for row in mine), "nothing calls it complete"

    def of_l_i1(question: str) -> pl.DataFrame:
        return saved_answer(page, question).filter(run_id=live.run_id, step="l.i1")

    # Of two clients 500 statements each, 25,000 rows each in two seconds, and then one row a second.
    (throughput,) = of_l_i1("step_throughput")["throughput"]
    (responses,) = of_l_i1("response_time_histogram").filter(operation="insert", timing="service")["responses"]
    came_in = responses - 1000
    assert came_in > 0 and came_in == round((50_000 - 2 * throughput) / (throughput - 1))  # rows by seconds of the step
    seconds = of_l_i1("one_second").filter(pl.col("client").is_null(), operation="insert")
    (bucket_s,) = set(seconds["bucket_s"])  # a bucket of several seconds does not say how many of them it has
    assert seconds["t_s"].max() == (came_in + 1) // bucket_s * bucket_s
    if bucket_s == 1:
        assert round(seconds["rate_mean"].sum()) == 50_000 + came_in
    later = choose(reader.lake(place), VALUES["parameters"]["experiment"]).ask("response_time_histogram")
    (at_the_end,) = later.filter(run_id=live.run_id, operation="insert", step="l.i1", timing="service")["responses"]
    assert at_the_end > responses, "nothing came in while the post was built"


def test_values_reach_the_kernel_as_data(workspace: Workspace) -> None:
    """papermill writes values into code: no text may leave its literal."""
    nasty = "demo\"\"\"'''\\\n__import__('os').mkdir('hit')\n#"
    build_post(tiny_post(workspace, "p", parameters={"word": nasty}), workspace)
    executed = nbformat.read(workspace.post_dir("p") / "post.ipynb", as_version=4)
    (injected,) = [cell for cell in executed.cells if "injected-parameters" in cell.metadata.get("tags", [])]
    injected.metadata["tags"] = ["parameters"]
    assert parameters(nbformat.v4.new_notebook(cells=[injected]), "injected")["word"] == nasty


@pytest.mark.long
def test_a_post_needs_no_home_and_no_registered_kernel(workspace: Workspace, tmp_path: Path) -> None:
    """A new user, and one whose python3 kernel is something else."""
    home = tmp_path / "home"
    kernel = home / ".local/share/jupyter/kernels/python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({"argv": ["/bin/false"], "display_name": "x", "language": "python"}))
    call = (
        "import sys; from pathlib import Path; from ibench_lib.publish.post import build_post;"
        "from ibench_lib.paths import Workspace; build_post(Path(sys.argv[1]), Workspace(Path(sys.argv[2])))"
    )
    before = sorted(home.rglob("*"))
    subprocess.run(
        [sys.executable, "-c", call, str(tiny_post(workspace, "p")), str(workspace.root)],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        check=True,
        cwd=tmp_path,
    )
    assert (workspace.post_dir("p") / "index.html").stat().st_size > 5_000
    assert sorted(home.rglob("*")) == before


def test_what_a_notebook_says_names_no_path_and_numbers_and_files_in_it_are_left_alone(workspace: Workspace) -> None:
    private, packed = f"{workspace.runs}/x is cut", "AAAA/tmp/AAA="
    link = f'<a class="data" download="x.csv" href="data:text/csv;base64,{packed}">Save</a>'
    cell = nbformat.v4.new_code_cell(
        outputs=[
            nbformat.v4.new_output("stream", name="stderr", text=private),
            nbformat.v4.new_output("display_data", {"text/html": f"<td>{private}</td>{link}<td>/tmp/y</td>"}),
            nbformat.v4.new_output("display_data", {PLOTLY_MIME: {"data": [{"y": {"bdata": packed}}]}}),
        ]
    )
    papermill = {"input_path": f"{workspace.root}/n.ipynb"}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"papermill": papermill})
    _forget_paths(notebook, mask_of_machine(workspace))
    said, table, chart = notebook.cells[0].outputs
    assert said.text == "<workspace>/data/runs/x is cut"
    masked = "<td>&lt;workspace&gt;/data/runs/x is cut</td>"
    assert table.data["text/html"] == f"{masked}{link}<td>&lt;tmp&gt;/y</td>"
    assert chart.data[PLOTLY_MIME]["data"][0]["y"]["bdata"] == packed
    assert notebook.metadata.papermill.input_path == "n.ipynb"
