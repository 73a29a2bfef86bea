# SPDX-License-Identifier: Apache-2.0
"""Conversion of objects between stored bytes, working dict and bytes on the wire.

Most reads only prepend a prefix to the stored body. Only the metadata is decoded when a selector or a metadata-only
client needs it.
"""

from __future__ import annotations

import msgspec

from springtide.local.apiserver.encoding.pieces import PIECE, Part
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.kinds.strategy import Obj
from springtide.local.store.backend import Record

decode = msgspec.json.decode
encode = msgspec.json.encode


class Meta(msgspec.Struct):
    labels: dict[str, str] = {}
    name: str = ""
    namespace: str = ""


class Head(msgspec.Struct):
    metadata: Meta


class RawHead(msgspec.Struct):
    metadata: msgspec.Raw


_head = msgspec.json.Decoder(Head)
_raw_head = msgspec.json.Decoder(RawHead)


def labels_of(body: bytes) -> dict[str, str]:
    return _head.decode(body).metadata.labels


def raw_metadata(body: bytes) -> bytes:
    return bytes(_raw_head.decode(body).metadata)


def load(record: Record, resource: Resource) -> Obj:
    """A new working copy in the resource's own version."""
    obj: Obj = decode(record.body)
    if resource.from_storage is not None:
        obj = resource.from_storage(obj)
    return {"kind": resource.kind, "apiVersion": resource.api_version} | obj


def dump(obj: Obj, resource: Resource, revision: int) -> bytes:
    """The body to store: converted, without kind and apiVersion, with its revision."""
    body = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
    body["metadata"]["resourceVersion"] = str(revision)
    if resource.to_storage is not None:
        body = resource.to_storage(body)
        body.pop("kind", None)
        body.pop("apiVersion", None)
    return encode(body)


def shown(record: Record, resource: Resource) -> bytes:
    """The whole object as sent to clients."""
    if resource.from_storage is not None:
        return encode(load(record, resource))
    return resource.prefix + record.body[1:]


def shown_parts(record: Record, resource: Resource) -> tuple[Part, ...]:
    """`shown`, without copying a long body."""
    if resource.from_storage is not None or len(record.body) <= PIECE:
        return (shown(record, resource),)
    return resource.prefix, memoryview(record.body)[1:]


def item_parts(record: Record, resource: Resource) -> tuple[Part, ...]:
    """The object as an element of a list, without copying a long body."""
    if resource.custom:
        return shown_parts(record, resource)
    if resource.from_storage is None:
        return (record.body,)
    obj = load(record, resource)
    del obj["kind"], obj["apiVersion"]
    return (encode(obj),)
