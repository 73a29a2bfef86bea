# SPDX-License-Identifier: Apache-2.0
"""Decoding of request bodies: JSON, YAML or protobuf to a typed working object."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import yaml

from springtide.api import field_errors as field
from springtide.local.apiserver.context import Call
from springtide.local.apiserver.encoding import bounds, go_json
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.apiserver.replies import JSON, YAML
from springtide.local.apiserver.requests import Request
from springtide.local.kinds.strategy import Obj
from springtide.local.schema import builtin
from springtide.local.schema.duplicates import duplicate_fields
from springtide.local.status import StatusError, bad_request, invalid, unsupported_media_type
from springtide.local.wire import protobuf

PROTOBUF = "application/vnd.kubernetes.protobuf"


def media_type(request: Request) -> str:
    given = request.headers.get("Content-Type", "")
    return given.split(";", 1)[0].strip().lower() or given or JSON


def read_plain(request: Request, what: str) -> tuple[Any, list[str]]:
    """The decoded body and its duplicate keys. `what` is the expected kind, for messages."""
    media = media_type(request)
    if media == JSON:
        return parse_json(request.body, what)
    if media == PROTOBUF:
        return protobuf.decode(request.body), []
    if media == YAML:
        return _parse_yaml(request.body, what), []
    raise unsupported_media_type([JSON, YAML, PROTOBUF])


def parse_json(body: bytes, what: str) -> tuple[Any, list[str]]:
    try:
        return decoded(body)
    except go_json.NotJsonError as error:
        raise _unreadable(body, what, str(error)) from None


def decoded(body: bytes) -> tuple[Any, list[str]]:
    """A JSON body and its duplicate keys; NotJsonError with Go's message."""
    try:
        bounds.check_size(body)
    except bounds.TooMuch as error:
        if str(error) == bounds.TOO_DEEP:
            raise go_json.NotJsonError(bounds.TOO_DEEP) from None
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {error}") from None
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return go_json.parse(body), []
    try:
        bounds.check_json(body, value)
        return value, duplicate_fields(body, value)
    except (RecursionError, bounds.TooMuch):
        raise go_json.NotJsonError(bounds.TOO_DEEP) from None


def read_yaml(body: bytes, what: str) -> tuple[Any, list[str]]:
    """YAML or JSON: most clients send JSON, which is parsed a hundred times faster than YAML."""
    if body[:1] == b"{":
        return parse_json(body, what)
    return _parse_yaml(body, what), []


def _parse_yaml(body: bytes, what: str) -> Any:
    try:
        return json.loads(json.dumps(bounds.load_yaml(body), default=str))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError, TypeError) as error:
        raise _unrecognised(body, what, f"yaml: {' '.join(str(error).split())}") from None


def _unreadable(body: bytes, what: str, why: str) -> StatusError:
    text = f"couldn't get version/kind; json parse error: {why}"
    if what == "DeleteOptions":  # kube-apiserver uses another decoder here, with a shorter message
        return bad_request(text)
    return _unrecognised(body, what, text)


def _unrecognised(body: bytes, what: str, text: str) -> StatusError:
    shown = go_json.summary(body)
    return bad_request(f"the object provided is unrecognized (must be of type {what}): {text} ({shown})")


def read_object(call: Call, validation: str) -> Obj:
    """The object of a create or update: of the resource's own kind, unknown fields handled."""
    value, duplicates = read_plain(call.request, call.resource.kind)
    if value is None:
        value = {}
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {go_json.kind_of(value)} into Go value of type {go_json.HEAD}"
        raise _unreadable(call.request.body, call.resource.kind, why)
    for name in ("kind", "apiVersion"):
        if not isinstance(value.get(name), str | None):
            why = f"json: cannot unmarshal {go_json.kind_of(value[name])} into Go struct field .{name} of type string"
            raise _unreadable(call.request.body, call.resource.kind, why)
        if call.resource.custom and not value.get(name):
            what = "Kind" if name == "kind" else name
            why = f"Object '{what}' is missing in '{call.request.body.decode('utf-8', 'replace')}'"
            raise _unrecognised(call.request.body, call.resource.kind, why)
    check_kind(value, call.resource)
    return typed(call, value, validation, duplicates)


def typed(call: Call, value: Obj, validation: str, duplicates: list[str]) -> Obj:
    """Drop unknown fields and report them as `fieldValidation` requires."""
    resource = call.resource
    if value.get("metadata") is None:
        value["metadata"] = {}
    value, unknown = resource.codec.decode(value)
    complaints = [f'unknown field "{path}"' for path in unknown] + [f'duplicate field "{path}"' for path in duplicates]
    speak_of(call, complaints, validation)
    return value


def speak_of(call: Call, complaints: list[str], validation: str) -> None:
    resource = call.resource
    if complaints and validation == "Strict":
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {', '.join(complaints)}"
        )
    if complaints and validation == "Warn":
        call.request.warnings.extend(complaints)


def check_kind(value: Obj, resource: Resource) -> None:
    kind = value.setdefault("kind", resource.kind) or resource.kind
    api_version = value.setdefault("apiVersion", resource.api_version) or resource.api_version
    if kind != resource.kind or api_version != resource.api_version:
        if resource.custom and api_version != resource.api_version:
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({resource.api_version})"
            )
        if resource.custom:
            name = (value.get("metadata") or {}).get("name", "")
            error = field.invalid("kind", kind, f"must be {resource.kind}")
            raise invalid(resource.group, kind, name, [error])
        raise bad_request(
            f'{kind} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {resource.kind}: '
            f"{_no_conversion(kind, api_version, resource)}"
        )
    value["kind"], value["apiVersion"] = kind, api_version


def _no_conversion(kind: str, api_version: str, resource: Resource) -> str:
    group, _, version = api_version.rpartition("/")
    if f"{group}/{version}/{kind}" in builtin.kinds():
        return f"converting ({version}.{kind}) to ({resource.go_type}): unknown conversion"
    return not_registered(kind, api_version)


def not_registered(kind: str, api_version: str) -> str:
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
