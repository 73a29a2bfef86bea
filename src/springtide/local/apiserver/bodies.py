# SPDX-License-Identifier: Apache-2.0
"""Request bodies: JSON, YAML or protobuf in, a typed working object out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import yaml

from springtide.local.apiserver.context import Call
from springtide.local.apiserver.replies import JSON, YAML
from springtide.local.apiserver.requests import Request
from springtide.local.apiserver.resources import Resource
from springtide.local.kinds.strategy import Obj
from springtide.local.schema.duplicates import duplicate_fields
from springtide.local.status import StatusError, bad_request, unsupported_media_type
from springtide.local.wire import protobuf

PROTOBUF = "application/vnd.kubernetes.protobuf"


def media_type(request: Request) -> str:
    return request.headers.get("Content-Type", "").split(";", 1)[0].strip().lower() or JSON


def read_plain(request: Request, what: str) -> tuple[Any, list[str]]:
    """The decoded body and its duplicate keys. `what` names the expected kind for messages."""
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
        value = msgspec.json.decode(body)
        return value, duplicate_fields(body, value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(body, what, str(error)) from None


def read_yaml(body: bytes, what: str) -> tuple[Any, list[str]]:
    """YAML, of which JSON is a part: most clients send JSON, which is parsed a hundred times faster."""
    if body[:1] == b"{":
        return parse_json(body, what)
    return _parse_yaml(body, what), []


def _parse_yaml(body: bytes, what: str) -> Any:
    try:
        return json.loads(json.dumps(yaml.safe_load(body), default=str))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError, TypeError) as error:
        raise _unreadable(body, what, " ".join(str(error).split())) from None


def _unreadable(body: bytes, what: str, why: str) -> StatusError:
    shown = body[:128].decode("utf-8", "replace")
    return bad_request(
        f"the object provided is unrecognized (must be of type {what}): "
        f"couldn't get version/kind; json parse error: {why} ({shown})"
    )


def read_object(call: Call, validation: str) -> Obj:
    """The object of a create or update, of the resource's own kind and with its unknown fields dealt with."""
    value, duplicates = read_plain(call.request, call.resource.kind)
    if not isinstance(value, dict):
        raise _unreadable(call.request.body, call.resource.kind, f"cannot unmarshal {_go_type(value)} into an object")
    check_kind(value, call.resource)
    return typed(call, value, validation, duplicates)


def typed(call: Call, value: Obj, validation: str, duplicates: list[str]) -> Obj:
    """Drops unknown fields and speaks of them as `fieldValidation` says."""
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
        if resource.custom:
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({resource.api_version})"
                if api_version != resource.api_version
                else f"the kind in the data ({kind}) does not match the expected kind ({resource.kind})"
            )
        raise bad_request(
            f'{kind} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {resource.kind}: '
            f"the body must be a {resource.kind} of {resource.api_version}"
        )
    value["kind"], value["apiVersion"] = kind, api_version


def _go_type(value: Any) -> str:
    return {list: "array", str: "string", bool: "bool", type(None): "null"}.get(type(value), "number")
