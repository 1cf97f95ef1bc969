"""Which questions a notebook asks: remembered from post to post, so that its kernel can ask them ahead."""

from __future__ import annotations

import contextlib
import json
import shutil

from nbformat import NotebookNode

from ibench_lib.base.durable import write_atomically
from ibench_lib.paths import Workspace
from ibench_lib.publish.kernel import AHEAD_NAME, Kernel
from ibench_lib.publish.notebook import shown


def expect_questions(kernel: Kernel, workspace: Workspace, notebook: str) -> None:
    """Tell a kernel what the notebook of this name asked when it was run last; nothing if it never was."""
    with contextlib.suppress(OSError):
        shutil.copyfile(workspace.asked(notebook), kernel.private / AHEAD_NAME)


def remember_questions(ran: NotebookNode, workspace: Workspace, notebook: str) -> None:
    """Note what a notebook has asked, in its order. What comes of it is speed, so a disk that is full is no error."""
    with contextlib.suppress(OSError):
        write_atomically(workspace.asked(notebook), json.dumps(shown(ran, "questions")).encode())
