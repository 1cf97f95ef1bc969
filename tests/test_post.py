"""A post from YAML to a real browser: offline, complete, inert, readable on a phone, never half replaced."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page
from ruamel.yaml import YAML

from ibench_lib.errors import ParameterError, PostFailed
from ibench_lib.lake import reader
from ibench_lib.page import PLOTLY_MIME, prose
from ibench_lib.paths import Workspace
from ibench_lib.post import _forget_paths, build_post, notebook_parameters
from ibench_lib.privacy import mask_of_machine
from tests.synthetic import Run, begin_run, end_run, manifest_of, three_configurations, write_runs

ROOT = Path(__file__).resolve().parent.parent
HOSTILE = "<script>window.hit=1</script>\"><img src=x onerror='window.hit=1'></title>{{ 1 }} ${1} %{y}"

VALUES: dict[str, Any] = {
    "notebook": "insert_benchmark",
    "slug": "demo",
    "title": "Purge lag",
    "author": "A. Tester",
    "date": "2026-11-21",
    "tldr": ["One **bold** claim", "and `code`"],
    "notes": {"purge-lag": "A note on purge."},
    "parameters": {
        "experiment": "demo",
        "runs": [],
        "dbms": [],
        "setups": [],
        "steps": [],
        "base": "",
        "palette": "default",
        "points": 1000,
    },
}


def params_file(workspace: Workspace, **changes: Any) -> Path:
    workspace.root.mkdir(parents=True, exist_ok=True)
    path = workspace.root / "post.yml"
    with open(path, "w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump({**VALUES, **changes}, file)
    return path


def with_notebook(root: Path) -> Workspace:
    """A workspace with the project's notebook and no runs."""
    shutil.copytree(ROOT / "notebooks", root / "notebooks")
    return Workspace(root)


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    return with_notebook(tmp_path)


@dataclass
class Opened:
    """A post in a browser without a network, scrolled through once, with all that it asked for."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def open_post(browser: Browser, path: Path, width: int = 1280) -> Opened:
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    opened = Opened(context.new_page())
    opened.page.on("request", lambda request: opened.requests.append(request.url))
    opened.page.on("console", lambda message: opened.complaints.append(message.text))
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.goto(path.as_uri())
    height = int(opened.page.evaluate("document.documentElement.scrollHeight"))
    for top in range(0, height + 900, 700):
        opened.page.evaluate("top => window.scrollTo({top, behavior: 'instant'})", top)
        opened.page.wait_for_timeout(30)
    opened.page.wait_for_function(
        "[...document.querySelectorAll('figure.chart')].every(chart => chart.querySelector('.main-svg'))",
        timeout=30_000,
    )
    return opened


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The post of three complete runs."""
    workspace = with_notebook(tmp_path_factory.mktemp("demo"))
    write_runs(workspace, *three_configurations())
    return build_post(params_file(workspace), workspace)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A post in which every text that somebody can choose is an attack; one run failed."""
    workspace = with_notebook(tmp_path_factory.mktemp("hostile"))
    runs = [
        Run(experiment="demo", title=HOSTILE, dbms=HOSTILE, setup=HOSTILE, client_bound=HOSTILE, scale=0.002),
        Run("x", minute=1, setup=HOSTILE, dbms=HOSTILE + "2", options=f"{HOSTILE}={HOSTILE}\n"),
        Run(
            "y", minute=2, setup=HOSTILE, dbms="broken", status="failed", failed_step="l.i1", error=HOSTILE,
            steps=("l.i0", "l.x", "l.i1"),
        ),
    ]  # fmt: skip
    for writer in write_runs(workspace, *runs):
        # A step's name comes from a run's files as well.
        path = writer.run_dir / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["workload"]["resolved_steps"].append({"name": HOSTILE, "kind": "query"})
        path.write_text(json.dumps(manifest))
    text = {"title": HOSTILE, "author": HOSTILE, "tldr": [HOSTILE], "notes": {"builds": HOSTILE}}
    return build_post(params_file(workspace, **text), workspace)


@pytest.fixture(scope="module")
def opened_demo(demo: Path, browser: Browser) -> Opened:
    """For tests that only look."""
    return open_post(browser, demo)


@pytest.fixture(scope="module")
def opened_hostile(hostile: Path, browser: Browser) -> Opened:
    """For tests that only look."""
    return open_post(browser, hostile)


def table_rows(page: Page, caption: str) -> dict[str, list[str]]:
    """Row head -> cells of the table with that caption."""
    table = page.locator("table", has=page.locator("caption", has_text=caption)).first
    rows = table.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('th, td')].map(cell => cell.textContent.trim()))"
    )
    return {row[0]: row[1:] for row in rows}


def test_the_post_asks_for_nothing_and_complains_about_nothing(demo: Path, opened_demo: Opened) -> None:
    assert opened_demo.requests == [demo.as_uri()]
    assert opened_demo.complaints == []
    named = opened_demo.page.evaluate(
        "[...document.querySelectorAll('[src], [href]')].map(e => e.getAttribute('src') || e.getAttribute('href'))"
    )
    assert named and all(address.startswith("#") for address in named), named


def test_every_chart_is_drawn_with_lines_that_go_somewhere(opened_demo: Opened) -> None:
    page = opened_demo.page
    drawn = page.evaluate(
        """[...document.querySelectorAll('figure.chart')].map(chart => [
            chart.querySelector('figcaption').textContent,
            [...chart.querySelectorAll('.trace path, .points path')].filter(path => path.getBBox().width > 1).length,
        ])"""
    )
    titles = [title for title, _ in drawn]
    assert {"inserts/s, l.i1, cached", "queries/s, qr100, cached", "History list length during l.i1, cached"} <= {
        *titles
    }
    assert "Seconds of get_min, cached" in titles
    assert all(paths > 0 for _, paths in drawn), drawn
    assert page.locator("a[href*='plotly'], .modebar-btn--logo, [data-title*='cloud' i]").count() == 0


def test_tables_hold_the_numbers_worked_out_by_hand(opened_demo: Opened) -> None:
    page = opened_demo.page
    assert table_rows(page, "Average throughput, cached") == {
        "system.cy10a": ["2,000 ▲", "10,000 ▲", "5,000 ▲", "1,000 ▲"],
        "system.cy10ap1": ["2,000 ▲", "10,000 ▲", "5,000 ▲", "500 ▼"],
        "system.cy10ap1lag": ["2,000 ▲", "10,000 ▲", "2,500 ▼", "1,000 ▲"],
    }
    relative = table_rows(page, "Throughput relative to system.cy10a, cached")
    assert relative["system.cy10ap1lag"] == ["1.00", "1.00", "0.50 ▼", "1.00"]
    assert table_rows(page, "Clients of l.i0, cached")["system.cy10a"] == ["8.0", "10.0", "2.0", "25.0"]
    assert table_rows(page, "Seconds of get_min, cached")["system.cy10ap1"] == ["0.001", "0.001", "0.001", "0.500 ▼"]
    facts = page.locator("#purge-lag li").all_inner_texts()
    assert (
        "cached, l.i1: history list length from 300 (system.cy10a) to 30,000 (system.cy10ap1), 100 times as much."
        in facts
    )


def test_what_the_runs_warn_of_is_on_the_page(opened_demo: Opened) -> None:
    page = opened_demo.page
    assert page.locator("#builds li").all_inner_texts() == [
        "innodb_io_capacity: asked <1> (p1.cnf:6), the server uses 100 (system.cy10ap1)"
    ]


def test_the_page_is_built_for_reading(opened_demo: Opened) -> None:
    page = opened_demo.page
    assert page.title() == "Purge lag"
    assert page.locator("h1").all_inner_texts() == ["Purge lag"]
    assert page.locator("#tldr li").all_inner_texts() == ["One bold claim", "and code"]
    assert "A note on purge." in page.locator("#purge-lag .note").inner_text()
    ids = page.evaluate("[...document.querySelectorAll('main [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert {"throughput", "fairness", "sla", "get-min", "l.i1.one-second", "l.i1.histogram", "l.i1.purge-lag"} <= {*ids}
    order = page.evaluate("[...document.querySelectorAll('main > section')].map(e => e.id)")
    assert order == [
        "tldr", "builds", "benchmark", "configurations", "throughput", "fairness", "sla", "response-time", "one-second",
        "purge-lag", "get-min", "metrics",
    ]  # fmt: skip
    for target in page.evaluate("[...document.querySelectorAll('nav a')].map(e => e.getAttribute('href').slice(1))"):
        assert target in ids, target
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("table:not(:has(caption))").count() == 0
    assert "3 runs of experiment demo" in page.locator("#builds").inner_text()
    assert "Scaled" not in page.locator("#builds").inner_text()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_makes_the_body_wider_than_the_screen(
    demo: Path, opened_demo: Opened, browser: Browser, width: int
) -> None:
    page = opened_demo.page if width == 1280 else open_post(browser, demo, width).page
    assert page.evaluate("document.documentElement.scrollWidth") == width
    if width == 1280:
        too_wide = "tables => tables.filter(table => table.scrollWidth > table.clientWidth).length"
        assert page.locator("main .table").evaluate_all(too_wide) == 0
    wide = page.locator("table", has=page.locator("caption", has_text="Runs")).first
    assert wide.evaluate("e => e.closest('.table').scrollWidth > e.closest('.table').clientWidth") is (width == 390)


def test_plotly_is_there_once_and_the_page_is_small_enough(demo: Path) -> None:
    text = demo.read_text(encoding="utf-8")
    assert text.count("plotly.js v") == 1
    assert len(text.encode()) < 10e6
    root = str(demo.parents[3])
    assert root not in text
    assert root not in demo.with_name("post.ipynb").read_text(encoding="utf-8")


def test_hostile_text_is_only_text(hostile: Path, opened_hostile: Opened) -> None:
    page = opened_hostile.page
    assert opened_hostile.requests == [hostile.as_uri()]
    assert opened_hostile.complaints == []
    assert page.evaluate("window.hit") is None
    assert page.title() == page.locator("h1").inner_text() == HOSTILE
    assert page.locator("img, iframe, object, embed, [onerror], [onclick]").count() == 0
    assert page.evaluate("[...document.querySelectorAll('script:not([type])')].length") == 2
    assert page.locator("svg a, svg script, foreignObject").count() == 0
    assert page.locator("title").count() == 1
    for place in ("#tldr", "#builds .note", "#builds table", ".byline", "#throughput caption"):
        assert "<script>" in page.locator(place).first.text_content(), place
    assert HOSTILE in page.locator("figure.chart svg").all_text_contents()[0] or any(
        HOSTILE in text for text in page.locator("figure.chart svg").all_text_contents()
    )


def test_a_failed_run_is_visible_and_its_scale_too(opened_hostile: Opened) -> None:
    page = opened_hostile.page
    builds = page.locator("#builds").inner_text()
    assert "1 of 3 runs did not complete (failed)" in builds
    assert "Scaled: rows, durations and server memory are 0.002, 1" in builds
    assert table_rows(page, "Average throughput")["broken"][2:4] == ["failed", "not run"]
    assert "step failed" in page.locator("#builds").inner_text()


def test_an_empty_lake_gives_a_post_of_clear_sentences(place: Workspace, browser: Browser) -> None:
    page = open_post(browser, build_post(params_file(place), place)).page
    assert "no run of this experiment" in page.locator("#builds").inner_text()
    assert page.locator("table, figure").count() == 0
    for section in ("throughput", "fairness", "sla", "one-second", "purge-lag", "get-min"):
        assert page.locator(f"#{section} .said").count() >= 1, section


def test_a_parameter_the_notebook_does_not_have_is_refused_before_anything_runs(place: Workspace) -> None:
    path = params_file(place, parameters={**VALUES["parameters"], "stepps": []})
    with pytest.raises(ParameterError) as caught:
        build_post(path, place)
    assert caught.value.what == (
        f"{path}: parameters: 'stepps' is no parameter of insert_benchmark.ipynb; did you mean 'steps'?"
    )
    assert not place.posts.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parameters": {"experiment": "demo"}}, "'setups' of insert_benchmark.ipynb is missing"),
        ({"parameters": {**VALUES["parameters"], "setups": "small"}}, "setups should be a list, not 'small'"),
        ({"notebook": "insert_benchmarks"}, "notebook 'insert_benchmarks' does not exist in notebooks/; did you mean"),
        (
            {"notes": {"purgelag": "x"}},
            "notes: 'purgelag' is no section of insert_benchmark.ipynb; did you mean 'purge-lag'",
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


@pytest.mark.parametrize(
    "parameters", [{"setups": ["smal"]}, {"base": "system.cy10"}, {"steps": ["l.i9"]}, {"palette": "red"}]
)
def test_a_value_that_no_run_has_fails_the_post(place: Workspace, parameters: dict[str, Any]) -> None:
    write_runs(place, Run(setup="small"))
    with pytest.raises(
        PostFailed, match=r"post demo: cell \d+ raised ParameterError: .*(did you mean|does not exist|known are)"
    ):
        build_post(params_file(place, parameters={**VALUES["parameters"], **parameters}), place)


def test_a_failed_cell_keeps_the_previous_post_and_the_failed_notebook(place: Workspace) -> None:
    write_runs(place, Run())
    page = build_post(params_file(place), place)
    before = page.read_bytes()
    stored = place.notebooks / "insert_benchmark.ipynb"
    good = stored.read_text()
    notebook = nbformat.reads(good, as_version=4)
    (first,) = [n for n, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", [])]
    notebook.cells.insert(first + 1, nbformat.v4.new_code_cell("raise ValueError('first line\\nsecond line')"))
    nbformat.write(notebook, stored)
    with pytest.raises(PostFailed) as caught:
        build_post(params_file(place, title="Changed"), place)
    assert "raised ValueError: first line" in caught.value.what
    assert "\n" not in caught.value.what
    assert page.read_bytes() == before
    failed = place.posts / "demo.failed.ipynb"
    assert "ValueError" in failed.read_text()
    assert sorted(path.name for path in place.posts.iterdir()) == ["demo", "demo.failed.ipynb"]
    stored.write_text(good)
    assert b"<title>Changed</title>" in build_post(params_file(place, title="Changed"), place).read_bytes()
    assert not failed.exists()


def test_a_damaged_file_does_not_stop_the_post(place: Workspace) -> None:
    base, lagging, limited = three_configurations()
    write_runs(place, base, lagging, limited)
    path = place.run_dir(lagging.run_id) / "ops.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    assert len(reader.sql(reader.lake(place), "SELECT * FROM problems")) == 1
    text = build_post(params_file(place), place).read_text()
    assert "ops.parquet" in text and lagging.run_id in text


def test_f34_a_post_built_while_a_run_is_live_shows_one_moment_of_it_and_says_running(place: Workspace) -> None:
    live = Run("live", status="running", minute=1, steps=("l.i0", "l.x", "l.i1"), l_i1_s=2)
    write_runs(place, Run())
    writer = begin_run(place, live, sealed=("l.i0", "l.x"))
    stop = threading.Event()

    def go_on() -> None:  # seconds come in and steps are sealed all the time that the post is built
        for second in itertools.count():
            if stop.wait(0.005):
                return
            writer.append("server_samples", t_s=100.0 + second, history_list_length=second)
            if second % 50 == 49:
                writer.seal_step(manifest_of(live))

    going = threading.Thread(target=go_on)
    going.start()
    try:
        page = build_post(params_file(place), place)
    finally:
        stop.set()
        going.join()
    end_run(writer, live)
    text = page.read_text()
    rows = re.findall(r"<tr>.*?</tr>", text, re.DOTALL)
    mine = [re.sub(r"<[^>]+>", " ", row) for row in rows if "system.live" in row]
    assert any(re.search(r"2,?000\b", row) and "running" in row for row in mine), mine
    assert not any("complete" in row and live.run_id in row for row in mine), "nothing calls it complete"


def test_values_reach_the_kernel_as_data(place: Workspace) -> None:
    """papermill writes values into code: no text may leave its literal."""
    nasty = "demo\"\"\"'''\\\n__import__('os').mkdir('hit')\n#"
    build_post(params_file(place, parameters={**VALUES["parameters"], "experiment": nasty}), place)
    executed = nbformat.read(place.post_dir("demo") / "post.ipynb", as_version=4)
    (injected,) = [cell for cell in executed.cells if "injected-parameters" in cell.metadata.get("tags", [])]
    injected.metadata["tags"] = ["parameters"]
    assert notebook_parameters(nbformat.v4.new_notebook(cells=[injected]), "injected")["experiment"] == nasty


def test_a_post_needs_no_home_and_no_registered_kernel(place: Workspace, tmp_path: Path) -> None:
    """A new user, and one whose python3 kernel is something else."""
    home = tmp_path / "home"
    kernel = home / ".local/share/jupyter/kernels/python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({"argv": ["/bin/false"], "display_name": "x", "language": "python"}))
    write_runs(place, Run())
    call = (
        "import sys; from pathlib import Path; from ibench_lib.post import build_post;"
        "from ibench_lib.paths import Workspace; build_post(Path(sys.argv[1]), Workspace(Path(sys.argv[2])))"
    )
    before = sorted(home.rglob("*"))
    subprocess.run(
        [sys.executable, "-c", call, str(params_file(place)), str(place.root)],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        check=True,
        cwd=tmp_path,
    )
    assert (place.post_dir("demo") / "index.html").stat().st_size > 1e6
    assert sorted(home.rglob("*")) == before


def test_what_a_notebook_says_names_no_path_and_a_chart_s_numbers_are_left_alone(place: Workspace) -> None:
    private, bdata = f"{place.runs}/x is cut", "AAAA/tmp/AAA="
    cell = nbformat.v4.new_code_cell(
        outputs=[
            nbformat.v4.new_output("stream", name="stderr", text=private),
            nbformat.v4.new_output("display_data", {"text/html": f"<td>{private}</td><td>/tmp/y</td>"}),
            nbformat.v4.new_output("display_data", {PLOTLY_MIME: {"data": [{"y": {"bdata": bdata}}]}}),
        ]
    )
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"papermill": {"input_path": f"{place.root}/n.ipynb"}})
    path = place.root / "executed.ipynb"
    nbformat.write(notebook, path)
    _forget_paths(path, mask_of_machine(place))
    seen = nbformat.read(path, as_version=4)
    said, table, chart = seen.cells[0].outputs
    assert said.text == "<workspace>/data/runs/x is cut"
    assert table.data["text/html"] == "<td>&lt;workspace&gt;/data/runs/x is cut</td><td>&lt;tmp&gt;/y</td>"
    assert chart.data[PLOTLY_MIME]["data"][0]["y"]["bdata"] == bdata
    assert seen.metadata.papermill.input_path == "n.ipynb"


def test_every_stored_notebook_runs(place: Workspace) -> None:
    """`make lab` opens explore.ipynb: it has to be true, with runs and without."""
    for runs in ((), three_configurations()):
        write_runs(place, *runs)
        subprocess.run(
            [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout", "explore.ipynb"],
            cwd=place.notebooks,
            env={**os.environ, "IBENCH_HOME": str(place.root), "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
        )


def test_notebook_cells_are_short_and_parameters_literal() -> None:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []):
                assert 1 <= len(cell.source.splitlines()) <= 5, cell.source
                assert "def " not in cell.source and "for " not in cell.source
    notebook = nbformat.read(ROOT / "notebooks" / "insert_benchmark.ipynb", as_version=4)
    assert notebook_parameters(notebook, "insert_benchmark") == VALUES["parameters"]


@pytest.mark.parametrize("source", ["x = open('f')", "x = y = 1", "import os", "x.y = 1", "x ="])
def test_only_literals_are_parameters(source: str) -> None:
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    with pytest.raises(ParameterError, match=r"n\.ipynb: the cell tagged `parameters`"):
        notebook_parameters(nbformat.v4.new_notebook(cells=[cell]), "n.ipynb")


def test_the_demo_s_post_file_fits_its_notebook() -> None:
    from ibench_lib import strict_yaml
    from ibench_lib.post import PostFile

    for path in sorted((ROOT / "papermill_params").rglob("*.yml")):
        spec, _ = strict_yaml.load(path, PostFile, ParameterError)
        assert path.parent.name == spec.notebook
        notebook = nbformat.read(ROOT / "notebooks" / f"{spec.notebook}.ipynb", as_version=4)
        assert spec.parameters.keys() == notebook_parameters(notebook, spec.notebook).keys()


def test_prose_marks_only_what_it_says() -> None:
    assert prose("a\n\nb `<i>` **c**") == "<p>a</p><p>b <code>&lt;i&gt;</code> <strong>c</strong></p>"
    assert prose(["<b>", "[l](http://x)"]) == "<ul><li>&lt;b&gt;</li><li>[l](http://x)</li></ul>"
    assert prose([]) == ""
