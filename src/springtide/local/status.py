# SPDX-License-Identifier: Apache-2.0
"""Error responses with Kubernetes' wording: every one of the embedded API server is a `StatusError`.

Clients branch on `reason` and people read `message`, so both match kube-apiserver's exactly; the contract suite
compares them. Every module in `local` may raise one; only the API server's HTTP layer serializes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from springtide.api.field_errors import MOST_ERRORS, MOST_TEXT, FieldError, cut

LONGEST_MESSAGE = 256 * 1024
LONGEST_SENTENCE = 16 * 1024
"""Maximum characters of a message that lists many problems, and of any other. kube-apiserver quotes whole objects and
queries, however large."""


class StatusError(Exception):
    """An error response: HTTP code, machine-readable reason, message and details."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        message = cut(message, LONGEST_MESSAGE)
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details = _bounded(details or {})
        self._shows_details = details is not None
        self.retry_after = retry_after
        if retry_after is not None:
            self.details["retryAfterSeconds"] = retry_after

    def as_object(self) -> dict[str, Any]:
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details or self._shows_details:
            status["details"] = self.details
        status["code"] = self.code
        return status


def _bounded(details: Mapping[str, Any]) -> dict[str, Any]:
    """The details with a limited number of causes. One more than `MOST_ERRORS`: the last cause of a validation reports
    that there are others."""
    causes = details.get("causes")
    if not isinstance(causes, list):
        return dict(details)
    room, kept = MOST_TEXT, []
    for cause in causes[: MOST_ERRORS + 1]:
        if room < 0:
            break
        room -= sum(len(str(text)) for text in cause.values()) if isinstance(cause, dict) else len(str(cause))
        kept.append(cause)
    return {**details, "causes": kept}


def qualified(group: str, resource: str) -> str:
    """A resource's name in messages: `pods`, or `mpijobs.kubeflow.org`."""
    return f"{resource}.{group}" if group else resource


def _details(group: str, kind: str, name: str = "", **more: Any) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = cut(name)
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    return details | more


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", cut(message, LONGEST_SENTENCE))


def unauthorized(hint: str = "") -> StatusError:
    return StatusError(401, "Unauthorized", f"Unauthorized: {hint}" if hint else "Unauthorized")


def forbidden(group: str, resource: str, name: str, why: str) -> StatusError:
    """`why` is the rest of the message, such as `User "x" cannot get resource ...` or a quota's complaint."""
    if name:
        message = f'{qualified(group, resource)} "{cut(name)}" is forbidden: {why}'
    else:
        message = f"{qualified(group, resource)} is forbidden: {why}" if resource else f"forbidden: {why}"
    return StatusError(403, "Forbidden", cut(message, LONGEST_SENTENCE), _details(group, resource, name))


def not_found(group: str, resource: str, name: str) -> StatusError:
    return StatusError(
        404, "NotFound", f'{qualified(group, resource)} "{cut(name)}" not found', _details(group, resource, name)
    )


def path_not_found() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> StatusError:
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def not_acceptable(offered: Sequence[str], *, known_media: bool = True) -> StatusError:
    """`known_media`: the media type is supported, but not with the requested parameters."""
    if not known_media:
        message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(offered)}"
        return StatusError(406, "NotAcceptable", message, {})
    message = f"only the following media types are accepted: {', '.join(offered)}"
    return StatusError(406, "NotAcceptable", message)


def already_exists(group: str, resource: str, name: str) -> StatusError:
    return StatusError(
        409,
        "AlreadyExists",
        f'{qualified(group, resource)} "{cut(name)}" already exists',
        _details(group, resource, name),
    )


def conflict(group: str, resource: str, name: str, why: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {qualified(group, resource)} "{cut(name)}": {why}'
    return StatusError(409, "Conflict", cut(message, LONGEST_SENTENCE), _details(group, resource, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def too_large(limit: int) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def path_too_long(limit: int) -> StatusError:
    return StatusError(414, "RequestURITooLong", f"the request's path has more than {limit} characters", {})


def too_large_by_defaults(why: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {why}")


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return StatusError(415, "UnsupportedMediaType", message)


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    unique = list(dict.fromkeys(map(str, errors)))
    text = unique[0] if len(unique) == 1 else "[" + ", ".join(unique) + "]"
    causes = [{"reason": error.reason, "message": error.message, "field": error.field} for error in errors]
    message = f'{qualified(group, kind)} "{cut(name)}" is invalid: {text}'
    return StatusError(422, "Invalid", message, _details(group, kind, name, causes=causes))


def too_many_requests(message: str, retry_after: int = 0, **details: Any) -> StatusError:
    return StatusError(429, "TooManyRequests", message, details, retry_after=retry_after or None)


def too_many_connections(user: str) -> StatusError:
    return too_many_requests(f'user "{user}" holds half of all connections; close some, or try again later', 5)


def too_many_bodies(user: str) -> StatusError:
    message = (
        f'large requests of user "{user}" hold all memory that requests of one user may take; send fewer at once, or '
        "try again later"
    )
    return too_many_requests(message, 5)


def body_timeout(seconds: float) -> StatusError:
    return StatusError(408, "Timeout", f"the request's body did not come within {seconds:.0f} seconds", {})


def internal(message: str) -> StatusError:
    message = cut(message, LONGEST_SENTENCE)
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


def unavailable(message: str, retry_after: int | None = None) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message, retry_after=retry_after)


def storage_full(message: str) -> StatusError:
    return StatusError(507, "InsufficientStorage", message)
