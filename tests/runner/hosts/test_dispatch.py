"""What becomes of cells whose workers die, stop, fail or answer wrongly: the crew is scripted, the ledger is real."""

import errno
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from ibench_lib.errors import CellsFailed, IbenchError, Interrupted, LakeError, RunFailed
from ibench_lib.experiment.cells import Cell
from ibench_lib.experiment.file import Config
from ibench_lib.paths import Workspace
from ibench_lib.runner.hosts import dispatch as remote_cells
from ibench_lib.runner.hosts.crew import Worker
from ibench_lib.runner.ledger import Attempt, Ledger
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.sweep import SweepResult, Tally
from ibench_lib.workloads.insert_benchmark.options import PRESET_SETUPS
from tests.waiting import PATIENCE_S

DONE = {"run_id": "r"}
INTERRUPTED = {"error": {"kind": "Interrupted", "what": "told to end"}, "run_id": "r"}
FAILED = {"error": {"kind": "ServerLost", "what": "the server died", "hint": "look", "detail": "its log"}}

Answer = Callable[["Crew", Worker, int], Any]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(remote_cells, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))


class Future:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def done(self) -> bool:
        return self.answer is not None

    def cancel(self) -> None: ...

    def result(self, timeout: float) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Crew:
    """Workers by name. `answer` says what comes of a cell: an answer, an error of Dask's, or None for nothing yet."""

    def __init__(self, answer: Answer, *names: str) -> None:
        self.fit = {name: Worker(name, name, name, "class", {}) for name in names}
        self.given: list[tuple[str, int]] = []
        self.stopped: list[str] = []
        self.gone: IbenchError | None = None
        self.silent: set[str] = set()
        self.futures: list[Future] = []
        self._answer = answer

    def ready(self) -> list[Worker]:
        return [worker for name, worker in sorted(self.fit.items()) if name not in self.silent]

    def submit(self, worker: Worker, position: int, _fingerprint: str) -> Future:
        self.given.append((worker.name, position))
        self.futures.append(Future(self._answer(self, worker, position)))
        return self.futures[-1]

    def look(self, *, now: bool = False) -> None:
        if self.gone is not None:
            raise self.gone

    def forget(self, address: str) -> None:
        self.fit.pop(address, None)

    def stop(self, workers: list[Worker]) -> None:
        self.stopped += [worker.name for worker in workers]


class Told(Observer):
    def __init__(self) -> None:
        self.lost: list[tuple[int, str]] = []
        self.failed: list[int] = []

    def cell_lost(self, cell: Cell, worker: str) -> None:
        self.lost.append((cell.position, worker))

    def cell_failed(self, cell: Cell, error: IbenchError, worker: str | None = None) -> None:
        self.failed.append(cell.position)


def dispatch(
    workspace: Workspace,
    crew: Crew,
    cells: int = 3,
    *,
    fail_fast: bool = False,
    status: str = "complete",
    repeats: bool = False,
) -> tuple[SweepResult | IbenchError, list[Attempt], Told]:
    """What came of it, returned or raised. The cells differ in their configuration, or are repeats of one."""

    def cell(position: int) -> Cell:
        config, repeat = ("c", position) if repeats else (f"c{position}", 1)
        return Cell("a", Config(name=config, fragments=["cy10a"]), PRESET_SETUPS["cached"], repeat, "a", position)

    planned = [
        PlannedCell(
            cell(position),
            None,  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
            (),
            f"fingerprint {position}",
        )
        for position in range(1, cells + 1)
    ]

    def receive(entry: PlannedCell, worker: Worker, answer: Mapping[str, Any]) -> Any:
        if answer["run_id"] == "bad":
            raise LakeError("it is not what it should be")
        if answer["run_id"] == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if answer["run_id"] == "odd":
            raise AttributeError("'list' object has no attribute 'get'")
        return SimpleNamespace(run_id=f"run-{entry.cell.position}", status=status)

    told, ledger = Told(), Ledger(workspace)
    tally = Tally("e", planned, ledger, told)
    place: Any = crew
    try:
        outcome = remote_cells.Dispatch(planned, place, tally, told, receive, wait_s=PATIENCE_S).run(
            fail_fast=fail_fast
        )
    except IbenchError as error:
        return error, ledger.attempts(), told
    return outcome, ledger.attempts(), told


def made(outcome: SweepResult | IbenchError) -> list[str]:
    assert isinstance(outcome, SweepResult)
    return sorted(manifest.run_id for manifest in outcome.made)


def test_a_cell_goes_to_each_free_worker(workspace: Workspace) -> None:
    crew = Crew(lambda *_: DONE, "one", "two")
    outcome, attempts, _ = dispatch(workspace, crew)
    assert made(outcome) == ["run-1", "run-2", "run-3"]
    assert crew.given[:2] == [("one", 1), ("two", 2)]
    assert {attempt.state for attempt in attempts} == {"complete"}


def test_cells_of_one_remote_server_are_run_one_at_a_time(workspace: Workspace) -> None:
    """Two at once would measure each other; and the database of the first one is in the way of the second."""
    crew = Crew(lambda *_: None, "one", "two")
    under_way: list[int] = []

    class Slow(Future):
        def done(self) -> bool:
            ended = self.answer is not None
            if not ended:
                under_way.append(sum(future.answer is None for future in crew.futures))
                self.answer = DONE
            return ended

    remote = {"flavour": "mariadb", "version": "10.11", "basedir": "lab1:3306", "source": "remote"}
    for worker in crew.fit.values():
        worker.builds["a"] = remote
    submit = crew.submit

    def slowly(*arguments: Any) -> Future:
        submit(*arguments)
        crew.futures[-1] = Slow(None)
        return crew.futures[-1]

    crew.submit = slowly  # type: ignore[method-assign]
    outcome, _, _ = dispatch(workspace, crew)
    assert made(outcome) == ["run-1", "run-2", "run-3"] and under_way == [1, 1, 1]
    for worker in crew.fit.values():
        worker.builds["a"] = remote | {"source": "path"}
    under_way.clear()
    dispatch(workspace, crew)
    assert max(under_way) == 2, "a build that both hosts have runs on both"


@pytest.mark.parametrize("sign", ["absent", "CancelledError", "KilledWorker", "not_me"])
def test_a_worker_that_is_gone_by_any_sign_loses_its_cell_to_another(workspace: Workspace, sign: str) -> None:
    import distributed

    signs: dict[str, Any] = {
        "absent": None,
        "CancelledError": distributed.CancelledError(),
        "KilledWorker": distributed.KilledWorker("task", None, 4),  # type: ignore[no-untyped-call]
        "not_me": {"not_me": True, "worker": "new"},
    }

    def answer(crew: Crew, worker: Worker, _position: int) -> Any:
        if worker.name == "one":
            return DONE
        if sign == "absent":
            del crew.fit["two"]
        return signs[sign]

    crew = Crew(answer, "one", "two")
    outcome, attempts, told = dispatch(workspace, crew)
    assert made(outcome) == ["run-1", "run-2", "run-3"] and told.lost == [(2, "two")]
    assert Counter((attempt.state, attempt.host) for attempt in attempts) == {
        ("complete", "one"): 3,
        ("lost", "two"): 1,
    }


def test_a_worker_that_sends_no_heartbeat_gets_no_cell_and_is_waited_for(workspace: Workspace) -> None:
    def answer(crew: Crew, worker: Worker, position: int) -> Any:
        crew.silent = {"two"} if position < 3 else set()
        return DONE

    crew = Crew(answer, "one", "two")
    crew.silent = {"two"}
    outcome, _, _ = dispatch(workspace, crew, 5)
    assert made(outcome) == ["run-1", "run-2", "run-3", "run-4", "run-5"]
    assert crew.given == [("one", 1), ("one", 2), ("one", 3), ("one", 4), ("two", 5)]

    class Wakes(Crew):
        """All of its workers are silent for longer than the experiment waits for a worker where there is none."""

        def look(self, *, now: bool = False) -> None:
            if remote_cells.time.monotonic() > 3 * PATIENCE_S:
                self.silent = set()

    sleeping = Wakes(lambda *_: DONE, "one")
    sleeping.silent = {"one"}
    outcome, _, _ = dispatch(workspace, sleeping, 1)
    assert made(outcome) == ["run-1"]


def test_a_cell_that_three_workers_died_of_has_failed_and_the_others_are_run(workspace: Workspace) -> None:
    def answer(crew: Crew, worker: Worker, position: int) -> Any:
        if position != 1:
            return DONE
        del crew.fit[worker.address]
        return None

    outcome, attempts, told = dispatch(workspace, Crew(answer, "one", "two", "three", "four"))
    assert isinstance(outcome, CellsFailed) and "1 of 3 cells failed; 2 new runs" in outcome.what
    assert "c1, cached, repeat 1: 3 workers died" in (outcome.detail or "")
    assert [position for position, _ in told.lost] == [1, 1, 1] and told.failed == [1]
    assert Counter(attempt.state for attempt in attempts) == {"complete": 2, "lost": 2, "failed": 1}


def test_what_a_repeat_cannot_mend_is_not_handed_out_again(workspace: Workspace) -> None:
    refused = {"error": {"kind": "ServerStartError", "what": "unknown variable", "lasting": True}}
    crew = Crew(lambda *_: refused, "one", "two")
    outcome, attempts, _ = dispatch(workspace, crew, 4, repeats=True)
    assert crew.given == [("one", 1), ("two", 2)], "two were handed out before the first one had failed"
    assert isinstance(outcome, CellsFailed) and "2 of 4 cells failed, 2 were not tried again" in outcome.what
    assert [(attempt.state, attempt.error) for attempt in attempts[2:]] == [("skipped", "as repeat 1")] * 2
    chance = {"error": {"kind": "ServerLost", "what": "killed", "lasting": False}}
    crew = Crew(lambda *_: chance, "one")
    dispatch(workspace, crew, 4, repeats=True)
    assert [position for _, position in crew.given] == [1, 2, 3, 4]


def test_what_somebody_ended_on_a_worker_is_run_elsewhere_and_its_run_is_kept(workspace: Workspace) -> None:
    crew = Crew(lambda _crew, worker, _position: DONE if worker.name == "one" else INTERRUPTED, "one", "two")
    outcome, attempts, told = dispatch(workspace, crew)
    assert made(outcome) == ["run-1", "run-2", "run-3"] and told.failed == []
    (ended,) = (attempt for attempt in attempts if attempt.state != "complete")
    assert (ended.state, ended.run_id, ended.host) == ("interrupted", "run-2", "two")


def test_a_failure_is_told_with_its_worker_and_what_it_said(workspace: Workspace) -> None:
    outcome, attempts, told = dispatch(workspace, Crew(lambda *_: FAILED, "one"), cells=1)
    assert isinstance(outcome, RunFailed) and outcome.what == "one: the server died"
    assert (outcome.hint, outcome.detail) == ("look", "its log") and told.failed == [1]
    assert [attempt.error for attempt in attempts] == ["one: the server died"]


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ({"run_id": "bad"}, "complete", "it is not what it should be"),
        (DONE, "failed", "it produced no complete run"),
        ({}, "complete", "it produced no complete run"),
        ({"code": "1.0+b"}, "complete", "its ibench has changed since it was given the cell, and is 1.0+b now"),
        (ZeroDivisionError("on the other side"), "complete", "ZeroDivisionError: on the other side"),
    ],
)
def test_what_is_no_complete_run_never_counts_as_one(workspace: Workspace, answer: Any, status: str, said: str) -> None:
    outcome, attempts, _ = dispatch(workspace, Crew(lambda *_: answer, "one"), cells=1, status=status)
    assert isinstance(outcome, IbenchError) and said in outcome.what
    assert [attempt.state for attempt in attempts] == ["failed"]


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"run_id": "full"}, "its run cannot be taken in: OSError: [Errno 28] No space left on device"),
        ({"run_id": "odd"}, "its run cannot be taken in: AttributeError: 'list' object has no attribute 'get'"),
        ({"error": "text"}, "its answer cannot be used: 'text'"),
        ({"error": ["a"]}, "its answer cannot be used: ['a']"),
        ({"error": {}}, "its answer cannot be used: {}"),
        ({"error": {"what": "no kind"}}, "its answer cannot be used: {'what': 'no kind'}"),
        ({"error": {"kind": [], "what": "x"}}, "its answer cannot be used: {'kind': [], 'what': 'x'}"),
        ({"error": {"kind": "ServerLost", "what": "dead", "hint": 7, "detail": [], "lasting": "no"}}, "dead"),
        ({"code": []}, "its ibench has changed since it was given the cell, and is [] now"),
        ([], "its answer cannot be used: 'nothing'"),
        ("text", "its answer cannot be used: 'text'"),
        (7, "its answer cannot be used: 7"),
    ],
)
def test_whatever_a_worker_answers_is_the_failure_of_its_cell_alone(workspace: Workspace, odd: Any, said: str) -> None:
    crew = Crew(lambda _crew, _worker, position: odd if position == 1 else DONE, "one")
    outcome, attempts, told = dispatch(workspace, crew)
    assert isinstance(outcome, CellsFailed) and told.failed == [1]
    assert said in (outcome.detail or "")
    assert [attempt.state for attempt in attempts] == ["failed", "complete", "complete"]


def test_fail_fast_hands_out_no_more_and_lets_what_is_under_way_end(workspace: Workspace) -> None:
    crew = Crew(lambda _crew, _worker, position: FAILED if position == 1 else DONE, "one", "two")
    outcome, attempts, _ = dispatch(workspace, crew, cells=5, fail_fast=True)
    assert isinstance(outcome, CellsFailed) and "1 of 5 cells failed; 1 new run" in outcome.what
    assert [attempt.state for attempt in attempts] == ["failed", "complete"]


def test_without_any_worker_it_waits_and_then_says_so(workspace: Workspace) -> None:
    outcome, attempts, _ = dispatch(workspace, Crew(lambda *_: DONE))
    assert isinstance(outcome, RunFailed) and outcome.what == "no worker is left, and 3 cells still to run"
    assert attempts == []


def test_where_the_scheduler_is_gone_no_worker_is_blamed(workspace: Workspace) -> None:
    import distributed

    def answer(crew: Crew, _worker: Worker, _position: int) -> Any:
        crew.gone = IbenchError("the scheduler is gone")
        return distributed.CancelledError()

    outcome, attempts, told = dispatch(workspace, Crew(answer, "one"))
    assert isinstance(outcome, IbenchError) and outcome.what == "the scheduler is gone" and told.lost == []
    assert [(attempt.state, attempt.error) for attempt in attempts] == [("lost", "IbenchError: the scheduler is gone")]


def test_the_first_ctrl_c_lets_the_cell_under_way_end(workspace: Workspace) -> None:
    def answer(_crew: Crew, _worker: Worker, _position: int) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return DONE

    outcome, attempts, _ = dispatch(workspace, Crew(answer, "one"))
    assert isinstance(outcome, Interrupted) and outcome.what == "stopped with 2 cells left"
    assert [attempt.state for attempt in attempts] == ["complete"]


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)])
@pytest.mark.parametrize("comes", [True, False])
def test_a_second_one_and_other_signals_end_it_and_keep_what_it_captured(
    workspace: Workspace, signals: tuple[int, ...], comes: bool
) -> None:
    class Signalled(Crew):
        def look(self, *, now: bool = False) -> None:
            if self.given and not self.stopped:
                for number in signals:
                    os.kill(os.getpid(), number)

        def stop(self, workers: list[Worker]) -> None:
            super().stop(workers)
            if comes:
                self.futures[-1].answer = INTERRUPTED

    crew = Signalled(lambda *_: None, "one")
    outcome, attempts, told = dispatch(workspace, crew, cells=2)
    assert isinstance(outcome, Interrupted) and outcome.what == "interrupted, 0 runs made"
    assert crew.stopped == ["one"] and told.lost == told.failed == []
    assert [(attempt.state, attempt.run_id) for attempt in attempts] == [("interrupted", "run-1" if comes else None)]
