# SPDX-License-Identifier: Apache-2.0
"""The errors of an API server: one exception class for each reaction of a caller.

Classes follow the machine-readable `reason` of a Kubernetes `Status`, and the HTTP code if there is none. Each has
`code`, `reason`, `message`, `details` and `retry_after` (seconds, or None). Nothing here does I/O.

    ApiError
    ├── BadRequest              ├── Conflict            ├── Unreachable: no answer at all
    ├── Unauthorized            ├── AlreadyExists       ├── TooManyRequests
    ├── Forbidden               ├── Invalid             └── ServerError
    ├── NotFound                ├── TooLarge                ├── Unavailable
    ├── MethodNotAllowed        ├── UnsupportedMediaType    └── Malformed
    └── Expired: list again (HTTP 410, reason Expired or Gone)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")
_LONGEST: Final = 1024
"""Bytes of a message."""
_LONGEST_QUOTE: Final = 80


class ApiError(Exception):
    """A response other than success."""

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.reason = message, code, reason
        self.details: dict[str, Any] = dict(details or {})
        self.retry_after = retry_after

    @property
    def causes(self) -> list[dict[str, str]]:
        """For `Invalid`: one entry per wrong field, with `field`, `reason` and `message`."""
        found = self.details.get("causes")
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def has_cause(self, reason: str) -> bool:
        return any(cause.get("reason") == reason for cause in self.causes)


class BadRequest(ApiError):
    """The request is malformed; a retry cannot help."""


class Unauthorized(ApiError):
    """The credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """The user lacks the right, or a quota or an admission controller rejects the request."""


class NotFound(ApiError):
    """No such object, or no such resource type."""


class MethodNotAllowed(ApiError):
    """The resource does not support this verb."""


class Conflict(ApiError):
    """Another client changed the object first, or owns the applied field: read and decide again."""


class AlreadyExists(ApiError):
    """The name is taken. With deterministic names this usually means that the object was created before."""


class Expired(ApiError):
    """That resourceVersion is no longer available; list again."""


class Invalid(ApiError):
    """The object violates its schema or rules; `causes` names the fields."""


class TooLarge(ApiError):
    """The body is larger than the server accepts."""


class UnsupportedMediaType(ApiError):
    """The server does not accept this media type or kind of patch for this resource."""


class TooManyRequests(ApiError):
    """The rate limit is exceeded, or (for an eviction) a disruption budget forbids it now."""


class ServerError(ApiError):
    """The server failed; a retry may succeed."""


class Unavailable(ServerError):
    """The server, or something it depends on, is not ready."""


class Malformed(ServerError):
    """The response says success, but is none of a Kubernetes API: of a login page, for instance."""


class Unreachable(ApiError):
    """No response: refused, reset, timed out, bad certificate. The request may or may not have been carried out."""


_BY_REASON: dict[str, type[ApiError]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "MethodNotAllowed": MethodNotAllowed,
    "Conflict": Conflict,
    "AlreadyExists": AlreadyExists,
    "Expired": Expired,
    "Gone": Expired,
    "Invalid": Invalid,
    "RequestEntityTooLarge": TooLarge,
    "UnsupportedMediaType": UnsupportedMediaType,
    "TooManyRequests": TooManyRequests,
    "ServerTimeout": ServerError,
    "Timeout": ServerError,
    "InternalError": ServerError,
    "ServiceUnavailable": Unavailable,
}

_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Expired,
    413: TooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    503: Unavailable,
}


def from_status(status: Mapping[str, Any], retry_after: float | None = None) -> ApiError:
    """The exception for a decoded `Status` object, such as the one in a watch's ERROR event."""
    given, reason = status.get("code"), str(status.get("reason") or "")
    code = given if isinstance(given, int) else 0
    details = found if isinstance(found := status.get("details"), dict) else {}
    wait = details.get("retryAfterSeconds")
    if retry_after is None and wait and isinstance(wait, int | float):
        retry_after = float(wait)
    message = str(status.get("message") or reason or f"the server answered {code}")
    return _class_for(code, reason)(message, code=code, reason=reason, details=details, retry_after=retry_after)


def from_answer(code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The exception for an HTTP response that is not a success, whatever its body."""
    retry_after = _seconds(headers.get("Retry-After", ""))
    try:
        status = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return from_status({**status, "code": status.get("code") or code}, retry_after)
    # From a proxy or a plain handler, not from Kubernetes: the body is the message.
    message = body[:_LONGEST].decode(errors="replace").strip() or f"the server answered {code}"
    return _class_for(code, "")(message, code=code, retry_after=retry_after)


def decoded(body: bytes | msgspec.Raw, type_: type[T]) -> T:
    """The body of a response of success; Malformed if it is none of this type."""
    try:
        return msgspec.json.decode(body, type=type_)
    except (msgspec.MsgspecError, RecursionError) as error:
        begin = " ".join(bytes(body)[:_LONGEST_QUOTE].decode(errors="replace").split())
        raise Malformed(f"the server's answer is none of a Kubernetes API ({error}): {begin}") from None


def _class_for(code: int, reason: str) -> type[ApiError]:
    found = _BY_REASON.get(reason) or _BY_CODE.get(code)
    if found is None:
        found = ServerError if code >= 500 else ApiError
    return found


def _seconds(value: str) -> float | None:
    return float(value) if value.isdecimal() else None
