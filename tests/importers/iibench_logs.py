"""Logs of clients of iibench.py whose figures can be added up in the head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

COMMAND = (
    "/usr/bin/python3 iibench.py --dbms=mysql --db_host=db7.example.com --db_user=alice --db_password=hunter2 "
    "--db_socket=/home/alice/my.sock --engine=innodb --max_rows={rows} --table_name=pi{client} --data_length_min=10 "
    "--data_length_max=20 --rows_per_commit={each} --inserts_per_second={rate} --query_threads={threads} "
    "--seed={seed} --my_id={client}{flags}"
)
SECRETS = (b"db7.example", b"alice", b"hunter2", b"my.sock")
SEED = 1_700_000_000
OLD = "i_sec t_sec i_ips t_ips i_qps t_qps max_i max_q t_ins t_query"
LESS_OLD = f"{OLD} retry_i retry_q"
NEW = "i_sec t_sec i_ips t_ips i_dps t_dps i_qps t_qps max_i max_d max_q t_ins t_del t_query retry_i retry_d retry_q"
_EDGES = "256us       1ms       4ms      16ms      64ms     256ms        1s        4s       16s        gt         max"


def client_log(
    client: int = 1,
    *,
    ips: Sequence[int] = (100, 200, 300),
    each: int = 100,
    dps: bool = False,
    qps: int = 0,
    responses: int | None = None,
    queries: int | None = None,
    header: str = NEW,
    rate: int = 0,
    begins_s: int = 0,
    created_s: str | None = None,
    get_min_s: str | None = None,
    done: bool = True,
) -> str:
    """The log of a client that inserts, and perhaps deletes as much, and sends queries."""
    flags = " --delete_per_insert" if dps else ""
    seed = SEED + begins_s + client
    asked = {"rows": sum(ips), "each": each, "rate": rate, "threads": 1 if qps else 0, "seed": seed, "client": client}
    lines = [COMMAND.format(**asked, flags=flags), header.replace(" ", "\t")]
    if get_min_s is not None:
        lines += [f"get_min_trxid = 7 in {get_min_s} seconds", ""]
    t_ins = t_query = 0
    for second, now in enumerate(ips, start=1):
        t_ins += now
        t_query += qps
        row = {
            "i_sec": "1.0", "t_sec": f"{second}.0", "i_ips": now, "t_ips": t_ins // second, "i_dps": now if dps else 0,
            "t_dps": t_ins // second if dps else 0, "i_qps": qps, "t_qps": qps, "max_i": 1000 + second if now else 0,
            "max_d": 2000 + second if dps else 0, "max_q": 3000 + second if qps else 0, "t_ins": t_ins,
            "t_del": t_ins if dps else 0, "t_query": t_query,
        }  # fmt: skip
        lines.append("\t".join(str(row.get(name, 0)) for name in header.split()))
    done_responses = sum(ips) // each if responses is None else responses
    if done:
        for name, counts in {"Insert": True, "Delete": dps, " Query": bool(qps)}.items():
            if counts:
                number = (queries or t_query) if name == " Query" else done_responses
                lines.append(f"{name} rt:     {_EDGES}")
                lines.append(f"{name} rt:         0 {number:>9}" + "         0" * 8 + "    0.010501")
        if qps:
            lines.append(
                f"Query thread: {queries or t_query} queries, fetched/query(expected, actual) = ( 10 , 9.996 )"
            )
        if created_s is not None:
            lines.append(f"Created secondary indexes in {created_s} seconds")
        lines += [
            "getmin 1 queries, 0.000 total secs, 0.000000 secs/query",
            "",
            f"Totals: {len(ips)}.0 secs, {sum(ips) / len(ips):.1f} rows/sec, {sum(ips)} rows, "
            "1 2 3 insert-delete-query retry",
            "Done",
        ]
    return "\n".join(lines) + "\n"


def folder(at: Path, dbms: str = "ma1011.cz11b", clients: int = 2) -> Path:
    """The folder of a dbms with four steps."""
    made = {
        "l.i0": {"ips": (1000, 2000, 3000)},
        "l.x": {"ips": (100,), "begins_s": 5, "created_s": "2.5"},
        "l.i1": {"ips": (500, 400), "each": 50, "dps": True, "begins_s": 10, "get_min_s": "0.003"},
        "qr100.L1": {"ips": (100, 100, 100), "each": 50, "dps": True, "qps": 1600, "rate": 100, "begins_s": 20},
        "qp500.L2": {"ips": (500, 500, 500), "each": 50, "dps": True, "qps": 800, "rate": 500, "begins_s": 30},
    }
    for step, said in made.items():
        (at / dbms / step).mkdir(parents=True)
        for client in range(1, clients + 1):
            text = client_log(client, **said)  # type: ignore[arg-type]
            (at / dbms / step / f"o.ib.dop{clients}.{client}").write_text(text)
        (at / dbms / step / f"o.gs.dop{clients}").write_text("a sidecar\n")
    return at / dbms
