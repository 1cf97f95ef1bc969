"""A private server for one run: its own directory, a socket, no network, and it never outlives its runner."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import secrets
import shutil
import signal
import socket as socket_module
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from ibench_lib.base.tether import tethered
from ibench_lib.base.wording import ending
from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.errors import IbenchError, RunFailed, ServerStartDisturbed, ServerStartError
from ibench_lib.servers.account import Account, unprivileged
from ibench_lib.servers.address import LOOPBACK, Address, Listener
from ibench_lib.servers.build import Build
from ibench_lib.servers.certificate import make_certificate
from ibench_lib.servers.datadir import copy_datadir, fresh_datadir, move_files, write_through
from ibench_lib.servers.flavours.flavour import Program, StartPlace, flavour_of
from ibench_lib.servers.sandbox_directory import Claim, private_folder, write_private

# How servers and the C library say it; 28 is ENOSPC, 122 is EDQUOT.
_FULL = re.compile(
    r"no space left|disk (?:is )?full|quota exceeded|err(?:no|code|or)?:? \"?(?:28|122)\b", re.IGNORECASE
)
_FEW_FILES = re.compile(r"too many open files|err(?:no|code|or)?(?: number)?:? \"?24\b", re.IGNORECASE)
_FEW = 256
"""Open files that are fewer than a server needs, which does not always say so."""
_PORT_TAKEN = re.compile(r"address already in use", re.IGNORECASE)
_LOG_TAIL_LINES = 15
_LAST_S = 5.0
"""How long the other processes of a server that was killed may take to end."""
_FULL_BYTES = 1 << 20


class Sandbox:
    """Context manager: initialises a data directory, starts the server, stops and removes both.

    Parameters
    ----------
    build : the server.
    directory : does not exist yet; holds the data directory while the sandbox lives.
    my_cnf : the only option file the server reads.
    error_log : where the server writes its error log.
    tcp : listen on a free port of the loopback as well; without it there is no TCP listener at all.
    tls : tcp with TLS, by a certificate made for this sandbox.
    plugins : libraries to load at start, such as ha_rocksdb.
    templates : folder that keeps an initialised data directory per build, to copy instead of making one each time.
    origin : a data directory to begin with a copy of, instead of a fresh one; its server has ended.
    storage : folders on other disks, by what gets a private folder there: `data` is the data directory with the
        temporary files, anything else a name of the flavour's `movable`.
    start_timeout_s : how long the server may take to answer its first query.
    stop_timeout_s : how long it may take to stop before it is killed.
    """

    def __init__(
        self,
        build: Build,
        directory: Path,
        my_cnf: Path,
        error_log: Path,
        *,
        tcp: bool = False,
        tls: bool = False,
        plugins: Sequence[str] = (),
        templates: Path | None = None,
        origin: Path | None = None,
        storage: Mapping[str, Path] | None = None,
        start_timeout_s: float = 120.0,
        stop_timeout_s: float = 30.0,
    ) -> None:
        self.build = build
        self.directory = directory
        self.my_cnf = my_cnf
        self.error_log = error_log
        self.tcp = tcp or tls
        self.tls = tls
        self.plugins = tuple(plugins)
        self.templates = templates
        self.origin = origin
        self.storage = {what: private_folder(disk, directory) / what for what, disk in (storage or {}).items()}
        self._disks = tuple((storage or {}).values())
        self.copy_s: float | None = None  # how long the copy of `origin` took
        self.start_timeout_s = start_timeout_s
        self.stop_timeout_s = stop_timeout_s
        self.process: subprocess.Popen[bytes] | None = None
        self.owned: list[str] = []
        self._flavour = flavour_of(build)
        self._account: Account | None = None
        self._address: Address | None = None
        self._claim: Claim | None = None

    @property
    def local(self) -> Sandbox:
        """Itself: it is on this host."""
        return self

    @property
    def address(self) -> Address:
        """Where the server listens. Only while it is open."""
        assert self._address is not None, "only while it is open"
        return self._address

    @property
    def datadir(self) -> Path:
        """Its data directory."""
        return self._home / "datadir"

    @property
    def tmpdir(self) -> Path:
        """Its folder for temporary files."""
        return self._home / "tmp"

    @property
    def moved(self) -> dict[str, Path]:
        """Folders of the server's files that do not lie in the data directory, by what they are."""
        return {what: folder for what, folder in self.storage.items() if what != "data"}

    @property
    def _home(self) -> Path:
        return self.storage.get("data", self.directory)

    def __enter__(self) -> Address:
        try:
            if self._flavour.root_options is None and os.geteuid() == 0:
                self._account = unprivileged()
                for folder in (self.directory, *self.storage.values()):
                    self._account.require_entry(folder)
            self._claim = Claim(self.directory, self._disks)
            for folder in self.storage.values():
                folder.mkdir(mode=0o700)
            self.tmpdir.mkdir(mode=0o700)
            self._hand_over(self.directory, self._claim.socket_dir, *self._claim.elsewhere)
            if self.origin is None:
                fresh_datadir(self.build, self.my_cnf, self.datadir, self.templates, self._initialise)
            else:
                self._copy_origin(self.origin)
            return self._start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def alive(self) -> bool:
        """Whether the server process is still there."""
        return self.process is not None and self.process.poll() is None

    def ending(self) -> str | None:
        """How the server process has ended; None while it lives."""
        status = None if self.process is None else self.process.poll()
        return None if status is None else ending(status)

    def pid(self) -> int | None:
        """The server process while it is there."""
        return self.process.pid if self.process is not None and self.alive() else None

    def known_options(self) -> KnownOptions:
        """What the build has with its plugins."""
        return self._flavour.known_options(self.build, self.plugins)

    def disk_is_full(self) -> bool:
        """By its error log, or by the disk itself."""
        with contextlib.suppress(OSError):
            places = (self.directory, *self.storage.values())
            if any(shutil.disk_usage(place).free < _FULL_BYTES for place in places):
                return True
        return bool(_FULL.search(self.log_tail()))

    def log_tail(self) -> str:
        """The last lines of the error log, for a message."""
        with contextlib.suppress(OSError):
            return "\n".join(self.error_log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:])
        return ""

    def stop(self, timeout_s: float) -> float:
        """Shut the server down cleanly and keep its files, for `start_again`. Returns how many seconds it took.

        Raises
        ------
        RunFailed : it took longer, or did not shut down cleanly; then it is dead. Or its files on other disks cannot be
            moved into the data directory.
        """
        assert self.process is not None
        begun_s = time.monotonic()
        status = _stop(self.process, self._flavour, timeout_s)
        self.process = None
        if status != 0:
            raise RunFailed(
                f"build {self.build.label} ({self.build.version}) did not shut down cleanly within {timeout_s:g} s"
                f" (exit {status})",
                detail=self.log_tail(),
            )
        took_s = time.monotonic() - begun_s
        for folder in self.moved.values():
            try:
                move_files(folder, self.datadir, ["*"])  # all: what the server has made there is its own
            except ServerStartDisturbed as error:
                raise RunFailed(error.what, hint="free space on its disk") from error
        return took_s

    def start_again(self, origin: Path) -> Address:
        """After `stop`: start on a copy of a data directory, in the place of the one before. The address is a new one.

        Raises
        ------
        ServerStartError : the copy fails, or the server does not come up.
        """
        assert self.process is None
        shutil.rmtree(self.datadir, ignore_errors=True)
        self._copy_origin(origin)
        return self._start()

    def _copy_origin(self, origin: Path) -> None:
        """When the server starts nothing of the copy is left to be written, and nothing of either in the page cache."""
        begun_s = time.monotonic()
        copy_datadir(origin, self.datadir, self._flavour.personal_files)
        write_through(self.datadir)
        write_through(origin)
        self.copy_s = time.monotonic() - begun_s

    def close(self) -> None:
        """Stop and reap the server, then remove the directory. Safe to call more than once."""
        if self.process is not None:
            _stop(self.process, self._flavour, self.stop_timeout_s)
            self.process = None
            self._flavour.free_memory(self.datadir, _LAST_S)
        if self._claim is not None:
            self._claim.release()
            self._claim = None
        self._address = None

    def _hand_over(self, *paths: Path) -> None:
        """Give files of ours to the account that the server runs as, if it is another one."""
        if self._account is not None:
            self._account.own(paths)

    def _tethered(self, command: Sequence[str]) -> list[str]:
        user = None if self._account is None else self._account.numbers
        return tethered(command, user, self._flavour.death_signal)

    def _readable(self, option_file: Path) -> Path:
        """An option file where the server may read it: itself, or a copy if the server is another user's."""
        if self._account is None:
            return option_file
        own = self.directory / "options.cnf"
        shutil.copyfile(option_file, own)
        self._hand_over(own)
        return own

    def _initialise(self, my_cnf: Path, datadir: Path) -> None:
        if self._account is None:
            self._initialise_in(datadir, my_cnf)
            return
        making = self.directory / "initialised"  # where the account may write, which it may not next to templates
        self._initialise_in(making, self._readable(my_cnf))
        shutil.move(making, datadir)

    def _initialise_in(self, datadir: Path, my_cnf: Path) -> None:
        command = self._flavour.initialise_command(self.build, my_cnf, datadir, self._as_root())
        datadir.mkdir(mode=0o700)
        self._hand_over(datadir)
        what = f"build {self.build.label} ({self.build.version}): initialising its data directory failed"
        try:
            result = subprocess.run(
                self._tethered(command),
                env=self._environment(),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.start_timeout_s,
                start_new_session=True,
                check=False,
            )
        except OSError as error:
            raise ServerStartError(f"{what}: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise ServerStartDisturbed(f"{what}: {error}") from error
        if result.returncode != 0:
            output = (result.stdout + result.stderr).strip().splitlines()
            tail = "\n".join(output[-_LOG_TAIL_LINES:])
            raise _not_up(result.returncode, tail)(
                f"{what} (exit {result.returncode})",
                hint=_hint(
                    tail, "the end of its output is above; check the configuration's variables against this version"
                ),
                detail=tail or None,
            )

    def _start(self) -> Address:
        assert self._claim is not None
        for what, folder in self.moved.items():
            move_files(self.datadir, folder, self._flavour.movable[what].patterns)
        password = secrets.token_hex(16)
        for name in ("client.cnf", "server.key"):  # of an earlier start
            (self.directory / name).unlink(missing_ok=True)
        place = StartPlace(
            option_file=self._readable(self.my_cnf),
            datadir=self.datadir,
            tmpdir=self.tmpdir,
            moved=self.moved,
            socket=self._claim.socket_dir / "s",
            pid_file=self.directory / "server.pid",
            error_log=self.error_log,
            init_file=self.directory / "init.sql",
            host=LOOPBACK,
            port=_free_port() if self.tcp else None,
            certificate=make_certificate(self.directory, LOOPBACK) if self.tls else None,
            plugins=self.plugins,
            user=self._as_root(),
        )
        write_private(place.init_file, self._flavour.accounts(self.build, password, LOOPBACK if self.tcp else None))
        client = f"[client]\nuser={self._flavour.superuser}\npassword={password}\nsocket={place.socket}\n"
        write_private(self.directory / "client.cnf", client)
        self._hand_over(self.datadir, self.tmpdir, *self.moved.values(), place.init_file)
        if place.certificate is not None:
            self._hand_over(place.certificate, place.certificate.with_suffix(".key"))
        command = self._flavour.start_command(self.build, place)
        self.process = subprocess.Popen(
            self._tethered(command),
            env=self._environment(),
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=open(self.error_log, "ab"),  # noqa: SIM115  (what the server says before it opens its log)
            start_new_session=True,  # Ctrl-C at the terminal is for the runner alone
        )
        certificate = str(place.certificate) if place.certificate else None
        self._address = Address(
            str(place.socket),
            self._flavour.superuser,
            password,
            place.port,
            certificate,
            listener=self._listener(self.process.pid),
        )
        self._wait_until_it_answers(self._address)
        place.init_file.unlink()
        return self._address

    def _listener(self, pid: int) -> Listener | None:
        """The process that has to listen on the socket, if clients are to be certain of it by that alone."""
        if not self._flavour.only_by_socket(self.build.release):
            return None
        return Listener(pid, os.geteuid() if self._account is None else self._account.user)

    def _wait_until_it_answers(self, address: Address) -> None:
        assert self.process is not None
        deadline = time.monotonic() + self.start_timeout_s
        while time.monotonic() < deadline:
            status = self.process.poll()
            if status is not None:
                tail = self.log_tail()
                raise _not_up(status, tail)(
                    f"build {self.build.label} ({self.build.version}) does not start (exit {status})",
                    hint=_hint(tail, "the end of its error log is above"),
                    detail=tail,
                )
            if self._flavour.answers(address):
                return
            time.sleep(0.05)
        raise ServerStartDisturbed(
            f"build {self.build.label} ({self.build.version}) did not answer within {self.start_timeout_s:.0f} s",
            hint="the end of its error log is above",
            detail=self.log_tail(),
        )

    def _as_root(self) -> tuple[str, ...]:
        return (self._flavour.root_options or ()) if os.geteuid() == 0 else ()

    def _environment(self) -> dict[str, str]:
        # Nothing of the user's environment reaches the server: MYSQL_* variables and HOME/.my.cnf would.
        path = f"{self.build.basedir}/bin:{self.build.basedir}/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
        return {
            "PATH": path,
            "HOME": str(self.directory),
            "TMPDIR": str(self.tmpdir),
            "LC_ALL": "C",
            **self.build.environment,
        }


def _not_up(status: int, said: str) -> type[ServerStartError]:
    """The kind of error of a server that has ended with `status` (negative: by a signal) and these last words."""
    disturbed = status < 0 or _FULL.search(said) or _PORT_TAKEN.search(said)
    return ServerStartDisturbed if disturbed else ServerStartError


def _hint(said: str, otherwise: str) -> str:
    """What to do about a server that does not come up and has these last words."""
    (most, _) = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _FEW_FILES.search(said) or 0 <= most < _FEW:
        return f"it may open too few files: `ulimit -n` says {most} here; `ulimit -n 4096` allows more"
    return otherwise


def _free_port() -> int:
    # Somebody may take it before the server does; the server then fails to start and says so.
    with socket_module.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _stop(process: subprocess.Popen[bytes], how: Program, timeout_s: float) -> int:
    """Signal to stop, wait, kill, reap; returns its exit status. A stopped (SIGSTOP) server is woken to hear it."""
    if process.poll() is None:
        process.send_signal(how.stop_signal)
        process.send_signal(signal.SIGCONT)
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.send_signal(how.death_signal)
    try:
        return process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
    try:
        return process.wait(10)
    except subprocess.TimeoutExpired as error:
        raise IbenchError(
            f"server process {process.pid} does not die", hint="find it with ps; it belongs to ibench"
        ) from error
