"""An IPython shell for tests of what a notebook shows and completes, with nothing of the user's own IPython."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from ibench_lib.base import interactive


def make_shell(folder: Path, monkeypatch: pytest.MonkeyPatch) -> InteractiveShell:
    """A shell which the library takes for the one that it runs in. It is not the process's own: others see none."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config, ipython_dir=str(folder))
    monkeypatch.setattr(interactive, "session", lambda: shell)
    return shell


def completions(shell: InteractiveShell, text: str) -> list[str]:
    """What Tab offers at the end of a text."""
    with provisionalcompleter():
        return [found.text for found in shell.Completer.completions(text, len(text))]
