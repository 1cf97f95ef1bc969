"""What takes seconds to import is left out only while it lasts."""

import subprocess
import sys

import pytest

from tests.publish.posting import ROOT


@pytest.mark.long
@pytest.mark.slow
def test_what_takes_seconds_to_import_is_left_out_only_while_it_lasts() -> None:
    program = (
        "import sys\nfrom ibench_lib.publish.lean_imports import lean_imports\n"
        "with lean_imports():\n    import nbformat\n    nbformat.validate(nbformat.v4.new_notebook())\n"
        "assert 'rfc3987_syntax' not in sys.modules\nimport rfc3987_syntax"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
