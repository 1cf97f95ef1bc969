"""data/posts/<slug>/post.json: what a list of posts and a feed say of one, without opening its page."""

from __future__ import annotations

import hashlib
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ibench_lib.base.durable import write_atomically
from ibench_lib.errors import PostUnreadable

RECORD_NAME = "post.json"
PAGE_NAME = "index.html"
NOTEBOOK_NAME = "post.ipynb"
PREVIEW_NAME = "preview.png"


class PostRecord(BaseModel):
    """One post. `updated` is when its page last became another; `bytes` and `sha256` are the page's."""

    # A record of a later version may say more.
    model_config = ConfigDict(extra="ignore")

    slug: str
    title: str
    author: str
    date: date
    updated: datetime
    tldr: str | list[str]
    notebook: str
    workloads: list[str]
    experiments: list[str]
    builds: list[str]
    servers: list[str]
    runs: list[str]
    runs_not_complete: int
    bytes: int
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def write_record(directory: Path, record: PostRecord) -> None:
    """Replace a post's record."""
    write_atomically(directory / RECORD_NAME, (record.model_dump_json(indent=1) + "\n").encode())


def read_record(directory: Path) -> PostRecord:
    """The record of the post in a directory.

    Raises
    ------
    PostUnreadable : the directory holds no post, or not the one that its record speaks of.
    """
    again = "build it again, or move it away"
    try:
        record = PostRecord.model_validate_json((directory / RECORD_NAME).read_bytes())
        page = (directory / PAGE_NAME).read_bytes()
    except FileNotFoundError as error:
        raise PostUnreadable(f"{directory.name}: no {Path(error.filename).name}", hint=again) from None
    except OSError as error:
        raise PostUnreadable(f"{directory.name}: {error}", hint=again) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PostUnreadable(f"{directory.name}: {RECORD_NAME}: {where}: {first['msg']}", hint=again) from error
    if record.slug != directory.name:
        raise PostUnreadable(f"{directory.name}: its {RECORD_NAME} is of post {record.slug!r:.80}", hint=again)
    if hashlib.sha256(page).hexdigest() != record.sha256:
        raise PostUnreadable(f"{directory.name}: its {RECORD_NAME} describes another {PAGE_NAME}", hint=again)
    return record
