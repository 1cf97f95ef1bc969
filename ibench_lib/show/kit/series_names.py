"""How the series of a step are named and shown: what was sampled (`sql/macros/sampled.sql`), what clients saw."""

from __future__ import annotations

from dataclasses import dataclass

_MB = 2.0**-20


@dataclass(frozen=True)
class SeriesText:
    """A series for readers: its name, the unit it is shown in ('' for counts), and the factor from what is stored."""

    name: str
    unit: str
    factor: float


def shown(source: str, series: str) -> SeriesText:
    """The series of a source (server, process, host, device or clients); MB are of 1024 KB."""
    for ending, name, unit, factor in (
        ("_bytes_per_s", " bytes", "MB/s", _MB),
        ("_bytes", " bytes", "MB", _MB),
        ("_max_s", " max", "ms", 1e3),
        ("_ms", " time", "ms", 1.0),
    ):
        if series.endswith(ending):
            return SeriesText(_words(source, series.removesuffix(ending) + name), unit, factor)
    if series.endswith("_pressed_s_per_s"):
        return SeriesText(_words(source, series.removesuffix("_pressed_s_per_s")) + " pressure", "%", 100.0)
    if series.startswith("cpu_") or series == "clients_cpu":
        return SeriesText(_words(source, series.removesuffix("_per_s").removesuffix("_s")), "CPUs", 1.0)
    if series == "busy_s_per_s":
        return SeriesText(_words(source, "busy"), "%", 100.0)
    if series.endswith("_s_per_s"):
        # Seconds of requests in a second are how many there were at a time.
        return SeriesText(_words(source, series.removesuffix("_s_per_s") + " requests in flight"), "", 1.0)
    if series.endswith("_per_s"):
        return SeriesText(_words(source, series.removesuffix("_per_s")), "/s", 1.0)
    return SeriesText(_words(source, series), "", 1.0)


def _words(source: str, name: str) -> str:
    return f"{source} {name}".replace("_", " ")
