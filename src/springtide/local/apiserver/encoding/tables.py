# SPDX-License-Identifier: Apache-2.0
"""The form `Table`, which `kubectl get` requests for every kind, and objects reduced to their metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from springtide.local.apiserver.encoding.objects import decode, encode, load, raw_metadata, shown
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.kinds.strategy import Column
from springtide.local.status import bad_request
from springtide.local.store.backend import Record

_PLAIN_COLUMNS = (
    Column(
        "Name",
        "string",
        "name",
        "Name must be unique within a namespace. Is required when creating resources, although some resources may "
        "allow a client to request the generation of an appropriate name automatically. Name is primarily intended "
        "for creation idempotence and configuration definition. Cannot be updated. More info: "
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    ),
    Column(
        "Created At",
        "date",
        "",
        "CreationTimestamp is a timestamp representing the server time when this object was created. It is not "
        "guaranteed to be set in happens-before order across separate operations. Clients may not set this value. "
        "It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. "
        "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    ),
)


def include_object(policy: str) -> str:
    if policy not in ("", "None", "Metadata", "Object"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{policy}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return policy or "Metadata"


def definitions(resource: Resource) -> list[dict[str, Any]]:
    columns = resource.strategy.columns or _PLAIN_COLUMNS
    return [
        {"name": c.name, "type": c.type, "format": c.format, "description": c.description, "priority": c.priority}
        for c in columns
    ]


def row(record: Record, resource: Resource, now: str, policy: str, version: str = "v1") -> dict[str, Any]:
    obj = load(record, resource)
    cells = resource.strategy.cells
    values = list(cells(obj, now)) if cells is not None else _plain_cells(obj["metadata"])
    found: dict[str, Any] = {"cells": values, "object": None}
    if policy == "Object":
        found["object"] = msgspec.Raw(shown(record, resource))
    elif policy == "Metadata":
        found["object"] = msgspec.Raw(partial(record, version))
    return found


def _plain_cells(meta: dict[str, Any]) -> list[Any]:
    return [meta["name"], meta["creationTimestamp"]]


def parts(records: Iterable[Record], resource: Resource, now: str, policy: str, **frame: Any) -> Iterator[bytes]:
    """`frame`: `metadata` of the list, `version` of the Table kind, `columns` False for later watch events."""
    version = frame.get("version", "v1")
    document: dict[str, Any] = {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": frame.get("metadata", {}),
        "columnDefinitions": definitions(resource) if frame.get("columns", True) else None,
    }
    yield encode(document)[:-1] + b',"rows":['
    for index, record in enumerate(records):
        if index:
            yield b","
        yield encode(row(record, resource, now, policy, version))
    yield b"]}"


def partial(record: Record, version: str = "v1") -> bytes:
    prefix = f'{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/{version}","metadata":'.encode()
    return prefix + raw_metadata(record.body) + b"}"


def version_of(record: Record) -> str:
    version: str = decode(raw_metadata(record.body)).get("resourceVersion", "")
    return version
