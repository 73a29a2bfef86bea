# SPDX-License-Identifier: Apache-2.0
"""Streaming a pod's log from its node.

The API server passes the bytes on unparsed. A node that cannot be reached or rejects the request yields the error that
kube-apiserver would return; that is only possible before the first byte, so the first step of the iteration raises it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import aiohttp
from yarl import URL

from springtide.local import status
from springtide.local.status import StatusError
from springtide.local.streams.dialing import explained
from springtide.local.streams.kubelet import Location

_MAX_REFUSAL: Final = 50_000
_CONNECT_TIMEOUT: Final = 30.0
_UNEXPLAINED: Final = "the server responded with the status code {} but did not return more information"
_REASONS: Final = {
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", "the server does not allow access to the requested resource"),
    404: ("NotFound", "the server could not find the requested resource"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
}


async def stream(session: aiohttp.ClientSession, location: Location, pod_name: str) -> AsyncIterator[bytes]:
    """The bytes of a log; the first chunk is empty, or StatusError is raised instead of it."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT)
    try:
        response = await session.get(
            URL(location.url, encoded=True),
            headers={"Accept-Encoding": "identity"},  # bytes are passed on as received, without Content-Encoding
            ssl=location.tls or True,
            timeout=timeout,
            allow_redirects=False,
            auto_decompress=False,
        )
    except aiohttp.ClientError as problem:
        raise unreachable(problem, location) from None
    async with response:
        if not 200 <= response.status <= 206:
            body = await response.content.read(_MAX_REFUSAL)
            raise refusal(response.status, body.decode(errors="replace"), pod_name)
        yield b""
        try:
            async for chunk in response.content.iter_any():
                yield chunk
        except aiohttp.ClientPayloadError:
            return  # the node disconnected: the log ends here


def unreachable(problem: aiohttp.ClientError, location: Location, method: str = "Get") -> StatusError:
    """The error for a client when the node cannot be reached."""
    cause = problem.__cause__ if isinstance(problem, aiohttp.ClientConnectorError) else None
    if isinstance(problem, aiohttp.ConnectionTimeoutError):
        why = explained(TimeoutError(), location)
    elif isinstance(problem, aiohttp.ClientConnectorCertificateError):
        why = explained(problem.certificate_error, location)
    elif isinstance(cause, OSError):
        why = explained(cause, location)
    else:
        why = "EOF"
    return StatusError(500, "", f'{method} "{location.url}": {why}')


def refusal(code: int, body: str, pod_name: str) -> StatusError:
    """The error for a client when the node responds with an error."""
    if code == 500:
        return status.internal(body)
    if code == 400:
        return status.bad_request(body)
    reason, text = _REASONS.get(code, ("InternalError" if code > 500 else "", _UNEXPLAINED.format(code)))
    cause = {"reason": "UnexpectedServerResponse", "message": body}
    details = {"name": pod_name, "kind": "pods/log", "causes": [cause]}
    return StatusError(code, reason, f"{text} ( pods/log {pod_name})", details)
