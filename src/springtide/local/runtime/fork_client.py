# SPDX-License-Identifier: Apache-2.0
"""The node agent's client of the fork server: start, find and remove shims.

forks = ForkClient()
shim = await forks.spawn(directory)         # like `shim_client.spawn`, in a tenth of the time
forks.close()                               # its shims keep running
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from springtide.local import control_sockets
from springtide.local.runtime import remains, shim_client
from springtide.local.runtime.fork_server import PLACEHOLDER
from springtide.local.runtime.shim_client import Shim, ShimError


class ForkClient:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    adopt = staticmethod(shim_client.adopt)
    left = staticmethod(shim_client.left)
    lost = staticmethod(shim_client.lost)
    rebooted = staticmethod(shim_client.rebooted)
    discard = staticmethod(remains.discard)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def spawn(self, directory: Path) -> Shim:
        """Fork a shim for the `body.json` in a directory and wait until its sandbox is ready."""
        reading, writing = os.pipe()
        try:
            self._ask(directory, writing)
        except OSError as error:
            os.close(reading)
            raise ShimError("SandboxError", f"cannot start a process for the pod: {error}") from None
        finally:
            os.close(writing)
        try:
            return await shim_client.born(directory, reading)
        finally:
            os.close(reading)

    def open(self) -> None:
        """Start the fork server, so that the first pod does not wait for it."""
        if self._process is None:
            ours, theirs = socket.socketpair()
            with theirs:
                command = [shim_client.interpreter(), *shim_client.module_command("fork_server"), PLACEHOLDER]
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
        except (BrokenPipeError, ConnectionResetError):  # the fork server was killed; a new one can serve the request
            self.close()
            self._send(line, pipe)

    def _send(self, line: bytes, pipe: int) -> None:
        self.open()
        assert self._requests is not None
        self._requests.sendmsg([line], control_sockets.pack_fds([pipe]))
