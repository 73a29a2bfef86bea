# SPDX-License-Identifier: Apache-2.0
"""Broken WebSocket and SPDY frames on exec, attach and port-forward: that connection ends, everything else goes on.

A front and a node in this process, with the product's own server halves on both sides.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import ssl
import struct
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.integration.streams.node import Front, front_and_node
from tests.robustness.conftest import Complaints
from tests.unit.local.streams.pipes import frame

from springtide.local.access import pki
from springtide.local.streams import spdy
from springtide.local.streams.websocket import BINARY, CLOSE, PING, TEXT

POD = "/api/v1/namespaces/default/pods/p"
EXEC = f"{POD}/exec?command=cat&stdin=1&stdout=1"
ATTACH = f"{POD}/attach?stdin=1&stdout=1"
FORWARD = f"{POD}/portforward?ports=80"
WEBSOCKET = "Upgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {}\r\n"
SPDY = "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: {}\r\n"
ROADS = {
    "exec by WebSocket": (EXEC, WEBSOCKET.format("v5.channel.k8s.io")),
    "exec by old WebSocket": (EXEC, WEBSOCKET.format("v4.channel.k8s.io")),
    "attach by WebSocket": (ATTACH, WEBSOCKET.format("v5.channel.k8s.io")),
    "forward by WebSocket": (FORWARD, WEBSOCKET.format("SPDY/3.1+portforward.k8s.io")),
    "exec by SPDY": (EXEC, SPDY.format("v4.channel.k8s.io")),
    "forward by SPDY": (FORWARD, SPDY.format("portforward.k8s.io")),
}
FRAMES = {
    "noise": random.Random(1).randbytes(50_000),
    "a frame without a mask": b"\x82\x05hello",
    "reserved bits": b"\xf2\x80mask",
    "an unknown opcode": frame(3, b"x"),
    "an unknown control opcode": frame(15, b"x"),
    "a fragmented ping": frame(PING, b"x", fin=False),
    "a long ping": frame(PING, b"x" * 126),
    "a fragmented close": frame(CLOSE, b"", fin=False),
    "a close of one byte": frame(CLOSE, b"x"),
    "a giant to come": struct.pack(">BBQ", 0x82, 0xFF, 1 << 62),
    "a negative giant": struct.pack(">BBQ", 0x82, 0xFF, (1 << 64) - 1),
    "a continuation of nothing": frame(0, b"x"),
    "a message in a message": frame(TEXT, b"x", fin=False) + frame(TEXT, b"y"),
    "endless empty fragments": frame(BINARY, b"", fin=False) + frame(0, b"", fin=False) * 20_000,
    "many empty messages": frame(BINARY, b"") * 20_000,
    "many pings": frame(PING, b"") * 5_000,
    "unknown channels": b"".join(frame(BINARY, bytes((number,)) + b"x") for number in range(256)),
    "closes of unknown channels": b"".join(frame(BINARY, bytes((255, number))) for number in range(256)),
    "sizes that are no sizes": frame(BINARY, b"\x04[[[[") + frame(BINARY, b"\x04" + b"[" * 60_000),
}


def control(kind: int, payload: bytes, version: int = 3) -> bytes:
    return struct.pack(">HHI", 0x8000 | version, kind, len(payload)) + payload


def packed(plain: bytes) -> bytes:
    packer = zlib.compressobj(9, zdict=spdy.DICTIONARY)
    return packer.compress(plain) + packer.flush(zlib.Z_SYNC_FLUSH)


def syn(stream: int, block: bytes) -> bytes:
    return control(spdy.SYN_STREAM, struct.pack(">IIBB", stream, 0, 0, 0) + block)


def _many_streams(count: int, **headers: str) -> bytes:
    framer = spdy.Framer()
    return b"".join(framer.syn(1 + 2 * number, headers) for number in range(count))


def _given_up(count: int) -> bytes:
    framer = spdy.Framer()
    return b"".join(
        framer.syn(1 + 2 * number, {"streamtype": "error", "port": "80", "requestid": str(number)})
        + spdy.reset(1 + 2 * number)
        for number in range(count)
    )


SESSIONS = {
    "noise": random.Random(2).randbytes(50_000),
    "another version": control(spdy.SYN_STREAM, b"\0" * 10, version=2),
    "an unknown frame": control(99, b"x" * 100),
    "a control frame too long": struct.pack(">HHI", 0x8003, spdy.SYN_STREAM, 0xFFFFFF),
    "a stream of the server's": syn(2, packed(struct.pack(">I", 0))),
    "stream zero": syn(0, packed(struct.pack(">I", 0))),
    "the largest stream, then a smaller": syn(0x7FFFFFFF, packed(struct.pack(">I", 0))) + syn(3, b""),
    "headers that are no zlib": syn(1, b"not zlib at all"),
    "a bomb": syn(1, packed(struct.pack(">I", 1) + b"\0" * (8 << 20))),
    "too many headers": syn(1, packed(struct.pack(">I", 0xFFFFFFFF))),
    "headers cut off": syn(1, packed(struct.pack(">II", 1, 1000) + b"x")),
    "a header of four gigabytes": syn(1, packed(struct.pack(">II", 1, 0xFFFFFFFF))),
    "headers that are no text": syn(1, packed(struct.pack(">II2sI2s", 1, 2, b"\xff\xfe", 2, b"\xff\xfe"))),
    "data for nobody": struct.pack(">II", 5, 4) + b"data",
    "data without a stream": struct.pack(">II", 0, 4) + b"data",
    "a short frame": control(spdy.RST_STREAM, b"x"),
    "settings of wrong length": control(spdy.SETTINGS, struct.pack(">I", 0xFFFFFFFF)),
    "windows beyond all": control(spdy.WINDOW_UPDATE, struct.pack(">II", 0, 0x7FFFFFFF)) * 1000,
    "many pings": b"".join(spdy.ping(1 + 2 * number) for number in range(5_000)),
    "many streams": _many_streams(3_000, streamtype="stdin"),
    "many halves": _many_streams(3_000, streamtype="error", port="80"),
    "streams given up": _given_up(3_000),
    "ports that are no ports": _many_streams(100, streamtype="data", port="9" * 5000),
    "good-bye at once": spdy.go_away(0),
}


@pytest.fixture(params=["translated", "direct"])
async def front(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Front, ssl.SSLContext]]:
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    try:
        async with front_and_node(tmp_path, websocket=request.param == "direct") as (found, ca):
            yield found, pki.client_context(ca)
    finally:
        logging.getLogger().removeHandler(complaints)
    assert complaints.lines == []


async def sent(front: Front, tls: ssl.SSLContext, road: str, wire: bytes) -> None:
    """Opens the stream, sends, and reads until the other side ends it or has nothing more to say."""
    target, upgrade = ROADS[road]
    reader, writer = await asyncio.open_connection("127.0.0.1", front.port, ssl=tls)
    try:
        method = "GET" if "websocket" in upgrade else "POST"
        head = f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n{upgrade}\r\n"
        writer.write(head.encode())
        assert b" 101 " in await reader.readline()
        with contextlib.suppress(ConnectionError, TimeoutError, ssl.SSLError):
            async with asyncio.timeout(0.25):
                writer.write(wire)
                while await reader.read(65536):
                    pass
    finally:
        writer.transport.abort()


async def still_runs_commands(front: Front, tls: ssl.SSLContext) -> None:
    target, upgrade = f"{POD}/exec?command=echo&command=hello&stdout=1", WEBSOCKET.format("v5.channel.k8s.io")
    reader, writer = await asyncio.open_connection("127.0.0.1", front.port, ssl=tls)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n{upgrade}\r\n".encode())
    async with asyncio.timeout(20):
        await reader.readuntil(b"hello\n")
    writer.transport.abort()


def memory() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


@pytest.mark.timeout(120)
@pytest.mark.parametrize("road", [road for road in ROADS if "WebSocket" in road])
async def test_broken_frames_end_their_connection_alone(front: tuple[Front, ssl.SSLContext], road: str) -> None:
    before = memory()
    await asyncio.gather(*(sent(*front, road, wire) for wire in FRAMES.values()))
    await still_runs_commands(*front)
    assert memory() - before < 250


@pytest.mark.timeout(120)
@pytest.mark.parametrize("road", [road for road in ROADS if "SPDY" in road] + ["forward by WebSocket"])
async def test_broken_sessions_end_their_connection_alone(front: tuple[Front, ssl.SSLContext], road: str) -> None:
    before = memory()
    inside = (lambda wire: frame(BINARY, wire)) if "WebSocket" in road else (lambda wire: wire)
    await asyncio.gather(*(sent(*front, road, inside(wire)) for wire in SESSIONS.values()))
    await still_runs_commands(*front)
    assert memory() - before < 250
