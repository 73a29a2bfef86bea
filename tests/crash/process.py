# SPDX-License-Identifier: Apache-2.0
"""A real cluster without nodes, to be killed without warning, and HTTPS to it for clients that live on.

Two processes can be killed: the server, which the supervisor then starts again, and the supervisor, which takes the
server with it and is started again by the test.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import yaml

from springtide.local.datadir import DataDir

START_LIMIT = 60.0
"""Seconds after which a server that does not answer counts as hung; a normal start takes less than one."""


class ServerProcess:
    """`tide up` in the foreground on one directory and one port, over as many lives as the test wants."""

    def __init__(self, directory: Path, before_start: Callable[[], None] | None = None) -> None:
        self.directory = directory
        self.port = _free_port()
        self._before_start = before_start
        self._process: subprocess.Popen[bytes] | None = None
        self._log = directory.with_name(directory.name + ".log")

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Of the server."""
        pid = DataDir(self.directory).server_process()
        assert pid is not None
        return pid

    def spawn(self) -> None:
        command = [sys.executable, "-m", "springtide.cli", "up", "--no-nodes", "--data-dir", str(self.directory)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--port", str(self.port)], stdout=log, stderr=log, preexec_fn=self._before_start
            )

    async def start(self) -> None:
        """Returns when it answers, with its credentials written."""
        self.spawn()
        deadline = time.monotonic() + START_LIMIT
        while not await self._answers():
            if self._process is not None and self._process.poll() is not None:
                raise AssertionError(f"the server did not start:\n{self.last_words()}")
            assert time.monotonic() < deadline, f"the server does not answer:\n{self.last_words()}"
            await asyncio.sleep(0.02)

    async def settled(self) -> None:
        """Returns when `tide up` has said that the cluster is up: before that a failure is one of its start."""
        deadline = time.monotonic() + START_LIMIT
        while b" is up at " not in self._log.read_bytes():
            assert time.monotonic() < deadline, f"the cluster does not come up:\n{self.last_words()}"
            await asyncio.sleep(0.02)

    async def fail_to_start(self) -> str | None:
        """What it says when it refuses to start; None when it starts."""
        before = self._log.stat().st_size
        self.spawn()
        assert self._process is not None
        deadline = time.monotonic() + START_LIMIT
        while self._process.poll() is None:
            if await self._answers():
                return None
            assert time.monotonic() < deadline, f"the server does not answer:\n{self.last_words()}"
            await asyncio.sleep(0.02)
        return self._log.read_bytes()[before:].decode(errors="replace")

    async def _answers(self) -> bool:
        if not (self.directory / "kubeconfig").exists():
            return False
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.tls())
        except OSError:
            return False
        writer.transport.abort()
        await asyncio.sleep(0)  # the transport closes its socket in the next turn
        return True

    def kill(self) -> None:
        """Supervisor and all, as the kernel's out-of-memory killer or an impatient person would do it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    async def kill_server(self, meanwhile: Callable[[], Awaitable[None]] | None = None) -> None:
        """The server alone, at whatever it is. Returns when another one answers; `meanwhile` comes before that."""
        before = DataDir(self.directory).server_process()
        if before is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(before, signal.SIGKILL)
        if meanwhile is not None:
            await meanwhile()
        deadline = time.monotonic() + START_LIMIT
        while DataDir(self.directory).server_process() in (None, before) or not await self._answers():
            assert time.monotonic() < deadline, f"the server does not come back:\n{self.last_words()}"
            await asyncio.sleep(0.02)

    def stop(self) -> int:
        if self._process is None or self._process.poll() is not None:
            return 0
        os.kill(self._process.pid, signal.SIGTERM)
        return self._process.wait(timeout=START_LIMIT)

    def last_words(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])

    def complaints(self) -> list[str]:
        """Tracebacks and errors the server wrote down in any of its lives."""
        marks = ("Traceback", " ERROR ", " CRITICAL ")
        return [line for line in self._log.read_text(errors="replace").splitlines() if any(m in line for m in marks)]

    def tls(self) -> ssl.SSLContext:
        return administrator_tls(self.directory)


def administrator_tls(directory: Path) -> ssl.SSLContext:
    config = yaml.safe_load((directory / "kubeconfig").read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    pair = directory.with_name(f"{directory.name}.pem")  # the directory may be on a disk that is full
    parts = ("client-certificate-data", "client-key-data")
    pair.write_bytes(b"\n".join(base64.b64decode(user[part]) for part in parts))
    context.load_cert_chain(pair)
    return context


def session_to(server: ServerProcess) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(ssl=server.tls(), limit=0)
    session = aiohttp.ClientSession(server.url, connector=connector, timeout=aiohttp.ClientTimeout(total=20))
    # Or a DELETE whose connection breaks is silently sent again, waits for the next server and finds nothing there.
    session._retry_connection = False
    return session


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
