"""A program that knows nothing of ibench: it updates a row as fast as it can, and prints its rate once a second."""

import sys
import time

import pymysql

option_file, database, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
connection = pymysql.connect(read_default_file=option_file, database=database, autocommit=True)
cursor = connection.cursor()
print("hello from a program that has its own words", flush=True)
start = before = time.monotonic()
done = reported = 0
while True:
    cursor.execute(f"UPDATE driven SET n = n + 1 WHERE id = {done % 100}")
    done += 1
    now = time.monotonic()
    if now >= min(before + 1, start + seconds):
        rate = (done - reported) / (now - before)
        print(f"[{now - start:.3f}s] updates per second: {rate:.3f}", flush=True)
        before, reported = now, done
    if now >= start + seconds:
        break
