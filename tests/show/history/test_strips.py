"""The first picture of a post on releases."""

import polars as pl

import ibench_lib as ib
from tests.show.released import builds_of, noisy, points_of, six


def strips(points: pl.DataFrame) -> str:
    history = ib.version_history({"release_points": points, "builds": builds_of(points)}.__getitem__)
    return ib.release_strips(history).markup


def test_a_strip_for_each_step_has_the_releases_in_order_and_fills_what_is_beyond_noise() -> None:
    markup = strips(pl.concat([six(), six(1.0, "qr100", "qps")]))
    assert markup.count("<figcaption>") == 2
    first, second = markup.split("</figure>")[:2]
    assert "mysql, cached: l.i0, inserts/s" in first and "mysql, cached: qr100, queries/s" in second
    names = ["b5.7.44", "b8.0.28", "b8.0.29", "b8.0.30", "b8.0.31", "b9.1.0"]
    assert [first.index(f'<tr title="{name}: ') for name in names] == sorted(
        first.index(f'<tr title="{name}: ') for name in names
    )
    assert first.count("x, slower</td>") == 3 and "slower" not in second and "faster" not in second
    assert "Each dot: the ratio to b5.7.44, with its 95 % interval." in markup


def test_a_step_without_the_oldest_release_has_no_strip_and_a_lone_release_none_at_all() -> None:
    later = points_of({"b8.0.2": noisy(10), "b8.0.3": noisy(20)}, "qr100", "qps")
    both = strips(pl.concat([points_of({"b8.0.1": noisy(1), "b8.0.2": noisy(2)}), later]))
    assert both.count("<figcaption>") == 1 and "qr100" not in both
    assert strips(points_of({"b8.0.1": noisy(1)})) == ""
