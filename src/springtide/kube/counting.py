# SPDX-License-Identifier: Apache-2.0
"""A transport that reports every request and its response, for metrics."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Final

from springtide.kube import errors
from springtide.kube.request import Request, Response
from springtide.kube.transport import Transport

NO_ANSWER: Final = "none"
WATCH: Final = "WATCH"

Tell = Callable[[str, str], None]
"""(HTTP method or WATCH, status code or NO_ANSWER)"""


class Counted:
    def __init__(self, transport: Transport, tell: Tell) -> None:
        self._transport = transport
        self._tell = tell

    async def send(self, request: Request) -> Response:
        try:
            response = await self._transport.send(request)
        except errors.Unreachable:
            self._tell(request.method, NO_ANSWER)
            raise
        self._tell(request.method, str(response.status))
        return response

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Reported when the stream ends: as a success, with the error's code, or as without answer."""
        lines = self._transport.stream(request)
        code = "200"
        try:
            async for line in lines:
                yield line
        except errors.ApiError as error:
            code = str(error.code or NO_ANSWER)
            raise
        finally:
            self._tell(WATCH, code)
            await lines.aclose()

    async def close(self) -> None:
        await self._transport.close()
