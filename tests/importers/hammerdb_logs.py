"""Logs of HammerDB whose figures can be added up in the head."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

RULE = "+-" * 40 + "+"


def log(nopm: int = 1200, tpm: int = 2800, *, users: int = 4, old: bool = False, ended: bool = True) -> str:
    """What the command line prints of a timed run of 5 minutes after 2 of ramp-up."""
    figures = f"{tpm} MySQL TPM at {nopm} NOPM" if old else f"{nopm} NOPM from {tpm} MySQL TPM"
    lines = [
        "HammerDB CLI v4.12",
        "Database set to MySQL",
        "Vuser 1 created MONITOR - WAIT IDLE",
        *(f"Vuser {number} created - WAIT IDLE" for number in range(2, users + 2)),
        "Vuser 1:RUNNING",
        "Vuser 1:Beginning rampup time of 2 minutes",
        "Vuser 1:Rampup 1 minutes complete ...",
        "Vuser 1:Rampup complete, Taking start Transaction Count.",
        "Vuser 1:Timing test period of 5 in minutes",
        "Vuser 1:1 minutes elapsed",
        "Vuser 1:Test complete, Taking end Transaction Count.",
        f"Vuser 1:{users} Active Virtual Users configured",
        *([f"Vuser 1:TEST RESULT : System achieved {figures}"] if ended else []),
        "Vuser 1:FINISHED SUCCESS",
        "ALL VIRTUAL USERS COMPLETE",
    ]
    return "\n".join(lines) + "\n"


def section(calls: int, mean_ms: float) -> list[str]:
    """New orders of a virtual user, or of the summary."""
    most, total = 10 * mean_ms, calls * mean_ms
    return [
        ">>>>> PROC: NEWORD",
        f"CALLS: {calls}\tMIN: 1.000ms\tAVG: {mean_ms:.3f}ms\tMAX: {most:.3f}ms\tTOTAL: {total:.3f}ms\t",
        "P99: 9.000ms\tP95: 8.000ms\tP75: 5.000ms\tP50: 2.000ms\tP25: 1.500ms\tSD: 0.500ms\tRATIO: 50.000%",
        RULE,
    ]


def profile() -> str:
    """A time profile of two virtual users: 100 new orders of 2 ms, and 300 of 4 ms. Its summary has medians."""
    lines = ["MySQL Hammerdb Time Profile Report @ Fri Apr 03 18:29:43 BST 2026", RULE]
    for user, (calls, mean_ms) in {2: (100, 2.0), 3: (300, 4.0)}.items():
        lines += [f">>>>> VIRTUAL USER {user} : ELAPSED TIME : 120522ms", *section(calls, mean_ms)]
    lines += [">>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 121000ms", *section(200, 3.0)]
    return "\n".join(lines) + "\n"


def counter() -> str:
    """A log of the transaction counter, every 10 s."""
    samples = [0, 2700, 2900, 3100]
    lines = ["MySQL Hammerdb Transaction Counter Log @ Fri Apr 03 18:27:43 BST 2026", RULE]
    lines += [f"{tpm} MySQL tpm @ Fri Apr 03 18:28:{second}0 BST 2026" for second, tpm in enumerate(samples)]
    return "\n".join(lines) + "\n"


TABLES = (
    "CREATE TABLE JOBMAIN(jobid TEXT primary key, db TEXT, bm TEXT, jobdict TEXT, timestamp DATETIME NOT NULL DEFAULT "
    "(datetime(CURRENT_TIMESTAMP, 'localtime')))",
    "CREATE TABLE JOBTIMING(jobid TEXT, vu INTEGER, procname TEXT, calls INTEGER, min_ms REAL, avg_ms REAL, "
    "max_ms REAL, total_ms REAL, p99_ms REAL, p95_ms REAL, p50_ms REAL, sd REAL, ratio_pct REAL, summary INTEGER, "
    "elapsed_ms REAL, FOREIGN KEY(jobid) REFERENCES JOBMAIN(jobid))",
    "CREATE TABLE JOBTCOUNT(jobid TEXT, counter INTEGER, metric TEXT, timestamp DATETIME)",
    "CREATE TABLE JOBOUTPUT(jobid TEXT, vu INTEGER, output TEXT)",
)
SECRETS = (b"hunter2", b"db7.example", b"alice")


def job_lines(text: str) -> list[tuple[int, str]]:
    """The output of a job: what its log has, with the virtual user in a column of its own."""
    lines = [line for line in text.splitlines() if line.startswith("Vuser") and ":" in line]
    return [(int(line.split(":")[0].split()[1]), line.partition(":")[2]) for line in lines]


def database(path: Path, *outputs: str, benchmark: str = "TPC-C", first: Sequence[str] = TABLES) -> Path:
    """A database with a job for each output, with the profile and the counter of `profile` and `counter`."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as made:
        for statement in first:
            made.execute(statement)
        secret = "maria_host db7.example.com maria_user alice maria_pass hunter2"
        for number, text in enumerate(outputs):
            job = f"6A2B{number}"
            made.execute("INSERT INTO JOBMAIN VALUES (?, 'MariaDB', ?, ?, '2026-01-01')", (job, benchmark, secret))
            rows = [(job, user, line) for user, line in job_lines(text)]
            made.executemany("INSERT INTO JOBOUTPUT VALUES (?, ?, ?)", rows)
            for user, calls, mean_ms, summary in ((2, 100, 2.0, 0), (3, 300, 4.0, 0), (2, 200, 3.0, 1)):
                figures = (calls, 1.0, mean_ms, 10 * mean_ms, calls * mean_ms, 9, 8, 2, 0.5, 50, summary, 120_522)
                row = (job, user, "NEWORD", *figures)
                made.execute(f"INSERT INTO JOBTIMING VALUES ({', '.join('?' * len(row))})", row)
            for tpm in (0, 2700, 2900, 3100):
                made.execute("INSERT INTO JOBTCOUNT VALUES (?, ?, 'MariaDB tpm', '2026-01-01')", (job, tpm))
        made.commit()
    return path
