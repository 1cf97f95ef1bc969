"""A post's YAML: what it may say, and whether it fits its notebook. Nothing is run here, and no kernel is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ibench_lib.base import strict_yaml
from ibench_lib.base.wording import count, suggestion
from ibench_lib.errors import ParameterError, UsageError
from ibench_lib.paths import NAME_RULE, Workspace, check_slug
from ibench_lib.publish import notebook as notebooks
from ibench_lib.store.manifest import FILE_NAME, read_manifest

LONGEST_AUTHOR = 300

Name = Annotated[str, Field(pattern=f"^{NAME_RULE}$")]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class PostFile(BaseModel):
    """A post's YAML.

    `notes` are texts by section of the notebook; `parameters` some of those of its first cell. A page without `author`
    names none.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    notebook: Name
    slug: Name
    title: Annotated[str, Field(min_length=1, max_length=300)]
    author: Annotated[str, Field(max_length=LONGEST_AUTHOR)] = ""
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None
    tldr: Text | list[Text] = Field(default_factory=list)
    notes: dict[str, Text | list[Text]] = Field(default_factory=dict)
    parameters: dict[str, Any]


@dataclass(frozen=True)
class CheckedPost:
    """A post's file that fits its notebook. `day` is None where the file names no date.

    `asks` are the questions that the notebook says it asks: what is known before it is run.
    """

    path: Path
    spec: PostFile
    source: Path
    day: date | None
    asks: list[str]


def check_post(path: Path, workspace: Workspace) -> CheckedPost:
    """Read a post's YAML and hold it against its notebook.

    Raises
    ------
    ParameterError, NameRefused : it cannot be used, or names parameters that its notebook does not have.
    """
    spec, _ = strict_yaml.load(path, PostFile, ParameterError)
    check_slug(spec.slug)
    try:
        day = None if spec.date is None else date.fromisoformat(spec.date)
    except ValueError as error:
        raise ParameterError(f"{path}: date: {error}") from None
    source = workspace.notebook(spec.notebook)
    notebook = _read(source, path, workspace)
    spec.parameters.update(_named_runs(spec, workspace, path))
    defaults = notebooks.parameters(notebook, source.name)
    problems = _parameter_problems(spec, defaults, path, source)
    spec.parameters.update({name: value for name, value in defaults.items() if name not in spec.parameters})
    _raise_all(problems or _note_problems(spec, notebooks.sections(notebook), path, source), path)
    return CheckedPost(path, spec, source, day, notebooks.asks(notebook))


def check_posts(paths: Sequence[Path], workspace: Workspace) -> list[CheckedPost]:
    """Check every post's YAML below folders and in files, so that nothing runs when one of them is wrong.

    Raises
    ------
    ParameterError : `detail` names the problems of all files; also for two posts with one slug, and for no post.
    """
    files = [file for path in paths for file in (_in_folder(path) if path.is_dir() else [path])]
    checked: list[CheckedPost] = []
    problems: list[str] = []
    for file in dict.fromkeys(files):
        try:
            checked.append(check_post(file, workspace))
        except UsageError as error:
            problems.append(error.detail or error.what)
    by_slug: dict[str, list[CheckedPost]] = {}
    for post in checked:
        by_slug.setdefault(post.spec.slug, []).append(post)
    problems += [
        f"{' and '.join(str(post.path) for post in same)} have the same slug: {slug}"
        for slug, same in by_slug.items()
        if len(same) > 1
    ]
    lines = "\n".join(problems).splitlines()
    if len(lines) == 1:
        raise ParameterError(lines[0], hint="no post was built")
    if lines:
        what = f"{len(lines)} problems in {count(len(files), 'post file')}"
        raise ParameterError(what, hint="no post was built", detail="\n".join(lines))
    return checked


def _in_folder(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".yml", ".yaml") and path.is_file())
    if not paths:
        raise ParameterError(f"{folder}: it contains no post", hint="a post is a .yml file; see papermill_params/")
    return paths


def _read(source: Path, path: Path, workspace: Workspace) -> Any:
    if not source.is_file():
        near = suggestion(source.stem, workspace.notebook_names())
        raise ParameterError(f"{path}: notebook {source.stem!r} does not exist in {source.parent.name}/{near}")
    try:
        return notebooks.read_notebook(source)
    except Exception as error:
        raise ParameterError(f"{source.name} is not a notebook: {str(error).splitlines()[0]}") from error


def _named_runs(spec: PostFile, workspace: Workspace, path: Path) -> dict[str, Any]:
    """The ids of the runs that go by one name: `runs: sample/demo` is those of demo that came with the project."""
    folder, slash, experiment = str(spec.parameters.get("runs")).partition("/")
    if folder != "sample" or not isinstance(spec.parameters["runs"], str):
        return {}
    if not slash:
        raise ParameterError(f"{path}: parameters: runs: say of which experiment, as in sample/demo")
    shipped = [run_dir for run_dir in workspace.sample.glob("*/") if (run_dir / FILE_NAME).is_file()]
    runs = sorted(run_dir.name for run_dir in shipped if _experiment_of(run_dir) == experiment)
    if not runs:
        raise ParameterError(f"{path}: parameters: runs: there is no run of {experiment:.80} in {workspace.sample}")
    return {"runs": runs}


def _experiment_of(run_dir: Path) -> str:
    status = (run_dir / FILE_NAME).stat()
    return _experiment_read(run_dir, (status.st_ino, status.st_size, status.st_ctime_ns))


@lru_cache(maxsize=10_000)
def _experiment_read(run_dir: Path, _changed: tuple[int, ...]) -> str:
    """Posts are checked again and again, many in one process, and to read a hundred manifests takes a tenth of it."""
    return read_manifest(run_dir).experiment.name


def _parameter_problems(spec: PostFile, defaults: dict[str, Any], path: Path, source: Path) -> list[str]:
    problems = [
        f"{path}: parameters: {name!r:.80} is not a parameter of {source.name}" + suggestion(name, list(defaults))
        for name in spec.parameters
        if name not in defaults
    ]
    if "experiment" in defaults and not {"experiment", "runs"} & spec.parameters.keys():
        # The notebook's own default is somebody else's experiment.
        problems.append(f"{path}: parameters: `experiment` or `runs` must say what the post is about")
    for name, value in spec.parameters.items():
        if name in defaults and type(value) is not type(defaults[name]):
            expected = type(defaults[name]).__name__
            problems.append(f"{path}: parameters: {name} should be a {expected}, not {value!r:.80}")
    return problems


def _note_problems(spec: PostFile, known: list[str], path: Path, source: Path) -> list[str]:
    return [
        f"{path}: notes: {name!r:.80} is not a section of {source.name}{suggestion(name, known)}"
        for name in spec.notes
        if name not in known
    ]


def _raise_all(problems: list[str], path: Path) -> None:
    if len(problems) == 1:
        raise ParameterError(problems[0])
    if problems:
        raise ParameterError(f"{path}: {count(len(problems), 'problem')}", detail="\n".join(problems))
