# SPDX-License-Identifier: Apache-2.0
"""One watch connection: changes as they happen, until the server ends it.

Informers are built on this; use it directly only where no cache is wanted (`tide get --watch`). Errors that the server
sends inside the stream are raised like any other response, so callers handle `Expired` in one way only. It does not
reconnect.
"""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeGuard, TypeVar

import msgspec

from springtide.event_loop.slices import Slices
from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import Key, Resource

T = TypeVar("T")
logger = logging.getLogger(__name__)

SHORTEST, LONGEST = 300, 600
"""Seconds a watch lasts; random, so that a thousand clients do not reconnect in the same second."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Change(NamedTuple, Generic[T]):
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    key: Key
    version: str
    object: T


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing changed; all changes up to `version` have been sent."""

    version: str
    initial_events_end: bool
    """After `initial_events`: all existing objects have been sent."""


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Head(msgspec.Struct):
    metadata: _Metadata


class Decoded(NamedTuple, Generic[T]):
    key: Key
    version: str
    object: T


class Decoder(Generic[T]):
    """Decodes objects into `T`, together with key and version, which `T` may leave out; then every object is decoded
    twice."""

    def __init__(self, into: type[T], resource: Resource) -> None:
        self._resource = resource
        self._head = msgspec.json.Decoder(_Head)
        self._body: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Any if into is dict else into)
        self._header = {"apiVersion": resource.api_version, "kind": resource.kind} if into is dict else None
        self._is_complete = _has_identity(into)

    def __call__(self, raw: bytes | msgspec.Raw) -> Decoded[T] | None:
        """None for an object that does not fit `T`; such an object must not stop the watch of all others."""
        try:
            body = self._body.decode(raw)
        except msgspec.ValidationError as error:
            head = self._head.decode(raw).metadata
            logger.error('Ignoring %s "%s": %s', self._resource, Key(head.namespace, head.name), error)
            return None
        if self._header is None:
            head = body.metadata if self._is_complete else self._head.decode(raw).metadata
            return Decoded(Key(head.namespace, head.name), head.resource_version, body)
        metadata = body["metadata"]
        if "kind" not in body:
            # Built-in kinds lack these two fields in lists, but have them everywhere else.
            body = self._header | body
        key = Key(metadata.get("namespace", ""), metadata["name"])
        return Decoded(key, metadata.get("resourceVersion", ""), body)

    def bookmark(self, raw: msgspec.Raw) -> Bookmark:
        head = self._head.decode(raw).metadata
        return Bookmark(head.resource_version, (head.annotations or {}).get(INITIAL_EVENTS_END) == "true")


def _has_identity(into: type[Any]) -> bool:
    """Whether objects of this type have their name, namespace and version as attributes of `metadata`."""
    fields = {field.name: field.type for field in msgspec.structs.fields(into)} if _is_struct(into) else {}
    metadata = fields.get("metadata")
    return _is_struct(metadata) and {"name", "namespace", "resource_version"} <= set(metadata.__struct_fields__)


def _is_struct(found: Any) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(found, type) and issubclass(found, msgspec.Struct)


async def watch(
    client: Client,
    resource: Resource,
    scope: Scope,
    decoder: Decoder[T],
    *,
    version: str = "",
    initial_events: bool = False,
) -> AsyncGenerator[Change[T] | Bookmark, None]:
    """Changes after `version`, or with `initial_events` first the existing objects and then their changes.

    A server in the same process sends thousands of them without a pause, so this yields to the event loop.
    """
    timeout = random.randint(SHORTEST, LONGEST)
    wanted = request.watch(resource, scope, version, timeout, initial_events)
    line_decoder = msgspec.json.Decoder(_Line)
    slices = Slices()
    async with aclosing(client.lines(wanted)) as lines:
        async for line in lines:
            await slices.next()
            event = line_decoder.decode(line)
            match event.type:
                case "ADDED" | "MODIFIED" | "DELETED" as kind:
                    if decoded := decoder(event.object):
                        yield Change(kind, *decoded)
                case "BOOKMARK":
                    yield decoder.bookmark(event.object)
                case "ERROR":
                    raise errors.from_status(msgspec.json.decode(event.object))
                case other:
                    raise errors.ServerError(f"the server sent a watch event of an unknown type: {other}")
