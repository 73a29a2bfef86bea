# SPDX-License-Identifier: Apache-2.0
"""Stock programs as the judges of streams: kubectl, run with a limit on its time.

SPRINGTIDE_TOOLS names the directory of the oracle's programs. A missing one fails a test, it does not skip it.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 15.0


def tool(name: str) -> str:
    path = Path(os.environ["SPRINGTIDE_TOOLS"]) / name
    assert path.exists(), f"{path} is missing: run `python hack/oracle/control_plane.py build`"
    return str(path)


def environment(kubeconfig: Path, home: Path, websockets: str) -> dict[str, str]:
    switches = ("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS")
    return os.environ | dict.fromkeys(switches, websockets) | {"KUBECONFIG": str(kubeconfig), "HOME": str(home)}


@dataclass
class Kubectl:
    program: str
    environment: dict[str, str]

    async def start(self, *words: str, stdin: int = asyncio.subprocess.DEVNULL) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            self.program, *words, env=self.environment, stdin=stdin, stdout=pipe, stderr=pipe
        )

    async def __call__(self, *words: str, stdin: bytes | None = None) -> tuple[int, bytes, bytes]:
        source = asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE
        process = await self.start(*words, stdin=source)
        try:
            out, err = await asyncio.wait_for(process.communicate(stdin), PATIENCE)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode is not None
        return process.returncode, out, err


async def forwarded_port(process: asyncio.subprocess.Process) -> int:
    return int((await line_of(process)).split(b"127.0.0.1:")[1].split()[0])


async def line_of(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    return await asyncio.wait_for(process.stdout.readline(), PATIENCE)


async def exchange(port: int, size: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    content = os.urandom(size)

    async def send() -> None:
        writer.write(content)
        await writer.drain()
        writer.write_eof()

    _, received = await asyncio.wait_for(asyncio.gather(send(), reader.read(-1)), PATIENCE)
    writer.close()
    return received == content
