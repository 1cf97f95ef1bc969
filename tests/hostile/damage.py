"""What can be wrong with a run that somebody else made: a grammar of damage, each with checksums that fit."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.schema import TABLES, Column, Table
from ibench_lib.store.manifest import with_checksum

MANIFEST = "manifest.json"
_RETYPED = (pa.string(), pa.int64(), pa.float64(), pa.binary(), pa.timestamp("us"), pa.list_(pa.string()), pa.bool_())


@dataclass(frozen=True)
class Damage:
    """One thing that is wrong. `named`: the lake must say so; else it may be harmless, or only `verify` looks there."""

    what: str
    make: Callable[[Path], None]
    named: bool = True


def damage(dice: random.Random, run_dir: Path) -> Damage:
    """Something that can be wrong with this run."""
    return dice.choice([_of_column, _of_column, _of_column, _of_file, _of_record, _of_manifest, _of_others])(
        dice, run_dir
    )


def manifest_of(run_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run_dir / MANIFEST).read_text())
    return found


def vouch_for(run_dir: Path, name: str, **changes: Any) -> None:
    """Let the manifest vouch for a file as it is now, with some changes of its record."""
    content = (run_dir / name).read_bytes()
    manifest = manifest_of(run_dir)
    try:
        rows = pq.read_metadata(run_dir / name).num_rows
    except Exception:
        rows = manifest["files"][name]["rows"]
    record = {"rows": rows, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["files"][name] = record | changes
    (run_dir / MANIFEST).write_bytes(with_checksum(manifest))


def _of_column(dice: random.Random, run_dir: Path) -> Damage:
    """A column that is absent, there twice, of another type, or has a value that it cannot have."""
    name = dice.choice([name for name, record in manifest_of(run_dir)["files"].items() if record["rows"]])
    table = TABLES[name.partition(".")[0]]
    data = pq.read_table(run_dir / name)
    change = None
    while change is None:
        kind = dice.choice(list(_CHANGES))
        column = dice.choice([column for column in table.columns if column.name in data.column_names])
        change = _CHANGES[kind](table, column, data)

    def make(run_dir: Path) -> None:
        assert change is not None
        pq.write_table(change, run_dir / name)
        vouch_for(run_dir, name)

    return Damage(f"{name}: {column.name}: {kind}", make)


def _absent(table: Table, column: Column, data: pa.Table) -> pa.Table | None:
    return None if column.nullable or column.since else data.drop_columns([column.name])


def _twice(table: Table, column: Column, data: pa.Table) -> pa.Table:
    return data.append_column(column.name.upper(), data.column(column.name))


def _retyped(table: Table, column: Column, data: pa.Table) -> pa.Table | None:
    kind = _RETYPED[len(column.name) % len(_RETYPED)]
    if kind == column.type or (pa.types.is_integer(kind) and pa.types.is_integer(column.type)):
        return None
    return data.set_column(data.column_names.index(column.name), column.name, pa.nulls(data.num_rows, kind))


def _valued(value: Any, fits: Callable[[Table, Column], bool], kind: pa.DataType | None = None) -> Callable[..., Any]:
    """The last value of a column becomes this one."""

    def change(table: Table, column: Column, data: pa.Table) -> pa.Table | None:
        if not fits(table, column):
            return None
        values = [*data.column(column.name).to_pylist()[:-1], value]
        found = pa.field(column.name, kind or column.type, nullable=True)
        place = data.column_names.index(column.name)
        return data.set_column(place, found, pa.array(values, kind or column.type))

    return change


def _row_twice(table: Table, column: Column, data: pa.Table) -> pa.Table:
    return pa.concat_tables([data.slice(0, 1), data])


def _is_required(table: Table, column: Column) -> bool:
    return not column.nullable


def _is_float(table: Table, column: Column) -> bool:
    return pa.types.is_floating(column.type)


def _is_counted(table: Table, column: Column) -> bool:
    return not table.collected and not column.nullable and pa.types.is_integer(column.type)


def _is_narrow(table: Table, column: Column) -> bool:
    return pa.types.is_integer(column.type) and column.type.bit_width < 64


def _is_name(table: Table, column: Column) -> bool:
    return pa.types.is_string(column.type) and not column.free_text


def _is_bins(table: Table, column: Column) -> bool:
    return column.name.endswith("bins")


def _is_run(table: Table, column: Column) -> bool:
    return column.name == "run_id"


_CHANGES: dict[str, Callable[[Table, Column, pa.Table], pa.Table | None]] = {
    "absent": _absent,
    "twice": _twice,
    "retyped": _retyped,
    "NULL": _valued(None, _is_required),
    "NaN": _valued(float("nan"), _is_float),
    "inf": _valued(float("inf"), _is_float),
    "-inf": _valued(float("-inf"), _is_float),
    "1e300": _valued(1e300, lambda table, column: _is_float(table, column) and not table.collected),
    "-1": _valued(-1, _is_counted),
    "2**62": _valued(2**62, _is_counted, pa.int64()),
    "2**40": _valued(2**40, _is_narrow, pa.int64()),
    "20 kB": _valued("x" * 20_000, _is_name),
    "another run": _valued("another", _is_run),
    "long bins": _valued(list(range(99)), _is_bins),
    "high bins": _valued([65535], _is_bins),
    "a row twice": _row_twice,
}


def _of_file(dice: random.Random, run_dir: Path) -> Damage:
    """A file that is no Parquet file, or a damaged one, although its checksum is right; or no file at all."""
    name = dice.choice(sorted(manifest_of(run_dir)["files"]))
    content = (run_dir / name).read_bytes()
    place, bit = dice.randrange(len(content)), 1 << dice.randrange(8)
    kind = dice.choice(["flipped", "flipped", "flipped", "cut", "empty", "text", "gone", "folder", "pipe", "link"])

    def make(run_dir: Path) -> None:
        path = run_dir / name
        if kind in ("gone", "folder", "pipe", "link"):
            path.unlink()
            _replace(path, kind)
            return
        flipped = content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :]
        path.write_bytes({"flipped": flipped, "cut": content[:place], "empty": b"", "text": b"PAR1" * 9}[kind])
        vouch_for(run_dir, name)

    return Damage(f"{name}: {kind}", make, named=kind != "flipped")


def _replace(path: Path, kind: str) -> None:
    """Something else in the place of a file; a link leads to a file that is there."""
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        elsewhere = path.parent.parent.parent / f"elsewhere-{path.name}"
        elsewhere.write_bytes(b"secret")
        path.symlink_to(elsewhere)


def _of_record(dice: random.Random, run_dir: Path) -> Damage:
    """A manifest that says something else of a file than what is true."""
    name = dice.choice(sorted(manifest_of(run_dir)["files"]))
    key, value = dice.choice(
        [("rows", 1), ("rows", -1), ("bytes", 1), ("bytes", -1), ("sha256", "0" * 64), ("rows", None)]
    )

    def make(run_dir: Path) -> None:
        record = manifest_of(run_dir)["files"][name]
        vouch_for(run_dir, name, **{key: record[key] + value if isinstance(value, int) else value})

    return Damage(f"{name}: {key} {value}", make)


def _of_manifest(dice: random.Random, run_dir: Path) -> Damage:
    """A manifest that is none, or another run's, or says what cannot be."""
    texts: dict[str, bytes] = {
        "empty object": b"{}", "list": b"[]", "empty": b"", "text": b"manifest", "deep": b"[" * 100_000,
        "zeros": bytes(999), "large": b" " * 10_000_001, "number": b"1", "not UTF-8": b'{"a": "\xff"}',
    }  # fmt: skip
    content = manifest_of(run_dir)
    changed: dict[str, dict[str, Any]] = {
        "another run": {"run_id": "another"}, "running": {"status": "running"}, "status": {"status": "done"},
        "later": {"schema_version": 99}, "scale": {"scale": "large"}, "cell": {"cell": None}, "host": {"host": 1},
        "file above": {"files": {"../x.parquet": {"rows": 0, "bytes": 0, "sha256": ""}}},
        "moment": {"origin_wall": "yesterday"},
    }  # fmt: skip
    kind = dice.choice([*texts, *changed, "gone", "folder", "pipe", "link", "no checksum"])
    text = texts.get(kind, with_checksum({**content, **changed.get(kind, {})}))
    if kind == "no checksum":
        text = json.dumps(content).encode()

    def make(run_dir: Path) -> None:
        if kind in ("gone", "folder", "pipe", "link"):
            (run_dir / MANIFEST).unlink()
            _replace(run_dir / MANIFEST, kind)
        else:
            (run_dir / MANIFEST).write_bytes(text)

    return Damage(f"{MANIFEST}: {kind}", make)


def _of_others(dice: random.Random, run_dir: Path) -> Damage:
    """The files next to the tables: what people say of a run, and what its server read and wrote."""
    name = dice.choice(["notes.json", "notes.json", "my.cnf", "server.log"])
    is_notes = name == "notes.json"
    kind = dice.choice(["folder", "pipe", "link"] + (["empty", "text", "large"] if is_notes else []))

    def make(run_dir: Path) -> None:
        path = run_dir / name
        path.unlink(missing_ok=True)
        if kind in ("folder", "pipe", "link"):
            _replace(path, kind)
        else:
            path.write_bytes({"empty": b"", "text": b"[1", "large": b" " * 200_000}[kind])

    return Damage(f"{name}: {kind}", make, named=is_notes)
