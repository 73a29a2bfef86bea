# SPDX-License-Identifier: Apache-2.0
"""Where one embedded cluster lives on disk, and who may run it.

lock          held while the cluster is up, and naming the process that keeps it up: `tide up`, or a test
server.lock   held by the server itself, which may outlive `tide up` by an instant; two never share a directory
cluster.json  name and port of the server that runs or ran last
kubeconfig    admin credentials, mode 0600
pki/          certificate authority, certificates and the token key
state.db      every object; state.db-wal its latest changes, state.db-revision how far they must reach
server.log    what a cluster in the background says
audit.log     a line per change, on request
ending.json   how `tide down` wants the cluster to end; see `supervisor.endings`
deleting      there while `tide delete` removes the rest; see `supervisor.removal`
nodes/        a directory per node: credentials and log of its agent
operator/     credentials, log and lock of the operator
network/      the network holder's socket and notes
pods/, logs/  a directory per pod, made by the agent of its node
devices/      who has which GPU

Whoever runs a cluster takes the directory; commands only look. Looking never makes, changes or waits for anything.
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
"""Where every server listens: the embedded cluster is this machine's own business."""
DEFAULT_PORT = 6443
BACKLOG = 1024

_PATIENCE = 0.5
"""Seconds to try for the lock: who looks whether a cluster is up holds it for an instant."""
_LAST_BREATH = 10.0
"""Seconds that the server of a `tide up` that was killed gets to be gone as well."""


_LONGEST_NAME = 255
"""Bytes in the name of a file."""


def log_name(namespace: str, name: str, uid: str) -> str:
    """Of a pod's directory of logs: a pod may have a name of 253 letters, and still the uid tells it apart."""
    return f"{namespace}_{name}"[: _LONGEST_NAME - len(uid) - 1] + f"_{uid}"


class InUseError(Exception):
    """The cluster of this directory is up already."""


@dataclass(frozen=True, slots=True)
class Card:
    """How the server that runs or ran last is reached."""

    name: str
    port: int


class Lock:
    """A file that one process at a time holds, until it lets go or ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: FileIO | None = None

    def acquire(self, patience: float, *, unsigned: bool = False) -> None:
        """Names this process as the one that holds it, unless that is to be a child (see `leave_to`) or nobody."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = self._path.open("ab", buffering=0)  # a full disk is heard of at once, and not again when it is closed
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
        """Of the file, for a child to inherit; for as long as this process holds it."""
        assert self._held is not None
        return self._held.fileno()

    def leave_to(self, child: int) -> None:
        """Let go in favour of a child that has inherited the file: that one holds it until it ends."""
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
        """Whether the file this process holds was not removed or replaced under its feet."""
        try:
            return self._held is not None and os.path.samestat(os.fstat(self._held.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def is_held(self) -> bool:
        """By whomever. PermissionError when it belongs to somebody else."""
        if self._held is not None:
            return True
        try:
            with self._path.open("rb") as handle:
                return not _locked(handle, fcntl.LOCK_SH)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def process(self) -> int | None:
        """Who holds it. None when nobody does, or when he has taken it only this instant."""
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
        self.pods = path / "pods"
        self.network = path / "network"
        self._card = path / "cluster.json"
        self._deleting = path / "deleting"
        self._lock = Lock(path / "lock")
        self._server = Lock(path / "server.lock")
        self.operator_lock = Lock(self.operator / "lock")
        """Held by the operator that comes with the cluster."""

    def acquire(self, *, to_delete: bool = False) -> None:
        """Take the directory for this process, once the server of whoever had it before is gone.

        Nothing is written in order to delete it: the disk may be full. InUseError, UntrustedError, or OSError.
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
        """Become the server of this directory."""
        self._server.acquire(_LAST_BREATH)

    def release(self) -> None:
        self._server.release()
        self._lock.release()

    def is_still_there(self) -> bool:
        """Whether the directory this process holds was not removed or replaced under its feet."""
        return self._lock.is_still_there()

    def is_running(self) -> bool:
        """Whether the cluster is up, or about to be. PermissionError when it belongs to somebody else."""
        return self._lock.is_held()

    def process(self) -> int | None:
        """The process that keeps the cluster up. None when none does, or when it has begun only this instant."""
        return self._lock.process()

    def server_process(self) -> int | None:
        """The process that is the server."""
        return self._server.process()

    def operator_process(self) -> int | None:
        """The process that is the operator which comes with the cluster."""
        return self.operator_lock.process()

    def has_pods(self) -> bool:
        """Whether pods have run here: then there were objects, too."""
        try:
            return next(self.pods.iterdir(), None) is not None
        except FileNotFoundError:
            return False

    def mark_deleting(self) -> None:
        """From now on the cluster is not started again, but deleted to the end."""
        write_private(self._deleting, b"")

    def is_being_deleted(self) -> bool:
        try:
            return self._deleting.exists()
        except PermissionError:
            return False  # of somebody else

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
