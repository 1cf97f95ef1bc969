"""A number that processes share."""

import os
import subprocess
import sys

from ibench_lib.client.shared import SharedNumber, make_shared
from tests.places import ROOT

WRITE = """
import sys
from ibench_lib.client.shared import SharedNumber
number = SharedNumber(int(sys.argv[1]))
print(number.value)
number.value = -(1 << 40)
"""


def test_what_one_process_writes_the_others_read() -> None:
    descriptor = make_shared()
    try:
        mine, own = SharedNumber(descriptor), SharedNumber()
        assert mine.value == own.value == 0
        mine.value = (1 << 62) + 1
        command = [sys.executable, "-c", WRITE, str(descriptor)]
        said = subprocess.run(command, pass_fds=[descriptor], cwd=ROOT, capture_output=True, text=True, check=True)
        assert int(said.stdout) == (1 << 62) + 1
    finally:
        os.close(descriptor)
    assert mine.value == -(1 << 40), "the memory stays as long as somebody has it mapped"
    assert own.value == 0
