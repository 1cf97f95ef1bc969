import pytest

from ibench_lib.base.wording import count


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
