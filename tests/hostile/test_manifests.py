"""Manifests that are damaged or made to do harm: each is its run's problem, and the other runs load."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ibench_lib.errors import LakeError
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.discovery import find_runs
from ibench_lib.store.manifest import TEXTS, parse_manifest, with_checksum
from ibench_lib.store.transfer import open_store, pull, push
from ibench_lib.store.verify import verify, without_checksum
from tests.places import ROOT
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

DEEP = "[" * 200_000
EDITS: dict[str, tuple[tuple[str, ...], Any]] = {
    "infinite-version": (("schema_version",), float("inf")),
    "negative-version": (("schema_version",), -5),
    "text-version": (("schema_version",), "1"),
    "huge-repeat": (("cell", "repeat"), 10**30),
    "huge-rank": (("cell", "rank"), 10**30),
    "huge-clients": (("workload", "clients"), 10**30),
    "early": (("origin_wall",), "0001-01-01T00:00:00+14:00"),
    "late": (("origin_wall",), "9999-12-31T23:59:59-14:00"),
    "ended-yesterday": (("ended_wall",), "yesterday"),
    "ended-late": (("ended_wall",), "9999-12-31T23:59:59-14:00"),
    "half-title": (("experiment", "title"), "\ud800"),
    "half-dbms": (("cell", "dbms"), "a.\ud800"),
    "nan-scale": (("scale",), float("nan")),
    "infinite-host": (("host",), {"x": float("inf")}),
    "still-running": (("status",), "running"),
    "file-elsewhere": (("files", "../other/ops.parquet"), {"rows": 1, "bytes": 1, "sha256": "0" * 64}),
    "file-of-the-host": (("files", "/etc/passwd"), {"rows": 1, "bytes": 1, "sha256": "0" * 64}),
    "no-experiment": (("experiment",), None),
    "list": ((), [1, 2]),
}


def edited(content: dict[str, Any], path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    content = copy.deepcopy(content)
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


def older(content: Any) -> bytes:
    """The text as an ibench without checksums would have written it."""
    if isinstance(content, dict):
        content = {**content, "schema_minor": 1}
        content.pop("manifest_sha256", None)
    return json.dumps(content).encode()


def twin(workspace: Workspace, name: str, of: Path) -> Path:
    """Another run directory with the same files; returns its manifest's path."""
    run_dir = workspace.runs / name
    run_dir.mkdir()
    for path in of.iterdir():
        (run_dir / path.name).write_bytes(path.read_bytes())
    return run_dir / "manifest.json"


def test_each_odd_manifest_is_named_and_the_others_load(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    good = workspace.run_dir(Run().run_id)
    text = (good / "manifest.json").read_bytes()
    odd = {name: older({**edited(json.loads(text), path, value), "run_id": name} if path else value)
           for name, (path, value) in EDITS.items()}  # fmt: skip
    odd["brackets"] = DEEP.encode()
    levels = '{"x":' * 3000 + "1" + "}" * 3000
    content = {**json.loads(text), "run_id": "levels", "workload": "LEVELS"}
    odd["levels"] = older(content).replace(b'"LEVELS"', levels.encode())
    odd["exponent"] = older({**json.loads(text), "run_id": "exponent"}).replace(b'"scale": 1.0', b'"scale": 1e400')
    odd["digits"] = older({**json.loads(text), "run_id": "digits"}).replace(b'"scale": 1.0', b'"scale": ' + b"9" * 5000)
    for name, content in odd.items():
        twin(workspace, name, good).write_bytes(content)
    os.mkdir(os.fsencode(workspace.runs) + b"/\xff\xfe")
    (workspace.data / ".verified.json").write_text("[" * 100_000)
    for _ in range(2):  # the second time by the index
        lake = reader.lake(workspace)
        assert reader.sql(lake, "SELECT DISTINCT run_id FROM steps")["run_id"].to_list() == [Run().run_id]
        # Of clients a run may say anything: what is no number of them is none.
        named = set(reader.sql(lake, "SELECT run_id FROM problems")["run_id"])
        assert named == {*odd, "\\udcff\\udcfe"}
        told = reader.sql(lake, "SELECT problem FROM problems")["problem"].to_list()
        assert all("\n" not in problem and len(problem) < 500 for problem in told)


@pytest.mark.parametrize("name", EDITS)
def test_what_the_reader_refuses_is_not_pulled(workspace: Workspace, tmp_path: Path, name: str) -> None:
    path, value = EDITS[name]
    write_runs(workspace, Run())
    content = json.loads((workspace.run_dir(Run().run_id) / "manifest.json").read_text())
    store = open_store(f"memory://{tmp_path.name}")
    store.files.pipe_file(store.path(Run().run_id, "manifest.json"), older(edited(content, path, value)))
    with pytest.raises(LakeError):
        pull(Run().run_id, store, Workspace(tmp_path / "elsewhere"))
    assert not list((tmp_path / "elsewhere").rglob("*.parquet"))


def test_each_of_120_changed_bytes_is_named(workspace: Workspace, tmp_path: Path) -> None:
    write_runs(workspace, Run())
    run_dir = workspace.run_dir(Run().run_id)
    path = run_dir / "manifest.json"
    text = path.read_bytes()
    dice = random.Random(14)
    places = dice.sample(range(len(text)), 100) + list(range(len(text) - 20, len(text)))
    for place in places:
        changed = bytearray(text)
        changed[place] = dice.choice([byte for byte in range(256) if byte != text[place]])
        with pytest.raises(LakeError):
            parse_manifest(run_dir.name, bytes(changed))
    digit = text.index(b'"repeat": 1') + len(b'"repeat": ')
    path.write_bytes(text[:digit] + b"2" + text[digit + 1 :])
    with pytest.raises(LakeError, match="is not what was written"):
        verify(run_dir)
    with pytest.raises(LakeError, match="is not what was written"):
        push(run_dir, open_store(f"memory://{tmp_path.name}"))
    lake = reader.lake(workspace)
    assert reader.sql(lake, "FROM runs").is_empty()
    assert "is not what was written" in reader.sql(lake, "FROM problems")["problem"][0]


def test_a_checksum_cannot_be_lost_unseen(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    run_dir = workspace.run_dir(Run().run_id)
    content = json.loads((run_dir / "manifest.json").read_text())
    assert verify(run_dir) == [] and without_checksum(run_dir) == []
    for text in (json.dumps(content), json.dumps({k: v for k, v in content.items() if k != "manifest_sha256"})):
        (run_dir / "manifest.json").write_text(text)
        with pytest.raises(LakeError, match="has lost its checksum"):
            verify(run_dir)
    (run_dir / "manifest.json").write_bytes(with_checksum(content))
    assert verify(run_dir) == []


def test_a_manifest_can_be_checked_without_this_library(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`(head -n -2 manifest\.json [^`]*sha256sum)`", page)
    words = ["bash", "-c", command]
    said = subprocess.run(words, cwd=workspace.run_dir(Run().run_id), capture_output=True, text=True, check=True).stdout
    content = json.loads((workspace.run_dir(Run().run_id) / "manifest.json").read_text())
    assert said.split()[0] == content["manifest_sha256"]


def test_older_runs_have_no_checksum_and_say_so() -> None:
    run_dir = sorted((ROOT / "data" / "sample").iterdir())[0]
    assert verify(run_dir) == []
    assert without_checksum(run_dir) == ["manifest.json", *TEXTS]


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**30, -(2**63) - 1, 2**63, -1, 0]),
    st.floats(),
    st.text(st.characters(codec=None), max_size=20),
    st.sampled_from(["", "..", "/etc/passwd", "9999-12-31T23:59:59-14:00", "\ud800", "\0", "1" * 5000, "\x1b[2J"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.one_of(st.none(), st.floats(), st.text(max_size=5)), max_size=3),
)


def places_of(content: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [at, *(place for key, value in inner for place in places_of(value, (*at, key)))]


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = Workspace(tmp_path_factory.mktemp("fuzz"))
    write_runs(workspace, Run(loaded_from="x", warnings=("w",)))
    return workspace.run_dir(Run().run_id)


@pytest.mark.long
@pytest.mark.slow
@settings(max_examples=1000, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), sealed=st.booleans())
def test_1000_mutated_manifests_are_problems_or_rows(one_run: Path, data: st.DataObject, sealed: bool) -> None:
    path = one_run / "manifest.json"
    text = path.read_bytes()
    try:
        content = json.loads(text)
        for _ in range(data.draw(st.integers(1, 3))):
            content = edited(content, data.draw(st.sampled_from(places_of(content))), data.draw(VALUES))
            if not isinstance(content, dict):
                break
        path.write_bytes(_text(content, sealed))
        found = find_runs([one_run.parent], None)
        # Either its rows are there, and can be a table, or a problem says why not.
        assert found.rows["runs"] or found.problems
        for problem in found.problems:
            assert "\n" not in (problem["problem"] or ""), problem
            (problem["problem"] or "").encode()
    finally:
        path.write_bytes(text)


def _text(content: Any, sealed: bool) -> bytes:
    if sealed and isinstance(content, dict):
        text = json.dumps({k: v for k, v in content.items() if k != "manifest_sha256"}, indent=1)
        return with_checksum(text)
    return older(content)
