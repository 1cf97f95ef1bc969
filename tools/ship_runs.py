"""Copy the runs of an experiment into the sample, their tables compressed as far as zstd goes.

    python -m tools.ship_runs EXPERIMENT [--from HOME] [--to FOLDER]

Rows and their order stay as they are. Only complete runs are copied; the manifest gets the new sizes and checksums.
"""

import argparse
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.base.wording import count
from ibench_lib.schema import TABLES, Table
from ibench_lib.store.manifest import FILE_NAME, read_manifest, with_checksum
from ibench_lib.store.parquet import write_table

ROOT = Path(__file__).resolve().parent.parent
LEVEL = 19


def ship(run: Path, to: Path) -> int:
    """Copy one sealed run into a folder. Returns its bytes there.

    Raises
    ------
    LakeError : its manifest cannot be read.
    """
    read_manifest(run)
    copy = to / run.name
    shutil.copytree(run, copy)
    content = json.loads((copy / FILE_NAME).read_bytes())
    for name, record in content["files"].items():
        path = copy / name
        if path.suffix != ".parquet":
            continue  # texts that are vouched for as well
        file = pq.ParquetFile(path, page_checksum_verification=True)
        pieces = [file.read_row_group(number) for number in range(file.num_row_groups)]
        written = write_table(path, _as_written(TABLES[path.stem], file.schema_arrow), pieces, level=LEVEL)
        assert written.rows == record["rows"], f"{path}: {written.rows} rows instead of {record['rows']}"
        record.update(bytes=written.bytes, sha256=written.sha256)
    (copy / FILE_NAME).write_bytes(with_checksum(content))
    return sum(path.stat().st_size for path in copy.iterdir())


def _as_written(table: Table, schema: pa.Schema) -> Table:
    """The table as a file has it: one by an older ibench lacks some columns, and may have no NULL in others."""
    columns = (column for column in table.columns if column.name in schema.names)
    return replace(
        table, columns=tuple(replace(column, nullable=schema.field(column.name).nullable) for column in columns)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("experiment")
    parser.add_argument("--from", dest="home", type=Path, default=ROOT, help="the project whose runs they are")
    parser.add_argument("--to", type=Path, default=ROOT / "data" / "sample")
    chosen = parser.parse_args()
    shipped = total = 0
    for run in sorted((chosen.home / "data" / "runs").iterdir()):
        if not (run / FILE_NAME).is_file():
            continue
        manifest = read_manifest(run)
        if manifest.experiment.name != chosen.experiment or manifest.status != "complete":
            continue
        if (chosen.to / run.name).exists():
            print(f"{run.name}: already there")
            continue
        size = ship(run, chosen.to)
        print(f"{run.name}: {size:,} bytes")
        shipped, total = shipped + 1, total + size
    print(f"{count(shipped, 'run')}, {total:,} bytes")
    return 0 if shipped else 1


if __name__ == "__main__":
    sys.exit(main())
