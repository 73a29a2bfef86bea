# SPDX-License-Identifier: Apache-2.0
"""The machine's requirements for an embedded server, each checked by trying it. `tide doctor` runs them in order.

A check returns its result, or raises `Wrong` with a fix. It leaves no files and changes nothing.
"""

from __future__ import annotations

import fcntl
import json
import re
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import springtide
from springtide.cli.cluster.data_directories import nearest_existing, problem
from springtide.cli.doctor.errors import Wrong
from springtide.local.datadir import DataDir
from springtide.messages import Text, text

_SQLITE = (3, 38)
"""The first version with JSON functions in every build."""
_SPACE = 1024**3
_OPEN_FILES = 4096
_SLOW_DISK = 0.1
_SKEW = 1
"""The number of minor versions by which kubectl may differ from the server: Kubernetes' own rule."""
_RELEASED = datetime(2026, 11, 1, tzinfo=UTC)
_TIMEOUT = 10.0


def python_version(place: DataDir) -> Text:
    if sqlite3.sqlite_version_info < _SQLITE:
        raise Wrong(
            text("this Python brings SQLite {version}, which is too old", version=sqlite3.sqlite_version),
            text("Use a Python with SQLite {version} or newer.", version=".".join(map(str, _SQLITE))),
        )
    python = ".".join(map(str, sys.version_info[:3]))
    return text("Python {python}, SQLite {sqlite}", python=python, sqlite=sqlite3.sqlite_version)


def data_directory(place: DataDir) -> Text:
    """Writes, locks and commits in the directory, or where it would be created."""
    folder = nearest_existing(place.path)
    if why := problem(place.path):
        fix = text("Choose a directory on a local disk that you may write to: {option}", option="--data-dir DIR")
        raise Wrong(text("{why}", why=why), fix)
    try:
        with tempfile.TemporaryDirectory(prefix=".tide-doctor-", dir=folder) as scratch:
            took = _durable_write(Path(scratch))
    except OSError as error:
        said = text("cannot write to {path}: {why}", path=folder, why=error.strerror)
        raise Wrong(said, text("Choose another place with --data-dir.")) from None
    except sqlite3.Error as error:
        said = text("SQLite cannot work in {path}: {why}", path=folder, why=str(error))
        raise Wrong(said, text("Choose a place on a local disk with --data-dir.")) from None
    if took > _SLOW_DISK:
        raise Wrong(
            text("{path} is writable, but a durable write takes {time:.0f} ms", path=folder, time=took * 1000),
            text("Choose a place on a faster, local disk with --data-dir."),
            needed=False,
        )
    return text("{path} is writable; a durable write takes {time:.1f} ms", path=folder, time=took * 1000)


def _durable_write(scratch: Path) -> float:
    with (scratch / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with closing(sqlite3.connect(scratch / "state.db", isolation_level=None)) as database:
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (x)"):
            database.execute(statement)
        began = time.perf_counter()
        database.execute("INSERT INTO t VALUES (1)")
        return time.perf_counter() - began


def free_space(place: DataDir) -> Text:
    folder = nearest_existing(place.path)
    free = shutil.disk_usage(folder).free
    if free < _SPACE:
        raise Wrong(
            text("only {free:.0f} MiB are free in {path}", free=free / 1024**2, path=folder),
            text("Free 1 GiB, or choose another disk with --data-dir."),
        )
    return text("{free:.0f} GiB are free", free=free / 1024**3)


def temporary_files(place: DataDir) -> Text:
    try:
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        said = text("cannot write temporary files: {why}", why=error.strerror)
        raise Wrong(said, text("Set TMPDIR to a directory of yours.")) from None
    return text("temporary files can be written to {path}", path=tempfile.gettempdir())


def loopback(place: DataDir) -> Text:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()[:2], 2):
            server.settimeout(2)
            server.accept()[0].close()
    except OSError as error:
        said = text("127.0.0.1 cannot be used: {why}", why=str(error))
        raise Wrong(said, text("Bring the loopback device up: {command}", command="ip link set lo up")) from None
    return text("127.0.0.1 can be listened on and reached")


def open_files(place: DataDir) -> Text:
    """Checks the hard limit: `tide up` raises its own limit to it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _OPEN_FILES:
        said = text("a process may open only {limit} files", limit=hard)
        raise Wrong(said, text("Raise the limit: {command} (as root)", command=f"ulimit -n {_OPEN_FILES}"))
    if hard == resource.RLIM_INFINITY:
        return text("a process may open any number of files")
    return text("{limit} files may be open", limit=hard)


def kubectl(place: DataDir) -> Text:
    program = shutil.which("kubectl")
    if program is None:
        fix = text("See {url}", url="https://kubernetes.io/docs/tasks/tools/")
        raise Wrong(text("kubectl is not on the PATH"), fix, needed=False)
    try:
        with tempfile.TemporaryDirectory() as scratch:  # some ask any server and cache its answer
            command = [program, "version", "--client", "-o", "json", "--cache-dir", scratch]
            answer = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=True).stdout
        found = str(json.loads(answer)["clientVersion"]["gitVersion"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        said = text("{program} does not tell its version", program=program)
        raise Wrong(said, text("Install it anew."), needed=False) from None
    if abs(_minor(found) - _minor(springtide.KUBERNETES_VERSION)) > _SKEW:
        raise Wrong(
            text(
                "kubectl is {version}, the cluster follows {followed}",
                version=found,
                followed=springtide.KUBERNETES_VERSION,
            ),
            text("Most commands will work; Kubernetes promises it for one minor version of difference."),
            needed=False,
        )
    return text("kubectl is {version}", version=found)


def clock(place: DataDir) -> Text:
    """Checks the clock, which decides about the validity of certificates."""
    now = datetime.now(UTC)
    said = text("the clock says {time:%Y-%m-%d %H:%M} UTC", time=now)
    if now < _RELEASED:
        raise Wrong(said, text("Set the clock: certificates would not be valid yet."))
    authority = place.pki / "ca.pem"
    made = authority.stat().st_mtime if authority.exists() else 0.0
    if made > now.timestamp() + 60:
        raise Wrong(text("the clock was set back since the cluster was made"), text("Set the clock."))
    return said


CHECKS: tuple[Callable[[DataDir], Text], ...] = (
    python_version,
    data_directory,
    free_space,
    temporary_files,
    loopback,
    open_files,
    clock,
    kubectl,
)


def _minor(version: str) -> int:
    found = re.match(r"v?\d+\.(\d+)", version)
    return int(found[1]) if found else 0
