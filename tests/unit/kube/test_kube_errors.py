# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import msgspec
import pytest

from springtide.kube import errors


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotAllowed),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (413, "RequestEntityTooLarge", errors.TooLarge),
        (415, "UnsupportedMediaType", errors.UnsupportedMediaType),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (503, "ServiceUnavailable", errors.Unavailable),
        (504, "Timeout", errors.ServerError),
        (507, "InsufficientStorage", errors.ServerError),
        (418, "Teapot", errors.ApiError),
    ],
)
def test_a_status_becomes_the_exception_of_its_reason(code: int, reason: str, expected: type[errors.ApiError]) -> None:
    status = {"kind": "Status", "code": code, "reason": reason, "message": "no", "details": {"name": "x"}}
    error = errors.from_answer(code, {}, msgspec.json.encode(status))
    assert type(error) is expected
    assert (error.code, error.reason, error.message, error.details) == (code, reason, "no", {"name": "x"})


@pytest.mark.parametrize(
    ("code", "expected"), [(404, errors.NotFound), (502, errors.ServerError), (302, errors.ApiError)]
)
@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b'{"kind": "Pod"}', b"\xff\xfe"])
def test_a_body_that_is_no_status_is_judged_by_its_code(
    code: int, expected: type[errors.ApiError], body: bytes
) -> None:
    error = errors.from_answer(code, {}, body)
    assert type(error) is expected
    assert error.message


def test_an_empty_body_still_makes_a_message() -> None:
    assert "418" in errors.from_answer(418, {}, b"").message


def test_the_time_to_wait_comes_from_the_header_or_else_from_the_details() -> None:
    status = msgspec.json.encode({"kind": "Status", "reason": "TooManyRequests", "details": {"retryAfterSeconds": 7}})
    assert errors.from_answer(429, {"Retry-After": "3"}, status).retry_after == 3
    assert errors.from_answer(429, {}, status).retry_after == 7
    assert errors.from_answer(429, {}, b"").retry_after is None


def test_causes_can_be_asked_for_by_reason() -> None:
    error = errors.from_status({"reason": "Forbidden", "details": {"causes": [{"reason": "NamespaceTerminating"}]}})
    assert error.has_cause("NamespaceTerminating")
    assert not error.has_cause("FieldManagerConflict")


@pytest.mark.parametrize(
    "status",
    [
        {"code": "abc"},
        {"code": [1]},
        {"code": 404, "details": [1]},
        {"code": 404, "details": {"causes": 3, "retryAfterSeconds": "soon"}},
        {"code": 404, "details": {"causes": ["a", {"reason": "b"}]}},
        {"code": None, "message": {"a": 1}, "reason": 7},
    ],
)
def test_a_status_of_any_shape_is_an_error_of_ours(status: dict[str, Any]) -> None:
    found = errors.from_answer(404, {}, msgspec.json.encode({"kind": "Status", **status}))
    assert isinstance(found.message, str)
    assert not found.has_cause("x")
