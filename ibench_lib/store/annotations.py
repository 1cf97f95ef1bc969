"""What people say of a run: a note, tags, and whether it is excluded.

A sealed run never changes, so these have a file of their own next to it, which its manifest does not list.

The file travels with its run. Of two versions the one that was changed last counts. A date in the future, from a wrong
clock or from somebody who wants the last word, counts as none: it replaces nothing, and every other date is later.
Counted as now, it would win again at each pull, whatever had been said here since. It counts once its time has come.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ibench_lib.base.durable import write_atomically
from ibench_lib.base.text_file import NotReadable, read_beginning
from ibench_lib.errors import LakeError
from ibench_lib.paths import NAME_RULE
from ibench_lib.store.manifest import Moment

FILE = "notes.json"
MOST_BYTES = 100_000

_Text = Annotated[str, Field(min_length=1, max_length=2000)]
Tag = Annotated[str, Field(pattern=f"^{NAME_RULE}$")]


class Annotation(BaseModel):
    """`excluded` says why nothing shall be made from the run; None if it counts. `changed` is a wall time."""

    model_config = ConfigDict(extra="ignore")

    note: _Text | None = None
    tags: Annotated[list[Tag], Field(max_length=100)] = Field(default_factory=list)
    excluded: _Text | None = None
    changed: Moment = "1970-01-01T00:00:00+00:00"

    @property
    def moment(self) -> datetime:
        """When it was changed; long ago if that is not known."""
        moment = datetime.fromisoformat(self.changed).astimezone(UTC)
        return moment if moment <= datetime.now(UTC) else datetime.min.replace(tzinfo=UTC)

    def __str__(self) -> str:
        parts = [f"excluded: {self.excluded}"] if self.excluded else []
        parts += [f"note: {self.note}"] if self.note else []
        return "; ".join([*parts, *(f"#{tag}" for tag in self.tags)]) or "nothing"


def read_annotation(run_dir: Path) -> Annotation | None:
    """What is said of a run; None if nothing is. Raises LakeError if it cannot be read."""
    path = run_dir / FILE
    try:
        return parse_annotation(run_dir.name, read_beginning(path, MOST_BYTES + 1, follow=False))
    except FileNotFoundError:
        return None
    except NotReadable as error:
        raise LakeError(f"run {run_dir.name}: {FILE} is unreadable: {error}") from error


def parse_annotation(name: str, content: bytes) -> Annotation:
    """The annotation in a file's content; `name` is what messages call the run. Raises LakeError."""
    if len(content) > MOST_BYTES:
        raise LakeError(f"run {name}: {FILE} is larger than {MOST_BYTES:,} bytes")
    try:
        return Annotation.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise LakeError(f"run {name}: {FILE}: {f'{where}: ' if where else ''}{first['msg']}") from error


def annotate(run_dir: Path, **changes: str | list[str] | None) -> Annotation:
    """Change what is said of a run: `note`, `tags`, `excluded`. Returns it.

    Raises
    ------
    LakeError : a text that is too long, a tag that is no name, or the file cannot be read.
    """
    before = read_annotation(run_dir) or Annotation()
    content = before.model_dump() | changes | {"changed": datetime.now(UTC).isoformat()}
    try:
        after = Annotation.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise LakeError(
            f"{'.'.join(map(str, first['loc'][:1]))} {str(first['input'])[:80]!r}: {first['msg']}",
            hint="a tag has letters, digits, '.', '_' and '-'; a text has at most 2000 characters",
        ) from error
    write_atomically(run_dir / FILE, after.model_dump_json(indent=1).encode() + b"\n")
    return after


def excluded_runs(runs: Path) -> dict[str, str]:
    """Run id -> why it is excluded, of the runs in a folder. A file that cannot be read excludes nothing."""
    excluded = {}
    for path in sorted(runs.glob(f"*/{FILE}")):
        try:
            annotation = read_annotation(path.parent)
        except LakeError:
            continue  # `store.reader` reports it
        if annotation is not None and annotation.excluded is not None:
            excluded[path.parent.name] = annotation.excluded
    return excluded
