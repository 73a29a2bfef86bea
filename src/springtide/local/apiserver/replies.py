# SPDX-License-Identifier: Apache-2.0
"""Responses as plain data, and content negotiation.

Clients request an object, a `Table` (kubectl get) or `PartialObjectMetadata` by the Accept header; the bytes are always
JSON (or YAML on request), which every Kubernetes client accepts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import yaml

from springtide.local.status import StatusError, not_acceptable

JSON = "application/json"
YAML = "application/yaml"
encode = msgspec.json.encode


@dataclass(slots=True)
class Reply:
    """A complete response."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Stream:
    """A streamed response: a watch, a followed log, a very long list."""

    chunks: AsyncIterator[bytes | memoryview]
    status: int = 200
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    compressible: bool = False
    """True for a long list, False for a stream that a client reads line by line."""


Answer = Reply | Stream


@dataclass(frozen=True, slots=True)
class Form:
    """The requested form: media type, and the object itself, a Table or only metadata."""

    media: str = JSON
    kind: str = ""  # "", Table, PartialObjectMetadata, PartialObjectMetadataList, APIGroupDiscoveryList
    version: str = ""
    group: str = ""


PLAIN = Form()
_CLAUSES: Final = 100
"""Clauses of an Accept header that are evaluated; clients send three."""
PARTIAL, PARTIAL_LIST = "PartialObjectMetadata", "PartialObjectMetadataList"
_known: dict[str, Form] = {}


def negotiate(accept: str) -> Form:
    """The first acceptable clause of an Accept header. Protobuf clauses are skipped: JSON follows them."""
    form = _known.get(accept)
    if form is None:
        form = _negotiate(accept)
        if len(_known) < 1000 and len(accept) < 1000:
            _known[accept] = form
    return form


def _negotiate(accept: str) -> Form:
    if not accept:
        return PLAIN
    only_protobuf, readable = True, False
    for clause in accept.split(",", _CLAUSES)[:_CLAUSES]:
        media, *parameters = [part.strip() for part in clause.split(";")]
        options = dict(part.split("=", 1) for part in parameters if "=" in part)
        if media not in (JSON, "*/*", "application/*", YAML):
            only_protobuf = only_protobuf and media == "application/vnd.kubernetes.protobuf"
            continue
        media, readable = YAML if media == YAML else JSON, True
        if "as" not in options:
            return Form(media)
        known = options["as"] in ("Table", PARTIAL, PARTIAL_LIST) and options.get("v") in ("v1", "v1beta1")
        if known and options.get("g") == "meta.k8s.io":
            return Form(media, options["as"], options["v"], "meta.k8s.io")
        if options.get("g") == "apidiscovery.k8s.io" and options.get("v") == "v2":
            return Form(media, options["as"], "v2", options["g"])
        only_protobuf = False
    if only_protobuf:
        return PLAIN  # JSON for a client that accepts only protobuf: better than 406
    raise not_acceptable([JSON, YAML, "application/vnd.kubernetes.protobuf"], known_media=readable)


def reply(obj: Any, form: Form = PLAIN, status: int = 200) -> Reply:
    return Reply(_in_media(encode(obj), form), status, form.media)


def reply_bytes(body: bytes, form: Form = PLAIN, status: int = 200) -> Reply:
    return Reply(_in_media(body, form), status, form.media)


def _in_media(body: bytes, form: Form) -> bytes:
    if form.media == YAML:
        return bytes(yaml.safe_dump(msgspec.json.decode(body), sort_keys=True, allow_unicode=True).encode())
    return body


def refusal(error: StatusError, accept: str = "") -> Reply:
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
    form = Form(YAML) if accept.startswith(YAML) else PLAIN
    return Reply(_in_media(encode(error.as_object()), form), error.code, form.media, headers)


def page_not_found() -> Reply:
    return Reply(b"404 page not found\n", 404, "text/plain; charset=utf-8")


def check_shape(form: Form, kind: str, *, is_list: bool) -> None:
    """Reject the kind for list metadata on one object, and the kind for object metadata on a list."""
    wrong = {True: (PARTIAL, "a list"), False: (PARTIAL_LIST, "not a list")}[is_list]
    if form.kind == wrong[0]:
        message = f"you requested {wrong[0]}, but the requested object is {wrong[1]} (*{kind})"
        raise StatusError(406, "NotAcceptable", message)


def success(group: str, resource: str, name: str, uid: str) -> dict[str, Any]:
    details = {"name": name} | ({"group": group} if group else {}) | {"kind": resource, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
