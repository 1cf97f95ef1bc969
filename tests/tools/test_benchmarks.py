"""Benchmarks that need no server still work: the code they use changes, and nobody runs them every day."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.performance_page import page_of
from tests.places import ROOT


@pytest.mark.long
@pytest.mark.parametrize("name", ["lake_scale", "false_marks", "change_points"])
def test_a_quick_round_prints_its_section(name: str, tmp_path: Path) -> None:
    page = page_of(name).read_bytes()
    lakes = ["--lakes", str(tmp_path)] if name == "lake_scale" else []
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", *lakes]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "\n# " in f"\n{done.stdout}" and "| " in done.stdout
    assert page_of(name).read_bytes() == page, "a quick round is no measurement"
