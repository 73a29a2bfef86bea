# SPDX-License-Identifier: Apache-2.0
"""Requests as plain data.

The HTTP edge and the in-process transport both make a `Request`; the code behind them is independent of sockets.
Parsing follows kube-apiserver's RequestInfo, because RBAC verbs and error messages depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import parse_qs, unquote

from springtide.local.access.attributes import Attributes
from springtide.local.access.identity import User
from springtide.local.status import bad_request, path_too_long

MOST_PARAMETERS: Final = 10_000
"""Maximum number of query parameters: an exec request has one for each word of its command."""
_LONGEST_PATH: Final = 64 << 10
MUTATING = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Query:
    """Query parameters; the first value counts, as in Go's `url.Values.Get`. StatusError when there are too many."""

    __slots__ = ("_values", "raw")

    def __init__(self, raw: str) -> None:
        self.raw = raw
        if raw.count("&") >= MOST_PARAMETERS:
            raise bad_request(f"the query has more than {MOST_PARAMETERS} parameters")
        self._values: dict[str, list[str]] = parse_qs(raw, keep_blank_values=True) if raw else {}

    def get(self, name: str, default: str = "") -> str:
        values = self._values.get(name)
        return values[0] if values else default

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def flag(self, name: str) -> bool:
        """A boolean parameter as kube-apiserver reads it: present and not `false` or `0`."""
        values = self._values.get(name, ["false"])
        return values[0].lower() not in ("false", "0")

    def __contains__(self, name: str) -> bool:
        return name in self._values


@dataclass(slots=True)
class Request:
    method: str
    path: str  # percent-decoded per segment, without the query
    query: Query
    headers: Mapping[str, str]
    """Case-insensitive at the HTTP edge; in-process callers use canonical names."""
    user: User
    body: bytes = b""
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Target:
    """The resource named by a path. `verb` is the RBAC verb."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    """The path after the subresource: the target path of a proxy request."""
    selected: str = ""
    """The one object that the field selector of a list or watch names: permission for that name is sufficient."""

    def named(self, namespace: str, name: str) -> Target:
        return replace(self, namespace=namespace, name=name)


def attributes(target: Target) -> Attributes:
    """The attributes that RBAC evaluates."""
    name = target.name or target.selected
    return Attributes(target.verb, target.group, target.resource, target.subresource, name, target.namespace)


def split_target(raw: str) -> tuple[str, str]:
    path, _, query = raw.partition("?")
    return path, query


def check_path(raw: str) -> None:
    """StatusError when the path is longer than any valid one."""
    if len(raw) > _LONGEST_PATH:
        raise path_too_long(_LONGEST_PATH)


def parse_target(method: str, raw_path: str, query: Query) -> Target | None:
    """The resource of `/api/...` or `/apis/...`; None for every other path and for bare group paths."""
    parts = (unquote(raw_path) if "%" in raw_path else raw_path).split("/")[1:]
    if parts and parts[-1] == "":
        parts.pop()
    if parts[:1] == ["api"] and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    legacy_watch = rest[0] == "watch" and len(rest) > 1
    if legacy_watch:
        rest = rest[1:]
    target = Target("", group, version)
    if rest[0] == "namespaces" and len(rest) >= 3 and not (len(rest) == 3 and rest[2] in ("status", "finalize")):
        target.namespace, rest = rest[1], rest[2:]
    elif rest[0] == "namespaces" and len(rest) >= 2:
        target.namespace = rest[1]
    target.resource = rest[0]
    target.name = rest[1] if len(rest) > 1 else ""
    target.subresource = rest[2] if len(rest) > 2 else ""
    target.rest = "/".join(rest[3:]) + ("/" if len(rest) > 3 and raw_path.endswith("/") else "")
    target.verb = _verb(method, target, query, legacy_watch)
    if target.verb in ("list", "watch") and not target.name:
        target.selected = _selected(query.get("fieldSelector"))
    return target


def _selected(selector: str) -> str:
    for term in selector.split(","):
        field, equals, name = term.partition("=")
        if field == "metadata.name" and equals:
            return name.removeprefix("=")
    return ""


def _verb(method: str, target: Target, query: Query, legacy_watch: bool) -> str:
    if method in ("GET", "HEAD"):
        if legacy_watch:
            return "watch"
        if target.name:
            return "get"
        return "watch" if query.flag("watch") else "list"
    verb = MUTATING.get(method, "")
    return "deletecollection" if verb == "delete" and not target.name else verb
