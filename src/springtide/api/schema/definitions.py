# SPDX-License-Identifier: Apache-2.0
"""The CustomResourceDefinition of a kind.

Versions are served side by side without conversion: all have the same fields, and differ only in `Version.differs`.
Metadata is left to the API server.
"""

from __future__ import annotations

from typing import Any

from springtide.api.kinds.resource import Column, Resource, Scale, Version
from springtide.api.schema.structural import Schema, merged, schema_of


def definition(resource: Resource) -> dict[str, Any]:
    names: dict[str, Any] = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
    }
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.crd_name},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced",
            "versions": [_version(resource, version) for version in resource.versions],
        },
    }


def _version(resource: Resource, version: Version) -> dict[str, Any]:
    subresources: dict[str, Any] = {"status": {}}
    if resource.scale is not None:
        subresources["scale"] = _scale(resource.scale)
    return {
        "name": version.name,
        "served": True,
        "storage": version.storage,
        "additionalPrinterColumns": [_column(column) for column in resource.columns],
        "subresources": subresources,
        "schema": {"openAPIV3Schema": _schema(resource, version)},
    }


def _schema(resource: Resource, version: Version) -> Schema:
    said = {"description": resource.description, "required": ["spec"], "properties": {}, **resource.rules}
    schema = merged(schema_of(resource.type), said)
    schema["properties"]["metadata"] = {"type": "object"}  # API servers allow nothing else for it
    for path, more in version.differs.items():
        schema = merged(schema, _below(path, more))
    return schema


def _below(path: str, said: Any) -> Schema:
    for name in reversed(path.split(".")):
        said = {"properties": {name: said}}
    return dict(said)


def _scale(scale: Scale) -> dict[str, str]:
    return {
        "specReplicasPath": scale.spec_replicas,
        "statusReplicasPath": scale.status_replicas,
        "labelSelectorPath": scale.selector,
    }


def _column(column: Column) -> dict[str, Any]:
    said: dict[str, Any] = {"description": column.description} if column.description else {}
    priority = {"priority": 1} if column.wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path} | said | priority
