# SPDX-License-Identifier: Apache-2.0
"""What an operator answers over plain HTTP: whether it lives, whether it is ready, and its metrics.

/healthz    the event loop turns
/readyz     the caches are filled; whether this operator leads is no matter, or a rollout would wait for an election
/metrics    see `metrics`

async with serve(options, lambda: informers.synced, metrics): ...
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from ssl import SSLContext
from typing import Final

from aiohttp import web

from springtide.controllers.metrics import Metrics
from springtide.controllers.options import Options
from springtide.serving.connections import Service
from springtide.serving.listening import Listener

logger = logging.getLogger(__name__)

EVERYWHERE: Final = ""
"""All of this machine's addresses: the probes of a kubelet come from outside."""
ANY: Final = 0
_GRACE: Final = 1.0
_BODY_SECONDS: Final = 30.0
_LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a question: the webhook's hold an object of up to 3 MiB twice."""

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Ready = Callable[[], bool]


class PortError(OSError):
    """Somebody else listens there, or it is not ours to take; the message says what to do."""


@asynccontextmanager
async def serve(options: Options, ready: Ready, metrics: Metrics) -> AsyncIterator[dict[str, int]]:
    """While inside, both ports answer as far as they are wanted. Gives where each path is, for free ports' sake."""
    health, figures = options.health_port, options.metrics_port
    doors: list[tuple[str, int, dict[str, Handler]]] = []
    if health is not None:
        doors.append(("--health-port", health, _health(ready)))
    if figures is not None and figures == health != ANY:
        doors[0][2].update(_metrics(metrics))
    elif figures is not None:
        doors.append(("--monitoring-port", figures, _metrics(metrics)))
    found: dict[str, int] = {}
    async with AsyncExitStack() as stack:
        for flag, port, handlers in doors:
            taken = await stack.enter_async_context(listening(handlers, port, flag))
            found |= dict.fromkeys(handlers, taken)
            logger.info("Answering %s on port %d", ", ".join(handlers), taken)
        yield found


@asynccontextmanager
async def listening(
    handlers: dict[str, Handler], port: int, flag: str, *, host: str = EVERYWHERE, tls: SSLContext | None = None
) -> AsyncIterator[int]:
    """A server for these paths, and the port it has. `flag` is how its user would choose another."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        handler = handlers.get(request.path)
        return await handler(request) if handler is not None else web.Response(status=404, text="404: Not Found")

    service = Service(answer)
    listener = Listener(service, _socket(host, port, flag), tls)
    try:
        yield listener.port
    finally:
        await listener.close()
        await service.shutdown(_GRACE)


async def body_of(request: web.BaseRequest) -> bytes:
    """The whole body. HTTPException when it is too long or does not come."""
    pieces, size = [], 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for piece in request.content.iter_any():
                size += len(piece)
                if size > _LARGEST:
                    raise web.HTTPRequestEntityTooLarge(_LARGEST, size)
                pieces.append(piece)
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    return b"".join(pieces)


def _socket(host: str, port: int, flag: str) -> socket.socket:
    """One for both families where the system has both: of two sockets, each would take a free port of its own."""
    try:
        if host == EVERYWHERE and socket.has_dualstack_ipv6():
            return socket.create_server((host, port), family=socket.AF_INET6, dualstack_ipv6=True)
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        # Python adds the address to the system's words.
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise PortError(f"cannot listen on port {port}: {reason}\nChoose another: {flag} PORT") from None


def _health(ready: Ready) -> dict[str, Handler]:
    async def alive(_: web.BaseRequest) -> web.Response:
        return web.Response(text="ok\n")

    async def able(_: web.BaseRequest) -> web.Response:
        return web.Response(text="ok\n") if ready() else web.Response(status=503, text="caches are being filled\n")

    return {"/healthz": alive, "/readyz": able}


def _metrics(metrics: Metrics) -> dict[str, Handler]:
    async def scrape(request: web.BaseRequest) -> web.Response:
        body, media_type = metrics.text(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": media_type})

    return {"/metrics": scrape}
