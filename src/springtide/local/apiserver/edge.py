# SPDX-License-Identifier: Apache-2.0
"""The HTTP edge: sockets and TLS outside, `Request` and `Answer` inside.

The edge derives the user from a connection's certificate or token, handles impersonation and writes responses: long
ones compressed, streams piece by piece. Upgraded connections (exec, attach, port-forward) are taken over before
aiohttp's parser sees them and never reach the edge (`streams.takeover`).
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import weakref
import zlib
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any, Protocol, cast
from urllib.parse import unquote

from aiohttp import web

from springtide.local import status
from springtide.local.access.attributes import Attributes, Authorizer, require
from springtide.local.access.authentication import Authenticator, user_of_certificate
from springtide.local.access.identity import ANONYMOUS_USER, User
from springtide.local.access.impersonation import impersonate
from springtide.local.apiserver.audit import Audit
from springtide.local.apiserver.dispatch import Dispatcher
from springtide.local.apiserver.encoding import bounds
from springtide.local.apiserver.measures import Measures
from springtide.local.apiserver.nodes.node_streams import NodeStreams
from springtide.local.apiserver.replies import Answer, Reply, Stream, refusal
from springtide.local.apiserver.requests import (
    Query,
    Request,
    Target,
    attributes,
    check_path,
    parse_target,
    split_target,
)
from springtide.local.status import StatusError
from springtide.local.store.backend import DamagedError
from springtide.local.streams.takeover import taking_over
from springtide.serving.bodies import FREE, Bodies, NoRoom
from springtide.serving.connections import Service, authenticated

log = logging.getLogger(__name__)

BODY_LIMIT = 3 * 1024 * 1024
GZIP_FROM = 128 * 1024
TURN_AFTER = 3
"""Pieces written before the event loop runs: only then is a client's disconnect detected."""
BODY_SECONDS = 60.0  # kube-apiserver's limit for a whole request
WARNINGS_LIMIT = 4096
WARNING_CUT = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNROUTED = (401, 403, 404)  # any path is possible here: counted by name, anonymous clients could fill the memory
_IMPERSONATE = "impersonate-"


class Front(Protocol):
    """Dependencies of the edge."""

    @property
    def dispatcher(self) -> Dispatcher: ...

    @property
    def authenticator(self) -> Authenticator: ...

    @property
    def authorizer(self) -> Authorizer: ...

    @property
    def measures(self) -> Measures: ...

    @property
    def audit(self) -> Audit | None: ...

    @property
    def streams(self) -> NodeStreams: ...


class Edge:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._bodies = Bodies()

    def service(self) -> Service:
        return Service(
            self._serve,
            upgrade=taking_over(self._front.streams.upgraded),
            auto_decompress=False,  # as in kube-apiserver: no decompression, proxied bodies are unchanged
        )

    async def _serve(self, http: web.BaseRequest) -> web.StreamResponse:
        path, query = split_target(http.raw_path)
        request: Request | None = None
        user: User | None = None
        try:
            check_path(path)
            user, parsed = self._caller(http, path, query)
            if "/proxy" in path and (target := _proxied(http.method, path, parsed)):
                response = await self._front.streams.forward(http, user, target, query)
                self._audit(http, user, response.status)
                return response
            begun = await _begun(http) if _is_chunked(http) else b""
            length = _length(http, begun)
            if user is ANONYMOUS_USER and length > FREE:
                require(self._front.authorizer, user, _wanted(http.method, path, parsed))
                raise status.unauthorized(f"requests of more than {FREE} bytes need credentials")
            async with self._bodies.held(user.name, length) as place:
                request = await _request(http, path, parsed, user, begun)
                self._bodies.shrink(place, len(request.body))
                answer = await self._front.dispatcher.answer(request, path)
                request.body = b""  # not needed while the response is being written, which may take long
        except NoRoom:
            answer = refusal(status.too_many_bodies(user.name if user else ""), http.headers.get("Accept", ""))
        except StatusError as error:
            answer = refusal(error, http.headers.get("Accept", ""))
        except DamagedError as error:
            answer = refusal(status.internal(str(error)))
        except RecursionError:  # an object nested too deep, which only a sequence of patches can produce
            answer = refusal(status.bad_request(bounds.TOO_DEEP))
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception:  # last resort: a bug fails one request with 500 and logs a traceback
            log.exception("cannot answer %s %s", http.method, path)
            answer = refusal(status.internal("internal error; see the traceback in the server's log"))
        self._count(http.method, path, answer)
        self._audit(http, user, answer.status)
        return await self._write(http, user, answer, request.warnings if request else [])

    def _audit(self, http: web.BaseRequest, user: User | None, code: int, *, broke_off: bool = False) -> None:
        if self._front.audit is not None:
            self._front.audit.line(http.method, http.raw_path, user, code, broke_off=broke_off)

    def _caller(self, http: web.BaseRequest, path: str, query: str) -> tuple[User, Query]:
        user, parsed = self._user(http, path), Query(query)
        if user is not ANONYMOUS_USER and not authenticated(http, user.name):
            raise status.too_many_connections(user.name)
        if _IMPERSONATE in " ".join(http.headers).lower():
            wanted = _wanted(http.method, path, parsed)
            user = impersonate(user, http.headers.items(), wanted, self._front.authorizer)
        return user, parsed

    def _user(self, http: web.BaseRequest, path: str) -> User:
        certificate = None if http.transport is None else _certificate_user(http.transport)
        return self._front.authenticator.authenticate(http.headers.get("Authorization", ""), certificate, path)

    def _count(self, method: str, path: str, answer: Answer) -> None:
        parts = path.split("/", 7)
        resource = ""
        if len(parts) > 3:
            rest = parts[3:] if parts[1] == "api" else parts[4:]
            resource = rest[2] if len(rest) > 2 and rest[0] == "namespaces" else rest[0] if rest else ""
        self._front.measures.requests[method, resource if answer.status not in _UNROUTED else "", answer.status] += 1

    async def _write(
        self, http: web.BaseRequest, user: User | None, answer: Answer, warnings: list[str]
    ) -> web.StreamResponse:
        headers = {"Cache-Control": "no-cache, private", **answer.headers}
        if answer.content_type:
            headers["Content-Type"] = answer.content_type
        zipped = "gzip" in http.headers.get("Accept-Encoding", "")
        if isinstance(answer, Reply):
            body = answer.body
            if "Content-Encoding" in headers and not zipped:
                del headers["Content-Encoding"]
                body = zlib.decompress(body, zlib.MAX_WBITS | 16)
            elif zipped and len(body) > GZIP_FROM and "Content-Encoding" not in headers:
                body = await asyncio.to_thread(_gzip, body)
                headers["Content-Encoding"] = "gzip"
            response: web.StreamResponse = web.Response(body=body, status=answer.status, headers=headers)
            if warnings:
                _warn(response, warnings)
            return response
        response = web.StreamResponse(status=answer.status, headers=headers)
        if warnings:
            _warn(response, warnings)
        self._front.measures.watches += 1
        try:
            await self._stream(http, response, answer, zipped and answer.compressible)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as error:  # last resort: the response has begun, so no other one can be sent
            self._break_off(http, user, answer.status, error)
            raise ConnectionAbortedError from error
        finally:
            self._front.measures.watches -= 1
        return response

    async def _stream(self, http: web.BaseRequest, response: web.StreamResponse, answer: Stream, zipped: bool) -> None:
        if zipped:
            response.headers["Content-Encoding"] = "gzip"
        await response.prepare(http)
        chunks = _gzipped(answer.chunks) if zipped else answer.chunks
        # aclosing: an abandoned watch must close its subscription now, not at garbage collection
        async with aclosing(cast(Any, chunks)) as pieces:
            with suppress(ConnectionError):  # the client has disconnected: the usual end of a watch, not logged
                written = 0
                async for piece in pieces:
                    if piece:
                        await response.write(piece)
                        written += 1
                    if written == TURN_AFTER:
                        written = 0
                        await asyncio.sleep(0)
                await response.write_eof()

    def _break_off(self, http: web.BaseRequest, user: User | None, code: int, error: Exception) -> None:
        """Abort the connection: after the headers of a success only a missing end shows the client that it failed."""
        path, _ = split_target(http.raw_path)
        log.error("the answer to %s %s broke off: %s: %s", http.method, path, type(error).__name__, error)
        self._audit(http, user, code, broke_off=True)
        if http.transport is not None:
            http.transport.abort()


def _is_chunked(http: web.BaseRequest) -> bool:
    """Whether the length of the body is unknown."""
    return http.body_exists and http.content_length is None


def _length(http: web.BaseRequest, begun: bytes) -> int:
    """Upper bound of the length of the body."""
    if not http.body_exists:
        return 0
    if http.content_length is None:
        return len(begun) if len(begun) <= FREE else BODY_LIMIT
    return min(http.content_length, BODY_LIMIT)


async def _request(http: web.BaseRequest, path: str, query: Query, user: User, begun: bytes) -> Request:
    body = await _body(http, begun) if http.body_exists else b""
    decoded = unquote(path) if "%" in path else path
    return Request(http.method, decoded, query, http.headers, user, body)


def _proxied(method: str, path: str, query: Query) -> Target | None:
    target = parse_target(method, path, query)
    return target if target is not None and target.subresource == "proxy" else None


def _wanted(method: str, path: str, query: Query) -> Attributes:
    target = parse_target(method, path, query)
    return attributes(target) if target is not None else Attributes(method.lower(), path=path)


def _warn(response: web.StreamResponse, warnings: list[str]) -> None:
    """Add Warning headers, as kube-apiserver does: texts with control characters are omitted, many or long ones cut."""
    sayable = [text for text in dict.fromkeys(warnings) if not _CONTROL.search(text)]
    if sum(map(len, sayable)) > WARNINGS_LIMIT:
        sayable = [text[:WARNING_CUT] for text in sayable][: WARNINGS_LIMIT // WARNING_CUT]
    for text in sayable:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{quoted}"')


def _gzip(body: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packer.compress(body) + packer.flush()


async def _gzipped(chunks: AsyncIterator[bytes | memoryview]) -> AsyncIterator[bytes]:
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    pending: list[bytes | memoryview] = []
    async for chunk in chunks:
        pending.append(chunk)
        if sum(map(len, pending)) >= GZIP_FROM:
            yield await asyncio.to_thread(packer.compress, b"".join(pending))
            pending.clear()
    yield packer.compress(b"".join(pending)) + packer.flush()


async def _begun(http: web.BaseRequest) -> bytes:
    """The beginning of a chunked body: all of it, or more than the free allowance."""
    _welcome(http)
    pieces: list[bytes] = []
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while sum(map(len, pieces)) <= FREE and (piece := await http.content.readany()):
                pieces.append(piece)
    except TimeoutError:
        raise status.body_timeout(BODY_SECONDS) from None
    return b"".join(pieces)


async def _body(http: web.BaseRequest, begun: bytes) -> bytes:
    """Read without aiohttp's `read`: the size limit and the error above it are kube-apiserver's."""
    length = http.content_length
    if length is not None and length > BODY_LIMIT:
        raise status.too_large(BODY_LIMIT)
    if length is not None and http.content.is_eof():  # the body arrived together with the headers, as nearly all do
        return http.content.read_nowait()
    if length is not None:
        _welcome(http)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await http.content.read(-1) if length is not None else await _bounded(http, begun)
    except TimeoutError:
        raise status.body_timeout(BODY_SECONDS) from None


def _welcome(http: web.BaseRequest) -> None:
    """Send `100 Continue`: aiohttp does so only with its own router. curl waits a second for it before a long body."""
    if http.headers.get("Expect", "").lower() == "100-continue" and http.transport is not None:
        http.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def _bounded(http: web.BaseRequest, begun: bytes) -> bytes:
    pieces = [begun]
    size = len(begun)
    async for piece in http.content.iter_any():
        size += len(piece)
        if size > BODY_LIMIT:
            raise status.too_large(BODY_LIMIT)
        pieces.append(piece)
    return b"".join(pieces)


_certificate_users: weakref.WeakKeyDictionary[ssl.SSLObject, tuple[User | None]] = weakref.WeakKeyDictionary()


def _certificate_user(transport: asyncio.BaseTransport) -> User | None:
    """The user of the client certificate, cached per TLS connection: the handshake determines it."""
    connection = transport.get_extra_info("ssl_object")
    if connection is None:
        return None
    known = _certificate_users.get(connection)
    if known is None:
        known = (user_of_certificate(connection.getpeercert(), connection.getpeercert(True)),)
        _certificate_users[connection] = known
    return known[0]
