# SPDX-License-Identifier: Apache-2.0
"""One connection: reads request heads within limits and passes requests to aiohttp one at a time.

`Connection` stays the transport's protocol for the connection's whole life. aiohttp's protocol behind it gets complete
heads only, each with a deadline, and the next head only after the current request was answered; so a client cannot make
the server hold more than one request per connection. An upgrade request that `Service.upgrade` accepts ends HTTP: from
then on another protocol gets the bytes. Every request is checked for it, not only the first, because aiohttp supports
no upgrade but WebSocket.
"""

from __future__ import annotations

import asyncio
import http
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from springtide.serving.framing import CHUNKED, END, BadRequest, Chunks, check_partial, inspected, is_whole_request
from springtide.serving.slots import Limits, Slot, Slots

# horovodrun puts its whole environment into an exec URL; kube-apiserver accepts a little more than a mebibyte.
MAX_HEAD: Final = (1 << 20) + (64 << 10)
_AHEAD: Final = 16 << 10
"""Bytes that are read while the current request is answered; more is left to the kernel."""

_BUFFERED: Final = 64 << 10
"""Bytes that a transport buffers in each direction before it pauses."""

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Upgrade = Callable[[bytes, int, bytes, "Connection"], asyncio.Protocol | None]
"""(a head with an Upgrade header, the length of its body, the bytes after the head, its connection) -> the protocol
that gets the bytes from now on; None passes the request to aiohttp."""


class Service(web.Server):
    """An HTTP request handler, and the limits of its connections."""

    def __init__(self, handler: Handler, limits: Limits | None = None, upgrade: Upgrade | None = None, **options: Any):
        self.slots = Slots(limits or Limits())
        self.upgrade = upgrade
        super().__init__(
            handler,
            access_log=None,
            max_line_size=MAX_HEAD,
            max_field_size=MAX_HEAD,
            read_bufsize=_AHEAD,
            keepalive_timeout=self.slots.limits.idle_seconds,
            handler_cancellation=True,
            **options,
        )

    async def shutdown(self, timeout: float | None = None) -> None:
        await super().shutdown(timeout)
        self.slots.close()

    def __call__(self) -> _Requests:
        return _Requests(self, loop=self._loop, **self._kwargs)


class _Requests(web.RequestHandler):
    """aiohttp's side of a connection."""

    connection: Connection

    def log_access(self, *_: object) -> None:
        # aiohttp's last call for a response, even without an access log. It is not called after a response that fails:
        # the connection is closed then.
        self.connection.answered()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        # An error of the client, or a client that disconnected: no traceback in the log.
        if isinstance(exc, HttpProcessingError) or (isinstance(exc, ConnectionError) and _has_left(request)):
            refused = web.Response(status=status, text=message)
            refused.force_close()
            return refused
        return super().handle_error(request, status, exc, message)


def _has_left(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()


def authenticated(request: web.BaseRequest, user: str) -> bool:
    """Note the user of the connection; False if that user has too many. True for requests to other servers."""
    requests = request.protocol
    return requests.connection.authenticated(user) if isinstance(requests, _Requests) else True


class Connection(asyncio.Protocol):
    """One accepted connection, with its slot."""

    def __init__(self, service: Service, slot: Slot) -> None:
        self._service, self._slot = service, slot
        self._buffer = bytearray()
        self._searched = 0
        self._inner: asyncio.Protocol | None = None
        self._left = 0  # bytes of the current request's body
        self._chunks: Chunks | None = None
        self._answering = False
        self._paused = False
        self._upgraded = False
        self._refused = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def transport(self) -> asyncio.Transport:
        return self._transport

    def authenticated(self, user: str) -> bool:
        return self._service.slots.authenticate(self._slot, user)

    # Transport callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        _hold(transport, _BUFFERED)
        self._slot.abort, self._slot.is_closing = transport.abort, transport.is_closing
        if certificate_of(transport) is not None:
            self.authenticated("")
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._service.slots.leave(self._slot)
        self._buffer.clear()
        if self._inner is not None:
            self._inner.connection_lost(exc)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received() if self._inner is not None else None

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return  # the transport is closing but may still deliver what it has read
        if self._upgraded:
            assert self._inner is not None
            self._inner.data_received(data)
        elif not (self._answering or self._buffer or self._left or self._chunks) and is_whole_request(data):
            self._begin(data)
        else:
            self._buffer += data
            self._advance()

    # One request after the other

    def _begin(self, request: bytes) -> None:
        """Pass a head on, with as much of its body as has arrived."""
        if self._timer is not None:
            self._stop_timer()
        self._answering = True
        (self._inner or self._http()).data_received(request)

    def _advance(self) -> None:
        try:
            while self._buffer and not self._upgraded and not self._transport.is_closing():
                if self._left or self._chunks is not None:
                    self._pass_body()
                elif self._answering:
                    if len(self._buffer) > _AHEAD:
                        self._paused = True
                        self._transport.pause_reading()
                    return
                elif not self._take_head():
                    return
        except BadRequest as problem:
            self._refuse(problem.status, str(problem))

    def _take_head(self) -> bool:
        """Pass the next head on, if it is complete."""
        while self._buffer.startswith(b"\r\n"):  # between requests, as RFC 9112 advises
            del self._buffer[:2]
        end = self._buffer.find(END, self._searched)
        if end < 0 or end + len(END) > MAX_HEAD:
            self._wait_for_head()
            return False
        self._stop_timer()
        head = bytes(self._buffer[: end + len(END)])
        del self._buffer[: end + len(END)]
        self._searched = 0
        length, upgrading = inspected(head)
        if upgrading and self._service.upgrade is not None and self._leave_http(self._service.upgrade, head, length):
            return False
        self._left, self._chunks = (0, Chunks()) if length == CHUNKED else (length, None)
        self._begin(head)
        return True

    def _wait_for_head(self) -> None:
        if len(self._buffer) > MAX_HEAD:
            raise BadRequest("request head is too long", 431)
        check_partial(self._buffer, self._searched)
        self._searched = max(0, len(self._buffer) - len(END) + 1)
        if not self._service.slots.hold(self._slot, len(self._buffer)):
            raise BadRequest("too many long requests at once; try again", 503)
        if self._buffer and self._timer is None:
            self._start_timer()

    def _pass_body(self) -> None:
        if self._chunks is not None:
            size, complete = self._chunks.scan(self._buffer)
            if complete:
                self._chunks = None
        else:
            size = min(self._left, len(self._buffer))
            self._left -= size
        piece = bytes(self._buffer[:size])
        del self._buffer[:size]
        assert self._inner is not None
        self._inner.data_received(piece)

    def _http(self) -> asyncio.Protocol:
        requests = self._service()
        requests.connection = self
        self._inner = requests
        requests.connection_made(self._transport)
        return requests

    def answered(self) -> None:
        """The current request was answered; the next one may begin."""
        self._answering = False
        if self._slot.bytes:
            self._service.slots.release(self._slot)
        if not (self._paused or self._buffer) or self._transport.is_closing():
            return
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        if self._buffer:
            asyncio.get_running_loop().call_soon(self._advance)

    def _leave_http(self, upgrade: Upgrade, head: bytes, length: int) -> bool:
        taken = upgrade(head, length, bytes(self._buffer), self)
        if taken is None:
            return False
        if isinstance(self._inner, web.RequestHandler):
            self._inner.transport = None  # the connection continues without it
            self._inner.connection_lost(None)
        self._inner, self._upgraded = taken, True
        _hold(self._transport, None)  # streams have their own flow control
        self._buffer.clear()
        return True

    # Closing

    def _refuse(self, status: int, text: str) -> None:
        self._stop_timer()
        self._buffer.clear()
        self._refused = True
        self._transport.write(_plain(status, text))
        self._transport.close()

    def _start_timer(self) -> None:
        seconds = self._service.slots.limits.head_seconds
        self._timer = asyncio.get_running_loop().call_later(seconds, self._transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _hold(transport: asyncio.Transport, size: int | None) -> None:
    """The limit of buffered bytes for a client that does not read, and from one whose data is not read. None: asyncio's
    defaults, which for TLS transports are half a mebibyte and a quarter."""
    transport.set_write_buffer_limits(size)
    if transport.get_extra_info("ssl_object") is not None:
        cast(Any, transport).set_read_buffer_limits(size)  # only TLS transports have it


def certificate_of(transport: asyncio.BaseTransport) -> bytes | None:
    """The client's certificate (DER), verified by the handshake."""
    tls = transport.get_extra_info("ssl_object")
    return tls.getpeercert(binary_form=True) if isinstance(tls, ssl.SSLObject) else None


def _plain(status: int, text: str) -> bytes:
    body = text.encode()
    lines = [
        f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        *(["Retry-After: 1"] if status == 503 else []),
        "Connection: close",
    ]
    return "\r\n".join(lines).encode() + END + body
