# SPDX-License-Identifier: Apache-2.0
"""The node agent's side of the nursery: all that an agent asks for to have shims, find them and be rid of them.

nursery = Nursery()
shim = await nursery.spawn(directory)       # like `shims.spawn`, in a tenth of the time
nursery.close()                             # its shims go on
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from springtide.local.runtime import remains, shims
from springtide.local.runtime.nursery import ROOM
from springtide.local.runtime.shim import messages
from springtide.local.runtime.shims import Shim, ShimError


class Nursery:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    adopt = staticmethod(shims.adopt)
    left = staticmethod(shims.left)
    lost = staticmethod(shims.lost)
    rebooted = staticmethod(shims.rebooted)
    discard = staticmethod(remains.discard)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def spawn(self, directory: Path) -> Shim:
        """Have a shim made for the `body.json` in a directory and wait until its sandbox is ready."""
        reading, writing = os.pipe()
        try:
            self._ask(directory, writing)
        except OSError as error:
            os.close(reading)
            raise ShimError("SandboxError", f"cannot start a process for the pod: {error}") from None
        finally:
            os.close(writing)
        try:
            return await shims.born(directory, reading)
        finally:
            os.close(reading)

    def open(self) -> None:
        """Start its process, so that the first pod does not wait for it."""
        if self._process is None:
            ours, theirs = socket.socketpair()
            with theirs:
                command = [shims.interpreter(), *shims.module_command("nursery"), ROOM]
                self._process = subprocess.Popen(
                    command, env={}, cwd="/", stdin=theirs.fileno(), stdout=subprocess.DEVNULL, start_new_session=True
                )
            ours.setblocking(False)
            self._requests = ours

    def close(self) -> None:
        if self._requests is not None and self._process is not None:
            self._requests.close()
            self._process.wait()
        self._requests = self._process = None

    def _ask(self, directory: Path, pipe: int) -> None:
        line = os.fsencode(directory) + b"\n"
        try:
            self._send(line, pipe)
        except (BrokenPipeError, ConnectionResetError):  # killed by somebody; another can do the same
            self.close()
            self._send(line, pipe)

    def _send(self, line: bytes, pipe: int) -> None:
        self.open()
        assert self._requests is not None
        self._requests.sendmsg([line], messages.pack_fds([pipe]))
