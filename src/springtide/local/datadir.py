# SPDX-License-Identifier: Apache-2.0
"""Where one embedded cluster lives on disk, and who may run it.

lock          held while a server runs; two servers never share a directory
cluster.json  name, port and process of the server that runs or ran last
kubeconfig    admin credentials, mode 0600
pki/          certificate authority, certificates and the token key
state.db      every object
server.log    what a server in the background says
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

import msgspec

from springtide.local.access.files import write_private


class InUseError(Exception):
    """Another server runs on this directory."""


class Running(msgspec.Struct):
    name: str
    port: int
    pid: int


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
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.close()
            raise InUseError(str(self.path)) from None
        self._held = handle

    def release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def is_running(self) -> bool:
        if self._held is not None:
            return True
        try:
            self.acquire()
        except InUseError:
            return True
        except FileNotFoundError:
            return False
        self.release()
        return False

    def describe(self, name: str, port: int) -> None:
        write_private(self._card, msgspec.json.encode(Running(name, port, os.getpid())))

    def last(self) -> Running | None:
        try:
            return msgspec.json.decode(self._card.read_bytes(), type=Running)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None
