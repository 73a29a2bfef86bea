# SPDX-License-Identifier: Apache-2.0
"""The operator's plain HTTP endpoints: liveness, readiness and metrics.

/healthz    the event loop runs
/readyz     the caches are filled; leadership does not matter, as a rollout would otherwise wait for an election
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
"""All addresses of this machine: the probes of a kubelet come from outside."""
ANY: Final = 0
_GRACE: Final = 1.0
_BODY_SECONDS: Final = 30.0
_LARGEST: Final = 16 * 1024 * 1024
"""The largest request in bytes: the webhook's contain an object of up to 3 MiB twice."""

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Ready = Callable[[], bool]


class PortError(OSError):
    """The port is in use, or needs privileges; the message states what to do."""


@asynccontextmanager
async def serve(options: Options, ready: Ready, metrics: Metrics) -> AsyncIterator[dict[str, int]]:
    """Serves both ports, if configured, while inside. Yields the port of each path, as ports may be chosen freely."""
    health, figures = options.health_port, options.metrics_port
    listeners: list[tuple[str, int, dict[str, Handler]]] = []
    if health is not None:
        listeners.append(("--health-port", health, _health(ready)))
    if figures is not None and figures == health != ANY:
        listeners[0][2].update(_metrics(metrics))
    elif figures is not None:
        listeners.append(("--monitoring-port", figures, _metrics(metrics)))
    found: dict[str, int] = {}
    async with AsyncExitStack() as stack:
        for flag, port, handlers in listeners:
            taken = await stack.enter_async_context(listening(handlers, port, flag))
            found |= dict.fromkeys(handlers, taken)
            logger.info("Answering %s on port %d", ", ".join(handlers), taken)
        yield found


@asynccontextmanager
async def listening(
    handlers: dict[str, Handler], port: int, flag: str, *, host: str = EVERYWHERE, tls: SSLContext | None = None
) -> AsyncIterator[int]:
    """A server for these paths; yields its port. `flag` is the option that chooses another one."""

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
    """The whole body. HTTPException if it is too long or too slow."""
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
    """One socket for IPv4 and IPv6 if the system supports that: two sockets would get different free ports."""
    try:
        if host == EVERYWHERE and socket.has_dualstack_ipv6():
            return socket.create_server((host, port), family=socket.AF_INET6, dualstack_ipv6=True)
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        # Python adds the address to the system's message.
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
