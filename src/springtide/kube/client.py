# SPDX-License-Identifier: Apache-2.0
"""The verbs of a Kubernetes API as async methods. Objects are plain dicts in and out.

    async with await Client.connect() as client:
        pod = await client.get(PODS, Key("default", "p"))
        await client.patch(PODS, Key.of(pod), {"metadata": {"labels": {"seen": "yes"}}})

Any response but success raises an exception of `errors`. The client retries only where the server asks for it (429 or
5xx with Retry-After); it keeps no state about objects. For caches see `informer`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from springtide.event_loop.slices import in_slices
from springtide.kube import config, errors, request
from springtide.kube.request import EVERYTHING, NO_QUERY, DeleteOptions, Patch, Request, Response, Scope
from springtide.kube.resources import Key, Obj, Resource
from springtide.kube.transport import REQUEST_TIMEOUT, Transport, WebSocket, chunks_of, websockets_of

PAGE = 500
REPEATS = 5
LONGEST_WAIT = 10.0


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a list, and the version from which a watch may continue."""

    items: list[Obj]
    version: str


class _PageMetadata(msgspec.Struct):
    next: str = msgspec.field(name="continue", default="")
    version: str = msgspec.field(name="resourceVersion", default="")


class _Page(msgspec.Struct):
    metadata: _PageMetadata
    items: list[msgspec.Raw] | None = None


class Client:
    def __init__(self, transport: Transport, *, page: int = PAGE) -> None:
        self._transport = transport
        self._page = page

    @classmethod
    async def connect(cls, kubeconfig: str = "", context: str = "") -> Self:
        """A client for the cluster that kubectl would use here; see `config.discover`."""
        return cls.over_http(await config.discover(kubeconfig, context))

    @classmethod
    def over_http(cls, connection: config.Connection, timeout: float = REQUEST_TIMEOUT) -> Self:
        # Imported here because aiohttp takes longer to import than a command with a transport of its own runs.
        from springtide.kube.http_transport import HttpTransport  # noqa: PLC0415

        return cls(HttpTransport(connection, timeout=timeout))

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Reading

    async def get(
        self, resource: Resource, key: Key, *, subresource: str = "", query: Mapping[str, str] = NO_QUERY
    ) -> Obj:
        wanted = request.get(resource, key, subresource, query)
        if subresource:
            return await self._object(wanted)
        return {"apiVersion": resource.api_version, "kind": resource.kind} | _object(
            (await self.raw(wanted)).body, named=True
        )

    async def find(self, resource: Resource, key: Key) -> Obj | None:
        """Like get, with None for an object that does not exist."""
        try:
            return await self.get(resource, key)
        except errors.NotFound:
            return None

    async def list(self, resource: Resource, scope: Scope = EVERYTHING, *, version: str = "") -> Listing:
        """All objects in scope, fetched page by page, each with its `apiVersion` and `kind`.

        `version="0"` lets the server answer from its cache. Expired if the server's history is compacted between two
        pages.
        """
        raws, found = await self.list_raw(resource, scope, version=version)
        header = {"apiVersion": resource.api_version, "kind": resource.kind}
        # Built-in kinds lack these two fields in lists, but have them everywhere else.
        return Listing([header | _object(raw, named=True) async for raw in in_slices(raws)], found)

    async def list_raw(
        self, resource: Resource, scope: Scope = EVERYTHING, *, version: str = ""
    ) -> tuple[Sequence[msgspec.Raw], str]:
        """The same with every object still encoded, for callers with their own types."""
        raws: list[msgspec.Raw] = []
        token = ""
        while True:
            response = await self.raw(request.list_page(resource, scope, self._page, token, version))
            page = errors.decoded(response.body, _Page)
            raws += page.items or ()
            if page.metadata.next and page.metadata.next == token:
                raise errors.Malformed(f"the server's list of {resource} never ends")
            token = page.metadata.next
            if not token:
                return raws, page.metadata.version

    # Writing

    async def create(
        self,
        resource: Resource,
        obj: Obj,
        *,
        on: Key | None = None,
        subresource: str = "",
        query: Mapping[str, str] = NO_QUERY,
    ) -> Obj:
        """Post an object to the namespace in its metadata.

        For a subresource such as `binding` or `eviction`, `on` is the object it belongs to.
        """
        return await self._object(request.create(resource, obj, on, subresource, query))

    async def replace(
        self, resource: Resource, obj: Obj, *, subresource: str = "", query: Mapping[str, str] = NO_QUERY
    ) -> Obj:
        """Put the whole object; Conflict if its resourceVersion is no longer the newest."""
        return await self._object(request.replace(resource, obj, subresource, query))

    async def patch(
        self,
        resource: Resource,
        key: Key,
        body: Obj | Sequence[Obj],
        kind: Patch = Patch.MERGE,
        *,
        subresource: str = "",
    ) -> Obj:
        """Change parts of an object. A `resourceVersion` in a merge patch makes it conditional on that version."""
        return await self._object(request.patch(resource, key, body, kind, subresource, NO_QUERY))

    async def apply(
        self, resource: Resource, obj: Obj, *, field_manager: str, force: bool = True, subresource: str = ""
    ) -> Obj:
        """Server-side apply: own exactly the fields in `obj`. Without `force`, Conflict if another manager owns
        them."""
        query = {"fieldManager": field_manager, "force": "true" if force else "false"}
        header = {"apiVersion": resource.api_version, "kind": resource.kind}
        return await self._object(
            request.patch(resource, Key.of(obj), header | obj, Patch.APPLY, subresource, query),
        )

    async def delete(self, resource: Resource, key: Key, options: DeleteOptions | None = None) -> Obj:
        """The object while it waits for its finalizers, or a `Status` if it is deleted."""
        return await self._object(request.delete(resource, key, options or DeleteOptions()))

    async def delete_collection(self, resource: Resource, scope: Scope, options: DeleteOptions | None = None) -> Obj:
        return await self._object(request.delete_collection(resource, scope, options or DeleteOptions()))

    # Anything else

    async def raw(self, wanted: Request) -> Response:
        """Send any request; the result is a successful response or an exception."""
        for left in range(REPEATS, -1, -1):
            response = await self._transport.send(wanted)
            if response.status < 300:
                return response
            error = errors.from_answer(response.status, response.headers, response.body)
            if not left or not _asked_to_wait(response):
                raise error
            await asyncio.sleep(min(error.retry_after or 0.0, LONGEST_WAIT))
        raise AssertionError("unreachable: the last round returns or raises")

    async def document(self, wanted: Request) -> dict[str, Any]:
        """The JSON of a successful response that is no object, such as a version or what a group serves."""
        return errors.decoded((await self.raw(wanted)).body, dict[str, Any])

    def lines(self, wanted: Request) -> AsyncGenerator[bytes, None]:
        """The lines of a streamed response, such as a watch or followed logs. Close the generator when done."""
        return self._transport.stream(wanted)

    def chunks(self, wanted: Request) -> AsyncGenerator[bytes, None]:
        """The bytes of a streamed response, for lines that may be of any length. Close the generator when done."""
        return chunks_of(self._transport).chunks(wanted)

    def websocket(self, wanted: Request, protocols: Sequence[str]) -> AbstractAsyncContextManager[WebSocket]:
        """A WebSocket to a subresource such as `exec`; see `springtide.kube.exec`."""
        return websockets_of(self._transport).websocket(wanted, protocols)

    async def _object(self, wanted: Request) -> Obj:
        return _object((await self.raw(wanted)).body)


def _object(encoded: bytes | msgspec.Raw, *, named: bool = False) -> Obj:
    """With metadata as callers rely on it, `named` where it is an object that was asked for, and no Status."""
    found = errors.decoded(encoded, dict[str, Any])
    metadata = found.get("metadata", None if named else {})
    if not (
        isinstance(metadata, dict)
        and (isinstance(metadata.get("name"), str) or not named)
        and all(isinstance(metadata.get(name) or {}, dict) for name in _MAPS)
    ):
        raise errors.Malformed("the server's answer is no object of a Kubernetes API: its metadata is broken")
    return found


_MAPS: Final = ("labels", "annotations")


def _asked_to_wait(response: Response) -> bool:
    return (response.status == 429 or response.status >= 500) and "Retry-After" in response.headers
