# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API in a hundred lines, as a transport without sockets: just enough truth for the plumbing's tests.

It knows objects by path, versions, conflicts, pages, watches with history, and how to misbehave on demand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import msgspec

from springtide.kube import errors
from springtide.kube.request import Request, Response, path_of
from springtide.kube.resources import Key, Obj, Resource

END = None


def status(code: int, reason: str, message: str = "", **details: Any) -> Response:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message or reason, "details": details}
    return answer(body, code)


def answer(body: object, code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(code, headers or {}, msgspec.json.encode(body))


class FakeApi:
    def __init__(self) -> None:
        self.objects: dict[str, Obj] = {}
        self.version = 100
        self.requests: list[Request] = []
        self.watch_list = True
        self.page_size = 0
        """Pages are this long whatever limit is asked for; 0 obeys."""
        self.offline = False
        self.answers: list[Response] = []
        """Given to the next requests instead of the truth."""
        self.interceptor: Callable[[Request], None] | None = None
        self.streams: list[asyncio.Queue[bytes | Exception | None]] = []
        self.closed_streams = 0
        self._history: list[tuple[int, str, Obj]] = []
        self._oldest = 0

    # What tests do to it

    def put(self, resource: Resource, key: Key, **fields: Any) -> Obj:
        """Create or change an object as somebody else would."""
        path = path_of(resource, key.namespace, key.name)
        fresh = path not in self.objects
        old_metadata = {} if fresh else self.objects[path]["metadata"]
        obj = resource.describe(key)
        metadata = old_metadata | obj["metadata"] | fields.pop("metadata", {})
        return self._store(path, obj | {"metadata": metadata} | fields, "ADDED" if fresh else "MODIFIED")

    def remove(self, resource: Resource, key: Key) -> None:
        self._drop(path_of(resource, key.namespace, key.name))

    def forget_history(self) -> None:
        self._oldest = self.version
        self._history.clear()

    def end_streams(self, reason: Exception | None = END) -> None:
        for stream in self.streams:
            stream.put_nowait(reason)

    def bookmark(self) -> None:
        for stream in self.streams:
            stream.put_nowait(self._bookmark())

    def methods(self) -> list[str]:
        return [request.method for request in self.requests]

    # The transport

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        if self.interceptor is not None:
            self.interceptor(request)
        await asyncio.sleep(0)
        if self.offline:
            raise errors.Unreachable("offline")
        if self.answers:
            return self.answers.pop(0)
        handler = {"GET": self._get, "POST": self._post, "PUT": self._put, "PATCH": self._patch, "DELETE": self._delete}
        return handler[request.method](request)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.offline:
            raise errors.Unreachable("offline")
        initial = request.query.get("sendInitialEvents") == "true"
        if initial and not self.watch_list:
            raise errors.Invalid("sendInitialEvents is forbidden", code=422)
        queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self._replay(request, queue, initial)
        self.streams.append(queue)
        try:
            while (line := await queue.get()) is not END:
                if isinstance(line, Exception):
                    raise line
                yield line
        finally:
            self.streams.remove(queue)
            self.closed_streams += 1

    async def close(self) -> None:
        return None

    def _replay(self, request: Request, queue: asyncio.Queue[bytes | Exception | None], initial: bool) -> None:
        if initial:
            for obj in self._under(request.path):
                queue.put_nowait(_line("ADDED", obj))
            queue.put_nowait(self._bookmark(initial_events_end=True))
            return
        since = int(request.query["resourceVersion"])
        if since < self._oldest:
            gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
            queue.put_nowait(_line("ERROR", gone))
            return
        for version, kind, obj in self._history:
            if version > since:
                queue.put_nowait(_line(kind, obj))

    def _get(self, request: Request) -> Response:
        if request.path in self.objects:
            return answer(self.objects[request.path])
        if request.path.rsplit("/", 1)[-1] not in ("pods", "configmaps", "nodes"):
            return status(404, "NotFound", f"{request.path} not found")
        return self._page(request, self._under(request.path))

    def _page(self, request: Request, found: list[Obj]) -> Response:
        size = self.page_size or int(request.query.get("limit", 0)) or len(found) or 1
        start = int(request.query.get("continue", 0))
        metadata = {"resourceVersion": str(self.version)}
        if start + size < len(found):
            metadata["continue"] = str(start + size)
        items = [{name: obj[name] for name in obj if name not in ("kind", "apiVersion")} for obj in found]
        return answer({"kind": "List", "metadata": metadata, "items": items[start : start + size]})

    def _post(self, request: Request) -> Response:
        obj = msgspec.json.decode(request.body)
        path = f"{request.path}/{obj['metadata']['name']}"
        if path in self.objects:
            return status(409, "AlreadyExists")
        return answer(self._store(path, obj, "ADDED"), 201)

    def _put(self, request: Request) -> Response:
        obj = msgspec.json.decode(request.body)
        known = self.objects.get(request.path)
        if known is None:
            return status(404, "NotFound")
        seen = obj["metadata"].get("resourceVersion")
        if seen is not None and seen != known["metadata"]["resourceVersion"]:
            return status(409, "Conflict")
        return answer(self._store(request.path, obj, "MODIFIED"))

    def _patch(self, request: Request) -> Response:
        known = self.objects.get(request.path)
        if known is None:
            return status(404, "NotFound")
        return answer(self._store(request.path, known | msgspec.json.decode(request.body), "MODIFIED"))

    def _delete(self, request: Request) -> Response:
        if request.path not in self.objects:
            return status(404, "NotFound")
        self._drop(request.path)
        return answer({"kind": "Status", "status": "Success"})

    def _under(self, path: str) -> list[Obj]:
        plural = path.rsplit("/", 1)[-1]
        prefix, all_namespaces = f"{path}/", "/namespaces/" not in path
        return [
            obj
            for where, obj in sorted(self.objects.items())
            if where.startswith(prefix) or (all_namespaces and where.rsplit("/", 2)[-2] == plural)
        ]

    def _store(self, path: str, obj: Obj, kind: str) -> Obj:
        self.version += 1
        obj = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.version)}}
        self.objects[path] = obj
        self._tell(kind, obj)
        return obj

    def _drop(self, path: str) -> None:
        self.version += 1
        obj = self.objects.pop(path)
        self._tell("DELETED", obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.version)}})

    def _tell(self, kind: str, obj: Obj) -> None:
        self._history.append((self.version, kind, obj))
        for stream in self.streams:
            stream.put_nowait(_line(kind, obj))

    def _bookmark(self, initial_events_end: bool = False) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(self.version)}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        return _line("BOOKMARK", {"kind": "Pod", "metadata": metadata})


def _line(kind: str, obj: object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj})


async def settle() -> None:
    """Let every task that can run do so, without time passing."""
    for _ in range(50):
        await asyncio.sleep(0)
