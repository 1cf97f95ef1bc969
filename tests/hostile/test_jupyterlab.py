"""JupyterLab opened on a lake of damaged runs, in a folder where somebody has planted modules: as a user opens it."""

from __future__ import annotations

import asyncio
import html
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from ibench_lib.paths import Workspace
from tests.command import PROGRAM
from tests.hostile.damage import damage
from tests.places import ROOT
from tests.publish.posting import HOSTILE
from tests.synthetic import Run, write_runs
from tests.threads import apart
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.lake

SEED = 20_261_125
BAD = [Run(f"bad{number}", minute=10 + number) for number in range(20)]
GOOD = [Run(title=HOSTILE, warnings=(HOSTILE,)), Run("cy10ap1", minute=1, l_i1_s=20, title=HOSTILE)]
PLANTED = ("json", "secrets", "html", "polars", "duckdb", "ibench_lib", "sitecustomize", "IPython", "pyarrow")
PLACES = (".", "data", "data/runs", f"data/runs/{GOOD[0].run_id}")
PRIVATE = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "HOME")
QUIET = {"ServerApp": {"open_browser": False, "port": 0, "ip": "127.0.0.1"}}


@dataclass
class Lab:
    """A JupyterLab: its address and token; `named` are damaged runs that a lake must name, `good` the others."""

    url: str
    token: str
    root: Path
    named: list[str]

    def ask(self, path: str, content: Any = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, body, headers), timeout=PATIENCE_S) as got:
            return json.loads(got.read() or b"null")

    async def execute(self, cells: list[str]) -> list[list[dict[str, Any]]]:
        """The outputs of each cell in a new kernel of explore.ipynb, which runs them one after another."""
        wanted = {"path": "notebooks/explore.ipynb", "name": "explore.ipynb", "type": "notebook"}
        session = self.ask("api/sessions", {**wanted, "kernel": {"name": "python3"}})
        where = f"{self.url.replace('http', 'ws', 1)}api/kernels/{session['kernel']['id']}/channels?token={self.token}"
        kernel = await websocket_connect(where, max_message_size=1 << 30)
        found = [await self._outputs(kernel, cell) for cell in cells]
        kernel.close()
        return found

    async def _outputs(self, kernel: WebSocketClientConnection, code: str) -> list[dict[str, Any]]:
        mine = uuid.uuid4().hex
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        header = {"msg_id": mine, "msg_type": "execute_request", "username": "", "session": mine, "version": "5.3"}
        asked = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        await kernel.write_message(json.dumps({**asked, "buffers": []}))
        found = []
        while True:
            said = await asyncio.wait_for(kernel.read_message(), PATIENCE_S)
            assert isinstance(said, str), "the kernel has ended"
            message = json.loads(said)
            if message["parent_header"].get("msg_id") != mine or message["channel"] != "iopub":
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return found
            if message["msg_type"] in ("stream", "display_data", "execute_result", "error", "update_display_data"):
                found.append({"kind": message["msg_type"], **message["content"]})


def plant(folder: Path) -> None:
    """Modules of names that many import, which leave a mark when they run."""
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'RAN')!r}, 'a').write({name + chr(10)!r})\n")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    root = tmp_path_factory.mktemp("hostile")
    shutil.copytree(ROOT / "notebooks", root / "notebooks", ignore=shutil.ignore_patterns(".*"))
    (root / ".ibench-project").write_text("")
    workspace, dice = Workspace(root), random.Random(SEED)
    write_runs(workspace, *GOOD, *BAD)
    named = []
    for run in BAD:
        done = damage(dice, workspace.run_dir(run.run_id))
        done.make(workspace.run_dir(run.run_id))
        named += [run.run_id] if done.named else []
    for place in PLACES:
        plant(root / place)
    (root / "notebooks" / "next_to_the_notebook.py").write_text("WHERE = __file__\n")
    environment = {**os.environ, "IBENCH_HOME": str(root)}
    environment |= {name: str(root / "private" / name.lower()) for name in PRIVATE}
    for name in PRIVATE:
        Path(environment[name]).mkdir(parents=True)
    Path(environment["JUPYTER_CONFIG_DIR"], "jupyter_server_config.json").write_text(json.dumps(QUIET))
    with open(root / "log", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, "lab"], cwd=root, env=environment, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    try:

        def address() -> re.Match[str] | None:
            assert server.poll() is None, (root / "log").read_text()
            pages = Path(environment["JUPYTER_RUNTIME_DIR"]).glob("jpserver-*-open.html")
            return re.search(r'href="(http[^"]+)"', "".join(path.read_text() for path in pages))

        found = html.unescape(until(address, "JupyterLab has said its address")[1])
        yield Lab(found.partition("lab/")[0], found.rpartition("token=")[2], root, named)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE_S)


def cells_of(notebook: Path) -> list[str]:
    content = json.loads(notebook.read_text())
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


@pytest.mark.long
def test_a_hostile_lake_runs_no_code_and_names_what_is_damaged(lab: Lab) -> None:
    cells = cells_of(lab.root / "notebooks" / "explore.ipynb")
    assert len(cells) > 15 and len(lab.named) > 8
    asked = "import next_to_the_notebook as n; print(n.WHERE)"
    problems = 'print(*ib.sql(ib.lake(), "SELECT DISTINCT run_id FROM problems")["run_id"])'
    outputs = apart(asyncio.run, lab.execute([*cells, problems, asked]))
    for code, shown in zip(cells, outputs[: len(cells)], strict=True):
        assert [one for one in shown if one["kind"] == "error"] == [], code
        assert "Traceback" not in json.dumps(shown), code
        markup = "".join(one["data"].get("text/html", "") for one in shown if "data" in one)
        assert "<img src=x" not in markup and "<script>window.hit" not in markup, code
    assert sum(bool(shown) for shown in outputs[: len(cells)]) > 12, "cells show something"
    assert set(lab.named) <= set(outputs[-2][0]["text"].split())
    shown_there = json.dumps(outputs[cells.index(next(cell for cell in cells if "skipped_table" in cell))])
    assert [run_id for run_id in lab.named if run_id not in shown_there] == []
    assert [place for place in PLACES if (lab.root / place / "RAN").exists()] == []
    # docs/trust.md says so: what lies in the notebook's folder is a module of its kernel, as everywhere in Jupyter.
    assert outputs[-1][0]["text"].strip() == str(lab.root / "notebooks" / "next_to_the_notebook.py")
