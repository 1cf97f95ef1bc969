"""What a killed PostgreSQL has left in the kernel's memory is freed, and nothing else."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ibench_lib.families.postgres import shared_memory
from ibench_lib.families.postgres.shared_memory import _libc, free
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox_directory import sweep
from tests.families.postgres.boxes import sandbox
from tests.families.postgres.test_bad_input import runner_of, still_there
from tests.families.postgres.test_bad_input import shared_memory as memory_of
from tests.faults import survivors

CREATE, PRIVATE_TO_US = 0o1000, 0o600


@pytest.fixture
def segment(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """A segment as a server makes one of the folder `datadir`: its number and key. Ours, and of our process."""
    key = int.from_bytes(os.urandom(3), "little") + 1
    number = _libc().shmget(key, 56, CREATE | PRIVATE_TO_US)
    if number < 0:
        pytest.skip("this machine gives no shared memory")
    (tmp_path / "datadir").mkdir()
    write(number, tmp_path / "datadir", 4_000_000_001)
    yield number, key
    _libc().shmctl(number, 0, None)


def write(number: int, datadir: Path, listing: int) -> None:
    """Fill the head of a segment."""
    home = datadir.stat()
    head = struct.pack("<iiQQI4xQQQ", 679834894, os.getpid(), 56, 56, listing, 0, home.st_dev, home.st_ino)
    address = _libc().shmat(number, None, 0)
    ctypes.memmove(address, head, len(head))
    _libc().shmdt(address)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for /dev/shm: a list with one file in use and one that is not, and a stranger's file."""
    folder = tmp_path / "shm"
    folder.mkdir()
    entries = b"".join(struct.pack("<II32x", number, users) for number, users in ((7, 2), (8, 0), (9, 2)))
    (folder / "PostgreSQL.4000000001").write_bytes(struct.pack("<III4x", 0x9A503D32, 3, 64) + entries)
    for name in ("PostgreSQL.7", "PostgreSQL.8", "PostgreSQL.77"):
        (folder / name).write_bytes(b"x")
    monkeypatch.setattr(shared_memory, "_POSIX", folder)
    return folder


def named(datadir: Path, key: int, number: int, pid: int | None = None, version: str = "15") -> None:
    """postmaster.pid as a server writes it."""
    lines = [os.getpid() if pid is None else pid, datadir, 1, 5432, "/tmp", "", f" {key:9d} {number:9d}", "ready   "]
    (datadir / "postmaster.pid").write_text("\n".join(map(str, lines)) + "\n")
    (datadir / "PG_VERSION").write_text(f"{version}\n")


def left(segment: tuple[int, int]) -> bool:
    return still_there({f"segment {segment[0]}"}) != set()


def test_a_segment_and_the_files_that_its_list_names_go(tmp_path: Path, segment: tuple[int, int], files: Path) -> None:
    number, key = segment
    named(tmp_path / "datadir", key, number)
    free(tmp_path / "datadir")
    assert not left(segment)
    assert {path.name for path in files.iterdir()} == {"PostgreSQL.8", "PostgreSQL.77"}


def test_the_list_of_9_6_has_smaller_entries(tmp_path: Path, segment: tuple[int, int], files: Path) -> None:
    number, key = segment
    named(tmp_path / "datadir", key, number, version="9.6")
    entries = b"".join(struct.pack("<II", number, users) for number, users in ((7, 2), (8, 0), (9, 2)))
    (files / "PostgreSQL.4000000001").write_bytes(struct.pack("<III", 0x9A503D32, 3, 64) + entries)
    free(tmp_path / "datadir")
    assert {path.name for path in files.iterdir()} == {"PostgreSQL.8", "PostgreSQL.77"}


@pytest.mark.parametrize("what", ["process", "key", "no file", "a link", "cut off", "no number"])
def test_a_segment_that_is_not_proven_to_be_its_own_stays(
    tmp_path: Path, segment: tuple[int, int], files: Path, what: str
) -> None:
    (number, key), datadir = segment, tmp_path / "datadir"
    named(datadir, key + (what == "key"), number, os.getpid() + 1 if what == "process" else None)
    pid_file = datadir / "postmaster.pid"
    text = pid_file.read_text()
    if what == "no file":
        pid_file.unlink()
    elif what == "a link":
        pid_file.rename(tmp_path / "elsewhere")
        pid_file.symlink_to(tmp_path / "elsewhere")
    elif what == "cut off":
        pid_file.write_text("\n".join(text.splitlines()[:5]))
    elif what == "no number":
        pid_file.write_text(text.replace(str(number), "many"))
    free(datadir)
    assert left(segment) and (files / "PostgreSQL.7").exists()


def test_a_segment_in_use_stays_and_one_of_another_folder_stays_too(
    tmp_path: Path, segment: tuple[int, int], files: Path
) -> None:
    (number, key), datadir = segment, tmp_path / "datadir"
    named(datadir, key, number)
    address = _libc().shmat(number, None, 0)
    free(datadir)
    assert left(segment)
    _libc().shmdt(address)
    write(number, tmp_path, 4_000_000_001)
    free(datadir)
    assert left(segment) and len(list(files.iterdir())) == 4


def test_a_list_that_is_damaged_is_no_error(tmp_path: Path, segment: tuple[int, int], files: Path) -> None:
    (number, key), datadir = segment, tmp_path / "datadir"
    named(datadir, key, number)
    (files / "PostgreSQL.4000000001").write_bytes(struct.pack("<III4x", 0x9A503D32, 60, 64))
    free(datadir)
    assert (files / "PostgreSQL.77").exists()


@pytest.mark.slow
def test_a_sandbox_whose_server_was_killed_by_9_leaves_no_memory(postgres: Build, open_path: Path) -> None:
    box = sandbox(postgres, open_path)
    with box:
        assert box.process is not None
        memory = memory_of(box.process.pid, box.datadir)
        assert len(memory) >= 2 and still_there(memory) == memory
        box.process.kill()
    assert still_there(memory) == set()


@pytest.mark.slow
@pytest.mark.fault("F2")
def test_a_sweep_frees_the_memory_of_a_server_that_was_killed_before_its_runner(
    postgres: Build, open_path: Path
) -> None:
    runner: subprocess.Popen[str] = runner_of(postgres, open_path)
    assert runner.stdout is not None
    runner.stdout.readline()
    family = psutil.Process(runner.pid).children(recursive=True)
    memory = memory_of(family[0].pid, open_path / "sandboxes" / "box" / "datadir")
    family[0].kill()
    runner.kill()
    runner.wait()
    assert survivors(family) == []
    assert still_there(memory) == memory, "nobody has freed it"
    sweep(open_path / "sandboxes")
    assert still_there(memory) == set()
