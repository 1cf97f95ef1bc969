"""A small experiment for commands."""

from pathlib import Path

from ibench_lib.paths import Workspace

EXPERIMENT = """\
title: tiny
builds: [system]
configs:
  - {name: cy10a, fragments: [cy10a]}
setups:
  - {name: tiny, l_i0_rows: 1000000, l_i1_rows: %(l_i1_rows)d, l_i2_rows: 1000, query_seconds: 100}
scale: 0.01
workload: {benchmark: insert_benchmark, clients: 2, steps: [%(steps)s]}
"""


def write(workspace: Workspace, name: str = "tiny.yaml", l_i1_rows: int = 500_000, steps: str = "l.i0, l.x") -> Path:
    path = workspace.root / name
    path.write_text(EXPERIMENT % {"l_i1_rows": l_i1_rows, "steps": steps})
    return path
