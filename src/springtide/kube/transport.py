# SPDX-License-Identifier: Apache-2.0
"""The `Transport` interface.

The client uses only the protocol: `http_transport` and `blocking_transport` implement it, tests pass a fake one, and
the embedded server may pass one that never leaves the process. A transport adds credentials and nothing else: it
neither retries nor interprets messages. Only some transports open WebSockets (`OpensWebSockets`): a request inside the
process has no connection that could be upgraded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, runtime_checkable

from springtide.kube import errors
from springtide.kube.request import Request, Response

REQUEST_TIMEOUT: Final = 60.0
USER_AGENT: Final = "springtide"


class Transport(Protocol):
    async def send(self, request: Request) -> Response:
        """The whole response, whatever its status. Unreachable if there is none."""

    def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """The lines of a successful response as they arrive, without line ends.

        Any other response is raised as `errors.from_answer(...)`, a lost connection as Unreachable. Closing the
        generator ends the request.
        """

    async def close(self) -> None: ...


class WebSocket(Protocol):
    @property
    def protocol(self) -> str:
        """The subprotocol that the server chose; empty if it chose none."""

    async def receive(self) -> bytes | None:
        """The next message; None once the connection is closed. Unreachable if it is lost."""

    async def send(self, message: bytes) -> None:
        """Send a binary message. Unreachable if the connection is lost."""


@runtime_checkable
class OpensWebSockets(Protocol):
    def websocket(self, request: Request, protocols: Sequence[str]) -> AbstractAsyncContextManager[WebSocket]:
        """A WebSocket with one of these subprotocols.

        A response that does not switch protocols is raised as `errors.from_answer(...)`, none as Unreachable. The
        request's timeout is for the handshake.
        """


@runtime_checkable
class StreamsChunks(Protocol):
    def chunks(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Like `Transport.stream`, with the bytes as they arrive, so that memory is bounded however long a line is."""


def chunks_of(transport: Transport) -> StreamsChunks:
    """MethodNotAllowed if the transport cannot stream bytes."""
    if isinstance(transport, StreamsChunks):
        return transport
    raise errors.MethodNotAllowed("requests inside this process stream lines only")


def websockets_of(transport: Transport) -> OpensWebSockets:
    """MethodNotAllowed if the transport cannot open any."""
    if isinstance(transport, OpensWebSockets):
        return transport
    raise errors.MethodNotAllowed("requests inside this process cannot be upgraded to a WebSocket")
