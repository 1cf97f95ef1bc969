"""Folders and archives of others: the same files give the same runs, and what could harm is refused in one line."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers import source
from ibench_lib.importers.intake import import_file
from ibench_lib.importers.source import Limits, Source
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from tests.cli.test_main import ibench, refused

pytestmark = pytest.mark.lake

FILES = {
    "b/load.csv": b"setup,dbms,step,ips\nc,a.x,l.i1,100\nc,b.x,l.i1,200\n",
    "a.csv": b"setup,dbms,step,notpm\nt,a.x,run,9439.316\n",
    "README": b"what this is\n",
}
Entry = tuple[str, bytes]


def folder(path: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def tar(path: Path, files: Mapping[str, bytes], mode: str = "w:gz", **facts: Any) -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            for fact, value in facts.items():
                setattr(entry, fact, value)
            archive.addfile(entry, io.BytesIO(content))
    return path


def zipped(path: Path, files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED, mode: int = 0o100644) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = mode << 16, method
            archive.writestr(entry, content)
    return path


def refusal(path: Path, limits: Limits | None = None) -> str:
    """What is said of a source that is refused: one line that begins with its path."""
    with pytest.raises(UsageError) as caught:
        Source(path, limits).__exit__(None, None, None)
    said = caught.value.what
    assert said.startswith(str(path)) and "\n" not in said and said.isprintable() and len(said) < 400
    return said.removeprefix(f"{path} ")


MAKE: dict[str, Callable[[Path], Path]] = {
    "folder": lambda at: folder(at / "all", FILES),
    "tar": lambda at: tar(at / "all", FILES, "w"),
    "tar.gz": lambda at: tar(at / "all", FILES),
    "tar.gz of ./": lambda at: tar(at / "all", {f"./{name}": content for name, content in FILES.items()}),
    "tar.gz of GNU tar": lambda at: packed_by_tar(at),
    "zip": lambda at: zipped(at / "all", FILES),
    "zip, stored": lambda at: zipped(at / "all", FILES, zipfile.ZIP_STORED),
}


def packed_by_tar(at: Path) -> Path:
    folder(at / "packed", FILES)
    subprocess.run(["tar", "-C", at / "packed", "-czf", at / "all", "."], check=True)
    return at / "all"


@pytest.mark.parametrize("kind", MAKE)
def test_a_folder_and_its_archives_give_the_same_runs(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    taken = import_file(MAKE[kind](tmp_path), "others", "a report", workspace)
    assert taken.warnings == ["1 file was not read: README"]
    rows = reader.sql(
        reader.lake(workspace),
        "SELECT benchmark, setup, dbms, step, metric, value FROM published JOIN runs USING (run_id) ORDER BY ALL",
    )
    assert rows.rows() == [
        ("insert_benchmark", "c", "a.x", "l.i1", "ips", 100.0),
        ("insert_benchmark", "c", "b.x", "l.i1", "ips", 200.0),
        ("tpcc", "t", "a.x", "run", "notpm", 9439.316),
    ]
    hashes = "".join(f"{hashlib.sha256(FILES[name]).hexdigest()}  {name}\n" for name in sorted(FILES))
    for run_dir in workspace.runs.iterdir():
        manifest = read_manifest(run_dir)
        assert (manifest.experiment.text, manifest.warnings) == (hashes, taken.warnings)
    (tmp_path / "elsewhere").mkdir()
    again = import_file(MAKE["folder"](tmp_path / "elsewhere"), "others", "a report", workspace)
    assert (again.run_ids, again.already) == ([], sorted(taken.run_ids))


def test_a_packed_file_is_as_the_file(workspace: Workspace, tmp_path: Path) -> None:
    text = FILES["a.csv"].decode()
    for name, content in (("plain", FILES["a.csv"]), ("packed", gzip.compress(FILES["a.csv"]))):
        (tmp_path / name).write_bytes(content)
        import_file(tmp_path / name, name, "a report", workspace)
    manifests = [read_manifest(run_dir) for run_dir in workspace.runs.iterdir()]
    assert [manifest.experiment.text for manifest in manifests] == [text, text]
    assert len({manifest.cell.fingerprint for manifest in manifests}) == 1


def test_nothing_is_written_to_disk_by_reading(tmp_path: Path) -> None:
    path = tar(tmp_path / "all", FILES)
    before = sorted(tmp_path.rglob("*"))
    with Source(path) as files:
        assert [files.lines(file).text.encode() for file in reversed(files.files)] == [
            FILES[name] for name in sorted(FILES, reverse=True)
        ]
    assert sorted(tmp_path.rglob("*")) == before == [path]


def test_errors_and_warnings_name_the_file(workspace: Workspace, tmp_path: Path) -> None:
    path = tar(tmp_path / "all.tgz", {"a/x.csv": b"setup,dbms,step,ips\nc,a.x,l.i1,many\n"})
    with pytest.raises(UsageError, match=r"all\.tgz/a/x\.csv:2: ips is 'many'"):
        import_file(path, "others", "a report", workspace)
    twice = folder(tmp_path / "twice", {"a.csv": FILES["b/load.csv"], "b.csv": FILES["b/load.csv"]})
    with pytest.raises(UsageError, match=r"twice/b\.csv:2: c, a\.x, repeat 1 occurs twice"):
        import_file(twice, "others", "a report", workspace)
    with pytest.raises(UsageError, match="none has no file that ibench can import"):
        import_file(folder(tmp_path / "none", {"README": b"nothing\n"}), "others", "a report", workspace)
    assert not workspace.runs.exists()


def test_the_command_takes_an_archive(workspace: Workspace, tmp_path: Path) -> None:
    done = ibench(workspace, "runs", "import", str(zipped(tmp_path / "a.zip", FILES)), "-e", "others", "-s", "a report")
    assert "3 published runs of others" in done.stdout and "1 file was not read: README" in done.stderr
    bad = str(zipped(tmp_path / "b.zip", {"../x.csv": FILES["a.csv"]}))
    refused(
        ibench(workspace, "runs", "import", bad, "-e", "more", "-s", "a report"), "'../x.csv', which leads out of it"
    )


# What is refused.


@pytest.mark.parametrize("make", [tar, zipped])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../a", "has the name '../a', which leads out of it"),
        ("a/../../b", "has the name 'a/../../b', which leads out of it"),
        ("/etc/a", "has the name '/etc/a', which leads out of it"),
        ("..\\a", "has the name '..\\\\a', which leads out of it"),
        ("a\nb", "has the name 'a\\nb', which cannot be used"),
        ("a\x1b[31m", "has the name 'a\\x1b[31m', which cannot be used"),
        ("a//b", "has the name 'a//b', which cannot be used"),
        ("d/" * 150 + "a", "which cannot be used"),
    ],
)
def test_a_name_that_leads_out_is_refused(
    tmp_path: Path, make: Callable[[Path, Mapping[str, bytes]], Path], name: str, said: str
) -> None:
    assert refusal(make(tmp_path / "all", {name: b"x"})).endswith(said)


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    link = "has a link, 'a', which is not followed"
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
        assert refusal(tar(tmp_path / "all", {"a": b""}, type=kind, linkname="/etc/passwd")) == link
    assert refusal(zipped(tmp_path / "zip", {"a": b"/etc/passwd"}, mode=stat.S_IFLNK | 0o777)) == link
    plain = "has 'a', which is not a plain file"
    for kind in (tarfile.CHRTYPE, tarfile.FIFOTYPE):
        assert refusal(tar(tmp_path / "all", {"a": b""}, type=kind)) == plain
    assert refusal(zipped(tmp_path / "zip", {"a": b""}, mode=stat.S_IFIFO | 0o644)) == plain
    inner = folder(tmp_path / "folder", {"x": b""})
    (inner / "a").symlink_to("/etc/passwd")
    assert refusal(inner) == link
    (inner / "a").unlink()
    (inner / "a").symlink_to("/etc")
    assert refusal(inner) == link
    (inner / "a").unlink()
    os.mkfifo(inner / "a")
    assert refusal(inner) == plain


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    files = {f"{number}.csv": b"" for number in range(21)}
    for path in (
        folder(tmp_path / "folder", files),
        tar(tmp_path / "tar", files),
        zipped(tmp_path / "zip", files),
        tar(tmp_path / "folders", files, type=tarfile.DIRTYPE),
    ):
        assert refusal(path, Limits(files=20)) == "has over 20 files"
    with Source(tmp_path / "tar", Limits(files=21)) as there:
        assert len(there.files) == 21


def test_too_many_bytes_are_refused(tmp_path: Path) -> None:
    files = {"a": os.urandom(60_000), "b": os.urandom(60_000)}
    for path in (folder(tmp_path / "f", files), tar(tmp_path / "t", files), zipped(tmp_path / "z", files)):
        assert refusal(path, Limits(bytes=100_000)) == "has over 0.1 MB of files"
        with Source(path, Limits(bytes=200_000)) as there:
            assert [file.size for file in there.files] == [60_000, 60_000]
    single = tmp_path / "single"
    single.write_bytes(gzip.compress(files["a"]))
    assert refusal(single, Limits(bytes=50_000)) == "has over 0.05 MB of files"


ZEROS = bytes(30_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gz", "tar.gz", "zip", "skipped", "zip of many"])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 MB of zeros in 30 kB; the ratio that is allowed ends it at 10 MB."""
    path = tmp_path / "bomb"
    if kind == "gz":
        path.write_bytes(gzip.compress(ZEROS))
    elif kind == "tar.gz":
        tar(path, {"a": ZEROS})
    elif kind == "zip":
        zipped(path, {"a": ZEROS})
    elif kind == "skipped":
        tar(path, {"a": ZEROS}, type=tarfile.DIRTYPE)
    else:
        zipped(path, {f"{number}": ZEROS[:1_000_000] for number in range(30)})
    counted: list[int] = []
    check = source._check_bytes

    def counting(unpacked: int, packed: int | None, limits: Limits) -> None:
        counted.append(unpacked)
        check(unpacked, packed, limits)

    monkeypatch.setattr(source, "_check_bytes", counting)
    assert refusal(path) == "is packed more than 200 times as small as its files are"
    assert 10_000_000 < max(counted) < 10_200_000


def test_records_of_an_archive_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "all"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("a")
        entry.pax_headers = {"comment": "x" * 5_000_000}
        archive.addfile(entry)
    assert refusal(path) == "has over 16,384 bytes of records before a file"
    long_name = tarfile.TarInfo("././@LongLink")
    long_name.type = tarfile.GNUTYPE_LONGNAME
    names = 5000 * long_name.tobuf(tarfile.GNU_FORMAT)
    path.write_bytes(names + bytes(1024))
    assert refusal(path) == "has over 16,384 bytes of records before a file"
    zipped(path, {f"{number:050}": b"" for number in range(100)})
    assert refusal(path, Limits(index_bytes=5_000)) == "has an index of over 0 MB"


def test_many_files_with_long_records_are_taken(tmp_path: Path) -> None:
    files = {f"{'long-name-' * 20}{number}": b"x" for number in range(100)}
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        path = tmp_path / "all"
        with tarfile.open(path, "w:gz", format=form) as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime = len(content), 1.5
                archive.addfile(entry, io.BytesIO(content))
        with Source(path) as there:
            assert {file.name for file in there.files} == set(files)


def test_what_is_damaged_is_refused_and_not_read_in_part(tmp_path: Path) -> None:
    path = tmp_path / "all"
    whole = gzip.decompress(tar(path, FILES).read_bytes())
    for content in (
        gzip.compress(whole)[:-20],
        gzip.compress(whole[:1024]),  # ends between two files
        gzip.compress(whole[:1500]),
        gzip.compress(whole[:1024] + b"\xff" * 512 + whole[1024:]),  # a record that is none
        whole[:1024],
        zipped(tmp_path / "zip", FILES).read_bytes()[:-10],
        b"PK\3\4" + bytes(100),
        b"\x1f\x8b" + bytes(100),
    ):
        path.write_bytes(content)
        assert refusal(path).startswith("cannot be read: it is damaged (")
    path.write_bytes(whole + whole)
    assert refusal(path) == "has more after its end"


def test_content_that_does_not_fit_its_checksum_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "zip", FILES, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"9439.316", b"9439.317"))
    assert refusal(path).startswith("cannot be read: it is damaged (Bad CRC-32")
    path.write_bytes(gzip.compress(FILES["a.csv"])[:-8] + bytes(8))
    assert refusal(path).startswith("cannot be read: it is damaged (CRC check failed")


def test_names_occur_once_and_methods_are_known(tmp_path: Path) -> None:
    path = tmp_path / "all"
    with tarfile.open(path, "w") as archive:
        for name in ("a", "./a"):
            archive.addfile(tarfile.TarInfo(name))
    assert refusal(path) == "has 'a' twice"
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        said = refusal(zipped(path, {"a": b"x"}, method))
        assert said == "has 'a', compressed by a method other than deflate"
    content = bytearray(zipped(path, {"a": b"x"}).read_bytes())
    content[content.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(content)
    assert refusal(path) == "has 'a', which is encrypted"


def test_text_is_bounded_and_what_changes_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path / "f", {"a": b"x" * 60, "b": b"y" * 60})
    with Source(path, Limits(text_bytes=50)) as there, pytest.raises(UsageError, match="f/a cannot be read: over 0 MB"):
        there.lines(there.files[0])
    with Source(path, Limits(texts_bytes=100)) as there:
        there.lines(there.files[0])
        with pytest.raises(UsageError, match="f/b cannot be read: over 0 MB of text with the files before it"):
            there.lines(there.files[1])
    with Source(path) as there:
        (path / "a").write_bytes(b"z" * 60)
        with pytest.raises(UsageError, match="f/a cannot be read: it was changed while it was imported"):
            there.lines(there.files[0])
        (path / "b").unlink()
        (path / "b").symlink_to("/etc/passwd")
        with pytest.raises(UsageError, match="f/b cannot be read: 'b': a symbolic link"):
            there.lines(there.files[1])


def test_a_file_that_is_no_text_is_read_as_a_whole_and_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.DB"
    path.write_bytes(bytes(100))
    with Source(path) as there:
        assert there.whole(there.files[0]) == bytes(100)
        assert there.read()["a.DB"].lost.count == 0, "it counts as read"
        path.write_bytes(bytes(101))
        with pytest.raises(UsageError, match="it was changed while it was imported"):
            there.whole(there.files[0])
    with Source(path, Limits(whole_bytes=50)) as there, pytest.raises(UsageError, match="over 0 MB, too large"):
        there.whole(there.files[0])


def test_reading_again_and_again_is_bounded(tmp_path: Path) -> None:
    """A .tar file in the order of its names is read in one go; in another order, from the beginning each time."""
    files = {f"{number:03}": os.urandom(1000) for number in range(100)}
    limits = Limits(bytes=200_000)
    with Source(tar(tmp_path / "sorted", files), limits) as there:
        for file in there.files:
            assert b"".join(there._content(file)) == files[file.name]
    backwards = dict(reversed(files.items()))
    with (
        Source(tar(tmp_path / "reversed", backwards), limits) as there,
        pytest.raises(UsageError, match="too often"),
    ):
        for file in there.files:
            b"".join(there._content(file))


@pytest.mark.parametrize(
    ("content", "size", "text"),
    [
        (b"\xef\xbb\xbfa,b\n", 7, "a,b\n"),
        ("aé".encode()[:2], 3, "a"),
        ("aé".encode()[:2], 2, ""),
        ("é".encode() * 4 + b"\xc3", 10, "éééé"),
        (b"a\xffbcdef", 7, ""),
        (b"a\0b", 3, ""),
        (b"", 0, ""),
    ],
)
def test_the_beginning_of_a_file_is_text_or_nothing(content: bytes, size: int, text: str) -> None:
    assert source.File("f", size, "", content).beginning == text


@pytest.mark.slow
def test_memory_does_not_grow_with_a_file(tmp_path: Path) -> None:
    """200 MB of a file that no importer reads, in a process that may have 50 MB more than it has at first."""
    path = tmp_path / "all.zip"
    zipped(path, {"a": os.urandom(1_000_000) * 200}, zipfile.ZIP_STORED)
    program = (
        "import resource, sys; from pathlib import Path; from ibench_lib.importers.source import Source;"
        "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (now + 50_000_000,) * 2);"
        "print(Source(Path(sys.argv[1])).files[0].size)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout == "200000000\n"
