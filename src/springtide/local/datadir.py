# SPDX-License-Identifier: Apache-2.0
"""The directory of one embedded cluster: its files, and the locks of the processes that run it.

    lock          held while the cluster is up, with the PID of the process that runs it: `tide up`, or a test
    server.lock   held by the server itself, which may outlive `tide up` for a moment; two never share a directory
    cluster.json  name and port of the current or last server
    kubeconfig    admin credentials, mode 0600
    pki/          certificate authority, certificates and the token key
    state.db      every object; state.db-wal its latest changes, state.db-revision the revision they must reach
    server.log    the log of a cluster in the background
    audit.log     a line per change, on request
    ending.json   how `tide down` asks the cluster to end; see `supervisor.endings`
    deleting      exists while `tide delete --cluster` removes the rest; see `supervisor.removal`
    nodes/        a directory per node: credentials and log of its agent
    operator/     credentials, log and lock of the operator; what its mirror pods show, see `kubelet.mirror_pods`
    network/      socket and notes of netd
    pods/, logs/  a directory per pod, made by the agent of its node
    kept-logs/    logs of removed pods of training jobs, see `pod_logs.kept`
    devices/      the register of allocated GPUs

The process that runs a cluster takes the lock; commands only read. Reading never creates, changes or waits for
anything.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import IO

from springtide.local.access import trust
from springtide.local.access.files import write_private

LOOPBACK = "127.0.0.1"
"""The address of every server: the embedded cluster is reachable from this machine only."""
DEFAULT_PORT = 6443
BACKLOG = 1024

_PATIENCE = 0.5
"""Seconds to try for the lock: a command that checks whether a cluster is up holds it for a moment."""
_LAST_BREATH = 10.0
"""Seconds to wait for the exit of the server of a killed `tide up`."""


_LONGEST_NAME = 255
"""Maximum length of a file name in bytes."""


def log_name(namespace: str, name: str, uid: str) -> str:
    """The name of a pod's directory of logs: a pod's name of 253 characters is shortened, its uid keeps it unique."""
    return f"{namespace}_{name}"[: _LONGEST_NAME - len(uid) - 1] + f"_{uid}"


class InUseError(Exception):
    """The cluster of this directory is up already."""


@dataclass(frozen=True, slots=True)
class Card:
    """Name and port of the current or last server."""

    name: str
    port: int


class Lock:
    """A file lock held by one process at a time, until it releases the lock or exits, in whatever way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: FileIO | None = None

    def acquire(self, patience: float, *, unsigned: bool = False) -> None:
        """Take the lock; write this PID into it unless `unsigned`: to delete, or for a child (see `leave_to`)."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = self._path.open("ab", buffering=0)  # unbuffered: a full disk fails the write, not the close
        deadline = time.monotonic() + patience
        while not _locked(handle, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                handle.close()
                raise InUseError(str(self._path.parent))
            time.sleep(0.01)
        handle.truncate(0)
        self._held = handle
        if not unsigned:
            self._sign(os.getpid())

    def fileno(self) -> int:
        """The descriptor of the held file, for a child to inherit."""
        assert self._held is not None
        return self._held.fileno()

    def leave_to(self, child: int) -> None:
        """Pass the lock to a child that has inherited the file: the child holds it until it exits."""
        self._sign(child)
        self.release()

    def _sign(self, process: int) -> None:
        assert self._held is not None
        self._held.write(f"{process}\n".encode())

    def release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def is_still_there(self) -> bool:
        """Whether the file this process holds was neither removed nor replaced."""
        try:
            return self._held is not None and os.path.samestat(os.fstat(self._held.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def is_held(self) -> bool:
        """Whether any process holds it. PermissionError when it belongs to another user."""
        if self._held is not None:
            return True
        try:
            with self._path.open("rb") as handle:
                return not _locked(handle, fcntl.LOCK_SH)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def process(self) -> int | None:
        """The PID of the holder. None without a holder, or when it has taken the lock just now."""
        if not self.is_held():
            return None
        written = self._path.read_text()
        return int(written) if written.endswith("\n") else None


class DataDir:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.kubeconfig = path / "kubeconfig"
        self.pki = path / "pki"
        self.database = path / "state.db"
        self.log = path / "server.log"
        self.audit = path / "audit.log"
        self.ending = path / "ending.json"
        self.nodes = path / "nodes"
        self.operator = path / "operator"
        self.operator_log = self.operator / "operator.log"
        self.operator_record = self.operator / "process.json"
        self.operator_host = self.operator / "host"
        self.pods = path / "pods"
        self.network = path / "network"
        self._card = path / "cluster.json"
        self._deleting = path / "deleting"
        self._lock = Lock(path / "lock")
        self._server = Lock(path / "server.lock")
        self.operator_lock = Lock(self.operator / "lock")
        """Held by the cluster's operator."""

    def acquire(self, *, to_delete: bool = False) -> None:
        """Take the directory for this process, once the server of its previous owner has exited.

        With `to_delete` nothing is written, as the disk may be full. InUseError, UntrustedError, or OSError.
        """
        trust.check(self.path)
        self._lock.acquire(_PATIENCE, unsigned=to_delete)
        try:
            self._server.acquire(_LAST_BREATH, unsigned=to_delete)
            self._server.release()
        except (InUseError, OSError):
            self._lock.release()
            raise

    def acquire_server(self) -> None:
        """Take the server's lock of this directory."""
        self._server.acquire(_LAST_BREATH)

    def release(self) -> None:
        self._server.release()
        self._lock.release()

    def is_still_there(self) -> bool:
        """Whether the directory this process holds was neither removed nor replaced."""
        return self._lock.is_still_there()

    def is_running(self) -> bool:
        """Whether the cluster is up, or starting. PermissionError when it belongs to another user."""
        return self._lock.is_held()

    def process(self) -> int | None:
        """The process that runs the cluster. None if there is none, or when it has started just now."""
        return self._lock.process()

    def server_process(self) -> int | None:
        """The server's process."""
        return self._server.process()

    def operator_process(self) -> int | None:
        """The process of the cluster's operator."""
        return self.operator_lock.process()

    def has_pods(self) -> bool:
        """Whether pods have run here: then there were objects, too."""
        try:
            return next(self.pods.iterdir(), None) is not None
        except FileNotFoundError:
            return False

    def mark_deleting(self) -> None:
        """From now on the cluster cannot be started again, only deleted completely."""
        write_private(self._deleting, b"")

    def is_being_deleted(self) -> bool:
        try:
            return self._deleting.exists()
        except PermissionError:
            return False  # another user's

    def describe(self, name: str, port: int) -> None:
        write_private(self._card, json.dumps(asdict(Card(name, port))).encode())

    def last(self) -> Card | None:
        try:
            card = json.loads(self._card.read_bytes())
            return Card(str(card["name"]), int(card["port"]))
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
            return None


def _locked(handle: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
