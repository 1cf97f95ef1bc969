"""What a notebook has asked is asked ahead the next time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.publish.evidence import Evidence
from ibench_lib.publish.expected import expect_questions, remember_questions
from ibench_lib.publish.kernel import AHEAD_NAME, started_kernel
from ibench_lib.publish.post_file import check_post
from ibench_lib.show.kit.display import Html
from tests.publish.posting import tiny_post


@pytest.mark.slow
def test_what_a_notebook_asked_is_expected_of_the_next_kernel(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.data.mkdir()
    post = check_post(tiny_post(workspace, "own"), workspace)
    assert post.asks == []
    post = replace(post, asks=["sla"])
    evidence = Evidence(Html(), [], ["steps", "sla", "steps-2"])
    output = nbformat.v4.new_output("display_data", evidence._repr_mimebundle_())
    ran = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])])
    with started_kernel(tmp_path) as kernel:
        expect_questions(kernel, workspace, post)
        assert json.loads((kernel.private / AHEAD_NAME).read_text()) == ["sla"], "what the notebook says"
        remember_questions(ran, workspace, post)
        expect_questions(kernel, workspace, post)
        assert json.loads((kernel.private / AHEAD_NAME).read_text()) == ["sla", "steps", "steps-2"]
        for damaged in ("{", "5", '{"steps": 1}'):
            workspace.asked(post.spec.notebook).write_text(damaged)
            expect_questions(kernel, workspace, post)
            assert json.loads((kernel.private / AHEAD_NAME).read_text()) == ["sla"]
