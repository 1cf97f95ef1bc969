"""Where things lie, for tests in any folder: the only module of the tests that knows how deep it lies itself."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
