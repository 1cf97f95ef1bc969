"""A private server for one run: its own directory, a socket, no network, and it never outlives its runner.

The directory is created 0700 and carries a marker file that this module alone writes and keeps locked while the sandbox
lives. Only a directory with that marker is ever deleted, and only when nobody holds its lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import socket as socket_module
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import pymysql

from ibench_lib.base.tether import tethered
from ibench_lib.errors import IbenchError, RunFailed, ServerStartDisturbed, ServerStartError
from ibench_lib.servers.address import LOOPBACK, Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.certificate import make_certificate
from ibench_lib.servers.datadir import copy_datadir, fresh_datadir, write_through
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.servers.plugins import load_options

MARKER = ".ibench-sandbox"
# How servers and the C library say it; 28 is ENOSPC, 122 is EDQUOT.
FULL = re.compile(r"no space left|disk (?:is )?full|quota exceeded|err(?:no|code|or)?:? \"?(?:28|122)\b", re.IGNORECASE)
_PORT_TAKEN = re.compile(r"address already in use", re.IGNORECASE)
_LOG_TAIL_LINES = 15
_SOCKET_PREFIX = "ibench-"
_LONG = 80


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
        self.copy_s: float | None = None  # how long the copy of `origin` took
        self.start_timeout_s = start_timeout_s
        self.stop_timeout_s = stop_timeout_s
        self.process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self._socket_dir: Path | None = None

    @property
    def datadir(self) -> Path:
        return self.directory / "datadir"

    @property
    def tmpdir(self) -> Path:
        return self.directory / "tmp"

    def __enter__(self) -> Address:
        try:
            self._claim()
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

    def log_tail(self) -> str:
        """The last lines of the error log, for a message."""
        with contextlib.suppress(OSError):
            return "\n".join(self.error_log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:])
        return ""

    def stop(self, timeout_s: float) -> float:
        """End the server in order and keep its files, for `start_again`. Returns how many seconds it took.

        Raises
        ------
        RunFailed : it took longer, or did not end in order; then it is dead.
        """
        assert self.process is not None
        begun_s = time.monotonic()
        status = _stop(self.process, timeout_s)
        self.process = None
        if status != 0:
            raise RunFailed(
                f"build {self.build.label} ({self.build.version}) did not shut down cleanly within {timeout_s:g} s"
                f" (exit {status})",
                detail=self.log_tail(),
            )
        return time.monotonic() - begun_s

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
        copy_datadir(origin, self.datadir)
        write_through(self.datadir)
        write_through(origin)
        self.copy_s = time.monotonic() - begun_s

    def close(self) -> None:
        """Stop and reap the server, then remove the directory. Safe to call more than once."""
        if self.process is not None:
            _stop(self.process, self.stop_timeout_s)
            self.process = None
        if self._socket_dir is not None:
            shutil.rmtree(self._socket_dir, ignore_errors=True)
            self._socket_dir = None
        if self._lock is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
            self._lock.close()
            self._lock = None

    def _claim(self) -> None:
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.directory.mkdir(mode=0o700)
        except FileExistsError:
            raise ServerStartDisturbed(
                f"sandbox directory {self.directory} already exists{_holder(self.directory)}",
                hint="wait for the run that holds it, or remove a directory that does not belong to ibench",
            ) from None
        # A short path of its own: a socket's path may have at most 107 bytes, a project may lie deep.
        own = tempfile.gettempdir()
        self._socket_dir = Path(tempfile.mkdtemp(prefix=_SOCKET_PREFIX, dir=own if len(own) < _LONG else "/tmp"))
        self._lock = _write_marker(self.directory, self._socket_dir)
        self.tmpdir.mkdir(mode=0o700)

    def _initialise(self, my_cnf: Path, datadir: Path) -> None:
        command = flavour_of(self.build).initialise_command(self.build, my_cnf, datadir, _user_option())
        datadir.mkdir(mode=0o700)
        what = f"build {self.build.label} ({self.build.version}): initialising its data directory failed"
        try:
            result = subprocess.run(
                tethered(command),
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
            said = "\n".join(output[-_LOG_TAIL_LINES:])
            raise _not_up(result.returncode, said)(
                f"{what} (exit {result.returncode})",
                hint="the end of its output is above; check the configuration's variables against this version",
                detail=said or None,
            )

    def _start(self) -> Address:
        assert self._socket_dir is not None
        password = secrets.token_hex(16)
        socket = self._socket_dir / "s"
        init_file = self.directory / "init.sql"
        flavour = flavour_of(self.build)
        _write_private(init_file, flavour.set_root_password(self.build, password, LOOPBACK if self.tcp else None))
        port = _free_port() if self.tcp else None
        network = ["--skip-networking"] if port is None else [f"--bind-address={LOOPBACK}", f"--port={port}"]
        for name in ("client.cnf", "server.key"):  # of an earlier start
            (self.directory / name).unlink(missing_ok=True)
        certificate = make_certificate(self.directory, LOOPBACK) if self.tls else None
        if certificate is not None:
            network += [f"--ssl-cert={certificate}", f"--ssl-key={certificate.with_suffix('.key')}"]
            network += [f"--ssl-ca={certificate}"]
        _write_private(self.directory / "client.cnf", f"[client]\nuser=root\npassword={password}\nsocket={socket}\n")
        command = [
            *self.build.command,
            f"--defaults-file={self.my_cnf}",
            f"--basedir={self.build.basedir}",
            f"--datadir={self.datadir}",
            f"--tmpdir={self.tmpdir}",
            f"--socket={socket}",
            f"--pid-file={self.directory / 'server.pid'}",
            f"--log-error={self.error_log}",
            f"--init-file={init_file}",
            *network,
            *flavour.start_options(self.build),
            *self.build.options,
            *load_options(self.plugins),
            *_user_option(),
        ]
        self.process = subprocess.Popen(
            tethered(command),
            env=self._environment(),
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=open(self.error_log, "ab"),  # noqa: SIM115  (what the server says before it opens its log)
            start_new_session=True,  # Ctrl-C at the terminal is for the runner alone
        )
        address = Address(str(socket), "root", password, port, str(certificate) if certificate else None)
        self._wait_until_it_answers(address)
        init_file.unlink()
        return address

    def _wait_until_it_answers(self, address: Address) -> None:
        assert self.process is not None
        deadline = time.monotonic() + self.start_timeout_s
        while time.monotonic() < deadline:
            status = self.process.poll()
            if status is not None:
                said = self.log_tail()
                raise _not_up(status, said)(
                    f"build {self.build.label} ({self.build.version}) does not start (exit {status})",
                    hint="the end of its error log is above",
                    detail=said,
                )
            try:
                # Whoever else has the port may take the connection and say nothing.
                pymysql.connect(**address.arguments(), connect_timeout=5, read_timeout=5).close()
            except pymysql.err.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise ServerStartDisturbed(
            f"build {self.build.label} ({self.build.version}) did not answer within {self.start_timeout_s:.0f} s",
            hint="the end of its error log is above",
            detail=self.log_tail(),
        )

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


def sweep(sandboxes: Path) -> list[Path]:
    """Remove sandboxes whose runner is dead; returns what was removed. A directory without our marker is left alone."""
    removed = []
    for directory in sorted(sandboxes.iterdir()) if sandboxes.is_dir() else []:
        marker = directory / MARKER
        if directory.is_symlink() or marker.is_symlink() or not marker.is_file():
            continue
        with open(marker, "r+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            _remove_socket_dir(lock.read())
            shutil.rmtree(directory, ignore_errors=True)
            removed.append(directory)
    return removed


def _not_up(status: int, said: str) -> type[ServerStartError]:
    """The kind of error of a server that has ended with `status` (negative: by a signal) and these last words."""
    disturbed = status < 0 or FULL.search(said) or _PORT_TAKEN.search(said)
    return ServerStartDisturbed if disturbed else ServerStartError


def _holder(directory: Path) -> str:
    """Who has a sandbox directory, for a message."""
    try:
        with open(directory / MARKER, "r+", encoding="utf-8") as marker:
            try:
                fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return f", held by process {json.load(marker)['pid']}"
    except (OSError, ValueError, KeyError):
        return " and does not belong to ibench"
    return ", left behind by a process that was killed"


def _remove_socket_dir(marker_text: str) -> None:
    try:
        path = Path(json.loads(marker_text)["socket_dir"])
        status = path.lstat()
    except (ValueError, KeyError, TypeError, OSError):
        return
    ours = path.name.startswith(_SOCKET_PREFIX) and status.st_uid == os.getuid() and not path.is_symlink()
    if ours and {entry.name for entry in path.iterdir()} <= {"s", "s.lock"}:
        shutil.rmtree(path, ignore_errors=True)


def _write_marker(directory: Path, socket_dir: Path) -> IO[str]:
    marker = open(directory / MARKER, "x", encoding="utf-8")  # noqa: SIM115  (kept open: it holds the lock)
    fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    json.dump({"socket_dir": str(socket_dir), "pid": os.getpid()}, marker)
    marker.flush()
    return marker


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _free_port() -> int:
    # Somebody may take it before the server does; the server then fails to start and says so.
    with socket_module.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _user_option() -> list[str]:
    # A server refuses to run as root unless told; another user would lose the tether (see ibench_lib/base/tether.py).
    return ["--user=root"] if os.geteuid() == 0 else []


def _stop(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    """SIGTERM, wait, SIGKILL, reap; returns its exit status. A stopped (SIGSTOP) server is woken first, to hear it."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
    try:
        return process.wait(10)
    except subprocess.TimeoutExpired as error:
        raise IbenchError(
            f"server process {process.pid} does not die", hint="find it with ps; it belongs to ibench"
        ) from error
