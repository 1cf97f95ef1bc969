"""Names and units of sampled series for readers."""

import pytest

from ibench_lib.show.kit.series_names import shown


@pytest.mark.parametrize(
    ("source", "series", "name", "unit", "factor"),
    [
        ("device", "written_bytes_per_s", "device written bytes", "MB/s", 2.0**-20),
        ("process", "rss_bytes", "process rss bytes", "MB", 2.0**-20),
        ("clients", "response_max_s", "clients response max", "ms", 1e3),
        ("host", "io_some_pressed_s_per_s", "host io some pressure", "%", 100.0),
        ("host", "cpu_user_s_per_s", "host cpu user", "CPUs", 1.0),
        ("device", "busy_s_per_s", "device busy", "%", 100.0),
        ("device", "write_s_per_s", "device write requests in flight", "", 1.0),
        ("server", "redo_waits_per_s", "server redo waits", "/s", 1.0),
        ("server", "dirty_pages", "server dirty pages", "", 1.0),
    ],
)
def test_the_end_of_a_series_name_is_its_unit(source: str, series: str, name: str, unit: str, factor: float) -> None:
    text = shown(source, series)
    assert (text.name, text.unit, text.factor) == (name, unit, factor)
