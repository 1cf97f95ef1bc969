"""What people say of a run: it changes nothing in the run, and travels with it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, tzinfo
from pathlib import Path

import pytest

from ibench_lib.ask.selection import choose
from ibench_lib.errors import LakeError, ParameterError
from ibench_lib.paths import Workspace
from ibench_lib.show.headline import headline
from ibench_lib.show.sections import excluded_runs as shown
from ibench_lib.store import annotations, reader
from ibench_lib.store.annotations import FILE, Annotation, annotate, excluded_runs, read_annotation
from ibench_lib.store.manifest import with_checksum
from ibench_lib.store.transfer import _stamp, new_archive, open_store, pull, push
from ibench_lib.store.verify import verify
from tests.command import ibench
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

OLDER, NEWER, OTHER = Run(), Run(minute=5, l_i1_s=20), Run("other", minute=9)


def names(lake_of: Workspace, **chosen: list[str]) -> list[str]:
    return choose(reader.lake(lake_of), "demo", **chosen).run_ids  # type: ignore[arg-type]


def test_an_annotation_is_beside_a_sealed_run_which_stays_as_it_is(workspace: Workspace) -> None:
    write_runs(workspace, OLDER)
    run_dir = workspace.run_dir(OLDER.run_id)
    before = {path.name: path.read_bytes() for path in run_dir.iterdir()}
    assert read_annotation(run_dir) is None
    annotate(run_dir, note="a backup ran")
    first = annotate(run_dir, tags=["a", "b"])
    assert (first.note, first.tags, first.excluded) == ("a backup ran", ["a", "b"], None)
    assert {path.name: path.read_bytes() for path in run_dir.iterdir() if path.name != FILE} == before
    assert verify(run_dir) == []
    rows = reader.lake(workspace).execute("FROM annotations").fetchall()
    assert rows == [(OLDER.run_id, "a backup ran", ["a", "b"], None)]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"excluded": 7}', b'{"tags": ["a b"]}', b"x" * 200_000])
def test_a_damaged_annotation_is_named_and_the_run_loads(workspace: Workspace, content: bytes) -> None:
    write_runs(workspace, OLDER)
    run_dir = workspace.run_dir(OLDER.run_id)
    (run_dir / FILE).write_bytes(content)
    lake = reader.lake(workspace)
    assert choose(lake, "demo").run_ids == [OLDER.run_id]
    ((file, problem),) = lake.execute("SELECT file, problem FROM problems").fetchall()
    assert file == FILE and FILE in problem
    assert len(verify(run_dir)) == 1 and excluded_runs(workspace.runs) == {}
    with pytest.raises(LakeError, match=FILE):
        annotate(run_dir, note="x")


def test_text_that_cannot_be_kept_is_refused(workspace: Workspace) -> None:
    write_runs(workspace, OLDER)
    run_dir = workspace.run_dir(OLDER.run_id)
    for changes in ({"tags": ["a b"]}, {"note": "x" * 3000}):
        with pytest.raises(LakeError):
            annotate(run_dir, **changes)  # type: ignore[arg-type]
    assert not (run_dir / FILE).exists()


def test_an_excluded_run_gives_its_place_to_an_older_one_until_it_is_included(workspace: Workspace) -> None:
    write_runs(workspace, OLDER, NEWER, OTHER)
    assert names(workspace) == [NEWER.run_id, OTHER.run_id]
    annotate(workspace.run_dir(NEWER.run_id), excluded="a backup ran")
    post = choose(reader.lake(workspace), "demo")
    assert post.run_ids == [OLDER.run_id, OTHER.run_id]
    assert dict(post.excluded) == {NEWER.run_id: "a backup ran"}
    (part,) = shown(post)
    assert "1 run excluded:" in part.markup and f"{NEWER.run_id}: a backup ran" in part.markup
    (screen,) = headline(post).items
    assert "1 run excluded: a backup ran" in str(getattr(screen, "markup", ""))
    assert names(workspace, runs=[NEWER.run_id]) == [OLDER.run_id, OTHER.run_id], "an id does not include it"
    assert choose(reader.lake(workspace), "demo", dbms=["system.other"]).excluded == {}
    annotate(workspace.run_dir(NEWER.run_id), excluded=None)
    post = choose(reader.lake(workspace), "demo")
    assert (post.run_ids, dict(post.excluded), shown(post)) == ([NEWER.run_id, OTHER.run_id], {}, ())


def test_a_post_excludes_runs_for_itself(workspace: Workspace) -> None:
    write_runs(workspace, OLDER, OTHER)
    post = choose(reader.lake(workspace), "demo", exclude=["*-other-*"])
    assert post.run_ids == [OLDER.run_id]
    assert dict(post.excluded) == {OTHER.run_id: "excluded by this post"}
    with pytest.raises(ParameterError, match="is not in the lake"):
        choose(reader.lake(workspace), "demo", exclude=["20991121T100000Z-nothing"])
    assert choose(reader.lake(workspace), "demo", exclude=["*"]).run_ids == []


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_annotations_travel_with_their_runs_and_the_later_one_counts(
    workspace: Workspace, tmp_path: Path, kind: str
) -> None:
    write_runs(workspace, OLDER, OTHER)
    mine = workspace.run_dir(OLDER.run_id)
    annotate(mine, excluded="first")
    address = str(tmp_path / ("there" if kind == "folder" else "there.zip"))
    if kind == "zip":
        with new_archive(Path(address)) as archive:
            assert push(mine, archive) and push(workspace.run_dir(OTHER.run_id), archive)
    else:
        store = open_store(address)
        assert push(mine, store) and push(workspace.run_dir(OTHER.run_id), store)
    read = reader.lake(address).execute("SELECT run_id, excluded FROM annotations").fetchall()
    assert read == [(OLDER.run_id, "first")]
    elsewhere = Workspace(tmp_path / "elsewhere")
    store = open_store(address)
    assert pull(OLDER.run_id, store, elsewhere)
    theirs = elsewhere.run_dir(OLDER.run_id)
    assert verify(theirs) == [] and read_annotation(theirs) == read_annotation(mine)
    annotate(theirs, excluded="second")
    assert not pull(OLDER.run_id, store, elsewhere)
    assert excluded_runs(elsewhere.runs) == {OLDER.run_id: "second"}, "what is said here is later"
    if kind == "folder":
        assert not push(theirs, store)
        assert not pull(OLDER.run_id, store, workspace)
        assert excluded_runs(workspace.runs) == {OLDER.run_id: "second"}


def test_notes_come_only_from_the_same_run_and_never_from_the_future(workspace: Workspace, tmp_path: Path) -> None:
    """What is replaced is printed, in one line and with the codes of control characters."""
    write_runs(workspace, OLDER)
    mine, there = workspace.run_dir(OLDER.run_id), tmp_path / "there"
    push(mine, open_store(str(there)))

    def pulled(*, fails: bool = False) -> str:
        done = ibench(workspace, "runs", "pull", str(there))
        assert done.returncode == fails, done.stderr
        return (done.stderr if fails else done.stdout).splitlines()[0]

    def theirs(changed: str, **said: str) -> None:
        notes = Annotation(changed=changed, **said).model_dump_json()  # type: ignore[arg-type]
        (there / OLDER.run_id / FILE).write_text(notes)

    annotate(mine, note="mine")
    theirs("2020-01-01T00:00:00", excluded="long ago")  # without a time zone
    assert pulled() == f"{OLDER.run_id}: already there"
    theirs("9999-01-01T00:00:00+00:00", excluded="for ever")
    assert "dated 9999-01-01T00:00:00+00:00, in the future, and were not taken" in pulled()
    assert excluded_runs(workspace.runs) == {}
    annotate(mine, note="mine")
    assert "in the future, and were not taken" in pulled(), "as now they would win again at each pull"
    assert excluded_runs(workspace.runs) == {}
    theirs(datetime.now(UTC).isoformat(), excluded="no\n\x1b[2J")
    assert pulled() == f"{OLDER.run_id}: its notes were replaced: note: mine -> excluded: no \\x1b[2J"
    theirs(datetime.now(UTC).isoformat(), note="of another run")
    content = json.loads((there / OLDER.run_id / "manifest.json").read_text()) | {"warnings": ["other"]}
    (there / OLDER.run_id / "manifest.json").write_bytes(with_checksum(content))
    assert f"has another run {OLDER.run_id} than this lake" in pulled(fails=True)
    assert excluded_runs(workspace.runs) == {OLDER.run_id: "no\n\x1b[2J"}


def test_a_date_in_the_future_counts_as_none_until_it_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a clock that is a minute fast only delays notes; of two such dates neither wins."""
    fast, faster = (Annotation(changed=f"2090-01-01T00:0{minute}:00+00:00") for minute in (1, 2))
    old = Annotation(changed="2020-01-01T00:00:00+00:00")
    assert fast.moment == faster.moment < old.moment

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Later:
            return cls(2090, 1, 1, 0, 1, 30, tzinfo=tz)

    monkeypatch.setattr(annotations, "datetime", Later)
    assert faster.moment < old.moment < fast.moment


def test_files_of_an_archive_are_told_apart_by_their_crc() -> None:
    """Their size and time may be the same, and a listing of an archive shows nothing else of their content."""
    before, after = ({FILE: {"size": 4, "CRC": crc}} for crc in (1, 2))
    assert _stamp(before) != _stamp(after)
