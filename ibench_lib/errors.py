"""Every error a user can meet, and the exit code it ends a command with.

    IbenchError                    1   something went wrong while working
    ├── UsageError                 2   what the user wrote or named cannot be used
    │   ├── ExperimentError            an experiment file: every bad key at once, with file:line
    │   │   └── HostUnfit                  it cannot be run here now: no room, or strict and the host is busy
    │   ├── ConfigError                a my.cnf fragment, or a variable the server does not know
    │   ├── NameRefused                a label, run id or slug outside the name rule
    │   ├── ParameterError             a post's YAML names what its notebook does not have
    │   ├── QueryError                 SQL that DuckDB refuses
    │   ├── PluginRefused              what an installed package adds cannot be used
    │   ├── BuildNotFound              no server build under that label, nor on this machine
    │   └── ServerStartError           a server that does not come up; carries its error log's tail
    │       └── ServerStartDisturbed       one that may come up another time: too slow, killed, disk full
    ├── RunFailed                  1   a run that started and could not be finished; its data is kept
    │   ├── CaptureFailed              what a step measures cannot be stored, such as on a full disk
    │   ├── WorkerFailed               a client process died or reported an error
    │   └── ServerLost                 the server went away in mid-step
    ├── CellsFailed                1   an experiment of which some cells failed; the others were run
    ├── CellNotTried               1   a cell that would fail as an earlier repeat of it has failed
    ├── LakeError                  1   a run directory that cannot be read or written
    ├── PostFailed                 1   a notebook cell raised; the previous post is kept
    ├── PostsFailed                1   some of several posts; the others were built
    ├── PostUnreadable             1   a directory of data/posts that holds no whole post
    └── Interrupted              130   Ctrl-C; what was captured is kept

Library code raises these and nothing else on purpose. Only `cli/` turns them into one line and an exit code.
"""

from __future__ import annotations


class IbenchError(Exception):
    """Base of all errors meant for the user.

    Parameters
    ----------
    what : one line: what is wrong and where.
    hint : what to do next, or None.
    detail : further lines (a log's tail, a list of problems), or None.
    """

    exit_code = 1
    lasting = False
    """Whether a repetition would fail in the same way, so that repeating makes no sense."""

    def __init__(self, what: str, *, hint: str | None = None, detail: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.detail = detail
        if hint is not None:
            self.add_note(hint)  # which a notebook shows below the error


class UsageError(IbenchError):
    """What the user wrote or named cannot be used."""

    exit_code = 2
    lasting = True


class ExperimentError(UsageError):
    """An experiment file that cannot be used; `detail` lists every problem as file:line."""


class HostUnfit(ExperimentError):
    """An experiment that this host cannot run as it is now."""

    lasting = False


class ConfigError(UsageError):
    """A my.cnf fragment that cannot be used."""


class NameRefused(UsageError):
    """A name outside the one rule that keeps names from becoming paths, SQL or HTML."""


class ParameterError(UsageError):
    """A post's parameters do not fit its notebook."""


class QueryError(UsageError):
    """SQL that DuckDB refuses."""


class PluginRefused(UsageError):
    """What an installed package adds cannot be used."""


class BuildNotFound(UsageError):
    """No server build under that label, nor on this machine."""


class ServerStartError(UsageError):
    """A server that does not come up; `detail` is the tail of its error log."""


class ServerStartDisturbed(ServerStartError):
    """A server that did not come up, and may another time: it was too slow or killed, the disk full, its port taken."""

    lasting = False


class RunFailed(IbenchError):
    """A run that started and could not be finished. Its captured data is kept."""


class CaptureFailed(RunFailed):
    """What a step measures cannot be stored."""


class WorkerFailed(RunFailed):
    """A client process died or reported an error."""


class ServerLost(RunFailed):
    """The server went away in mid-step."""


class CellsFailed(IbenchError):
    """An experiment of which some cells failed; `detail` has one line for each."""


class CellNotTried(IbenchError):
    """A cell of which an earlier repeat has failed for a lasting reason."""


class LakeError(IbenchError):
    """A run directory that cannot be read or written."""


class PostFailed(IbenchError):
    """A notebook cell raised. The failed notebook and the previous post are kept."""


class PostsFailed(IbenchError):
    """Several posts of which some failed; the others were built."""


class PostUnreadable(IbenchError):
    """A directory of data/posts that holds no whole post."""


class Interrupted(IbenchError):
    """Ctrl-C. What was captured is kept and marked interrupted."""

    exit_code = 130
