"""Programs that stand in for the clients of registries."""

from pathlib import Path


def client(folder: Path, name: str, body: str) -> Path:
    """A registry's client that does what the shell script `body` says."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return program
