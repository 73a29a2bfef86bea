# SPDX-License-Identifier: Apache-2.0
"""Pods for tests of the shim: what the node agent would write, and what it would read."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
from tests.integration import patience

from springtide.local.runtime import shim_client
from springtide.local.runtime.contract import ContainerBody, ContainerState, Mount, PodBody
from springtide.local.runtime.fork_client import ForkClient

PATIENCE = 20.0
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}


class Pod:
    """One pod directory and its shim."""

    def __init__(self, data: Path, body: PodBody) -> None:
        self.data = data
        self.body = body
        self.directory = data / "pods" / body.uid
        self.logs = data / "logs" / body.uid
        self.shim: shim_client.Shim
        self._attempts: dict[str, int] = {}

    async def open(self, nursery: ForkClient | None = None) -> Pod:
        self.directory.mkdir(parents=True, mode=0o700, exist_ok=True)
        (self.directory / "body.json").write_bytes(msgspec.json.encode(self.body))
        self.shim = await (nursery or shim_client).spawn(self.directory)
        return self

    async def start(self, *argv: str, name: str = "main", env: dict[str, str] | None = None, **more: Any) -> None:
        attempt = self._attempts[name] = self._attempts.get(name, -1) + 1
        folder = self.directory / "containers" / name
        folder.mkdir(parents=True, exist_ok=True)
        more.setdefault("cwd", "/")
        log = str(self.log_path(name))
        body = ContainerBody(name=name, attempt=attempt, argv=argv, env=ENV if env is None else env, log=log, **more)
        (folder / f"{attempt}.body.json").write_bytes(msgspec.json.encode(body))
        await self.shim.start(name, attempt)

    async def script(self, text: str, **more: Any) -> None:
        await self.start("sh", "-c", text, **more)

    async def ended(self, name: str = "main") -> ContainerState:
        async with asyncio.timeout(PATIENCE), aclosing(self.shim.changes()) as changes:
            async for state in changes:
                if state.name == name and state.attempt == self._attempts[name] and state.status == "exited":
                    return state
        raise AssertionError(f"the shim is gone: {self.shim_log()}")

    async def output(self, text: str, **more: Any) -> str:
        """What a script prints, which must succeed."""
        await self.script(text, **more)
        state = await self.ended(more.get("name", "main"))
        printed = self.text(more.get("name", "main"))
        assert state.exit_code == 0, (state, printed)
        return printed

    async def printed(self, text: str, name: str = "main") -> None:
        """Until the log has it."""
        await until(lambda: self.log_path(name).exists() and text in self.text(name))

    def log_path(self, name: str = "main") -> Path:
        return self.logs / name / f"{self._attempts[name]}.log"

    def lines(self, name: str = "main") -> list[tuple[str, str, str]]:
        """Stream, mark and text of every line of a log, rotated parts included."""
        path = self.log_path(name)
        parts = sorted(path.parent.glob(f"{path.name}.*"))
        whole = b"".join(part.read_bytes() for part in (*parts, path))
        rows = [line.split(b" ", 3) for line in whole.split(b"\n")[:-1]]
        return [(stream.decode(), mark.decode(), text.decode()) for _, stream, mark, text in rows]

    def text(self, name: str = "main") -> str:
        return "".join(f"{text}\n" for _, _, text in self.lines(name))

    def shim_log(self) -> str:
        return (self.directory / "shim.log").read_text()

    def state_file(self, name: str = "main") -> str:
        return (self.directory / "containers" / name / f"{self._attempts[name]}.json").read_text()

    async def run(self, *argv: str, name: str = "main", **more: Any) -> tuple[int, str]:
        """Exit code and output of a command in a container."""
        null = os.open("/dev/null", os.O_RDONLY)
        reading, writing = os.pipe()
        try:
            execution = await self.shim.exec(name, argv, [null, writing, writing], **more)
        except shim_client.ShimError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
            os.close(null)
        text = await asyncio.to_thread(read_all, reading)
        return await execution.wait(), text


class Pods:
    def __init__(self, data: Path, holder: str) -> None:
        self.data = data
        self.holder = holder
        self.made: list[Pod] = []

    async def make(self, nursery: ForkClient | None = None, **more: Any) -> Pod:
        number = len(self.made) + 2
        if self.holder and more.get("isolation") != "none":
            more.setdefault("holder", self.holder)
            more.setdefault("address", f"10.244.1.{number}")
        uid = str(uuid.uuid4())
        body = PodBody(uid=uid, namespace="default", name=f"pod-{number}", hostname=f"pod-{number}", **more)
        pod = Pod(self.data, body)
        self.made.append(pod)
        return await pod.open(nursery)

    async def end(self) -> None:
        for pod in self.made:
            if hasattr(pod, "shim"):
                await pod.shim.end()
                pod.shim.close()
            elif found := await shim_client.adopt(pod.directory):
                await found.end()


def bind(source: Path, target: str, read_only: bool = False) -> Mount:
    return Mount(target=target, source=str(source), read_only=read_only)


def processes_with(mark: str, files: Sequence[str] = ("environ",)) -> Sequence[int]:
    """Living processes of the machine that have a mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if any(mark.encode() in (entry / file).read_bytes() for file in files):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


async def until_gone(mark: str) -> None:
    await until(lambda: not processes_with(mark))


async def until_nothing_is_left(pod: Pod) -> None:
    """Neither a program marked with the pod's uid nor the shim or one of its forks, which have the pod's directory."""
    await until(lambda: not processes_with(pod.body.uid, ("environ", "cmdline")))


async def until(true: Callable[[], object]) -> None:
    """Asked again and again, never slept through."""

    async def ask() -> object:
        return true()

    await patience.until(ask, bool, PATIENCE)


def read_all(fd: int) -> str:
    with open(fd, "rb") as file:
        return file.read().decode()
