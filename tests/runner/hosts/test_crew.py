"""Who may work on an experiment."""

import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import distributed
import psutil
import pytest

from ibench_lib.errors import IbenchError, UsageError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.events import EventLog, event_log
from ibench_lib.runner.hosts import crew
from ibench_lib.runner.hosts.sweep import run_on_workers
from ibench_lib.runner.ledger import Ledger
from ibench_lib.runner.observer import Observer, ObserverList
from ibench_lib.runner.plan import manifests
from tests.command import ibench
from tests.places import ROOT
from tests.runner.hosts.lab import TWICE, Lab, Telling, sweep, write
from tests.waiting import PATIENCE_S, until


@pytest.mark.long
def test_hosts_of_different_classes_are_mixed_only_when_told_to(lab: Lab, workspace: Workspace) -> None:
    big = lab.worker("big", FAKE_CPU="Big 9000")
    lab.worker("small", FAKE_CPU="Small 1")
    watcher = Telling()
    assert len(sweep(lab, workspace, watcher).made) == 2
    ((name, reason),) = watcher.refused
    assert name == "small" and "Small 1" in reason and "Big 9000" in reason
    assert {run.host["cpu_model"] for run in manifests(workspace)} == {"Big 9000"}
    big.terminate()
    big.wait(PATIENCE_S)
    with pytest.raises(
        UsageError,
        match=r"no worker has a suitable host: small: it is Small 1.* "
        "made on Big 9000",
    ) as caught:
        sweep(lab, workspace, text=TWICE)
    assert "--any-host" in (caught.value.hint or "")
    assert len(sweep(lab, workspace, text=TWICE, any_host=True).made) == 2
    assert {run.host["cpu_model"] for run in manifests(workspace)} == {"Big 9000", "Small 1"}


@pytest.mark.long
def test_other_code_and_another_build_under_the_label_are_refused(
    lab: Lab, workspace: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "ibench_lib", tmp_path / "other" / "ibench_lib")
    with open(tmp_path / "other" / "ibench_lib" / "step.py", "a") as file:
        file.write("# changed\n")
    lab.worker("other", code=tmp_path / "other")
    with pytest.raises(UsageError, match=r"no worker of .* other: it runs a different version of ibench, .*; this is "):
        sweep(lab, workspace)
    lab.worker("one")
    lab.worker("two", FAKE_VERSION="10.11.20-MariaDB")
    watcher = Telling()
    assert len(sweep(lab, workspace, watcher).made) == 2
    assert {name for _, name in watcher.begun} == {"one"}
    assert dict(watcher.refused)["two"] == "build a is 10.11.20-MariaDB there, and 10.11.19-MariaDB on one"
    assert "a different version of ibench" in dict(watcher.refused)["other"]


@pytest.mark.long
def test_without_a_worker_or_a_scheduler_it_says_so(
    lab: Lab, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_experiment(write(workspace))
    with (
        monkeypatch.context() as patch,
        pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1: "),
    ):
        patch.setattr(crew, "_CONNECT_S", 1.0)
        run_on_workers(loaded, workspace, Observer(), "tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match=r"no worker of tcp://127\.0\.0\.1:"):
        sweep(lab, workspace, wait_s=1)


@pytest.mark.long
def test_a_worker_in_the_same_workspace_is_refused(lab: Lab) -> None:
    lab.worker("one")
    with pytest.raises(UsageError, match=r"one: an experiment is already running in its workspace"):
        sweep(lab, lab.workspace("one"))


def test_without_dask_one_line_says_what_to_install(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="Dask is not installed") as caught:
        run_on_workers(load_experiment(write(workspace)), workspace, Observer(), "tcp://127.0.0.1:1")
    assert "pip install 'ibench[dask]'" in (caught.value.hint or "")


class Gone:
    """A client whose scheduler disappears while it waits for its workers: as Dask's, it cancels what it has asked."""

    def __init__(self) -> None:
        self.scheduler: Any = self
        self.address = "tcp://gone:1"

    def identity(self) -> None:
        """Asked by way of `sync` only."""

    def sync(self, *_: Any, **__: Any) -> dict[str, Any]:
        worker = {"name": "one", "resources": {crew.RESOURCE: 1}, "status": "running"}
        return {"workers": {"tcp://one:1": worker}}

    def submit(self, *_: Any, **__: Any) -> Any:
        self.scheduler = None
        return self

    def done(self) -> bool:
        return True

    def result(self, timeout: float) -> None:
        raise distributed.client.FutureCancelledError("ask-1", "scheduler-connection-lost")


def test_where_the_scheduler_is_gone_cells_cannot_be_ended_and_that_is_no_error() -> None:
    class Cut(Gone):
        def run(self, *_: Any, **__: Any) -> None:
            raise distributed.comm.core.CommClosedError("in <TCP (closed)>: Stream is closed")

    asking = crew.WorkerPool(Cut(), {"code": "a"}, [0], "module", Telling())
    worker = crew.Worker("tcp://one:1", "one", "1", "a host", {})
    asking.fit[worker.address] = worker
    asking.stop([worker])


def test_where_the_scheduler_is_gone_no_worker_is_refused() -> None:
    watcher = Telling()
    asking = crew.WorkerPool(Gone(), {"code": "a"}, [0], "module", watcher)
    with pytest.raises(IbenchError, match="the scheduler at tcp://gone:1 has disappeared"):
        asking.candidates(PATIENCE_S)
    assert watcher.refused == []


class Asleep:
    """A client whose scheduler hears of worker `one` every second, until it is silent: by a clock that is far ahead."""

    def __init__(self) -> None:
        self.scheduler, self.address = self, "tcp://here:1"
        self.now_s, self.heard_s = 0.0, 0.0
        self.is_silent, self.is_stopped, self.status = False, False, "running"

    def identity(self) -> None:
        """Asked by way of `sync` only."""

    def sync(self, *_: Any, callback_timeout: float, **__: Any) -> dict[str, Any]:
        if self.is_stopped:
            self.now_s += callback_timeout
            raise TimeoutError(f"timed out after {callback_timeout} s")
        seen = {"name": "one", "resources": {crew.RESOURCE: 1}, "status": "running", "last_seen": 9e9 + self.heard_s}
        return {"workers": {"tcp://one:1": seen}}

    def submit(self, *_: Any, **__: Any) -> Any:
        return self

    def done(self) -> bool:
        return False

    def monotonic(self) -> float:
        return self.now_s

    def go_on(self, asking: crew.WorkerPool, seconds: int) -> None:
        for _ in range(seconds):
            self.now_s += 1
            self.heard_s = self.heard_s if self.is_silent else self.now_s
            asking.look()


def test_a_worker_without_heartbeats_is_named_once_and_so_is_its_return(monkeypatch: pytest.MonkeyPatch) -> None:
    client, watcher = Asleep(), Telling()
    monkeypatch.setattr(crew, "time", client)
    asking = crew.WorkerPool(client, {"code": "a"}, [0], "module", watcher)
    client.go_on(asking, 100)
    worker = crew.Worker("tcp://one:1", "one", "1", "a host", {})
    asking.fit[worker.address] = worker
    assert watcher.heartbeats == [] and asking.ready() == [worker]
    client.is_silent = True
    client.go_on(asking, 100)
    ((name, silent_s),) = watcher.heartbeats
    assert name == "one" and crew.SILENT_S <= silent_s <= crew.SILENT_S + 2
    assert asking.ready() == []
    client.is_silent = False
    client.go_on(asking, 100)
    assert asking.ready() == [worker]
    (_, (name, silent_s)) = watcher.heartbeats
    assert name == "one is back" and 99 <= silent_s <= 103


def test_a_pause_of_the_scheduler_or_of_this_process_is_no_silence_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    client, watcher = Asleep(), Telling()
    monkeypatch.setattr(crew, "time", client)
    asking = crew.WorkerPool(client, {"code": "a"}, [0], "module", watcher)
    client.go_on(asking, 10)
    client.now_s, client.is_silent = client.now_s + 2 * crew.SILENT_S, True
    client.go_on(asking, 5)
    assert watcher.heartbeats == []


def test_a_scheduler_that_stands_still_is_waited_for_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    client, watcher = Asleep(), Telling()
    monkeypatch.setattr(crew, "time", client)
    asking = crew.WorkerPool(client, {"code": "a"}, [0], "module", watcher)
    client.go_on(asking, 10)
    client.is_stopped = True
    client.go_on(asking, 3)
    client.is_stopped = False
    client.go_on(asking, 10)
    assert [name for name, _ in watcher.heartbeats] == ["scheduler", "scheduler is back"]
    client.is_stopped = True
    with pytest.raises(IbenchError, match=r"the scheduler at tcp://here:1 has not answered for 3\d\d s"):
        client.go_on(asking, 20)
    assert client.now_s > crew.SCHEDULER_S


def test_a_scheduler_that_is_cut_off_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Asleep()
    monkeypatch.setattr(crew, "time", client)
    asking = crew.WorkerPool(client, {"code": "a"}, [0], "module", Telling())
    client.go_on(asking, 10)
    client.is_stopped, client.status = True, "connecting"  # by then Dask has cancelled what was asked of its workers
    with pytest.raises(IbenchError, match="the scheduler at tcp://here:1 has disappeared: timed out after 30"):
        client.go_on(asking, 3)


@pytest.mark.long
def test_a_scheduler_that_is_stopped_is_named_and_its_cells_come_back(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, said = Lab(tmp_path / "lab"), []
    scheduler, log = lab.processes[0], event_log(workspace, "many")

    def stop() -> None:
        lab.measuring("one")
        monkeypatch.setattr(crew, "_CONNECT_S", 2.0)
        scheduler.send_signal(signal.SIGSTOP)
        until(lambda: "scheduler_silent" in log.read_text(), "the scheduler is missed")
        said.append(ibench(workspace, "status").stdout)
        monkeypatch.setattr(crew, "_CONNECT_S", PATIENCE_S)
        scheduler.send_signal(signal.SIGCONT)

    try:
        lab.worker("one", FAKE_CELL_S="2")
        watcher = Telling("one", stop)
        result = sweep(lab, workspace, ObserverList([watcher, EventLog(workspace, "many")]))
    finally:
        scheduler.send_signal(signal.SIGCONT)
        lab.close()
    assert len(result.made) == 2 and watcher.lost == []
    assert [name for name, _ in watcher.heartbeats] == ["scheduler", "scheduler is back"]
    assert re.search(r"no answer of the scheduler for \d+ s; cells may go on", said[0])
    assert Counter(attempt.state for attempt in Ledger(workspace).attempts()) == {"complete": 2}


@pytest.mark.long
def test_a_worker_that_is_stopped_is_named_and_nothing_is_lost_or_run_twice(
    lab: Lab, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "SILENT_S", crew.HEARTBEAT_S + 2)
    worker, said = lab.worker("one", FAKE_CELL_S="2"), []
    log = event_log(workspace, "many")

    def stop() -> None:
        lab.measuring("one")
        worker.send_signal(signal.SIGSTOP)
        until(lambda: "worker_silent" in log.read_text(), "the worker is missed")
        said.append(ibench(workspace, "status").stdout)
        worker.send_signal(signal.SIGCONT)

    watcher = Telling("one", stop)
    result = sweep(lab, workspace, ObserverList([watcher, EventLog(workspace, "many")]))
    assert len(result.made) == 2 and watcher.lost == []
    assert [name for name, _ in watcher.heartbeats] == ["one", "one is back"]
    assert re.search(r"now 1/2 .* on one, no heartbeat for \d+ s", said[0])
    assert Counter(attempt.state for attempt in Ledger(workspace).attempts()) == {"complete": 2}
    assert "no heartbeat" not in ibench(workspace, "status").stdout


@pytest.mark.slow
def test_cells_are_not_ended_for_ever_where_the_scheduler_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(tmp_path / "lab")
    scheduler = lab.processes[0]
    goes_on = threading.Timer(60, scheduler.send_signal, [signal.SIGCONT])
    try:
        with crew.connected(lab.address) as client:
            asking = crew.WorkerPool(client, {"code": "a"}, [0], "module", Telling())
            worker = crew.Worker("tcp://127.0.0.1:1", "one", "1", "a host", {})
            asking.fit[worker.address] = worker
            monkeypatch.setattr(crew, "_CONNECT_S", 0.5)
            scheduler.send_signal(signal.SIGSTOP)
            goes_on.start()
            asking.stop([worker])
            assert psutil.Process(scheduler.pid).status() == psutil.STATUS_STOPPED, "nobody waited for it to go on"
            scheduler.send_signal(signal.SIGCONT)
    finally:
        goes_on.cancel()
        scheduler.send_signal(signal.SIGCONT)
        lab.close()


@pytest.mark.slow
def test_a_scheduler_that_is_lost_shows_no_traceback_of_dask(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom ibench_lib.runner.hosts import crew\n"
        "with crew.connected(sys.argv[1]) as client:\n    print(flush=True)\n"
        "    while client.status == 'running': time.sleep(0.01)\n    print(client.status)\n"
    )
    lab = Lab(tmp_path / "lab")
    try:
        words = [sys.executable, "-c", program, lab.address]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout and process.stdout.readline()
            lab.processes[0].kill()
            said, logged = process.communicate(timeout=PATIENCE_S)
    finally:
        lab.close()
    assert process.returncode == 0 and said.strip() == "connecting" and logged == ""
