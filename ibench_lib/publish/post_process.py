"""The process that builds one post: `python -m ibench_lib.publish.post_process <params file> <workspace>`.

It says what it does in lines of JSON: `{"cell": [number, of]}`, then `{"page": path}` or `{"error": {...}}`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace
from ibench_lib.publish.kernel import started_kernel
from ibench_lib.publish.lean_imports import lean_imports


def main() -> None:
    # Lines go to the pipe we were given; what libraries print must not get among them.
    """Build one post for the process that started this one."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, _end)

    def say(**message: Any) -> None:
        lines.write(json.dumps(message) + "\n")

    params, workspace = Path(sys.argv[1]), Workspace(Path(sys.argv[2]))
    try:
        with started_kernel(workspace.root) as kernel:  # while it starts, this process imports as much
            with lean_imports():
                from ibench_lib.publish.post_file import check_post

                check_post(params, workspace)  # before the longer half of the imports
                from ibench_lib.publish.post import build_post
            page = build_post(params, workspace, lambda number, of: say(cell=[number, of]), kernel, of_runs=True)
    except IbenchError as error:
        kind = type(error).__name__
        say(error={"kind": kind, "what": error.what, "hint": error.hint, "detail": error.detail})
        sys.exit(error.exit_code)
    say(page=str(page))


def _end(_signal: int, _frame: Any) -> None:
    sys.exit(143)


if __name__ == "__main__":
    main()
