# SPDX-License-Identifier: Apache-2.0
"""Heads of HTTP/1.1 messages, for connections that leave HTTP after the first response.

aiohttp handles all other HTTP; an upgraded connection bypasses its parser and its writer, so the few bytes that remain
HTTP are parsed and rendered here. Pure: bytes in, bytes out.
"""

from __future__ import annotations

import http
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from springtide.serving.framing import END

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_IN_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

Headers = tuple[tuple[str, str], ...]


class BadHead(ValueError):
    """The bytes are not the head of an HTTP message."""


@dataclass(frozen=True, slots=True)
class _Fields:
    headers: Headers

    def get(self, name: str, default: str = "") -> str:
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), default)

    def listed(self, name: str) -> list[str]:
        """All values of a header that may be repeated or comma-separated."""
        wanted = name.lower()
        joined = (value.split(",") for key, value in self.headers if key.lower() == wanted)
        return [item.strip() for values in joined for item in values if item.strip()]


@dataclass(frozen=True, slots=True)
class RequestHead(_Fields):
    """The head of a request: `target` is the path with its query, as received."""

    method: str
    target: str

    @property
    def upgrade(self) -> str:
        """The protocol that the client asks to upgrade to, in lower case; empty for plain HTTP."""
        if not any(item.lower() == "upgrade" for item in self.listed("connection")):
            return ""
        return self.get("upgrade").lower()

    def render(self) -> bytes:
        return _render(f"{self.method} {self.target} HTTP/1.1", self.headers)


@dataclass(frozen=True, slots=True)
class ResponseHead(_Fields):
    status: int
    reason: str = ""

    def render(self) -> bytes:
        reason = self.reason or http.HTTPStatus(self.status).phrase
        return _render(f"HTTP/1.1 {self.status} {reason}", self.headers)


def _render(first: str, headers: Headers) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    if any("\r" in line or "\n" in line for line in lines):
        raise BadHead("a header holds a line break")
    return "\r\n".join(lines).encode("latin-1") + END


def parse_request(data: bytes) -> RequestHead:
    first, headers = _parse(data)
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise BadHead("malformed request line")
    return RequestHead(headers, parts[0], parts[1])


def parse_response(data: bytes) -> ResponseHead:
    first, headers = _parse(data)
    version, _, rest = first.partition(" ")
    code, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1.") or len(code) != 3 or not code.isdigit():
        raise BadHead("malformed status line")
    return ResponseHead(headers, int(code), reason)


def _parse(data: bytes) -> tuple[str, Headers]:
    first, *lines = data.removesuffix(END).decode("latin-1").split("\r\n")
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(name) or _NOT_IN_VALUE.search(value):
            raise BadHead("malformed header line")
        headers.append((name, value.strip(" \t")))
    return first, tuple(headers)


def plain_response(status: int, text: str, content_type: str = "text/plain; charset=utf-8") -> bytes:
    """A complete small response, after which the connection closes."""
    body = text.encode()
    headers = (("Content-Type", content_type), ("Content-Length", str(len(body))), ("Connection", "close"))
    return ResponseHead(headers, status).render() + body


def without(headers: Iterable[tuple[str, str]], names: Iterable[str]) -> Headers:
    dropped = {name.lower() for name in names}
    return tuple(pair for pair in headers if pair[0].lower() not in dropped)


def as_headers(values: Mapping[str, str]) -> Headers:
    return tuple(values.items())
