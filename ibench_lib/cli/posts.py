"""`ibench post`, `ibench posts`, `ibench site`: build pages from the lake, and list them."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from ibench_lib.base.extras import EXTRAS, require
from ibench_lib.base.wording import count
from ibench_lib.cli import known_names
from ibench_lib.cli.output import err, out, safe
from ibench_lib.errors import IbenchError, PostsFailed, UsageError
from ibench_lib.paths import workspace
from ibench_lib.publish.lean_imports import lean_imports
from ibench_lib.publish.posts import PostsObserver, PostToBuild, build_posts, jobs_here, started_builders


def post(
    what: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE | new EXPERIMENT",
            help="The post: a YAML file in papermill_params/. With `new`, only write the file of a post.",
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option(
            help="Instead of a file: an experiment. Its post's file is written if there is none.",
            autocompletion=known_names.experiments_with_a_file,
        ),
    ] = None,
    notebook: Annotated[
        str | None,
        typer.Option(
            help="With an experiment: a notebook; by default that of the workload.",
            autocompletion=known_names.notebooks,
        ),
    ] = None,
) -> None:
    """Build one post: execute its notebook on the lake and export an HTML file that works without a network.

    [bold]Example:[/] ibench post papermill_params/insert_benchmark/demo.yml
    [bold]Example:[/] ibench post --experiment demo
    [bold]Example:[/] ibench post new demo --notebook purge_lag
    """
    params, of, only_written = None, experiment, False
    match [str(word) for word in what or []]:
        case [] if experiment is not None:
            pass
        case ["new", of] if experiment is None:
            only_written = True
        case [name] if name != "new" and experiment is None and not (Path(name).suffix or Path(name).exists()):
            hint = f"for the post of an experiment: ibench post --experiment {name}"
            raise UsageError(f"{name}: a post is a .yml file", hint=hint)
        case [file] if file != "new" and experiment is None:
            params = Path(file)
            if notebook is not None:
                _refuse_notebook(file, notebook)
        case _:
            raise UsageError("give FILE, `new EXPERIMENT` or `--experiment NAME`", hint="ibench post --help")
    for module in EXTRAS["post"] if not only_written else ():
        require(module)
    place = workspace()
    if of is not None:
        with lean_imports():  # imported here, so that other commands do not wait for it
            from ibench_lib.publish.new_post import new_post
        params, made = new_post(of, place, notebook)
        if only_written and not made:
            raise UsageError(f"{params} already exists", hint=f"build it with: ibench post {params}")
        out.print(f"{'wrote' if made else 'uses'} {safe(str(params))}", highlight=False, soft_wrap=True)
        if only_written:
            out.print(f"next: ibench post {safe(str(params))}", highlight=False, soft_wrap=True)
            return
    assert params is not None
    # Its process checks the file: to import here as well what that takes would delay everything.
    with PostsProgress(_console(), quiet=True) as progress:
        (result,) = build_posts([PostToBuild(params, params.stem)], place, progress).values()
    if isinstance(result, IbenchError):
        raise result
    out.print(_line(result), soft_wrap=True)


def _refuse_notebook(file: str, notebook: str) -> None:
    """A post's file names its notebook itself. Raises UsageError, with the notebooks for one that does not exist."""
    known = workspace().notebook_names()
    if notebook not in known:
        raise UsageError(f"notebook {notebook!r:.80} does not exist", hint=f"notebooks: {', '.join(known)}")
    raise UsageError(
        f"{file} names its notebook itself; --notebook is for the post of an experiment",
        hint=f"change `notebook:` in the file, or: ibench post --experiment NAME --notebook {notebook}",
    )


def posts(
    params: Annotated[list[Path], typer.Argument(help="Posts: YAML files, or folders with YAML files.")],
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="How many at a time; by default up to 4, if there is a CPU and 3 GB of memory for each.",
        ),
    ] = None,
) -> None:
    """Build several posts at once. All files are checked first; a post that fails does not stop the others.

    A post is skipped if the lake has none of the runs that it shows.

    [bold]Example:[/] ibench posts papermill_params/
    """
    place, jobs = workspace(), jobs or jobs_here()
    at_first = min(jobs, len(params)) if all(path.is_file() for path in params) else jobs
    with started_builders(place, at_first) as ready:
        with lean_imports():
            from ibench_lib.publish.post_file import check_posts
            from ibench_lib.publish.skipped import without_run
        checked = check_posts(params, place)
        skipped = without_run(checked, place)
        for slug, why in skipped.items():
            err.print(f"[yellow]skipped {safe(slug)}:[/] {safe(why)}", highlight=False, soft_wrap=True)
        wanted = [PostToBuild(post.path, post.spec.slug) for post in checked if post.spec.slug not in skipped]
        if not wanted:
            raise PostsFailed("no post was built", hint="run the experiments that they show first, or name other posts")
        with PostsProgress(_console()) as progress:
            results = build_posts(wanted, place, progress, jobs, ready)
    failed = [result for result in results.values() if isinstance(result, IbenchError)]
    if failed:
        raise PostsFailed(
            f"{len(failed)} of {count(len(results), 'post')} failed",
            hint="each failed post is listed above with its notebook",
            detail="\n".join(f"{error.what}\n        {error.hint or ''}".rstrip() for error in failed),
        )


def site(
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            envvar="IBENCH_SITE_URL",
            help="The address at which data/posts will be published, such as https://example.org/bench/.",
        ),
    ] = None,
) -> None:
    """Write the list of posts, data/posts/index.html, and an Atom feed, data/posts/feed.xml.

    [bold]Example:[/] ibench site --url https://example.org/bench/
    """
    with lean_imports():
        from ibench_lib.publish.site import build_site
        from ibench_lib.workloads.workload import find, known
    built = build_site(workspace(), url, {name: find(name).title for name in known()})
    for problem in built.problems:
        err.print(f"[yellow]not listed:[/] {safe(problem)}", highlight=False, soft_wrap=True)
    if not built.posts:
        raise UsageError("there is no post to list yet", hint="`ibench posts papermill_params` builds some")
    out.print(f"site: {safe(str(built.index))} ({count(len(built.posts), 'post')})", highlight=False, soft_wrap=True)


def _console() -> Console:
    """The console for progress. Other output must use the same console, or it would break the live lines."""
    return out if out.is_terminal else err


def _line(page: Path) -> str:
    return f"post: {safe(str(page))}"


class PostsProgress(PostsObserver):
    """A live line per post in a terminal, elsewhere a plain line when a post begins and ends.

    With `quiet` there is only the live line; the command prints the rest.
    """

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console, self._quiet = console, quiet
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._begun_s: dict[str, float] = {}

    def __enter__(self) -> PostsProgress:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def post_begins(self, post: PostToBuild) -> None:
        self._begun_s[post.name] = time.monotonic()
        self._tasks[post.name] = self._progress.add_task(safe(post.name), total=None)
        if not self._quiet and not self._console.is_terminal:
            self._console.print(f"building {safe(post.name)} ({safe(str(post.path))})", soft_wrap=True)

    def post_progress(self, post: PostToBuild, cell: int, of: int) -> None:
        self._progress.update(self._tasks[post.name], completed=cell - 1, total=of)

    def post_ends(self, post: PostToBuild, result: Path | IbenchError) -> None:
        self._progress.remove_task(self._tasks.pop(post.name))
        if self._quiet:
            return
        took = time.monotonic() - self._begun_s[post.name]
        if isinstance(result, IbenchError):
            self._console.print(f"[red]failed:[/] {safe(result.what)}", highlight=False, soft_wrap=True)
        else:
            out.print(f"{_line(result)} ({took:.1f} s)", highlight=False, soft_wrap=True)
