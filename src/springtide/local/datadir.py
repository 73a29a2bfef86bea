# SPDX-License-Identifier: Apache-2.0
"""Where one embedded cluster lives on disk, and who may run it.

lock          held while a server runs, and naming its process; two servers never share a directory
cluster.json  name and port of the server that runs or ran last
kubeconfig    admin credentials, mode 0600
pki/          certificate authority, certificates and the token key
state.db      every object
server.log    what a server in the background says
audit.log     a line per change, on request

The server takes the directory; commands only look. Looking never makes, changes or waits for anything.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from springtide.local.access.files import write_private

_PATIENCE = 0.5
"""Seconds a server tries to get the lock: who looks whether one runs holds it for an instant."""


class InUseError(Exception):
    """Another server runs on this directory."""


@dataclass(frozen=True, slots=True)
class Card:
    """How the server that runs or ran last is reached."""

    name: str
    port: int


class DataDir:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.kubeconfig = path / "kubeconfig"
        self.pki = path / "pki"
        self.database = path / "state.db"
        self.log = path / "server.log"
        self.audit = path / "audit.log"
        self._lock = path / "lock"
        self._card = path / "cluster.json"
        self._held: IO[bytes] | None = None

    def acquire(self) -> None:
        """Take the directory for this process; released when the process ends, however it ends."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = self._lock.open("ab")
        deadline = time.monotonic() + _PATIENCE
        while not _locked(handle, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                handle.close()
                raise InUseError(str(self.path))
            time.sleep(0.01)
        handle.truncate(0)
        handle.write(f"{os.getpid()}\n".encode())
        handle.flush()
        self._held = handle

    def release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def is_still_there(self) -> bool:
        """Whether the directory this process holds was not removed or replaced under its feet."""
        try:
            return self._held is not None and os.path.samestat(os.fstat(self._held.fileno()), self._lock.stat())
        except FileNotFoundError:
            return False

    def is_running(self) -> bool:
        """Whether a server holds the directory. PermissionError when it belongs to somebody else."""
        if self._held is not None:
            return True
        try:
            with self._lock.open("rb") as handle:
                return not _locked(handle, fcntl.LOCK_SH)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def process(self) -> int | None:
        """The process that holds the directory. None when none does, or when it has taken it only this instant."""
        if not self.is_running():
            return None
        written = self._lock.read_text()
        return int(written) if written.endswith("\n") else None

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
