# SPDX-License-Identifier: Apache-2.0
"""A transport that reports every request and its response, for metrics."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import Final

from springtide.kube import errors
from springtide.kube.request import Request, Response
from springtide.kube.transport import Transport, WebSocket, websockets_of

NO_ANSWER: Final = "none"
WATCH: Final = "WATCH"
CONNECT: Final = "CONNECT"

Tell = Callable[[str, str], None]
"""(HTTP method, WATCH, or CONNECT for a WebSocket; status code or NO_ANSWER)"""


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

    def websocket(self, request: Request, protocols: Sequence[str]) -> AbstractAsyncContextManager[WebSocket]:
        return self._counted(websockets_of(self._transport).websocket(request, protocols))

    @asynccontextmanager
    async def _counted(self, opening: AbstractAsyncContextManager[WebSocket]) -> AsyncGenerator[WebSocket, None]:
        """Reported when the connection ends: as switched, with the refusal's code, or as without answer."""
        code = NO_ANSWER
        try:
            async with opening as socket:
                code = str(HTTPStatus.SWITCHING_PROTOCOLS.value)
                yield socket
        except errors.ApiError as error:
            code = str(error.code) if code == NO_ANSWER and error.code else code
            raise
        finally:
            self._tell(CONNECT, code)

    async def close(self) -> None:
        await self._transport.close()
