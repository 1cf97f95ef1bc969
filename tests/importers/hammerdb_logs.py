"""Logs of HammerDB whose figures can be added up in the head."""

from __future__ import annotations

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
