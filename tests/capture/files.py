"""Files that stand for those of the kernel."""

from pathlib import Path


def files(folder: Path, content: dict[str, str]) -> Path:
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return folder
