# SPDX-License-Identifier: Apache-2.0
"""Answers as plain data, and the choice of their form.

Clients ask for an object, a `Table` (kubectl get) or `PartialObjectMetadata` by the Accept header; bytes are always
JSON (or YAML when asked), which every Kubernetes client accepts.
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
    """A complete answer."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Stream:
    """An answer that goes on: a watch, a followed log, a very long list."""

    chunks: AsyncIterator[bytes | memoryview]
    status: int = 200
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    compressible: bool = False
    """A long list is; what a reader waits for line by line is not."""


Answer = Reply | Stream


@dataclass(frozen=True, slots=True)
class Form:
    """What the client wants to see: media type, and whether as itself, as a Table or as metadata alone."""

    media: str = JSON
    kind: str = ""  # "", Table, PartialObjectMetadata, PartialObjectMetadataList, APIGroupDiscoveryList
    version: str = ""
    group: str = ""


PLAIN = Form()
_CLAUSES: Final = 100
"""Of an Accept header that are looked at; clients send three."""
PARTIAL, PARTIAL_LIST = "PartialObjectMetadata", "PartialObjectMetadataList"
_known: dict[str, Form] = {}


def negotiate(accept: str) -> Form:
    """The first acceptable clause of an Accept header. Protobuf clauses are passed over: JSON follows them."""
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
        return PLAIN  # JSON to a client that asked for protobuf alone: readable beats refused
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
    """Metadata of a list is asked for by another name than that of one object."""
    wrong = {True: (PARTIAL, "a list"), False: (PARTIAL_LIST, "not a list")}[is_list]
    if form.kind == wrong[0]:
        message = f"you requested {wrong[0]}, but the requested object is {wrong[1]} (*{kind})"
        raise StatusError(406, "NotAcceptable", message)


def success(group: str, resource: str, name: str, uid: str) -> dict[str, Any]:
    details = {"name": name} | ({"group": group} if group else {}) | {"kind": resource, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
