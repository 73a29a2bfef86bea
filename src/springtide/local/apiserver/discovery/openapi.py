# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v3 documents: generated ones for built-in groups, made on request for custom resources.

Built-in documents have megabytes; they are stored and sent compressed, since every client accepts gzip. The index
contains a digest of each document. For custom resources the digest is computed from the revisions of their definitions:
making all documents for the index would take minutes in a cluster with many of them.
"""

from __future__ import annotations

import gzip
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import msgspec

from springtide.local.apiserver.encoding.objects import decode
from springtide.local.apiserver.registry.resources import Registry, openapi_file
from springtide.local.apiserver.replies import Reply
from springtide.local.apiserver.worker_thread import LIGHT_BYTES, beside
from springtide.local.store.backend import Record

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_VERBS = {"get": "get", "post": "create", "put": "update", "patch": "patch", "delete": "delete"}


class OpenApi:
    def __init__(self, registry: Registry, crds: Callable[[], Sequence[Record]]) -> None:
        self._registry, self._crds = registry, crds

    def index(self) -> dict[str, Any]:
        paths = {}
        customs = self._revisions()
        for group, version in sorted({(r.group, r.version) for r in self._registry.all()}):
            name = f"apis/{group}/{version}" if group else f"api/{version}"
            digest = _builtin_digest(group, version) or customs.get(group)
            if digest is not None:
                paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}
        return {"paths": paths}

    def _revisions(self) -> dict[str, str]:
        """A digest of the definitions of each group."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for record in self._crds():
            found[_group_of(record)].append(f"{record.key.name}/{record.revision}")
        return {group: _digest(" ".join(revisions).encode()) for group, revisions in found.items()}

    async def document(self, name: str) -> Reply | None:
        group, version = _split(name)
        file = openapi_file(group, version)
        if file.exists():
            return Reply(file.read_bytes(), headers={"Content-Encoding": "gzip"})
        if not any(r.custom for r in self._registry.all() if (r.group, r.version) == (group, version)):
            return None
        definitions = [record for record in self._crds() if _group_of(record) == group]
        heavy = sum(len(record.body) for record in definitions) > LIGHT_BYTES
        body = await beside(heavy, lambda: _packed(definitions, version))
        return Reply(body, headers={"Content-Encoding": "gzip"})


def _group_of(definition: Record) -> str:
    return definition.key.name.partition(".")[2]


def _digest(text: bytes) -> str:
    return hashlib.sha512(text).hexdigest().upper()


@cache
def _builtin_digest(group: str, version: str) -> str | None:
    file = openapi_file(group, version)
    return _digest(file.read_bytes()) if file.exists() else None


def _packed(definitions: Iterable[Record], version: str) -> bytes:
    """The document of one version of a group's custom resources, compressed."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for record in definitions:
        spec = decode(record.body)["spec"]
        for entry in spec["versions"]:
            if entry["name"] == version and entry["served"]:
                _describe(spec, entry, paths, schemas)
    schemas |= _metadata_schemas()
    document = {
        "openapi": "3.0.0",
        "info": {"title": "Springtide embedded API server", "version": version},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    return gzip.compress(msgspec.json.encode(document), 1, mtime=0)


def _split(name: str) -> tuple[str, str]:
    parts = name.split("/")
    return (
        ("", parts[1])
        if parts[0] == "api" and len(parts) == 2
        else (parts[1], parts[2])
        if len(parts) == 3
        else ("", "")
    )


def _describe(spec: dict[str, Any], entry: dict[str, Any], paths: dict[str, Any], schemas: dict[str, Any]) -> None:
    group, version, names = spec["group"], entry["name"], spec["names"]
    kind = names["kind"]
    model = ".".join([*reversed(group.split(".")), version, kind])
    gvk = {"group": group, "version": version, "kind": kind}
    schema = dict((entry.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"})
    schema["properties"] = dict(schema.get("properties") or {}) | {
        "apiVersion": {"type": "string", "description": _API_VERSION},
        "kind": {"type": "string", "description": _KIND},
        "metadata": {"allOf": [{"$ref": f"#/components/schemas/{_META}.ObjectMeta"}], "description": _METADATA},
    }
    schema["x-kubernetes-group-version-kind"] = [gvk]
    schemas[model] = schema
    base = f"/apis/{group}/{version}" + ("/namespaces/{namespace}" if spec["scope"] == "Namespaced" else "")
    reference = {"$ref": f"#/components/schemas/{model}"}
    paths[f"{base}/{names['plural']}"] = {m: _operation(m, gvk, reference) for m in ("get", "post")}
    paths[f"{base}/{names['plural']}/{{name}}"] = {
        m: _operation(m, gvk, reference) for m in ("get", "put", "patch", "delete")
    }


def _operation(method: str, gvk: dict[str, str], reference: dict[str, str]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}},
        "x-kubernetes-action": _VERBS[method],
        "x-kubernetes-group-version-kind": gvk,
    }
    if method in ("post", "put", "patch"):
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string"}}
            for name in ("dryRun", "fieldManager", "fieldValidation")
        ]
        operation["requestBody"] = {"content": {"application/json": {"schema": reference}}}
    return operation


@cache
def _metadata_schemas() -> dict[str, Any]:
    """ObjectMeta and what it refers to, from a built-in document."""
    document = msgspec.json.decode(gzip.decompress(openapi_file("coordination.k8s.io", "v1").read_bytes()))
    wanted = ("ObjectMeta", "OwnerReference", "ManagedFieldsEntry", "FieldsV1", "Time")
    return {f"{_META}.{name}": document["components"]["schemas"][f"{_META}.{name}"] for name in wanted}


_API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
    "schemas to the latest internal value, and may reject unrecognized values. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
_KIND = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the "
    "endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
_METADATA = (
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
