import pytest

from ibench_lib.base.wording import count, duration_text


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("run",), "0 runs"),
        (1, ("run",), "1 run"),
        (2, ("index", "indexes"), "2 indexes"),
        (1_000, ("step",), "1,000 steps"),
    ],
)
def test_a_count_agrees_with_its_noun(number: int, words: tuple[str, ...], text: str) -> None:
    assert count(number, *words) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (89, "89 s"), (91, "2 min"), (3600, "60 min"), (12_000, "3 h 20 min")]
)
def test_durations_are_told_as_people_do(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
