# SPDX-License-Identifier: Apache-2.0
"""Accepts connections within the limits, and gives each TLS handshake a deadline.

    listener = Listener(service, socket.create_server(("127.0.0.1", 0)), tls)
    ...
    await listener.close()

asyncio's own server accepts without limit and counts no connection before its handshake is over.
"""

from __future__ import annotations

import asyncio
import asyncio.sslproto
import logging
import socket
import ssl
from typing import Final

from springtide.serving.connections import Connection, Service
from springtide.serving.slots import Slot

logger = logging.getLogger(__name__)

_GOODBYE_SECONDS: Final = 5.0
"""For closing a TLS connection; asyncio's default of 30 would keep the descriptor of a client that is gone."""
_RETRY: Final = 0.2
# asyncio gives every TLS connection a read buffer of 256 KiB; a thousand idle watches would hold 250 MB.
_TLS_BUFFER: Final = 32 * 1024


class Listener:
    """A listening socket that is served from now until `close`; its connections outlive it."""

    def __init__(self, service: Service, sock: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        asyncio.sslproto.SSLProtocol.max_size = _TLS_BUFFER
        sock.setblocking(False)
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            # Connections inherit it. asyncio sets it only on sockets that name their protocol, which accepted ones of
            # `create_server` do not; without it each answer in several parts waits 40 ms for an acknowledgement.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._service, self._socket, self._tls = service, sock, tls
        self._handshakes: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.get_running_loop().create_task(self._accept(), name="accept")

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    async def close(self) -> None:
        """Stop accepting and close the socket."""
        tasks = [self._accepting, *self._handshakes]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._socket.close()

    async def _accept(self) -> None:
        loop, slots = asyncio.get_running_loop(), self._service.slots
        while True:
            await slots.room()
            try:
                connection, _ = await loop.sock_accept(self._socket)
            except ConnectionError:
                continue  # the client has disconnected
            except OSError as problem:
                logger.error("cannot accept connections: %s; trying again", problem.strerror or problem)
                await asyncio.sleep(_RETRY)
                continue
            slot = slots.enter(connection.close)  # counted from here on, not from the end of the handshake
            task = loop.create_task(self._connect(connection, slot), name="connection")
            slot.abort = task.cancel
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)
            await asyncio.sleep(0)  # waiting connections must not starve other tasks

    async def _connect(self, sock: socket.socket, slot: Slot) -> None:
        """Does the handshake; afterwards the connection has no task of its own."""
        limits = self._service.slots.limits
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: Connection(self._service, slot),
                sock,
                ssl=self._tls,
                ssl_handshake_timeout=limits.handshake_seconds if self._tls is not None else None,
                ssl_shutdown_timeout=_GOODBYE_SECONDS if self._tls is not None else None,
            )
        except OSError:  # no TLS, bad TLS, or none in time
            self._service.slots.leave(slot)
        except BaseException:
            self._service.slots.leave(slot)
            raise
