"""A load of one's own: threads that add 1 to rows of a table. It knows nothing of ibench.

counter.py fill|away OPTION_FILE DATABASE ROWS
counter.py update OPTION_FILE DATABASE ROWS SECONDS THREADS SEED
"""

import random
import sys
import threading
import time

import pymysql

action, option_file, database, rows = *sys.argv[1:4], int(sys.argv[4])


def connect() -> pymysql.Connection:
    """A connection by the option file."""
    return pymysql.connect(read_default_file=option_file, database=database, autocommit=True)


def run(number: int, end: float, seed: int, done: list[list[float]], errors: list[int]) -> None:
    """One thread: update until `end`. Its response times in ms go to `done`."""
    cursor, draw = connect().cursor(), random.Random(f"{seed} {number}")
    while (start := time.monotonic()) < end:
        try:
            cursor.execute("UPDATE counter SET n = n + 1 WHERE id = %s", (draw.randrange(rows),))
            done[number].append(1000 * (time.monotonic() - start))
        except pymysql.err.OperationalError as error:
            if error.args[0] not in (1205, 1213):  # a lock that was not had, a deadlock
                raise
            errors[number] += 1


def update(seconds: float, threads: int, seed: int) -> None:
    """Run the threads, and print a line for each second."""
    done, errors = [[] for _ in range(threads)], [0] * threads
    begin = time.monotonic()
    workers = [threading.Thread(target=run, args=(n, begin + seconds, seed, done, errors)) for n in range(threads)]
    for worker in workers:
        worker.start()
    print("time count latency max errors", flush=True)
    seen, seen_errors, at = [0] * threads, 0, begin
    while at < begin + seconds:
        at = min(at + 1, begin + seconds)
        time.sleep(max(0, at - time.monotonic()))
        if at == begin + seconds:
            for worker in workers:
                worker.join()
        now, upto, failed = time.monotonic() - begin, [len(times) for times in done], sum(errors)
        times = [ms for n, before in enumerate(seen) for ms in done[n][before : upto[n]]] or [0.0]
        count = sum(upto) - sum(seen)
        print(f"{now:.6f} {count} {sum(times) / len(times):.6f} {max(times):.6f} {failed - seen_errors}", flush=True)
        seen, seen_errors = upto, failed


if action == "update":
    update(float(sys.argv[5]), int(sys.argv[6]), int(sys.argv[7]))
else:
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS counter")
        if action == "fill":
            cursor.execute("CREATE TABLE counter (id INT PRIMARY KEY, n BIGINT NOT NULL)")
            cursor.executemany("INSERT INTO counter VALUES (%s, 0)", [(number,) for number in range(rows)])
