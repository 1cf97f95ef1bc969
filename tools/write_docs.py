"""Write the documents that are derived from code; with --check, only name those that are out of date."""

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from ibench_lib import schema

ROOT = Path(__file__).resolve().parent.parent


def schema_document() -> str:
    """docs/schema.md from ibench_lib/schema.py."""
    lines = [
        "<!-- Written by tools/write_docs.py from ibench_lib/schema.py: change that, then `make fix`. -->",
        "# Tables of a run",
        "",
        f"Format version {schema.SCHEMA_VERSION}. A run is a directory, `data/runs/<run_id>/`, with a "
        f"manifest.json and one",
        "Parquet file per table below. In `ibench sql`, each table is a view of the same name over all runs.",
        "",
        *_introduction(),
    ]
    for table in schema.TABLES.values():
        lines += [
            "",
            f"## {table.name}",
            "",
            textwrap.fill(table.doc, 120),
            "",
            f"Key: {', '.join(f'`{name}`' for name in table.key)}",
            "",
        ]
        lines += ["| column | type | unit | NULL | meaning |", "|---|---|---|---|---|"]
        for column in table.columns:
            null = "may be" if column.nullable else "never"
            lines.append(f"| `{column.name}` | {_type(column)} | {column.unit or '-'} | {null} | {column.doc} |")
    return "\n".join(lines) + "\n"


DOCUMENTS: dict[str, Callable[[], str]] = {"docs/schema.md": schema_document}


def drifted(root: Path = ROOT) -> list[str]:
    """Documents that are missing or are not what the code says."""
    return [name for name, write in DOCUMENTS.items() if _read(root / name) != write()]


def main() -> None:
    found = drifted()
    if "--check" in sys.argv:
        for name in found:
            print(f"{name}: differs from the code; `make fix` rewrites it")
        sys.exit(bool(found))
    for name in found:
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(DOCUMENTS[name](), encoding="utf-8")
        print(f"wrote {name}")


def _introduction() -> list[str]:
    """The module's own explanation, after its first paragraph."""
    assert schema.__doc__
    return schema.__doc__.strip().splitlines()[4:]


def _type(column: schema.Column) -> str:
    text = str(column.type)
    return text.replace("<item: ", "<").replace(" not null>", ">")


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    main()
