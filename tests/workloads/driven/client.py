"""How the program is started, and what its lines say."""

import re
import sys
from pathlib import Path

from ibench_lib.client.external import Program, Reading, Target
from ibench_lib.client.spec import Spec


class Rates(Program):
    def __init__(self, spec: Spec, target: Target) -> None:
        script = str(Path(__file__).with_name("rates.py"))
        self.argv = [sys.executable, script, target.option_file or "", target.database, str(spec.seconds)]

    def read_line(self, line: str) -> Reading | None:
        found = re.fullmatch(r"\[([\d.]+)s\] updates per second: ([\d.]+)", line)
        return Reading(end_s=float(found[1]), rate=float(found[2])) if found else None


make_program = Rates
