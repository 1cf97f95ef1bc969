"""One post: a YAML file and a notebook in, one HTML page that needs no network out.

papermill runs the notebook in a kernel of this Python, with nothing of the user's Jupyter or IPython set-up. The page
replaces an older one only when all of it is there.
"""

from __future__ import annotations

import ast
import html
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import nbformat
import papermill  # type: ignore[import-untyped]
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode
from papermill.exceptions import PapermillException, PapermillExecutionError  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field

from ibench_lib import page, strict_yaml
from ibench_lib.errors import ParameterError, PostFailed
from ibench_lib.lake.manifest import write_atomically
from ibench_lib.paths import NAME_RULE, Workspace, check_name
from ibench_lib.privacy import Mask, mask_of_machine

MOST_BYTES = 10 * 1000 * 1000
"""A page above this size is refused: phones give up on it."""

# Not those of charts: their numbers are base64, in which anything may look like a path.
_TEXTS: dict[str, Callable[[str], str]] = {"text/plain": str, "text/html": html.escape}

Name = Annotated[str, Field(pattern=f"^{NAME_RULE}$")]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class PostFile(BaseModel):
    """A post's YAML. `notes` are texts by section of the notebook; `parameters` those of its first cell."""

    model_config = ConfigDict(extra="forbid", strict=True)

    notebook: Name
    slug: Name
    title: Annotated[str, Field(min_length=1, max_length=300)]
    author: Annotated[str, Field(min_length=1, max_length=300)]
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None
    tldr: Text | list[Text] = Field(default_factory=list)
    notes: dict[str, Text | list[Text]] = Field(default_factory=dict)
    parameters: dict[str, Any]


def build_post(params_file: Path, workspace: Workspace) -> Path:
    """Build the post that `params_file` describes, from the workspace's notebook and lake.

    Returns
    -------
    data/posts/<slug>/index.html; beside it post.ipynb, the notebook as it ran.

    Raises
    ------
    ParameterError : the file cannot be used, or does not name exactly its notebook's parameters. Nothing was run.
    PostFailed : a cell raised or the page could not be made. The previous post stands; the notebook as far as it ran is
        data/posts/<slug>.failed.ipynb.
    """
    spec, _ = strict_yaml.load(params_file, PostFile, ParameterError)
    slug, day = check_name(spec.slug, "post slug"), _day(spec, params_file)
    source = workspace.notebooks / f"{check_name(spec.notebook, 'notebook')}.ipynb"
    notebook = _read_notebook(source, params_file)
    _check_parameters(spec, notebook, params_file, source)
    _check_notes(spec, notebook, params_file, source)
    workspace.posts.mkdir(parents=True, exist_ok=True)
    failed = workspace.posts / f"{slug}.failed.ipynb"
    building = Path(tempfile.mkdtemp(prefix=f".{slug}.", dir=workspace.posts))
    try:
        executed = building / "post.ipynb"
        try:
            with tempfile.TemporaryDirectory(prefix="ibench-") as private:
                _execute(source, executed, spec.parameters, workspace, Path(private))
            _forget_paths(executed, mask_of_machine(workspace))
            text = page.PageText(spec.title, spec.author, day, spec.tldr, spec.notes)
            content = page.render(_read(executed), text).encode()
            if len(content) > MOST_BYTES:
                size = len(content) / 1e6
                raise PostFailed(
                    f"post {slug}: the page would have {size:.1f} MB, over {MOST_BYTES / 1e6:.0f}",
                    hint=f"lower `points` or name fewer `steps` in {params_file}",
                )
        except Exception as error:
            if executed.exists():
                os.replace(executed, failed)
            raise _named(error, slug, failed) from error
        directory = workspace.post_dir(slug)
        directory.mkdir(exist_ok=True)
        os.replace(executed, directory / "post.ipynb")
        write_atomically(directory / "index.html", content)
        failed.unlink(missing_ok=True)
        return directory / "index.html"
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _day(spec: PostFile, params_file: Path) -> date:
    if spec.date is None:
        return date.today()
    try:
        return date.fromisoformat(spec.date)
    except ValueError as error:
        raise ParameterError(f"{params_file}: date: {error}") from None


def notebook_parameters(notebook: NotebookNode, name: str) -> dict[str, Any]:
    """Names and default values of a notebook's one cell tagged `parameters`. No code is run.

    Raises
    ------
    ParameterError : no such cell, several, or something in it that is not a literal.
    """
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        raise ParameterError(f"{name}: {len(cells)} cells are tagged `parameters`, there must be one")
    defaults: dict[str, Any] = {}
    try:
        for statement in ast.parse(cells[0].source).body:
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                raise ValueError("only `name = literal` may stand there")
            target = statement.targets[0]
            if not isinstance(target, ast.Name):
                raise ValueError("only `name = literal` may stand there")
            defaults[target.id] = ast.literal_eval(statement.value)
    except (SyntaxError, ValueError) as error:
        raise ParameterError(f"{name}: the cell tagged `parameters`: {error}") from error
    return defaults


def _read_notebook(source: Path, params_file: Path) -> NotebookNode:
    if not source.is_file():
        known = sorted(path.stem for path in source.parent.glob("*.ipynb"))
        near = strict_yaml.suggestion(source.stem, known)
        raise ParameterError(f"{params_file}: notebook {source.stem!r} does not exist in {source.parent.name}/{near}")
    try:
        return _read(source)
    except Exception as error:
        raise ParameterError(f"{source.name} is not a notebook: {str(error).splitlines()[0]}") from error


def _read(path: Path) -> NotebookNode:
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def _check_parameters(spec: PostFile, notebook: NotebookNode, params_file: Path, source: Path) -> None:
    defaults = notebook_parameters(notebook, source.name)
    problems = [
        f"{params_file}: parameters: {name!r:.80} is no parameter of {source.name}"
        + strict_yaml.suggestion(name, list(defaults))
        for name in spec.parameters
        if name not in defaults
    ]
    problems += [
        f"{params_file}: parameters: {name!r} of {source.name} is missing"
        for name in defaults
        if name not in spec.parameters
    ]
    for name, value in spec.parameters.items():
        if name in defaults and type(value) is not type(defaults[name]):
            expected = type(defaults[name]).__name__
            problems.append(f"{params_file}: parameters: {name} should be a {expected}, not {value!r:.80}")
    _raise_all(problems, params_file)


def _check_notes(spec: PostFile, notebook: NotebookNode, params_file: Path, source: Path) -> None:
    known = [cell.id for cell in notebook.cells if page.is_section(cell)]
    problems = [
        f"{params_file}: notes: {name!r:.80} is no section of {source.name}{strict_yaml.suggestion(name, known)}"
        for name in spec.notes
        if name not in known
    ]
    _raise_all(problems, params_file)


def _raise_all(problems: list[str], params_file: Path) -> None:
    if len(problems) == 1:
        raise ParameterError(problems[0])
    if problems:
        raise ParameterError(f"{params_file}: {len(problems)} problems", detail="\n".join(problems))


def _kernel_of(environment: dict[str, str], connection_file: Path) -> type[AsyncKernelManager]:
    """A kernel of the running Python, whatever kernels this user has registered under the name python3."""

    class ThisPython(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            return KernelSpec(
                argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                display_name="Python 3",
                language="python",
            )

        async def start_kernel(self, **options: Any) -> None:  # type: ignore[override]
            # Sockets in a private directory: whoever can reach a kernel's TCP port can read what it says.
            self.transport, self.ip = "ipc", str(connection_file.with_suffix(""))
            self.connection_file = str(connection_file)
            await super().start_kernel(**{**options, "env": environment})

    return ThisPython


def _execute(source: Path, target: Path, parameters: dict[str, Any], workspace: Workspace, private: Path) -> None:
    """Run a notebook with parameters; `private` takes what Jupyter and IPython would put into the user's home."""
    library = str(Path(__file__).resolve().parent.parent)
    environment = {
        **os.environ,
        "IBENCH_HOME": str(workspace.root),
        "IPYTHONDIR": str(private / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(private),
        "PYTHONPATH": os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")])),
        # A colour code in a traceback is noise in the one line that we show.
        "NO_COLOR": "1",
    }
    papermill.execute_notebook(
        str(source),
        str(target),
        parameters=parameters,
        kernel_name="python3",
        language="python",
        progress_bar=False,
        log_output=False,
        cwd=str(private),
        start_timeout=60,
        execution_timeout=600,
        kernel_manager_class=_kernel_of(environment, private / "kernel.json"),
    )


def _forget_paths(executed: Path, mask: Mask) -> None:
    """Leave no path of this machine in what is published: the notebook, and the page that is made of it.

    Runs have none. What could name one is what was said while this notebook ran: of a file that cannot be read, say.
    """
    notebook = _read(executed)
    record = notebook.metadata.get("papermill", {})
    for key in ("input_path", "output_path"):
        if key in record:
            record[key] = Path(record[key]).name
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        if "text" in output:
            output["text"] = mask.paths(output["text"])
        for kind in _TEXTS.keys() & output.get("data", {}).keys():
            output["data"][kind] = mask.paths(output["data"][kind], _TEXTS[kind])
    nbformat.write(notebook, executed)  # type: ignore[no-untyped-call]


def _named(error: Exception, slug: str, failed: Path) -> PostFailed:
    """Any failure as one line that names the post and, where there is one, the cell."""
    if isinstance(error, PostFailed):
        return error
    hint = (
        f"the previous post is kept; {failed.name} beside it shows how far the notebook got"
        if failed.exists()
        else None
    )
    if isinstance(error, PapermillExecutionError):
        said = f"{error.ename}: {error.evalue}".splitlines()[0]
        return PostFailed(f"post {slug}: cell {error.exec_count} raised {said}", hint=hint, detail=error.source)
    first = (str(error).strip() or "no message").splitlines()[0]
    what = "the notebook" if isinstance(error, PapermillException) else "making the page"
    return PostFailed(f"post {slug}: {what} failed: {type(error).__name__}: {first}", hint=hint)
