"""What the SQL of the project says of itself, and what refers to what."""

import pytest

from ibench_lib.errors import QueryError
from ibench_lib.store import catalogue


def test_every_question_documents_itself_and_its_parameters() -> None:
    for name, text in catalogue.questions().items():
        assert len(text.splitlines()[0]) > 20, name
        assert ("$runs: " in text) != name.startswith("known_"), f"{name}: of chosen runs, or of all that are known"


def test_what_a_question_is_made_of_is_found_through_other_questions() -> None:
    found = catalogue.building_blocks(catalogue.question_text("release_points"))
    assert {"selected_steps", "questions.series_points", "questions.metric_values", "workload_metrics"} <= found.keys()
    assert "questions.release_points" not in found
    assert catalogue.building_blocks("-- FROM questions.sla\nSELECT 1") == {}, "a comment reads nothing"


def test_parameters_are_those_of_the_comment_in_its_order() -> None:
    assert catalogue.parameters_in_order("questions.series_points") == ["runs", "steps", "metrics"]
    assert catalogue.parameters_of("series_points") == {"runs", "steps", "metrics"}
    assert catalogue.parameters_in_order("run_steps") == catalogue.parameters_in_order("nothing_of_this_name") == []


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(QueryError, match=r"no question 'one_secnd'; did you mean 'one_second'\?"):
        catalogue.question_text("one_secnd")


def test_everything_that_sql_can_name_is_listed_once() -> None:
    listed = [name for _, name, _ in catalogue.documented()]
    assert len(listed) == len(set(listed))
    assert {"ops", "runs", "run_steps", "selected_steps", "questions.sla", "sla_share"} <= set(listed)
