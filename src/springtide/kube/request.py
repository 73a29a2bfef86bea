# SPDX-License-Identifier: Apache-2.0
"""Requests to a Kubernetes API as plain data.

The client builds these and passes them to a transport; tests compare them. Functions are named after the verb. Nothing
here does I/O or knows about connections, credentials or retries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from springtide.kube import errors
from springtide.kube.resources import PODS, Key, Obj, Resource

JSON = "application/json"
METADATA_ITEM = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    timeout: float | None = None
    """Seconds for the whole exchange; None: the transport's default."""
    repeated: Sequence[tuple[str, str]] = ()
    """Parameters of the query that may occur several times, in their order."""

    @property
    def target(self) -> str:
        """Path and query as in the first line of an HTTP request."""
        query = urlencode([*self.query.items(), *self.repeated], errors="replace")
        return f"{self.path}?{query}" if query else self.path


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    """Keys in the server's spelling (`Retry-After`); transports use a case-insensitive mapping if they can."""
    body: bytes


class Patch(StrEnum):
    """The four kinds of patch, by media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Scope:
    """A selection of a resource's objects; all of them by default."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False
    """Request `PartialObjectMetadata` only: enough for garbage collection, at a fraction of the size."""

    def query(self) -> dict[str, str]:
        query: dict[str, str] = {}
        if self.labels:
            query["labelSelector"] = self.labels
        if self.fields:
            query["fieldSelector"] = self.fields
        return query


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    propagation: str = ""
    """Background, Foreground or Orphan; empty: the resource's default."""
    grace: int | None = None
    uid: str = ""
    """Delete only the object with this uid, not a later one of the same name."""
    version: str = ""
    """Delete only at this resourceVersion."""
    dry_run: bool = False

    def body(self) -> bytes:
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if self.propagation:
            options["propagationPolicy"] = self.propagation
        if self.grace is not None:
            options["gracePeriodSeconds"] = self.grace
        preconditions = {"uid": self.uid, "resourceVersion": self.version}
        preconditions = {name: value for name, value in preconditions.items() if value}
        if preconditions:
            options["preconditions"] = preconditions
        if self.dry_run:
            options["dryRun"] = ["All"]
        return msgspec.json.encode(options)


NO_QUERY: Mapping[str, str] = {}


def path_of(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """`/api/v1/namespaces/default/pods/p/log`; a namespace is ignored for cluster-scoped resources."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    parts = [root]
    if namespace and resource.namespaced:
        parts += ["namespaces", _segment(namespace)]
    parts.append(resource.plural)
    if name:
        parts.append(_segment(name))
    if subresource:
        parts.append(subresource)
    return "/".join(parts)


def get(resource: Resource, key: Key, subresource: str = "", query: Mapping[str, str] = NO_QUERY) -> Request:
    return Request("GET", _path_to(resource, key, subresource), query, {"Accept": JSON})


def list_page(resource: Resource, scope: Scope, limit: int = 0, token: str = "", version: str = "") -> Request:
    """One page of a list. `token` continues where the previous page ended; `version` is only for the first page."""
    query = scope.query()
    if limit:
        query["limit"] = str(limit)
    if token:
        query["continue"] = token
    elif version:
        query["resourceVersion"] = version
    accept = f"{METADATA_LIST},{JSON}" if scope.metadata_only else JSON
    return Request("GET", path_of(resource, scope.namespace), query, {"Accept": accept})


def watch(resource: Resource, scope: Scope, version: str, timeout: int, initial_events: bool = False) -> Request:
    """A watch from `version` on; with `initial_events` the server first streams existing objects (WatchList)."""
    query = scope.query() | {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(timeout)}
    if version:
        query["resourceVersion"] = version
    if initial_events:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    accept = f"{METADATA_ITEM},{JSON}" if scope.metadata_only else JSON
    # The server ends a watch at `timeout`; one still silent well after that has lost its connection.
    return Request("GET", path_of(resource, scope.namespace), query, {"Accept": accept}, timeout=timeout + 30.0)


def create(resource: Resource, obj: Obj, on: Key | None, subresource: str, query: Mapping[str, str]) -> Request:
    """`on` is where to post if the object's own metadata does not determine it: a namespace, or a subresource's
    owner."""
    key = on or Key(Key.of(obj).namespace, "")
    path = path_of(resource, key.namespace, key.name, subresource)
    return Request("POST", path, query, _sending(JSON), _encoded(obj))


def replace(resource: Resource, obj: Obj, subresource: str, query: Mapping[str, str]) -> Request:
    path = _path_to(resource, Key.of(obj), subresource)
    return Request("PUT", path, query, _sending(JSON), _encoded(obj))


def patch(
    resource: Resource, key: Key, body: object, kind: Patch, subresource: str, query: Mapping[str, str]
) -> Request:
    path = _path_to(resource, key, subresource)
    return Request("PATCH", path, query, _sending(kind.value), _encoded(body))


def delete(resource: Resource, key: Key, options: DeleteOptions) -> Request:
    return Request("DELETE", _path_to(resource, key), NO_QUERY, _sending(JSON), options.body())


def delete_collection(resource: Resource, scope: Scope, options: DeleteOptions) -> Request:
    return Request("DELETE", path_of(resource, scope.namespace), scope.query(), _sending(JSON), options.body())


def execute(pod: Key, container: str, argv: Sequence[str]) -> Request:
    """A command in a container, without stdin; the response is a WebSocket. No shell parses the words."""
    query = {"container": container, "stdout": "true", "stderr": "true"}
    words = tuple(("command", word) for word in argv)
    return Request("GET", _path_to(PODS, pod, "exec"), query, repeated=words)


def interact(pod: Key, container: str, argv: Sequence[str], *, tty: bool) -> Request:
    """A command in a container with stdin, and a terminal if wanted, which has one stream for both outputs."""
    query = {"container": container, "stdin": "true", "stdout": "true"}
    query |= {"tty": "true"} if tty else {"stderr": "true"}
    words = tuple(("command", word) for word in argv)
    return Request("GET", _path_to(PODS, pod, "exec"), query, repeated=words)


def forward_port(pod: Key, port: int) -> Request:
    """One connection to a port of a pod; the response is a WebSocket."""
    return Request("GET", _path_to(PODS, pod, "portforward"), {"ports": str(port)})


def _path_to(resource: Resource, key: Key, subresource: str = "") -> str:
    """The path of one object. Without this check an empty name would address the whole collection."""
    if not key.name:
        raise ValueError(f"no name given for one of {resource}")
    if resource.namespaced and not key.namespace:
        raise ValueError(f'no namespace given for {resource} "{key.name}"')
    return path_of(resource, key.namespace, key.name, subresource)


def _segment(name: str) -> str:
    """A part of a path; NotFound for what no object can be called. Proxies and servers take `..` for a step up, and
    would address something else."""
    if name in (".", ".."):
        raise errors.NotFound(f'"{name}" is no name of an object', code=404, reason="NotFound")
    try:
        return quote(name, safe=":@")
    except UnicodeEncodeError:
        raise errors.NotFound("a name of an object is UTF-8 text", code=404, reason="NotFound") from None


def _encoded(body: object) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # of arguments of a program in another encoding
        raise errors.BadRequest("a text in it is not UTF-8", code=400, reason="BadRequest") from None


def _sending(media_type: str) -> dict[str, str]:
    return {"Accept": JSON, "Content-Type": media_type}
