"""Runs in a folder and in an S3 server on loopback: pushed, read, pulled, and refused where something is wrong."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
import s3fs
from moto.server import ThreadedMotoServer

import ibench_lib
from ibench_lib.errors import LakeError
from ibench_lib.paths import Workspace
from ibench_lib.store import reader, transfer
from ibench_lib.store.manifest import with_checksum
from ibench_lib.store.transfer import new_archive, open_store, pull, push
from ibench_lib.store.verify import verify
from tests.command import ibench
from tests.places import ROOT
from tests.store.lakes import unlist
from tests.synthetic import Run, answer, three_configurations, write_runs

pytestmark = [pytest.mark.lake, pytest.mark.slow]

CANARY = "c4n4ry-s3cr3t"


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Address of an S3 server of this test's own."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["file", pytest.param("s3", marks=pytest.mark.long)])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "file":
        return f"file://{tmp_path / 'shared'}"
    return bucket(request.getfixturevalue("s3"), tmp_path, monkeypatch)


def bucket(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "lab")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    name = tmp_path.name.replace("_", "-").lower()
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir(name)
    return f"s3://{name}/lake"


def answers(lake: Any) -> dict[str, Any]:
    names = (
        "step_throughput",
        "response_time_histogram",
        "get_min",
        "fairness",
        "sla",
        "purge_lag_at_step_end",
        "gaps",
    )
    return {name: answer(lake, name) for name in names}


def test_pushed_runs_are_read_from_there_as_they_are_here(workspace: Workspace, address: str) -> None:
    runs = three_configurations()[:2]
    write_runs(workspace, *runs)
    store = open_store(address)
    assert [push(workspace.run_dir(run.run_id), store) for run in runs] == [True] * 2
    assert store.run_ids() == [run.run_id for run in runs]
    here, there = answers(reader.lake(workspace)), answers(ibench_lib.lake(address))
    assert all(here[name].equals(there[name]) for name in here)
    assert len(there["step_throughput"]) == 8
    local = workspace.run_dir(runs[0].run_id)
    for path in local.iterdir():
        assert store.files.cat_file(store.path(local.name, path.name)) == path.read_bytes(), "as they are"
    assert push(local, store) is False, "it is there already"


def test_pulled_runs_are_whole_and_a_bad_one_leaves_nothing(workspace: Workspace, address: str, tmp_path: Path) -> None:
    good, bad = Run(), Run("cy10ap1", minute=1)
    write_runs(workspace, good, bad)
    store, elsewhere = open_store(address), Workspace(tmp_path / "elsewhere")
    for run in (good, bad):
        push(workspace.run_dir(run.run_id), store)
    content = bytearray(store.files.cat_file(store.path(bad.run_id, "ops.parquet")))
    content[len(content) // 2] ^= 1
    store.files.pipe_file(store.path(bad.run_id, "ops.parquet"), bytes(content))
    assert pull(good.run_id, store, elsewhere) is True
    assert pull(good.run_id, store, elsewhere) is False
    assert verify(elsewhere.run_dir(good.run_id)) == []
    with pytest.raises(LakeError, match=r"ops\.parquet is not what its manifest vouches for"):
        pull(bad.run_id, store, elsewhere)
    assert [path.name for path in elsewhere.runs.iterdir()] == [good.run_id]


def test_what_is_missing_or_of_another_size_there_is_named_and_the_rest_loads(
    workspace: Workspace, address: str
) -> None:
    good, bad = Run(), Run("cy10ap1", minute=1)
    write_runs(workspace, good, bad)
    store = open_store(address)
    for run in (good, bad):
        push(workspace.run_dir(run.run_id), store)
    store.files.rm_file(store.path(bad.run_id, "probes.parquet"))
    store.files.pipe_file(store.path(bad.run_id, "ops.parquet"), b"PAR1")
    if store.is_local:
        store.files.mkdir(store.path("-rf"))
    store.files.pipe_file(store.path("-rf", "manifest.json"), b"{}")
    lake = reader.lake(address)
    problems = reader.sql(lake, "SELECT run_id, file FROM problems ORDER BY ALL").rows()
    assert problems == [
        ("-rf", None),
        (bad.run_id, "ops.parquet"),
        (bad.run_id, "probes.parquet"),
    ]
    assert reader.sql(lake, "SELECT DISTINCT run_id FROM ops").rows() == [(good.run_id,)]


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_large_file_is_pushed_in_pieces(workspace: Workspace, kind: str, tmp_path: Path) -> None:
    """What it takes of memory is counted as Python allocates it: the same on any machine."""
    size = 60_000_000
    write_runs(workspace, Run())
    run_dir = workspace.run_dir(Run().run_id)
    with open(run_dir / "server.log", "wb") as log:
        log.truncate(size)
    unlist(run_dir, "server.log")
    with contextlib.ExitStack() as stack:
        if kind == "archive":
            store = stack.enter_context(new_archive(tmp_path / "runs.zip"))
        else:
            store = open_store(str(tmp_path / "shared"))
        tracemalloc.start()
        try:
            assert push(run_dir, store)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < size / 3
    store = open_store(store.url)
    assert store.files.size(store.path(run_dir.name, "server.log")) == size
    if kind == "archive":
        assert all(member.date_time[0] > 1980 for member in store.files.zip.infolist())


def test_two_pulls_at_once_take_a_run_in_once(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(workspace, Run())
    store, elsewhere = open_store(str(workspace.runs)), Workspace(tmp_path / "elsewhere")
    real = transfer.verify
    taken: list[bool] = []

    def then_another_comes(run_dir: Path) -> list[str]:
        problems = real(run_dir)
        if not taken:
            taken.append(False)
            taken[0] = pull(Run().run_id, store, elsewhere)
        return problems

    monkeypatch.setattr(transfer, "verify", then_another_comes)
    assert pull(Run().run_id, store, elsewhere) is False and taken == [True]
    assert verify(elsewhere.run_dir(Run().run_id)) == []
    assert [path.name for path in elsewhere.runs.iterdir()] == [Run().run_id]


def test_another_run_of_the_same_name_is_never_overwritten(workspace: Workspace, address: str) -> None:
    write_runs(workspace, Run())
    store, run_dir = open_store(address), workspace.run_dir(Run().run_id)
    push(run_dir, store)
    path = store.path(run_dir.name, "manifest.json")
    other = json.loads(store.files.cat_file(path))
    other["files"].popitem()
    store.files.pipe_file(path, with_checksum(other))
    with pytest.raises(LakeError, match="has another run"):
        push(run_dir, store)


def test_a_run_that_is_not_good_is_not_pushed(workspace: Workspace, address: str) -> None:
    write_runs(workspace, Run())
    run_dir = workspace.run_dir(Run().run_id)
    (run_dir / "probes.parquet").unlink()
    store = open_store(address)
    with pytest.raises(LakeError, match=r"is not good: probes\.parquet: missing"):
        push(run_dir, store)
    assert store.run_ids() == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://lab:hunter2@bucket/lake", "an address must not contain credentials"),
        ("nosuch://bucket/lake", "nosuch"),
    ],
)
def test_an_address_that_cannot_be_used_says_why_in_one_line(url: str, said: str) -> None:
    with pytest.raises(LakeError) as caught:
        reader.lake(url)
    assert said in caught.value.what and "\n" not in caught.value.what
    assert "hunter2" not in caught.value.what + (caught.value.hint or "")


@pytest.mark.long
def test_a_store_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch, s3: str, tmp_path: Path) -> None:
    bucket(s3, tmp_path, monkeypatch)
    with pytest.raises(LakeError, match="s3://nobody-made-this/lake: ") as caught:
        push_target = open_store("s3://nobody-made-this/lake")
        push_target.ask(lambda: push_target.files.pipe_file("nobody-made-this/lake/x", b"x"))
    assert "\n" not in caught.value.what


@pytest.mark.long
def test_the_commands_push_pull_and_read_by_an_address(
    workspace: Workspace, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = bucket(s3, tmp_path, monkeypatch)
    write_runs(workspace, Run())

    def run(root: Path, *words: str, **environment: str) -> str:
        done = ibench(Workspace(root), *words, **environment)
        assert done.returncode == 0, done.stderr
        assert CANARY not in done.stdout + done.stderr
        return done.stdout

    assert "1 of 1 run pushed" in run(workspace.root, "runs", "push", url)
    count = ("sql", "-f", "csv", "SELECT count(*) AS n FROM steps")
    (tmp_path / "b").mkdir()
    assert run(tmp_path / "b", *count).split() == ["n", "0"]
    assert run(tmp_path / "b", *count, IBENCH_LAKE=url).split() == ["n", "4"]
    assert "1 of 1 run pulled" in run(tmp_path / "b", "runs", "pull", url)
    assert run(tmp_path / "b", *count).split() == ["n", "4"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]


HALF_A_ZIP = """
import os, signal, sys
from pathlib import Path
from ibench_lib.store.transfer import new_archive
with new_archive(Path(sys.argv[1])) as archive:
    archive.files.pipe_file("run/manifest.json", b"x" * 1_000_000)
    print(len(os.listdir(Path(sys.argv[1]).parent)), flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("end", ["killed", "whole"])
def test_a_killed_push_leaves_no_half_of_an_archive(tmp_path: Path, end: str) -> None:
    command = [sys.executable, "-c", HALF_A_ZIP, str(tmp_path / "runs.zip"), end]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == (-signal.SIGKILL if end == "killed" else 0), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ([] if end == "killed" else ["runs.zip"])
    if end == "whole":
        with zipfile.ZipFile(tmp_path / "runs.zip") as archive:
            assert archive.testzip() is None and archive.namelist() == ["run/manifest.json"]


@pytest.mark.long
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_a_store_that_is_lost_in_the_middle_is_one_line_and_the_next_call_completes(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()  # it would know the address of another test's server
    write_runs(workspace, Run(), Run("p1", minute=1))
    address = bucket(f"http://{host}:{port}", tmp_path, monkeypatch)
    other = Workspace(tmp_path / "other")
    if direction == "pull":
        assert ibench(workspace, "runs", "push", address).returncode == 0
    other.root.mkdir()
    place = workspace if direction == "push" else other
    what = "put_object" if direction == "push" else "get_object"
    request = "call_s3" if direction == "push" else "_call_s3"  # of files that are open, and others
    real, calls = getattr(s3fs.S3FileSystem, request), []

    def then_lost(files: Any, method: str, *arguments: Any, **options: Any) -> Any:
        calls.extend([method] * (method == what))
        if len(calls) == 5:
            server.stop()
        return real(files, method, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(s3fs.S3FileSystem, request, then_lost)
        lost = ibench(place, "runs", direction, address)
    assert lost.returncode != 0 and len(calls) >= 5
    assert "Traceback" not in lost.stderr and address in lost.stderr
    assert [path.name for path in other.runs.glob("*")] == [], "half a run is no run"
    again = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    again.start()
    try:
        if direction == "push":
            assert open_store(address).run_ids() == [], "the manifest comes last"
        assert ibench(place, "runs", direction, address).returncode == 0
        assert len(open_store(address).run_ids()) == 2
        assert all(verify(path) == [] for path in place.runs.iterdir())
        assert sorted(path.name for path in place.runs.iterdir()) == open_store(address).run_ids()
    finally:
        again.stop()
        s3fs.S3FileSystem.clear_instance_cache()
