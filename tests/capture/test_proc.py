import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ibench_lib.capture import proc
from ibench_lib.capture.proc import ProcFile, children_of, role_of, with_all_of
from tests.waiting import until


def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_bytes(b"first")
    file = ProcFile(str(path))
    assert file.read() == b"first"
    path.write_bytes(b"x" * 200_000)
    assert file.read() == b"x" * 200_000, "however many reads that takes"
    file.close()
    file.close()


def test_a_process_that_has_ended_is_an_error_when_it_is_read() -> None:
    process = subprocess.Popen(["sleep", "600"])
    file = ProcFile(f"/proc/{process.pid}/stat")
    assert file.read().startswith(f"{process.pid} (sleep)".encode())
    process.kill()
    process.wait()
    with pytest.raises(OSError):
        file.read()


def test_a_file_that_is_not_there_is_an_error_at_once() -> None:
    with pytest.raises(FileNotFoundError):
        ProcFile("/proc/no/such/file")


@pytest.mark.parametrize("lists", [True, False])
def test_children_are_found_with_or_without_the_kernels_lists(monkeypatch: pytest.MonkeyPatch, lists: bool) -> None:
    if not lists:
        monkeypatch.setattr(proc, "_CHILDREN", "/proc/{pid}/task/{pid}/no_such_list")
    proc._lists_children.cache_clear()
    try:
        program = "import os, time; os.fork(); print(flush=True); time.sleep(600)"
        parent = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE, start_new_session=True)
        assert parent.stdout is not None
        parent.stdout.readline()
        parent.stdout.readline()
        (child,) = children_of(parent.pid)
        assert parent.pid in children_of(os.getpid()) and children_of(child) == []
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
        assert children_of(parent.pid) == []
    finally:
        proc._lists_children.cache_clear()


@pytest.mark.parametrize(
    ("title", "role"),
    [
        ("postgres: checkpointer ", "checkpointer"),
        ("postgres: io worker 2", "io worker"),
        ("postgres: autovacuum worker bench", "autovacuum worker"),
        ("postgres: autovacuum worker other", "autovacuum worker other"),
        ("postgres: autovacuum worker process   bench", "autovacuum worker"),
        ("postgres: autovacuum worker process   other  ", "autovacuum worker"),
        ("postgres: wal writer process   ", "wal writer"),
        ("postgres: ibench bench [local] INSERT", "connections"),
        ("postgres: ibench bench 127.0.0.1(40112) idle", "connections"),
        ("/usr/sbin/mysqld", None),
        ("mysqld", None),
    ],
)
def test_a_process_says_by_its_title_what_it_does(title: str, role: str | None) -> None:
    process = subprocess.Popen(["bash", "-c", f"exec -a '{title}' cat"], stdin=subprocess.PIPE)
    try:
        cmdline = Path(f"/proc/{process.pid}/cmdline")
        until(lambda: cmdline.read_bytes() == f"{title}\0".encode(), "it has its title")
        assert role_of(process.pid, "bench") == role
    finally:
        process.kill()
        process.wait()
    assert role_of(process.pid, "bench") is None


def test_what_failed_while_a_process_ended_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    asked: list[list[int]] = []

    def act(processes: list[int]) -> tuple[int, str]:
        asked.append(processes)
        return (0, "done") if processes == [os.getpid()] else (1, "No such process")

    children = [[gone.pid], []]
    monkeypatch.setattr(proc, "children_of", lambda _: children.pop(0))
    assert with_all_of(os.getpid(), act) == (0, "done") and len(asked) == 2
    monkeypatch.setattr(proc, "children_of", lambda _: [gone.pid])
    assert with_all_of(os.getpid(), act) == (1, "No such process") and len(asked) == 5, "not for ever"
    monkeypatch.setattr(proc, "children_of", lambda _: [os.getppid()])
    assert with_all_of(os.getpid(), act)[0] == 1 and len(asked) == 6, "all live: it is another error"
