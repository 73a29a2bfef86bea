# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 by hand: bytes out, one answer in, for what client libraries would hide from a test."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from springtide.local.access import pki
from springtide.local.cluster import Cluster

PATIENCE = 20.0


def administrator(cluster: Cluster) -> ssl.SSLContext:
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
    return pki.client_context(authority.certificate, pki.admin_pair(authority))


@dataclass
class Answer:
    code: int
    headers: dict[str, list[str]]  # by lower-case name
    body: bytes

    def header(self, name: str) -> str:
        return self.headers.get(name, [""])[0]

    @property
    def document(self) -> Any:
        zipped = self.header("content-encoding") == "gzip"
        return json.loads(gzip.decompress(self.body) if zipped else self.body)


class Connection:
    """One connection, used for one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, method: str, target: str, *headers: str, body: bytes = b"") -> Answer:
        await self.send(method, target, *headers, *([f"Content-Length: {len(body)}"] if body else []))
        await self.write(body)
        return await self.answer(method)

    async def send(self, method: str, target: str, *headers: str) -> None:
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *headers, "", ""]
        await self.write("\r\n".join(lines).encode())

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self, method: str = "GET") -> Answer:
        async with asyncio.timeout(PATIENCE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
            headers: dict[str, list[str]] = {}
            for line in head[1:]:
                name, _, value = line.partition(":")
                if name:
                    headers.setdefault(name.lower(), []).append(value.strip())
            found = Answer(int(head[0].split()[1]), headers, b"")
            if method != "HEAD" and found.code >= 200:
                found.body = await self._body(found)
        return found

    async def _body(self, answer: Answer) -> bytes:
        if answer.header("transfer-encoding") != "chunked":
            return await self._reader.readexactly(int(answer.header("content-length") or 0))
        whole = b""
        while size := int(await self._reader.readuntil(b"\n"), 16):
            whole += await self._reader.readexactly(size)
            await self._reader.readline()
        await self._reader.readline()
        return whole

    async def is_closed(self) -> bool:
        """Whether the server ended the connection; waits for it."""
        async with asyncio.timeout(PATIENCE):
            return await self._reader.read(1) == b""


@asynccontextmanager
async def connected(cluster: Cluster) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", cluster.port, ssl=administrator(cluster), limit=1 << 24)
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()


async def until(holds: Callable[[], bool]) -> None:
    ends = asyncio.get_running_loop().time() + PATIENCE
    while not holds():
        assert asyncio.get_running_loop().time() < ends
        await asyncio.sleep(0.005)
