# SPDX-License-Identifier: Apache-2.0
"""A real cluster with nodes, all of whose processes can be killed: `tide up` in the foreground, started again at need.

As root, or as an ordinary user (see `tests.integration.runtime.ordinary`). The supervisor is this process's child, and
whatever loses its parent becomes one, too: so nothing that is left behind can hide.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

from tests.crash_pods import machine
from tests.crash_pods.machine import Process
from tests.integration.runtime import ordinary

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.local.datadir import DataDir
from springtide.local.network.kernel.nat import Place

NODES = {"one": "cpu:16,memory:32Gi", "two": "cpu:16,memory:32Gi"}
PATIENCE = 60.0
PASSING = (errors.Unreachable, errors.ServerError, errors.TooManyRequests)
_LOOK = 0.05
_MARKS = ("Traceback", " ERROR ", " CRITICAL ")


class Cluster:
    def __init__(self, home: Path, as_user: bool, nodes: Mapping[str, str] = NODES) -> None:
        self.home, self.as_user, self._nodes = home, as_user, nodes
        self.place = DataDir(home / "cluster")
        self.port = _free_port()
        self._up: subprocess.Popen[bytes] | None = None
        self._children: list[subprocess.Popen[bytes]] = []
        self._log = home / "tide.log"
        self._client: Client | None = None

    # Starting and ending

    def start(self) -> None:
        nodes = [word for name, size in self._nodes.items() for word in ("--node", f"{name}={size}")]
        with self._log.open("ab") as log:
            self._up = self._tide(log, "up", "--port", str(self.port), *nodes)

    async def down(self, *options: str) -> list[str]:
        """What is wrong with how it ended."""
        await until_true(self.place.is_running)  # only just started, it has not taken its directory
        with (self.home / "down.log").open("ab") as log:
            asking = self._tide(log, "down", *options)
        code = await asyncio.to_thread(asking.wait)
        faults = [] if code == 0 else [f"tide down ended with {code}: {(self.home / 'down.log').read_text()}"]
        assert self._up is not None
        try:
            code = await asyncio.to_thread(self._up.wait, PATIENCE)
        except subprocess.TimeoutExpired:
            return [*faults, "tide up does not end although tide down has"]
        return faults if code == 0 else [*faults, f"tide up ended with {code}"]

    async def tide(self, *words: str) -> int:
        """Whatever it says is in a file of its own; the exit status."""
        with (self.home / "commands.log").open("ab") as log:
            asking = self._tide(log, *words)
        return await asyncio.to_thread(asking.wait)

    def _tide(self, log: IO[bytes], *words: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "springtide.cli", *words, "--data-dir", str(self.place.path)]
        child = subprocess.Popen(
            ordinary.command(argv) if self.as_user and os.geteuid() == 0 else argv,
            cwd=ordinary.REPOSITORY,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        self._children.append(child)
        return child

    def own_children(self) -> set[int]:
        """Those that somebody here waits for."""
        return {child.pid for child in self._children if child.returncode is None}

    # Its processes

    def supervisor(self) -> Process | None:
        return machine.process(self._up.pid) if self._up is not None and self._up.poll() is None else None

    def server(self) -> Process | None:
        with contextlib.suppress(OSError, ValueError):
            pid = self.place.server_process()
            return machine.process(pid) if pid else None
        return None

    def operator(self) -> Process | None:
        with contextlib.suppress(OSError, ValueError):
            pid = self.place.operator_process()
            return machine.process(pid) if pid else None
        return None

    def agent(self, node: str) -> Process | None:
        for found in machine.descendants([self._up.pid] if self._up else []):
            words = machine.words(found.pid)
            if "springtide.local.kubelet" in words and words[words.index("--node") + 1] == node:
                return found
        return None

    def fork_server(self, node: str) -> Process | None:
        """What makes an agent's shims."""
        agent = self.agent(node)
        for found in machine.descendants([agent.pid] if agent else []):
            if any("fork_server" in word for word in machine.words(found.pid)):
                return found
        return None

    def netd(self) -> Process | None:
        return self._named(self.place.network / "holder.json")

    def shim(self, uid: str) -> Process | None:
        return self._named(self.place.pods / uid / "shim.json")

    def unborn_shim(self, uid: str) -> Process | None:
        """One that has not yet written who it is."""
        found = [machine.process(pid) for pid in machine.naming(self.place.pods / uid)]
        return min((one for one in found if one is not None), default=None)

    def pods_on_disk(self) -> dict[str, str]:
        """Name by uid."""
        found = {}
        for path in self.place.pods.glob("*/pod.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                found[path.parent.name] = str(json.loads(path.read_bytes())["name"])
        return found

    @staticmethod
    def _named(path: Path) -> Process | None:
        with contextlib.suppress(OSError, ValueError, KeyError):
            named = json.loads(path.read_bytes())
            found = Process(named["pid"], named["start"])
            return found if machine.is_alive(found) else None
        return None

    async def kill(self, find: Callable[[], Process | None]) -> Process | None:
        """What there is to be killed by then: something that is being started again may take a moment."""
        for _ in range(40):
            found = find()
            if found is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(found.pid, signal.SIGKILL)
                return found
            await asyncio.sleep(_LOOK)
        return None

    def bury(self) -> None:
        """Wait for a supervisor that was killed."""
        if self._up is not None:
            self._up.wait()

    # Talking to it

    async def client(self) -> Client:
        """Of the administrator; it outlives all servers."""
        if self._client is None:
            deadline = time.monotonic() + PATIENCE
            while not self.place.kubeconfig.exists():
                assert time.monotonic() < deadline, f"no kubeconfig:\n{self._log.read_text()[-3000:]}"
                assert self.supervisor() is not None, f"tide up ended:\n{self._log.read_text()[-3000:]}"
                await asyncio.sleep(_LOOK)
            self._client = await Client.connect(str(self.place.kubeconfig))
        return self._client

    async def insist(self, act: Callable[[Client], Awaitable[Any]]) -> Any:
        """Again and again until there is an answer: done twice, it is as if done once."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return await act(await self.client())
            except errors.AlreadyExists:
                return None
            except PASSING as error:
                if time.monotonic() > deadline:
                    raise AssertionError("the server does not come back") from error
                await asyncio.sleep(_LOOK)

    # What it leaves

    def complaints(self) -> list[str]:
        """Tracebacks and errors that any of its processes wrote down in any of its lives."""
        logs = [self._log, self.place.network / "holder.log", self.place.operator_log]
        logs += sorted(self.place.nodes.glob("*/agent.log"))
        found = []
        for path in logs:
            lines = path.read_text(errors="replace").splitlines() if path.exists() else []
            for number, line in enumerate(lines):
                if any(mark in line for mark in _MARKS):
                    cause = next((later for later in lines[number + 1 :] if not later.startswith(" ")), "")
                    found.append(f"{path.name}: {line}; {cause}")
        return found

    def remains(self) -> list[str]:
        """What there still is of a cluster that was ended."""
        own = {self._up.pid} if self._up is not None else set()
        living = set(machine.naming(self.home)) | {found.pid for found in machine.descendants(machine.children())}
        found = [machine.describe(pid) for pid in sorted(living - own)]
        found += [f"mount {line}" for line in machine.mounts_under(self.home)]
        return found + [f"link {name}" for name in machine.links() & {Place(str(self.place.path)).link}]

    def end(self) -> None:
        """By force, whatever happened before."""
        if self._up is not None:
            self._up.kill()
            self._up.wait()
        for _ in range(100):
            left = [found.pid for found in machine.descendants(machine.children())] + list(machine.naming(self.home))
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            machine.reap(())
            if not left:
                return
            time.sleep(_LOOK)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


@asynccontextmanager
async def running(as_user: bool, nodes: Mapping[str, str] = NODES) -> AsyncIterator[Cluster]:
    home = Path(tempfile.mkdtemp(prefix="springtide-crash-"))
    if as_user and os.geteuid() == 0:
        os.chown(home, ordinary.UID, ordinary.UID)
    machine.adopt_orphans()
    cluster = Cluster(home, as_user, nodes)
    reaping = asyncio.create_task(_keep_reaping(cluster))
    try:
        cluster.start()
        yield cluster
    finally:
        reaping.cancel()
        await cluster.close()
        await asyncio.to_thread(cluster.end)
        if not os.environ.get("SPRINGTIDE_CRASH_KEEP"):
            shutil.rmtree(home, ignore_errors=True)


async def _keep_reaping(cluster: Cluster) -> None:
    while True:
        machine.reap(cluster.own_children())
        await asyncio.sleep(0.2)


async def until_true(ask: Callable[[], object], patience: float = PATIENCE) -> bool:
    """Whether it came true within the patience."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if ask():
            return True
        await asyncio.sleep(_LOOK)
    return bool(ask())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
