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
from springtide.cli.cluster.data_directories import ADVICE, nearest_existing, problem
from springtide.cli.doctor.errors import Wrong
from springtide.local.datadir import DataDir

_SQLITE = (3, 38)
"""The first version with JSON functions in every build."""
_SPACE = 1024**3
_OPEN_FILES = 4096
_SLOW_DISK = 0.1
_SKEW = 1
"""The number of minor versions by which kubectl may differ from the server: Kubernetes' own rule."""
_RELEASED = datetime(2026, 11, 1, tzinfo=UTC)
_TIMEOUT = 10.0


def python_version(place: DataDir) -> str:
    if sqlite3.sqlite_version_info < _SQLITE:
        raise Wrong(
            f"this Python brings SQLite {sqlite3.sqlite_version}, which is too old",
            f"Use a Python with SQLite {'.'.join(map(str, _SQLITE))} or newer.",
        )
    return f"Python {'.'.join(map(str, sys.version_info[:3]))}, SQLite {sqlite3.sqlite_version}"


def data_directory(place: DataDir) -> str:
    """Writes, locks and commits in the directory, or where it would be created."""
    folder = nearest_existing(place.path)
    if why := problem(place.path):
        raise Wrong(why, f"{ADVICE}: --data-dir DIR")
    try:
        with tempfile.TemporaryDirectory(prefix=".tide-doctor-", dir=folder) as scratch:
            took = _durable_write(Path(scratch))
    except OSError as error:
        raise Wrong(f"cannot write to {folder}: {error.strerror}", "Choose another place with --data-dir.") from None
    except sqlite3.Error as error:
        raise Wrong(
            f"SQLite cannot work in {folder}: {error}", "Choose a place on a local disk with --data-dir."
        ) from None
    if took > _SLOW_DISK:
        raise Wrong(
            f"{folder} is writable, but a durable write takes {took * 1000:.0f} ms",
            "Choose a place on a faster, local disk with --data-dir.",
            needed=False,
        )
    return f"{folder} is writable; a durable write takes {took * 1000:.1f} ms"


def _durable_write(scratch: Path) -> float:
    with (scratch / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with closing(sqlite3.connect(scratch / "state.db", isolation_level=None)) as database:
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (x)"):
            database.execute(statement)
        began = time.perf_counter()
        database.execute("INSERT INTO t VALUES (1)")
        return time.perf_counter() - began


def free_space(place: DataDir) -> str:
    folder = nearest_existing(place.path)
    free = shutil.disk_usage(folder).free
    if free < _SPACE:
        raise Wrong(
            f"only {free / 1024**2:.0f} MiB are free in {folder}",
            "Free 1 GiB, or choose another disk with --data-dir.",
        )
    return f"{free / 1024**3:.0f} GiB are free"


def temporary_files(place: DataDir) -> str:
    try:
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        raise Wrong(f"cannot write temporary files: {error.strerror}", "Set TMPDIR to a directory of yours.") from None
    return f"temporary files can be written to {tempfile.gettempdir()}"


def loopback(place: DataDir) -> str:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()[:2], 2):
            server.settimeout(2)
            server.accept()[0].close()
    except OSError as error:
        raise Wrong(f"127.0.0.1 cannot be used: {error}", "Bring the loopback device up: ip link set lo up") from None
    return "127.0.0.1 can be listened on and reached"


def open_files(place: DataDir) -> str:
    """Checks the hard limit: `tide up` raises its own limit to it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _OPEN_FILES:
        raise Wrong(f"a process may open only {hard} files", f"Raise the limit: ulimit -n {_OPEN_FILES} (as root)")
    return "a process may open any number of files" if hard == resource.RLIM_INFINITY else f"{hard} files may be open"


def kubectl(place: DataDir) -> str:
    program = shutil.which("kubectl")
    if program is None:
        raise Wrong("kubectl is not on the PATH", "See https://kubernetes.io/docs/tasks/tools/", needed=False)
    try:
        with tempfile.TemporaryDirectory() as scratch:  # some ask any server and cache its answer
            command = [program, "version", "--client", "-o", "json", "--cache-dir", scratch]
            said = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=True).stdout
        found = str(json.loads(said)["clientVersion"]["gitVersion"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        raise Wrong(f"{program} does not tell its version", "Install it anew.", needed=False) from None
    if abs(_minor(found) - _minor(springtide.KUBERNETES_VERSION)) > _SKEW:
        raise Wrong(
            f"kubectl is {found}, the cluster follows {springtide.KUBERNETES_VERSION}",
            "Most commands will work; Kubernetes promises it for one minor version of difference.",
            needed=False,
        )
    return f"kubectl is {found}"


def clock(place: DataDir) -> str:
    """Checks the clock, which decides about the validity of certificates."""
    now = datetime.now(UTC)
    if now < _RELEASED:
        raise Wrong(f"the clock says {now:%Y-%m-%d %H:%M} UTC", "Set the clock: certificates would not be valid yet.")
    authority = place.pki / "ca.pem"
    made = authority.stat().st_mtime if authority.exists() else 0.0
    if made > now.timestamp() + 60:
        raise Wrong("the clock was set back since the cluster was made", "Set the clock.")
    return f"the clock says {now:%Y-%m-%d %H:%M} UTC"


CHECKS: tuple[Callable[[DataDir], str], ...] = (
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
