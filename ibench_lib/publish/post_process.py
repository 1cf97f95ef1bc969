"""The process that builds posts: `python -m ibench_lib.publish.post_process <workspace>`, until its input ends.

It reads the path of a post's file from each line, a JSON string, and says what it does in lines of JSON:
`{"cell": [number, of]}`, then `{"page": path}` or `{"error": {...}}`. One builds many posts, since to import what that
needs takes as long as a small post; each post has a kernel of its own. It may be started before the first post is
known: meanwhile it imports, and so does a kernel.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ibench_lib.base.garbage import no_garbage
from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace
from ibench_lib.publish.kernel import Kernel, started_kernel
from ibench_lib.publish.lean_imports import lean_imports


def main() -> None:
    """Build posts for the process that started this one."""
    # Lines go to the pipe we were given; what libraries print must not get among them.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, _end)

    def say(**message: Any) -> None:
        lines.write(json.dumps(message) + "\n")

    workspace = Workspace(Path(sys.argv[1]))
    with ExitStack() as started:
        kernel: Kernel | None = started.enter_context(started_kernel(workspace.root, waits=True))
        # While it starts, this process imports as much. If a post waits already, its file is checked first.
        if not select.select([sys.stdin], [], [], 0)[0]:
            _import()
        for line in sys.stdin:
            kernel = kernel or started.enter_context(started_kernel(workspace.root))
            kernel.open_lake()
            try:
                with started.pop_all():
                    page = _build(Path(json.loads(line)), workspace, kernel, lambda number, of: say(cell=[number, of]))
            except IbenchError as error:
                kind = type(error).__name__
                say(error={"kind": kind, "what": error.what, "hint": error.hint, "detail": error.detail})
            else:
                say(page=str(page))
            kernel = None
    os._exit(0)  # Python would take a fifth of a second to take everything down, and somebody waits


def _build(params: Path, workspace: Workspace, kernel: Kernel, progress: Callable[[int, int], None]) -> Path:
    with lean_imports(), no_garbage():
        from ibench_lib.publish.post_file import check_post

        check_post(params, workspace)  # before the longer half of the imports
        from ibench_lib.publish.post import build_post
    return build_post(params, workspace, progress, kernel, of_runs=True)


def _import() -> None:
    with lean_imports(), no_garbage():
        import ibench_lib.publish.post  # noqa: F401


def _end(_signal: int, _frame: Any) -> None:
    sys.exit(143)


if __name__ == "__main__":
    main()
