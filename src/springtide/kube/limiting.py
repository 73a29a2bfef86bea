# SPDX-License-Identifier: Apache-2.0
"""A client-side rate limit for servers shared with others: a token bucket in front of a transport.

    client = Client(Limited(transport, Bucket(qps=50, burst=100)))

Two kinds of requests are not limited: watches, which are few and long, and which everything else waits for; and
renewals of leases, whose delay would lose the leadership.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from springtide.kube.request import Request, Response
from springtide.kube.transport import Transport, WebSocket, websockets_of

_LEASES: Final = "/apis/coordination.k8s.io/"


class Bucket:
    """`burst` tokens at once, then `qps` per second. Pure: time is a parameter."""

    def __init__(self, qps: float, burst: int = 0) -> None:
        """Without a burst, two seconds' worth is allowed at once."""
        if not (qps > 0 and math.isfinite(qps)) or burst < 0:
            raise ValueError(f"a request limit needs a rate above 0 and a burst of at least 0, not {qps:g} and {burst}")
        self._qps = qps
        self._burst = float(burst or math.ceil(2 * qps))
        self._tokens = self._burst
        """Negative while tokens are promised that do not exist yet."""
        self._seen = -math.inf

    def take(self, now: float) -> float:
        """Take one token; returns the seconds to wait before using it. First come, first served."""
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._seen) * self._qps)
        self._seen = max(self._seen, now)
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._qps)


class Limited:
    """A transport whose requests wait for tokens, by the event loop's clock."""

    def __init__(self, transport: Transport, bucket: Bucket) -> None:
        self._transport = transport
        self._bucket = bucket

    async def send(self, request: Request) -> Response:
        if not request.path.startswith(_LEASES):
            await self._wait()
        return await self._transport.send(request)

    def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        return self._transport.stream(request)

    @asynccontextmanager
    async def websocket(self, request: Request, protocols: Sequence[str]) -> AsyncGenerator[WebSocket, None]:
        await self._wait()
        async with websockets_of(self._transport).websocket(request, protocols) as socket:
            yield socket

    async def _wait(self) -> None:
        await asyncio.sleep(self._bucket.take(asyncio.get_running_loop().time()))

    async def close(self) -> None:
        await self._transport.close()
