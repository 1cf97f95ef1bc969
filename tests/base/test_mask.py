"""No file of a run, nor a post made of it, tells where and by whom it was made."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from ibench_lib.base import mask as privacy
from ibench_lib.base.mask import Mask, mask_of_machine, mask_of_run
from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from tests.places import ROOT
from tests.publish.posting import VALUES

PLACES = {
    "/srv/ws/data/sandboxes/r1/datadir": "<datadir>",
    "/srv/ws/data/sandboxes/r1": "<sandbox>",
    "/srv/ws": "<workspace>",
    "/usr": "<basedir>",
    "/home/bob": "<home>",
    "/tmp": "<tmp>",
}
MASK = Mask(PLACES, {"bobsbox": "<host>", "bobsbox.example.org": "<host>", "10.0.0.3": "<host>"}, ["bob"])


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("/srv/ws/data/sandboxes/r1/datadir/", "<datadir>/"),
        ("/srv/ws/data/sandboxes/r1/tmp;/srv/ws/x", "<sandbox>/tmp;<workspace>/x"),
        ("at '/srv/ws'. Or in /srv/ws.", "at '<workspace>'. Or in <workspace>."),
        ("/srv/ws2/x and /srv/ws-old", "/srv/ws2/x and /srv/ws-old"),
        ("-I/home/bob/include:/home/bob", "-I<home>/include:<home>"),
        ("file:///home/bob/x", "file://<home>/x"),
        ("/home/bobby/x /scratch/bob/x", "/home/bobby/x /scratch/<user>/x"),
        ("/tmp/ibench-wc2g61jd/s /tmp/tmpab_12345/my.cnf /tmp/mine", "<tmp>/s <tmp>/my.cnf <tmp>/mine"),
        ("/tmp/ibench-s-wc2g61jd/s /tmp/ibench-s-mine/s", "<tmp>/s <tmp>/ibench-s-mine/s"),
        ("/var/tmp ./tmp x/usr/lib a.usr/b", "/var/tmp ./tmp x/usr/lib a.usr/b"),
        ("/usr/sbin/mariadbd: ready, /usrlocal", "<basedir>/sbin/mariadbd: ready, /usrlocal"),
        ("bob on bobsbox: bobsbox-slow.log, bobsboxes", "bob on <host>: <host>-slow.log, bobsboxes"),
        ("bobsbox.example.org 10.0.0.3 10.0.0.35 110.0.0.3", "<host> <host> 10.0.0.35 110.0.0.3"),
        ("server_uid fXdYp7ZWAMMBm0PUMZFJoAcM0o0= as process 1", "server_uid <server_uid> as process 1"),
        ("Generating a new UUID: 3b1c2e10-c6e0-11f0-9d1c-0242ac110002.", "Generating a new UUID: <server_uuid>."),
        ("", ""),
    ],
)
def test_paths_and_names_become_words(text: str, seen: str) -> None:
    assert MASK.text(text) == seen
    assert MASK.text(seen) == seen, "what was masked stays as it is"
    assert Mask(**json.loads(json.dumps(MASK.as_json()))).text(text) == seen


def test_names_stay_where_only_paths_are_asked_for() -> None:
    assert MASK.paths("bobsbox in /srv/ws") == "bobsbox in <workspace>"
    assert MASK.all({"/tmp": ["/tmp", 1, None, {"a": "bobsbox"}]}) == {"/tmp": ["<tmp>", 1, None, {"a": "<host>"}]}


def test_what_is_no_place_and_no_name_replaces_nothing() -> None:
    mask = Mask({"/": "<a>", "relative": "<b>", "": "<c>"}, {"localhost": "<d>", "7": "<e>", "root": "<f>", "": "<g>"})
    assert not mask
    assert mask.text("/ relative localhost 7 root 127.0.0.1") == "/ relative localhost 7 root 127.0.0.1"


def test_the_mask_of_a_run_knows_its_places_with_and_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, home = tmp_path / "disk", tmp_path / "home"
    for folder in (real / "data", home, tmp_path / "lab"):
        folder.mkdir(parents=True)
    (tmp_path / "ws").symlink_to(real)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(socket, "gethostname", lambda: "bobsbox.example.org")
    mask = mask_of_run(Workspace(tmp_path / "ws"), "r1", tmp_path / "opt/m", tmp_path / "lab", {"db9": "<server>"})
    for root in (tmp_path / "ws", real):
        assert mask.text(f"{root}/data/runs/r1/my.cnf") == "<run>/my.cnf"
        assert mask.text(f"{root}/data/sandboxes/r1/datadir/d") == "<datadir>/d"
        assert mask.text(f"{root}/data/builds/b/lib") == "<builds>/b/lib"
        assert mask.text(f"{root}/x") == "<workspace>/x"
    assert (
        mask.text(f"{home}/a {tmp_path}/lab/e.yaml {tmp_path}/opt/m/bin")
        == "<home>/a <experiment>/e.yaml <basedir>/bin"
    )
    assert mask.text("bobsbox on bobsbox.example.org asks db9") == "<host> on <host> asks <server>"
    assert mask.text(f"{ROOT}/ibench_lib/cli/main.py") == "<ibench>/ibench_lib/cli/main.py"
    plain = mask_of_machine(Workspace(tmp_path / "ws"))
    assert plain.text("r1 bobsbox") == "r1 <host>" and "<run>" not in plain.places.values()


def test_an_account_is_a_persons_or_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "bob")
    assert "bob" in privacy._people()
    monkeypatch.delenv("SUDO_USER")
    assert "root" not in privacy._people()
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    monkeypatch.delenv("HOME")
    assert privacy._people() == privacy._homes() == [], "in a container nobody may have this number"


EXPERIMENT = """\
# made by bob on {host}, in {home}
title: a private run
builds: [system]
configs: [{{name: tiny, fragments: [mine]}}]
configs_folder: {folder}
setups: [{{name: tiny, l_i0_rows: 20000, l_i1_rows: 10000, l_i2_rows: 1000, query_seconds: 3}}]
workload: {{benchmark: insert_benchmark, clients: 1, steps: [l.i0, l.x, qr100]}}
capture: {{waits: true, profile: {{seconds: 1, every_s: 2}}}}
"""
HOST = "bobs-box7"
IBENCH = """
from ibench_lib.families.mysql.collectors import innodb_status, processlist, waits
for kind in (innodb_status.InnodbStatus, processlist.Processlist, waits.Waits):
    kind.every_s = 1
from ibench_lib.cli.main import main
main()
"""


def shipped(root: Path) -> Workspace:
    """A run and its post, made by a real server on a host of another name. Needs root, for the name."""
    workspace, home, lab = Workspace(root / "canary-ws"), root / "canary-bob", root / "canary-lab"
    for folder in (workspace.root, home, lab):
        folder.mkdir(parents=True)
    shutil.copytree(ROOT / "notebooks", workspace.root / "notebooks")
    (home / "stop words").write_text("the\n")
    (lab / "mine.cnf").write_text(
        "[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\nperformance_schema=ON\nslow_query_log=ON\n"
        f"report_host={HOST}\ninnodb_data_file_path=ibdata1:12M:autoextend\n"
    )
    (lab / "private.yaml").write_text(EXPERIMENT.format(host=HOST, home=home, folder=lab))
    post = workspace.root / "post.yml"
    with open(post, "w", encoding="utf-8") as file:
        parameters = {**VALUES["parameters"], "experiment": "private"}
        YAML(typ="safe", pure=True).dump({**VALUES, "notes": {}, "parameters": parameters}, file)
    for arguments in (["run", str(lab / "private.yaml")], ["post", str(post)]):
        ibench = [sys.executable, "-c", IBENCH, *arguments]
        done = subprocess.run(
            ["unshare", "--uts", "sh", "-c", f'hostname {HOST} && exec "$@"', "sh", *ibench],
            env={
                **os.environ,
                "HOME": str(home),
                "IBENCH_HOME": str(workspace.root),
                "LD_LIBRARY_PATH": f"{home}/lib:{os.environ.get('LD_LIBRARY_PATH', '')}",
                "PYTHONPATH": str(ROOT),
            },
            cwd=lab,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return workspace


def tells_what_it_measured(run_dir: Path, build: Build) -> None:
    """What is no path and no name is there as without a mask."""
    assert verify(run_dir) == []
    manifest = read_manifest(run_dir)
    assert manifest.server is not None
    variables = manifest.server.variables
    known = {"datadir": "<datadir>/", "tmpdir": "<sandbox>/tmp", "socket": "<tmp>/s", "hostname": "<host>"}
    known |= {"log_error": "<run>/server.log", "pid_file": "<sandbox>/server.pid", "report_host": "<host>"}
    known |= {"general_log_file": "<host>.log", "slow_query_log_file": "<host>-slow.log"}
    assert {name: variables[name] for name in known} == known
    assert variables["basedir"].rstrip("/") == "<basedir>" and variables["plugin_dir"].startswith("<basedir>/")
    assert variables["innodb_buffer_pool_size"] == str(64 << 20) and variables["version"].startswith(build.version)
    assert manifest.host["filesystem"]["type"] and manifest.host["device"] and manifest.host["host_class"]
    assert manifest.host["environment"]["LD_LIBRARY_PATH"].startswith("<home>/lib:")
    assert manifest.experiment.text.splitlines()[0] == "# made by bob on <host>, in <home>"
    assert "configs_folder: <experiment>" in manifest.experiment.text
    log = (run_dir / "server.log").read_text()
    assert "<datadir>/ib_buffer_pool" in log and "socket: '<tmp>/s'" in log
    assert manifest.cell.dbms == "system.tiny" and manifest.cell.build == "system"


def texts(path: Path) -> Iterator[str]:
    """All that can be read in a file: of a Parquet file its columns of strings and its metadata."""
    if path.suffix != ".parquet":
        yield path.read_text(errors="surrogateescape")
        return
    table = pq.read_table(path)
    yield str(table.schema.metadata) + str(pq.read_metadata(path).metadata)
    for column in table.columns:
        if pa.types.is_string(column.type):
            yield "\n".join(value or "" for value in column.unique().to_pylist())


@pytest.mark.long
def test_no_file_of_a_run_and_no_post_tells_where_it_was_made(build: Build, tmp_path: Path) -> None:
    workspace = shipped(tmp_path)
    (run_dir,) = workspace.runs.iterdir()
    tells_what_it_measured(run_dir, build)
    posts = [path for path in workspace.post_dir("demo").rglob("*") if path.is_file()]
    assert {path.name for path in posts} == {"index.html", "post.ipynb", "post.json", "preview.png"}
    files = [*run_dir.iterdir(), *workspace.events.iterdir()]
    tables = ["innodb_status", "processlist", "waits", "device_samples", "network_samples", "server_counters"]
    assert {f"{name}.parquet" for name in tables} | {"my.cnf", "server.log"} <= {path.name for path in files}
    private = re.compile(
        f"canary|{HOST}|(?<!<sandbox>)/tmp|/root\\b|{re.escape(str(ROOT))}|{re.escape(sys.prefix)}|server_uid [^<]"
    )
    told = {path.name: found for path in files for text in texts(path) if (found := private.findall(text))}
    assert told == {}
    for path in posts:  # in plotly.js and in the base64 of charts a short path may be anything
        assert not re.findall(f"canary|{HOST}|{re.escape(str(ROOT))}", path.read_text(errors="surrogateescape"))
