"""One post: a YAML file and a notebook in, one HTML page that needs no network out.

The page replaces an older one only when all of it is there.
"""

from __future__ import annotations

import hashlib
import html
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nbformat import NotebookNode

from ibench_lib.base.durable import write_atomically
from ibench_lib.base.later import later
from ibench_lib.base.mask import Mask, mask_of_machine
from ibench_lib.errors import PostFailed, PostUnreadable
from ibench_lib.paths import Workspace
from ibench_lib.publish.execution import NotebookStopped, Progress, note_failure, run_notebook
from ibench_lib.publish.expected import expect_questions, remember_questions
from ibench_lib.publish.kernel import Kernel, started_kernel
from ibench_lib.publish.notebook import shown, write_notebook
from ibench_lib.publish.post_file import CheckedPost, check_post
from ibench_lib.publish.record import (
    NOTEBOOK_NAME,
    PAGE_NAME,
    PREVIEW_NAME,
    RECORD_NAME,
    PostRecord,
    read_record,
    write_record,
)
from ibench_lib.publish.site import SITE_URL, site_address
from ibench_lib.show.kit.pieces import Html, Piece, Sentence, html_of

if TYPE_CHECKING:
    from ibench_lib.publish import charts, page, plotly_js, preview
    from ibench_lib.publish.charts import ChartBlocks
else:
    # They take as long to import as what runs the notebook, which begins before they are needed.
    charts, page, plotly_js, preview = (
        later(f"ibench_lib.publish.{name}") for name in ("charts", "page", "plotly_js", "preview")
    )


def build_post(
    params_file: Path,
    workspace: Workspace,
    progress: Progress | None = None,
    kernel: Kernel | None = None,
    *,
    of_runs: bool = False,
) -> Path:
    """Build the post that `params_file` describes, from the workspace's notebook and lake.

    `kernel` is one that was started before and has run nothing; else this starts its own. `of_runs`: it is a
    failure if the lake has none of the runs that the post asks for.

    Returns
    -------
    data/posts/<slug>/index.html; next to it post.ipynb, the executed notebook, post.json (`PostRecord`), and for a post
    that begins with strips preview.png. Previews of links find it if IBENCH_SITE_URL says where the site will be.

    Raises
    ------
    UsageError : IBENCH_SITE_URL is not the address of a site.
    ParameterError : the file cannot be used, or names parameters that its notebook does not have. Nothing was run.
    PostFailed : a cell raised or the page could not be made. The previous post stands; the notebook as far as it ran is
        data/posts/<slug>.failed.ipynb, and its first cell says and links to what went wrong.
    """
    post, site = check_post(params_file, workspace), site_address(os.environ.get(SITE_URL))
    if kernel is not None:
        with _named_disk(post, workspace):
            return _build(post, site, workspace, kernel, progress, of_runs=of_runs)
    with started_kernel(workspace.root) as own, _named_disk(post, workspace):
        return _build(post, site, workspace, own, progress, of_runs=of_runs)


_DISK = "make room on that disk if it is full, and check that you may write there"


@contextmanager
def _named_disk(post: CheckedPost, workspace: Workspace) -> Iterator[None]:
    """What a disk refuses, as the failure of this post."""
    try:
        yield
    except OSError as error:
        where = workspace.posts if error.filename is None else os.fsdecode(error.filename)
        what = f"post {post.spec.slug}: {where}: {error.strerror or type(error).__name__}"
        raise PostFailed(what, hint=_DISK) from error


def _build(
    post: CheckedPost,
    site: str | None,
    workspace: Workspace,
    kernel: Kernel,
    progress: Progress | None,
    *,
    of_runs: bool,
) -> Path:
    slug = post.spec.slug
    directory, failed = workspace.post_dir(slug), workspace.failed_notebook(slug)
    earlier = _earlier(directory)
    day = post.day or (earlier.date if earlier else date.today())
    workspace.posts.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{slug}.", dir=workspace.posts))
    executed = building / NOTEBOOK_NAME
    meanwhile = _Meanwhile()
    try:
        try:
            expect_questions(kernel, workspace, post)
            notebook = run_notebook(post.source, executed, post.spec.parameters, kernel, progress, meanwhile.cell_ran)
            remember_questions(notebook, workspace, post)
            if of_runs and not shown(notebook, "runs"):
                _refuse_without_run(post, workspace)
            _forget_paths(notebook, mask_of_machine(workspace))
            write_notebook(notebook, executed)
            picture = preview.preview(notebook)
            if picture is not None:
                write_atomically(building / PREVIEW_NAME, picture)
            picture_name = PREVIEW_NAME if picture is not None else ""
            content = _render(post, notebook, day, site, picture_name, meanwhile.charts_made())
            write_atomically(building / PAGE_NAME, content)
            write_record(building, _record(post, notebook, day, content, earlier))
        except Exception as error:
            where = str(failed.relative_to(workspace.root)) if executed.exists() else None
            previous = (directory / PAGE_NAME).exists()
            named = _named(error, slug, where, previous=previous)
            if where is not None:
                try:
                    if not isinstance(error, NotebookStopped):
                        note_failure(executed, named.what)
                    os.replace(executed, failed)
                except Exception:  # on a full disk there is half of a notebook, and nothing can be added to it
                    named = _named(error, slug, None, previous=previous)
            raise named from error
        directory.mkdir(exist_ok=True)
        for name in (NOTEBOOK_NAME, PREVIEW_NAME, PAGE_NAME, RECORD_NAME):
            if (building / name).exists():
                os.replace(building / name, directory / name)
            else:
                (directory / name).unlink(missing_ok=True)
        failed.unlink(missing_ok=True)
        return directory / PAGE_NAME
    finally:
        meanwhile.stop()
        shutil.rmtree(building, ignore_errors=True)


class _Meanwhile:
    """What is done for a page while its kernel works: imports, what most pages have, charts of cells that have run."""

    def __init__(self) -> None:
        self._cells = SimpleQueue[NotebookNode | None]()
        self._made: ChartBlocks | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def cell_ran(self, cell: NotebookNode) -> None:
        """Make its charts soon."""
        self._cells.put(cell)

    def charts_made(self) -> ChartBlocks:
        """The charts of all cells that have run, but for those that cannot be made."""
        self.stop()
        self._thread.join()
        return self._made or charts.ChartBlocks()

    def stop(self) -> None:
        """End when the charts are made that were asked for."""
        self._cells.put(None)

    def _work(self) -> None:
        # Before a cell has run, the kernel imports what it uses: side by side, both take longer.
        cell = self._cells.get()
        if cell is None:
            return
        with suppress(Exception):  # whoever uses it next says what is wrong
            page.render, preview.preview  # noqa: B018
            plotly_js.library(frozenset())
            self._made = charts.ChartBlocks()
            while cell is not None:
                self._made.ahead(cell)
                cell = self._cells.get()


def _earlier(directory: Path) -> PostRecord | None:
    try:
        return read_record(directory)
    except PostUnreadable:
        return None


def _render(
    post: CheckedPost, notebook: NotebookNode, day: date, site: str | None, picture: str, made: ChartBlocks
) -> bytes:
    spec = post.spec
    address = f"{site}{quote(spec.slug)}/" if site else ""
    text = page.PageText(
        spec.title, spec.author, day, spec.tldr, spec.notes,
        description=preview.description(notebook),
        image=f"{address}{picture}" if picture else "",
        address=f"{address}{PAGE_NAME}" if address else "",
    )  # fmt: skip
    content = page.render(notebook, text, charts=made)
    if len(content) > page.MOST_BYTES:
        raise PostFailed(
            f"post {spec.slug}: the page would have {len(content) / 1e6:.1f} MB, over {page.MOST_BYTES / 1e6:.0f}",
            hint=f"lower `points` or name fewer `steps` in {post.path}",
        )
    return content


def _record(
    post: CheckedPost, notebook: NotebookNode, day: date, content: bytes, earlier: PostRecord | None
) -> PostRecord:
    spec, runs = post.spec, shown(notebook, "runs")
    sha256 = hashlib.sha256(content).hexdigest()
    unchanged = earlier is not None and earlier.sha256 == sha256
    return PostRecord(
        slug=spec.slug,
        title=spec.title,
        author=spec.author,
        date=day,
        updated=earlier.updated if earlier is not None and unchanged else datetime.now(UTC).replace(microsecond=0),
        tldr=spec.tldr,
        notebook=spec.notebook,
        workloads=_each(runs, "workload"),
        experiments=_each(runs, "experiment"),
        builds=_each(runs, "build"),
        servers=_each(runs, "server"),
        runs=_each(runs, "run_id"),
        runs_not_complete=sum(run.get("status") != "complete" for run in runs),
        bytes=len(content),
        sha256=sha256,
    )


def _refuse_without_run(post: CheckedPost, workspace: Workspace) -> None:
    """Raises PostFailed if the lake has none of the runs that the post asks for."""
    from ibench_lib.publish.skipped import without_run  # opens the lake, which only the kernel needs otherwise

    why = without_run([post], workspace).get(post.spec.slug)
    if why is not None:
        raise PostFailed(f"post {post.spec.slug}: {why}", hint="`ibench runs` lists the runs of the lake")


def _each(runs: list[dict[str, Any]], name: str) -> list[str]:
    return list(dict.fromkeys(str(run[name]) for run in runs if run.get(name)))


def _forget_paths(notebook: NotebookNode, mask: Mask) -> None:
    """Leave no path of this machine in what is published: the notebook, and the page that is made of it.

    Runs have none. What could name one is what was said while this notebook ran: of a file that cannot be read, say.
    """
    record = notebook.metadata.get("papermill", {})
    for key in ("input_path", "output_path"):
        if record.get(key):
            record[key] = Path(record[key]).name
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        if "text" in output:
            output["text"] = mask.paths(output["text"])
        # Not those of charts: their numbers are base64, in which anything may look like a path; so are embedded files.
        data = output.get("data", {})
        if "text/plain" in data:
            data["text/plain"] = mask.paths(data["text/plain"])
        if "text/html" in data:
            data |= _without_paths(html_of(data), mask).bundle


def _without_paths(shown: Html, mask: Mask) -> Html:
    pieces = list[Piece]()
    for piece in shown.pieces:
        if isinstance(piece, str):
            pieces.append(mask.paths(piece, html.escape))
        elif isinstance(piece, Sentence):
            pieces.append(replace(piece, text=mask.paths(piece.text)))
        else:
            pieces.append(piece)
    return Html(*pieces, headline=shown.headline)


def _named(error: Exception, slug: str, failed: str | None, *, previous: bool) -> PostFailed:
    """Any failure as one line that names the post and, where there is one, the cell."""
    hints = [error.hint] if isinstance(error, PostFailed) else []
    if isinstance(error, OSError):
        hints.append(_DISK)
    hints.append(f"{failed} shows how far it got, with the error at the top" if failed else None)
    hints.append("the previous post is kept" if previous else None)
    hint = "; ".join(filter(None, hints)) or None
    if isinstance(error, NotebookStopped):
        return PostFailed(f"post {slug}: {error.what}", hint=hint, detail=error.source)
    if isinstance(error, PostFailed):
        return PostFailed(error.what, hint=hint, detail=error.detail)
    first = (str(error).strip() or "no message").splitlines()[0]
    return PostFailed(f"post {slug}: making the page failed: {type(error).__name__}: {first}", hint=hint)
