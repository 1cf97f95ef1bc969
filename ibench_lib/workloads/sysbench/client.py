"""How sysbench is started, and what the lines say that `events.lua` makes it print."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ibench_lib.base.histogram_bins import HISTOGRAM_BINS_PER_OCTAVE
from ibench_lib.client.external import CannotDrive, Program, Target, private_file
from ibench_lib.client.intervals import IntervalCount, Unreadable
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.sysbench.lua_files import LuaFile, options_of, require_options, require_unchanged
from ibench_lib.workloads.sysbench.microbenchmarks import OURS
from ibench_lib.workloads.sysbench.program import find_sysbench, folder_of_tests, server_of

EVENTS = Path(__file__).with_name("events.lua")

_BINS, _LARGEST_MS, _SMALLEST_MS = 1024, 100_000.0, 0.001
_WORDS = re.compile(r"ibench-(interval|total) (\S+) (\S+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)(?: (\d+) (\S*))?")
_BAD = re.compile(r"\b(FATAL|ALERT|WARNING|PANIC)\b")
_QUEUE_FULL = "The event queue is full"
_LATE = 0.02
"""By this share fewer transactions than the rate asks for make a generator that is late."""
_COUNTS = ("transaction", "read", "write", "other")


def bin_of(number: int) -> int:
    """The bin of our histograms that holds the middle of one of sysbench, whose bins are 1.8 % wide."""
    us: float = 1000 * _SMALLEST_MS * (_LARGEST_MS / _SMALLEST_MS) ** (number / (_BINS - 1))
    octave = math.floor(math.log2(max(us, 1.0)))
    return octave * HISTOGRAM_BINS_PER_OCTAVE + math.floor((us / 2.0**octave - 1) * HISTOGRAM_BINS_PER_OCTAVE)


class Sysbench(Program):
    """One run of a test, or the preparation of its tables (`details["command"]`)."""

    counts = True

    def __init__(self, spec: Spec, target: Target) -> None:
        given = spec.details
        binary = find_sysbench()
        self._rows, self._prepared = given["tables"] * given["table_size"], spec.operations[0]
        self._is_test = given["command"] == "run"
        self._ledger = given["ledger"] if self._is_test and given["makes_tables"] else None
        self._sums = dict.fromkeys((*_COUNTS, "errors", "reconnects"), 0)
        self._bins: dict[int, int] = {}
        self._all_bins: dict[int, int] = {}
        self._end_s, self._has_total = 0.0, False
        self._rate, self._waiting, self._arrived = given["rate"], 0, (0, 0.0)
        self.ready = "ibench-ready" if self._is_test else None
        bundled = folder_of_tests(binary)
        folder = OURS if given["is_ours"] else bundled
        script = str(folder / f"{given['script']}.lua")
        own = {file["name"]: LuaFile(**file) for file in given["lua_files"]}
        if given["own"]:
            script = own[given["own"]].path
            require_unchanged(own.values())
        server = server_of(target.family)
        connection, environment = server.connection(target)
        self.environment = {"SYSBENCH_TEST_FILE": script, "SYSBENCH_TEST_FOLDER": str(bundled), **environment}
        of_tables = {"tables": given["tables"], "table-size": given["table_size"]}
        if server.TAKES_ENGINE is not None:
            of_tables[server.TAKES_ENGINE] = given["engine"]
        settings: dict[str, object] = {
            "config-file": private_file(_lines(connection)),
            "db-driver": server.DRIVER,
            "threads": given["threads"],
            **of_tables,
            "rand-type": given["rand_type"],
            "rand-seed": spec.seed,
            "db-ps-mode": given["db_ps_mode"],
        }
        if self._is_test:
            settings |= {"time": round(spec.seconds or 0), "events": 0, "report-interval": 1, "percentile": 99}
        if self._rate is not None:
            settings["rate"] = given["rate"]
        if given["makes_tables"]:
            self.environment = {**self.environment, "SYSBENCH_TEST_CLEANS": "1"}
            for name in of_tables:
                settings.pop(name)
        if given["own"]:
            has = options_of(binary, script, str(bundled))
            require_options(script, has, given["options"])
            for name in of_tables.keys() - (has or set()):
                settings.pop(name)
        settings |= given["options"]
        options = [f"--{name}={_text(value)}" for name, value in settings.items()]
        self.argv = [binary, str(EVENTS), *options, given["command"]]

    def read_line(self, line: str) -> Sequence[IntervalCount] | None:
        if line.startswith("ibench-done "):
            bins = _bins(line.removeprefix("ibench-done "))
            if bins is not None and sum(bins.values()) >= sum(self._all_bins.values()):
                self._all_bins = bins
            return ()
        if words := _WORDS.fullmatch(line):
            return self._interval(words)
        if _QUEUE_FULL in line:
            raise Unreadable(
                f"the server could not keep up with {self._rate:,} transactions/s: sysbench's queue of them is full"
                f" after second {math.floor(self._end_s)}"
            )
        # The rest is what sysbench prints for people, unless it is bad news.
        return None if line.startswith("ibench-") or _BAD.search(line) else ()

    def finish(self, ran_s: float) -> Sequence[IntervalCount]:
        if self._is_test:
            if not self._has_total:
                raise Unreadable("it has not printed its total")
            return ()
        # It ends at the first error.
        return [
            IntervalCount(
                operation=self._prepared,
                start_s=0.0,
                end_s=ran_s,
                count=self._rows if self._prepared == "row" else 1,
                errors=0,
                retries=0,
                by_second=False,
            )
        ]

    def rows_by_table(self) -> Mapping[str, int]:
        """Rows of a test that fills empty tables, under the name of its step."""
        return {self._ledger: self._sums["transaction"]} if self._ledger else {}

    def limits(self) -> Sequence[tuple[float, str]]:
        arrived, seconds = self._arrived
        wanted = (self._rate or 0) * seconds
        if not wanted:
            return ()
        # They come at random intervals: three standard deviations are chance.
        missing = wanted - arrived - 3 * math.sqrt(wanted)
        why = f"sysbench let {arrived:,} of {wanted:,.0f} transactions become due: its generator was late"
        return [(max(0.0, missing) / (_LATE * wanted), why)]

    def _interval(self, found: re.Match[str]) -> list[IntervalCount]:
        try:
            end_s, seconds = float(found[2]), float(found[3])
        except ValueError:
            raise Unreadable("its times are no numbers") from None
        counts = dict(zip(self._sums, map(int, found.groups()[3:9]), strict=True))
        start_s = self._end_s
        self._has_total |= found[1] == "total"
        if found[1] == "total":  # what came after the last interval
            counts = {name: count - self._sums[name] for name, count in counts.items()}
            bins = {number: count - self._bins.get(number, 0) for number, count in self._all_bins.items()}
            bins = {number: count for number, count in bins.items() if count}
        else:
            bins = _bins(found[11]) or {}
            self._waiting = int(found[10] or 0)
            start_s = max(start_s, end_s - seconds)
            for number, count in bins.items():
                self._bins[number] = self._bins.get(number, 0) + count
        self._sums = {name: self._sums[name] + count for name, count in counts.items()}
        self._end_s = end_s
        if found[1] == "interval":
            self._arrived = self._sums["transaction"] + self._waiting, end_s
        ours: dict[int, int] = {}
        for number, count in bins.items():
            ours[bin_of(number)] = ours.get(bin_of(number), 0) + count
        transactions = sum(ours.values()) if self._bins or ours else counts["transaction"]
        rows = [
            IntervalCount(
                operation="transaction",
                start_s=start_s,
                end_s=end_s,
                # An event is counted an instant before or after it is in the histogram.
                count=transactions,
                errors=counts["reconnects"],
                retries=counts["errors"],
                bins=ours if self._bins or ours else None,
                intended=self._rate is not None,
            )
        ]
        return rows + [
            IntervalCount(operation=name, start_s=start_s, end_s=end_s, count=counts[name], errors=0, retries=0)
            for name in _COUNTS[1:]
        ]


def _bins(text: str | None) -> dict[int, int] | None:
    """Counts by bin; None where sysbench does not let anyone read them."""
    if text is None or text == "-":
        return None
    bins: dict[int, int] = {}
    for pair in filter(None, text.split(",")):
        number, _, count = pair.partition(":")
        if not (number.isdecimal() and count.isdecimal() and int(number) < _BINS):
            raise Unreadable(f"{pair!r:.40} is no bin with its count")
        bins[int(number)] = int(count)
    return bins


def _lines(options: Mapping[str, object]) -> str:
    """Options in the format of sysbench's `--config-file`. Raises CannotDrive."""
    for name, value in options.items():
        if not str(value).isprintable():  # the rest would be options of their own
            raise CannotDrive(f"{name} has a line break or another control character: sysbench's file cannot have it")
    return "".join(f"{name}={value}\n" for name, value in options.items())


def _text(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


make_program = Sysbench
