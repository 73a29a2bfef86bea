# SPDX-License-Identifier: Apache-2.0
"""Plain HTTP through the API server: the `proxy` subresource of pods, services and nodes.

Request and response are streamed, hop-by-hop headers are dropped, and a redirect that would lead out of the proxy is
rewritten to stay inside. Upgrades use `proxy.pass_through` instead. Links inside HTML are not rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from springtide.local import status
from springtide.local.streams.dialing import explained
from springtide.local.streams.kubelet import Location

_ONE_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# `Expect` is answered here: aiohttp would wait forever for a program that does not support it.
_PRIVATE: Final = frozenset({"authorization", "host", "content-length", "expect"})
_CONNECT_TIMEOUT: Final = 30.0


async def forward(
    session: aiohttp.ClientSession, request: web.BaseRequest, location: Location, prefix: str
) -> web.StreamResponse:
    """Send the request on to `location` and stream the response back; `prefix` is the proxy's path of its root."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        answer = await session.request(
            request.method,
            URL(location.url, encoded=True),
            headers=_forwarded(request),
            data=request.content if request.body_exists else None,
            ssl=location.tls or True,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT),
            allow_redirects=False,
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )
    except aiohttp.ClientError as problem:
        raise status.unavailable(f"error trying to reach service: {_why(problem, location)}") from None
    except ValueError:  # from aiohttp: undecodable bytes, line breaks
        raise status.bad_request("a header of the request cannot be passed on") from None
    async with answer:
        if answer.status < HTTPStatus.OK:
            raise status.unavailable(f"error trying to reach service: unexpected status code {answer.status}")
        reason = answer.reason if _is_text(answer.reason or "") else None
        response = web.StreamResponse(status=answer.status, reason=reason, headers=_answered(answer, prefix))
        await response.prepare(request)
        try:
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
        except aiohttp.ClientPayloadError:
            # A truncated response must not look complete.
            if request.transport is not None:
                request.transport.abort()
        return response


def _why(problem: aiohttp.ClientError, location: Location) -> str:
    if isinstance(problem, aiohttp.ConnectionTimeoutError):
        return explained(TimeoutError(), location)
    cause = problem.__cause__
    return explained(cause, location) if isinstance(cause, OSError) else "EOF"


def _forwarded(request: web.BaseRequest) -> CIMultiDict[str]:
    dropped = _ONE_HOP | _PRIVATE | _nominated(request.headers.getall("Connection", []))
    headers = CIMultiDict(
        (name, value)
        for name, value in request.headers.items()
        if name.lower() not in dropped and not name.lower().startswith(("impersonate-", "x-remote-"))
    )
    seen = request.headers.get("X-Forwarded-For")
    client = request.remote or ""
    headers["X-Forwarded-For"] = f"{seen}, {client}" if seen else client
    headers["X-Forwarded-Host"] = request.host
    headers["X-Forwarded-Proto"] = request.scheme
    headers["X-Forwarded-Uri"] = request.raw_path.partition("?")[0]  # decoded, it could hold line breaks
    if request.content_length is not None:
        headers["Content-Length"] = str(request.content_length)
    return headers


def _answered(answer: aiohttp.ClientResponse, prefix: str) -> CIMultiDict[str]:
    dropped = _ONE_HOP | _nominated(answer.headers.getall("Connection", []))
    headers = CIMultiDict(
        (name, value) for name, value in answer.headers.items() if name.lower() not in dropped and _is_text(value)
    )
    if "Location" in headers:
        headers["Location"] = bent_back(headers["Location"], answer.url.host or "", prefix)
    return headers


def _nominated(values: Iterable[str]) -> frozenset[str]:
    """Headers listed in a Connection header, which are hop-by-hop, too."""
    return frozenset(name.strip().lower() for value in values for name in value.split(","))


def _is_text(value: str) -> bool:
    """Whether a value can be written: aiohttp keeps undecodable bytes as surrogates, and cannot write them."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def bent_back(target: str, host: str, prefix: str) -> str:
    """A redirect of the peer to itself, rewritten to the proxy's path; other redirects are unchanged."""
    parts = urlsplit(target)
    if parts.netloc and parts.hostname != host:
        return target
    if not parts.netloc and not parts.path.startswith("/"):
        return target  # relative to the request, which is under the prefix already
    return urlunsplit(("", "", prefix.rstrip("/") + (parts.path or "/"), parts.query, parts.fragment))
