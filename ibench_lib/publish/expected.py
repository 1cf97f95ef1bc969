"""Which questions a notebook asks, so that its kernel can ask them ahead: those it lists, and those it asked last."""

from __future__ import annotations

import contextlib
import json

from nbformat import NotebookNode

from ibench_lib.base.durable import write_atomically
from ibench_lib.paths import Workspace
from ibench_lib.publish.kernel import AHEAD_NAME, Kernel
from ibench_lib.publish.notebook import shown
from ibench_lib.publish.post_file import CheckedPost


def expect_questions(kernel: Kernel, workspace: Workspace, post: CheckedPost) -> None:
    """Tell a kernel what the notebook of a post says it asks, and what else it asked when it was run last."""
    try:
        asked = json.loads(workspace.asked(post.spec.notebook).read_bytes())
    except (OSError, ValueError):
        asked = None
    others = [name for name in asked if name not in post.asks] if isinstance(asked, list) else []
    with contextlib.suppress(OSError):
        (kernel.private / AHEAD_NAME).write_text(json.dumps([*post.asks, *others]))


def remember_questions(ran: NotebookNode, workspace: Workspace, post: CheckedPost) -> None:
    """Note what a notebook has asked, in its order. What comes of it is speed, so a disk that is full is no error."""
    with contextlib.suppress(OSError):
        write_atomically(workspace.asked(post.spec.notebook), json.dumps(shown(ran, "questions")).encode())
