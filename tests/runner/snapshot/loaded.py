"""A loaded data directory and its record."""

from pathlib import Path

from ibench_lib.runner.snapshot.sharing import LoadSettings
from ibench_lib.store.manifest import SnapshotRecord

SETTINGS = LoadSettings({"server": "mariadb 10.11", "innodb_page_size": "16384"})


def a_datadir(folder: Path, size: int = 5000) -> Path:
    (folder / "ibench").mkdir(parents=True)
    for name in ("ibdata1", "auto.cnf", "ib_buffer_pool", "ibench/pi1.ibd"):
        (folder / name).write_bytes(b"x" * size)
    return folder


def a_record(settings: LoadSettings = SETTINGS, run_id: str = "r1") -> SnapshotRecord:
    return SnapshotRecord(
        digest=settings.digest, settings=settings.values, after_step="l.x", steps=["l.i0", "l.x"], run_id=run_id,
        build="system", server_version="10.11.19", rows={"pi1": 5}, bytes=0, made_wall="2026-11-21T10:00:00+00:00",
        shutdown_s=0.5,
    )  # fmt: skip
