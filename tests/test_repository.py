"""What holds for the repository as a whole: stored notebooks, pinned versions, derived documents."""

import importlib
import inspect
import itertools
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
from packaging.requirements import Requirement
from ruamel.yaml import YAML

import ibench_lib
from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.explain import explain
from ibench_lib.analysis.summary import selected_rows
from ibench_lib.ask.pair import pair
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.cli import main as cli
from ibench_lib.paths import Workspace
from ibench_lib.publish.post_file import check_post
from ibench_lib.show.headline import headline_statements
from ibench_lib.store import reader
from ibench_lib.workloads.sysbench.results.tables import sysbench_groups_table
from tests.places import ROOT
from tools import conda, notebooks, public_api, run_tests, write_docs

pytestmark = pytest.mark.lake

LIBRARY = "ibench_lib"


def test_processes_that_send_load_import_nothing_heavy() -> None:
    """What a client process imports, it starts with, hundreds of times: numpy it needs, the lake's libraries not."""
    program = (
        "import sys, ibench_lib.client.worker, ibench_lib.workloads.insert_benchmark.client\n"
        "assert 'pymysql' not in sys.modules\n"
        "import ibench_lib.client.mysql.connection\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    imported = set(told.split())
    assert "pymysql" in imported
    assert not imported & {"pyarrow", "polars", "duckdb", "pandas", "pydantic", "plotly", "IPython"}


@pytest.mark.parametrize(
    "parts", [("test", "long", "builds"), ("quick", "rest", "builds")], ids=["by hand", "by .ci/run"]
)
def test_each_test_is_run_once(parts: tuple[str, ...]) -> None:
    selections = [part.marks for name in parts for part in run_tests.PARTS[name]]
    names = ["browser", "lake", "long", "registries", "server", "slow", "timing"]
    used = {name for selection in selections for name in re.findall(r"\w+", selection)}
    assert used <= {*names, "not", "and", "or"}
    for values in itertools.product([False, True], repeat=len(names)):
        marks = dict(zip(names, values, strict=True))
        assert [eval(selection, {}, marks) for selection in selections].count(True) == 1, marks


def test_make_and_ci_run_the_parts_of_the_tests() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = dict(
        re.findall(r"^(test[a-z-]*):.*\n\t@\$\(BIN\)/python tools/run_tests.py (\w+)$", makefile, re.MULTILINE)
    )
    assert targets == {"test": "test", **{f"test-{name}": name for name in ("quick", "long", "rest", "builds")}}
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^make (\S+)$", ci, re.MULTILINE) == ["check", "test-quick", "test-rest", "test-builds"]


def stored_notebooks() -> list[Path]:
    found = [path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts]
    assert found, "no notebooks"
    return found


def test_stored_notebooks_have_no_outputs() -> None:
    stored_notebooks()
    assert notebooks.unstripped() == []


def test_an_output_in_a_notebook_is_seen_and_stripped(tmp_path: Path) -> None:
    cell = {
        "cell_type": "code",
        "id": "a",
        "execution_count": 7,
        "metadata": {"tags": ["hide-input"], "papermill": {"duration": 1}},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "secret"}],
        "source": "print('x')",
    }
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert notebooks.unstripped(tmp_path) == [path]
    path.write_text(notebooks.stripped(path.read_text()))
    assert notebooks.unstripped(tmp_path) == []
    assert "secret" not in path.read_text()
    (kept,) = json.loads(path.read_text())["cells"]
    assert (kept["source"], kept["metadata"]) == (["print('x')"], {"tags": ["hide-input"]})


def test_no_public_name_is_that_of_a_module_or_a_folder() -> None:
    """Once that is imported, `ib.<name>` would be the module. Nothing imports a folder without Python, as sql/ is."""
    modules = {path.stem for path in (ROOT / LIBRARY).iterdir() if path.is_file() or [*path.rglob("*.py")]}
    assert not modules & set(ibench_lib.__all__)


def test_no_two_modules_have_one_public_name() -> None:
    names = Counter(name for of_home in public_api.homes().values() for name in of_home)
    assert [name for name, homes in names.items() if homes > 1] == []
    assert {"throughput_statements", "get_min_table", "made_from"} <= names.keys()


def test_every_public_name_is_a_function_with_a_sentence_about_it() -> None:
    for home, names in public_api.homes().items():
        for name in names:
            function = getattr(ibench_lib, name)
            assert function.__module__ == f"{LIBRARY}.{home}" and function.__doc__, name


@pytest.mark.slow
def test_what_is_public_has_a_docstring_its_own_or_that_of_what_it_overrides() -> None:
    """Every module, and of each module the classes, functions, methods and properties without a leading underscore."""
    bare = []
    for found in pkgutil.walk_packages(ibench_lib.__path__, f"{LIBRARY}."):
        module = importlib.import_module(found.name)
        bare += [] if found.ispkg or module.__doc__ else [found.name]
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != found.name:
                continue
            if inspect.isfunction(thing) and not thing.__doc__:
                bare.append(f"{found.name}.{name}")
            if inspect.isclass(thing):
                bare += [] if thing.__doc__ else [f"{found.name}.{name}"]
                bare += [f"{found.name}.{name}.{method}" for method in undocumented(thing)]
    assert not bare, bare


def undocumented(kind: type) -> list[str]:
    """Public methods and properties of a class that neither it nor a class above it describes."""
    names = [
        name for name, value in vars(kind).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, property | cached_property | classmethod | staticmethod))
        and getattr(getattr(value, "__wrapped__", value), "__module__", kind.__module__) == kind.__module__
    ]  # fmt: skip
    return [name for name in names if not any(getattr(vars(one).get(name), "__doc__", None) for one in kind.__mro__)]


def test_a_docstring_is_inherited_and_its_lack_is_seen() -> None:
    class Described:
        def work(self) -> None:
            """Works."""

    class Bare(Described):
        def work(self) -> None: ...

        def idle(self) -> None: ...

        @property
        def size(self) -> int:
            return 0

        def _hidden(self) -> None: ...

    assert undocumented(Bare) == ["idle", "size"]


def test_pytest_alone_runs_what_make_test_does() -> None:
    alone = run_tests.marks_of(["tests"])
    assert [part.marks for part in run_tests.PARTS["test"]] == [f"not timing and {alone}", f"timing and {alone}"]
    assert run_tests.marks_of(["tests/test_paths.py"]) == "not registries"
    assert run_tests.marks_of(["tests/servers/test_binary.py::test_one"]) == ""


def test_a_type_checker_sees_the_public_names(tmp_path: Path) -> None:
    calls = tmp_path / "calls.py"
    calls.write_text("import ibench_lib as ib\nreveal_type(ib.lake())\nib.no_such_table(1)\nib.lake(no_such=1)\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), str(calls)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert "DuckDBPyConnection" in said, said
    assert 'no attribute "no_such_table"' in said and '"no_such"' in said, said


def test_a_new_table_becomes_public_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copytree(ROOT / LIBRARY, tmp_path / LIBRARY, ignore=shutil.ignore_patterns("__pycache__"))
    new = tmp_path / LIBRARY / "show" / "brand_new" / "tables.py"
    new.parent.mkdir()
    new.write_text('def brand_new_table(frame):\n    """What is new."""\n\n\ndef helper():\n    """Helps."""\n')
    monkeypatch.setattr(public_api, "PACKAGE", tmp_path / LIBRARY)
    assert public_api.homes()["show.brand_new.tables"] == ("brand_new_table",)
    assert "import brand_new_table as brand_new_table" in public_api.stub()
    assert '"show.brand_new.tables": ("brand_new_table",),' in public_api.init_module()
    assert "### brand_new_table" in public_api.document() and "What is new." in public_api.document()


def test_notebooks_import_the_library_at_its_top_level_only() -> None:
    for path in stored_notebooks():
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            if cell["cell_type"] == "code":
                deep = re.findall(rf"^\s*(?:from|import)\s+{LIBRARY}\.\S+", text, re.MULTILINE)
                assert not deep, f"{path.name}: {deep}"


def test_the_lock_pins_every_direct_dependency_within_its_bounds() -> None:
    versions = conda.locked_versions()
    for text in conda.requirements("dev"):
        requirement = Requirement(text)
        locked = versions[conda.normalised(requirement.name)]
        assert all(requirement.specifier.contains(version) for version in locked), f"{text}: locked {locked}"


def test_every_line_of_the_lock_is_pinned_and_hashed_and_names_no_index() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    entries = re.split(r"(?m)^(?=\S)", text)[1:]
    assert len(entries) > 100
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_the_conda_environment_names_the_locked_versions_and_a_server() -> None:
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^  - ([A-Za-z0-9._-]+)=([^=\s]+)$", text, re.MULTILINE))
    versions = conda.locked_versions()
    wanted = {conda.CONDA_NAMES.get(name, name): versions[name] for name in conda.direct_dependencies()}
    assert {name: {version} for name, version in pins.items()} == wanted
    assert {
        "jupyterlab",
        "pandas",
        "polars",
        "plotly",
        "python-duckdb",
        "papermill",
        "nbconvert",
        "pymysql",
    } <= pins.keys()
    assert "mypy" not in pins and "mypy" in conda.direct_dependencies("dev"), "a reader needs no tools of developers"
    assert re.search(r"^  - mysql-server$", text, re.MULTILINE)
    assert re.search(r"^channels: \[conda-forge\b", text, re.MULTILINE)


def test_derived_documents_are_what_the_code_says(tmp_path: Path) -> None:
    assert write_docs.drifted() == []
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "schema.md").write_text(write_docs.schema_document().replace("never", "sometimes", 1))
    assert "docs/schema.md" in write_docs.drifted(tmp_path)


def test_make_help_lists_what_the_readme_promises() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = set(re.findall(r"^  make ([a-z]+)\s+\S", listed, re.MULTILINE))
    assert {"demo", "test", "check", "fix", "lab", "posts", "clean", "help"} <= targets
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    promised = set(re.findall(r"(?:^|`)make ([a-z]+)", readme, re.MULTILINE))
    assert {"demo", "test"} <= promised <= targets


def test_make_clean_removes_posts_and_never_a_measurement(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    for folder in ("data/runs/r1/__pycache__", "data/posts/p1", "data/builds/b1", ".ruff_cache", "x/__pycache__"):
        (tmp_path / folder).mkdir(parents=True)
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_dir())
    assert left == [
        "data",
        "data/builds",
        "data/builds/b1",
        "data/runs",
        "data/runs/r1",
        "data/runs/r1/__pycache__",
        "x",
    ]


def commands() -> dict[str, str]:
    """Every command of the tool, such as `servers install`, with its help text."""
    found: dict[str, str] = {}

    def walk(command: Any, name: str) -> None:
        if name:
            found[name] = command.help or ""
        for sub in getattr(command, "commands", {}).values():
            walk(sub, f"{name} {sub.name}".strip())

    walk(typer.main.get_command(cli.app), "")
    return found


def test_the_documents_name_no_command_that_does_not_exist() -> None:
    known = commands()
    named = {}
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))):
        for line in re.findall(r"(?:`|^ {4}|^\$ )(?:\.venv/bin/)?ibench ([a-z].*)", path.read_text(), re.MULTILINE):
            named[line] = path.name
    for line, document in named.items():
        words = re.findall(r"[a-z]+", line.split("`")[0])
        assert words[0] in known, f"{document}: ibench {line}"
    assert {re.findall(r"[a-z]+", line)[0] for line in named} >= {"run", "post", "sql", "servers", "doctor"}


def test_links_between_the_documents_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        for target in (target for target in targets if "://" not in target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def _checkpoint_medians(chosen: Selection) -> list[dict[str, Any]]:
    """For each dbms the share of time with a full redo log, and the rate then divided by that otherwise."""
    frame = chosen.ask("checkpoint_limit").with_columns(
        share=pl.col("full_log_seconds") / pl.col("sampled_seconds"), ratio=pl.col("rate_full") / pl.col("rate_else")
    )
    return frame.group_by("dbms").agg(pl.col("share", "ratio").median()).to_dicts()


def _said_of_the_rate(tpcc: Selection) -> str:
    """What the experiment's file says of its load, if it is so: which configurations kept up with it."""
    reached: dict[str, list[float]] = {}
    for dbms, target, tps in tpcc.ask("step_throughput").select("dbms", "target_per_s", "throughput").rows():
        assert target == 300
        reached.setdefault(dbms.rpartition(".")[2], []).append(tps)
    behind = [name for name, rates in reached.items() if sum(rate >= 295 for rate in rates) < 2]
    (name,) = behind
    return (
        "in the sample, at least two of three runs reached 295/s: of all configurations but "
        f"{name}, which had {max(reached[name]):.0f}/s at most"
    )


def without_comments(text: str) -> str:
    """What an experiment's file says, with the order of its keys. A comment may be corrected after its runs."""
    return json.dumps(YAML(typ="rt").load(text))


def test_a_comment_may_change_after_the_runs_and_nothing_else() -> None:
    text = (ROOT / "experiments" / "tpcc_waves.yaml").read_text(encoding="utf-8")
    assert without_comments(text) == without_comments(re.sub(r" *#.*", "", text))
    assert without_comments(text) != without_comments(text.replace("rate: 300", "rate: 301"))
    assert without_comments(text) != without_comments(text.replace("terminals: 16", "terminals: 17"))


def _ratios_of_groups(post: Selection) -> str:
    """The lines of a table: by group of microbenchmarks the average ratio of each dbms, and its ends."""
    lines = []
    rows = sysbench_groups_table(post.ask("sysbench_summary"), post.bases).rows
    for (label, average), _, (_, lowest), (_, highest) in zip(*[iter(rows)] * 4, strict=True):
        cells = zip(average, lowest, highest, strict=True)
        ends = [f"{mean.text} ({low.text.split()[0]} to {high.text.split()[0]})" for mean, low, high in cells]
        lines.append(f"| {' | '.join([label.partition(':')[0], *ends])} |")
    return "\n".join(lines)


def _ratios_to_base(post: Selection, steps: Sequence[str]) -> str:
    """The lines of a table: of each dbms its ratio to the base, step by step, in parentheses where it may be noise."""
    cells: dict[str, dict[str, str]] = {}
    for row in selected_rows(post):
        if not row.is_base:
            text = f"{row.ratio:.2f}x"
            cells.setdefault(row.dbms, {})[row.step] = text if row.verdict in ("faster", "slower") else f"({text})"
    return "\n".join(f"| {name} | {' | '.join(of[step] for step in steps)} |" for name, of in cells.items())


def test_the_sample_is_whole_and_shows_what_it_is_there_for() -> None:
    """21 runs, seven configurations three times; without a limit on purge lag get_min is at least 50 times slower.

    And a run with two stalls whose causes are known, ten of two releases whose difference is explained, twelve of
    LinkBench, fifteen of TPC-C with a redo log that fills, twelve of sysbench from version to version, and fifteen of
    PostgreSQL next to servers with InnoDB.
    """
    sample = ROOT / "data" / "sample"
    assert sum(path.stat().st_size for path in sample.rglob("*")) <= 25e6
    lake = reader.lake(str(sample))
    assert reader.sql(lake, "FROM problems").is_empty()
    chosen = choose(lake, "innodb_purge_lag_sample")
    assert set(chosen.runs["status"]) == {"complete"} and len(chosen.runs) == 21
    texts = dict(reader.sql(lake, "SELECT DISTINCT experiment, experiment_text FROM runs").rows())
    assert set(texts) == {
        "innodb_purge_lag_sample", "stalls", "regression", "linkbench_small", "tpcc_waves", "sysbench_versions",
        "postgres_innodb_small",
    }  # fmt: skip
    for name, text in texts.items():
        assert without_comments(text) == without_comments(
            (ROOT / "experiments" / f"{name}.yaml").read_text(encoding="utf-8")
        )
    known = choose(lake, "stalls", steps=["l.i1"]).ask("dips")
    assert known.filter(pl.col("points") > 3)["cause"].to_list() == ["client_pause", "checkpoint"]
    explained = explain(pair(choose(lake, "regression"), "mysql-5.6.24.cy10a", "mysql-9.7.cy10a"), "l.i0")
    slowest = next(one.cost for one in explained.self_costs if one.cost.is_clear)
    redo = next(part for part in explained.subsystems if part.name == "redo log")
    assert slowest.name == "log_writer" and explained.rate[0].interval and redo.interval
    told = (
        f"{explained.rate[0].b / explained.rate[0].a:.2f}x [{explained.rate[0].interval[0]:.2f}, "
        f"{explained.rate[0].interval[1]:.2f}]",
        f"{redo.change:.2f} us [{redo.interval[0]:.2f}, {redo.interval[1]:.2f}]",
    )
    page = (ROOT / "docs" / "regressions.md").read_text(encoding="utf-8")
    assert all(text in page for text in told), told
    linkbench = choose(lake, "linkbench_small")
    assert set(linkbench.runs["status"]) == {"complete"} and len(linkbench.runs) == 12
    checks = linkbench.ask("checks")
    assert not checks.is_empty() and checks["held"].equals(checks["checks"])
    said = " ".join(headline_statements(linkbench.ask("step_throughput"), linkbench.bases))
    ratios = re.findall(r"10x, (?:t1|t16), .*? (\d\.\d\dx \[[^]]*\])", said)
    page = (ROOT / "docs" / "linkbench.md").read_text(encoding="utf-8")
    assert len(ratios) == 2 and all(text in page for text in ratios), said
    tpcc = choose(lake, "tpcc_waves", steps=["run"])
    assert set(tpcc.runs["status"]) == {"complete"} and len(tpcc.runs) == 15
    assert _said_of_the_rate(tpcc) in (ROOT / "experiments" / "tpcc_waves.yaml").read_text(encoding="utf-8")
    full = {row["dbms"].rpartition(".")[2]: row for row in _checkpoint_medians(tpcc)}
    assert full["orig"]["share"] < 0.1 < 0.7 < full["capped"]["share"]
    assert full["orig"]["ratio"] > 0.95 > 0.7 > full["capped"]["ratio"]
    assert full["tuned1"]["share"] == full["tuned2"]["share"] == 0
    page = (ROOT / "docs" / "tpcc.md").read_text(encoding="utf-8")
    for name in ("orig", "capped"):
        assert re.search(rf"^\| {name} \|.*\| {full[name]['ratio']:.2f} \|$", page, re.MULTILINE), full[name]
    sysbench = choose(lake, "sysbench_versions")
    assert set(sysbench.runs["status"]) == {"complete"} and len(sysbench.runs) == 12
    checks = sysbench.ask("checks")
    assert not checks.is_empty() and checks["held"].equals(checks["checks"])
    page = (ROOT / "docs" / "sysbench.md").read_text(encoding="utf-8")
    table = _ratios_of_groups(sysbench)
    assert table.count("\n") == 4 and table in page, table
    disturbed = (pl.col("dbms") == "mariadb-11.4.5.cy10a") & (pl.col("repeat") == 2)
    others = sysbench_groups_table(sysbench.ask("sysbench_summary").filter(~disturbed), sysbench.bases).rows[::4]
    *means, last = (cells[-1].text for _, cells in others)
    said = f"Without that run the averages of 11.4.5 would be {', '.join(means)} and {last}."
    assert said in " ".join(page.split()), said
    tests = set(sysbench.ask("sysbench_summary").filter("compared")["step"])
    rows = [row for row in selected_rows(sysbench) if not row.is_base and row.step in tests]
    said = f"Six of {len(rows)} comparisons of tests show a difference"
    assert said in page and sum(row.verdict in ("faster", "slower") for row in rows) == 6, said
    postgres = choose(lake, "postgres_innodb_small", base="mysql-9.7.cy10a")
    assert set(postgres.runs["status"]) == {"complete"} and len(postgres.runs) == 15
    checks = postgres.ask("checks")
    assert not checks.is_empty() and checks["held"].equals(checks["checks"])
    page = (ROOT / "docs" / "postgres.md").read_text(encoding="utf-8")
    table = _ratios_to_base(postgres, ("l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr1000", "qp1000"))
    assert table.count("\n") == 3 and table in page, table
    vacuumed = choose(lake, "postgres_innodb_small", base="postgres-18.cx10a")
    without = [row for row in selected_rows(vacuumed) if row.dbms.endswith("novac") and row.step in ("l.i1", "l.i2")]
    found = [f"{row.ratio:.2f}x ({row.low:.2f}x to {row.high:.2f}x)" for row in without]
    said = f"PostgreSQL 18 has {found[0]} of its inserts/s in l.i1 and {found[1]} in l.i2"
    assert said in " ".join(page.split()), said
    get_min = chosen.ask("get_min").filter(step="qr100")
    seconds = get_min.group_by("dbms").agg(pl.col("get_min_s").median())
    by_config = {dbms.rpartition(".")[2]: value for dbms, value in seconds.rows()}
    assert by_config["base"] > 50 * by_config["a13"]
    # Its posts make claims of just these runs, whatever else is in the lake.
    posts = sorted((ROOT / "papermill_params").glob("*/sample*.yml"))
    named = {path: YAML(typ="safe").load(path)["parameters"] for path in posts}
    assert len(posts) == 17 and all(values["experiment"] == "" and values["runs"] for values in named.values())
    listed = {run for values in named.values() if isinstance(values["runs"], list) for run in values["runs"]}
    assert listed <= set(reader.sql(lake, "SELECT run_id FROM runs")["run_id"])
    whole = check_post(ROOT / "papermill_params" / "insert_benchmark" / "sample.yml", Workspace(ROOT))
    assert set(whole.spec.parameters["runs"]) == set(chosen.run_ids)
    ratios = against_base(chosen.ask("get_min"), chosen.bases, ["get_min_s"])
    apart = ratios["cached", "qr100", "get_min_s", "mysql-9.7.a13"].inverse
    for notebook in ("insert_benchmark", "mvcc_gc"):
        path = ROOT / "papermill_params" / notebook / "sample.yml"
        said = " ".join(path.read_text(encoding="utf-8").split())
        assert f"**{apart.value:.0f}x** as long (95 % interval {apart.low:.0f}x to {apart.high:.0f}x)" in said
        assert named[path]["runs"] == "sample/innodb_purge_lag_sample"


def test_every_fault_and_measurement_has_a_test() -> None:
    expected = write_docs.expectations()
    assert set(expected) == set(write_docs.MARKS.values())
    known = {number for entries in expected.values() for number in entries}
    assert {number for number in known if number[0] not in "FM" or not number[1:].isdigit()} == set()
    assert known == set(write_docs.tests_by_id()), (
        "an id without a test, or a mark without an entry in tests/faults.yaml"
    )


# Modules that no test file has the name of, by the reason: where their behaviour is seen as a whole.
TESTED_ELSEWHERE = {
    "tests/measurement and tests/runner/test_cell.py run whole steps with real client processes": (
        "client/worker.py runner/capturing.py runner/description.py runner/planned.py"
    ),
    "the tests of its collector server_counters and tests/builds/test_figures.py hold every figure": (
        "families/mysql/figure_places.py"
    ),
    "tests/families/postgres/test_run.py runs whole cells": "families/postgres/collectors/sizes.py",
    "tests/publish/test_kernel.py runs notebooks in it": "publish/kernel_manager.py publish/kernel_process.py",
    "tests/publish/test_page.py, test_post.py and test_every_notebook.py build whole pages": "publish/post_process.py",
    "tests/servers/test_sandbox.py starts them": "servers/inspection.py servers/server.py",
    "tests/families/mysql/test_family.py holds all flavours against each other": (
        "servers/flavours/flavour.py families/mysql/flavours/mariadb.py families/mysql/options.py"
    ),
    "tests/servers/test_catalogue.py, and tests/builds with the real registries": "servers/sources/suite.py",
    "tests/workloads/insert_benchmark/results and tests/test_metrics.py": (
        "workloads/insert_benchmark/results/metrics.py"
    ),
    "tests/workloads/tpcc/results and tests/test_metrics.py": "workloads/tpcc/results/metrics.py",
    "tests/workloads/linkbench/test_workload.py runs all of its roles": "workloads/linkbench/client.py",
    "tests/workloads/test_workload.py runs transactions, one connection or many": "client/role.py",
}


def test_tests_mirror_the_library() -> None:
    """tests/<folder>/test_<module>.py; nothing is excused that has such a file or is gone."""
    package = ROOT / LIBRARY
    modules = {path.relative_to(package) for path in package.rglob("*.py") if path.name != "__init__.py"}
    without = {
        path.as_posix() for path in modules if not (ROOT / "tests" / path.parent / f"test_{path.name}").is_file()
    }
    assert without == {name for names in TESTED_ELSEWHERE.values() for name in names.split()}


def test_what_tests_share_is_never_kept_in_the_current_folder(tmp_path: Path) -> None:
    """Before a session has a folder for it, as in a module or a script, nothing is made."""
    code = "from pathlib import Path; from ibench_lib.paths import Workspace; from tests.shared import give_views; "
    asked = [sys.executable, "-c", code + "give_views(Workspace(Path('there')))"]
    done = subprocess.run(
        asked, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "before the session has a folder" in done.stderr
    assert not list(tmp_path.glob(".views-*"))
