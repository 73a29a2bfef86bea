# SPDX-License-Identifier: Apache-2.0
"""Discovery documents, in the aggregated and in the older form."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

from springtide.local.apiserver.registry.resources import Resource, Subresource

Document = dict[str, Any]


def version_order(version: str) -> tuple[int, int, int, str]:
    """Kubernetes' order of versions: GA before beta before alpha, newest first, other names last."""
    rest = version[1:] if version.startswith("v") else ""
    for stage, rank in (("alpha", 2), ("beta", 1)):
        major, found, minor = rest.partition(stage)
        if found and major.isdigit() and (minor.isdigit() or not minor):
            return (rank, -int(major), -int(minor or 0), "")
    return (0, -int(rest), 0, "") if rest.isdigit() else (3, 0, 0, version)


def grouped(resources: Iterable[Resource]) -> dict[str, dict[str, list[Resource]]]:
    """group -> version in order of preference -> resources by name."""
    groups: dict[str, dict[str, list[Resource]]] = {}
    for resource in resources:
        groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    return {
        group: {
            version: sorted(versions[version], key=lambda resource: resource.plural)
            for version in sorted(versions, key=version_order)
        }
        for group, versions in groups.items()
    }


def aggregated(resources: Iterable[Resource]) -> Document:
    items = []
    for group, versions in grouped(resources).items():
        entries = [
            {"version": version, "resources": [_aggregated_resource(r) for r in found], "freshness": "Current"}
            for version, found in versions.items()
        ]
        items.append({"metadata": {"name": group} if group else {}, "versions": entries})
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated_resource(resource: Resource) -> Document:
    document: Document = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, "", "", resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource),
    }
    if resource.short_names:
        document["shortNames"] = list(resource.short_names)
    if resource.categories:
        document["categories"] = list(resource.categories)
    if resource.subresources:
        document["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(resource, sub.group, sub.version, sub.kind),
                "verbs": sorted(sub.verbs),
            }
            for sub in resource.subresources.values()
        ]
    return document


_CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]


def _verbs(resource: Resource) -> list[str]:
    return _CUSTOM_VERBS if resource.custom else sorted(resource.verbs)


def _response_kind(resource: Resource, group: str, version: str, kind: str) -> Document:
    """The response kind of a resource; for a built-in kind in the resource's own group without group and version."""
    if resource.custom and not version:
        group, version = resource.group, resource.version
    return {"group": group, "version": version, "kind": kind}


def storage_hash(resource: Resource) -> str:
    """Hash by which clients cache; it changes when objects are stored in another version."""
    group = "" if resource.plural == "events" else resource.group
    text = f"{group}/{resource.storage_version or resource.version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def api_versions(address: str) -> Document:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(resources: Iterable[Resource]) -> Document:
    groups = [_group(group, versions) for group, versions in grouped(resources).items() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def one_group(resources: Iterable[Resource], group: str) -> Document | None:
    versions = grouped(resources).get(group)
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(group, versions) if versions and group else None


def _group(group: str, versions: Iterable[str]) -> Document:
    entries = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def resource_list(resources: Iterable[Resource], group: str, version: str) -> Document | None:
    found = grouped(resources).get(group, {}).get(version)
    if not found:
        return None
    entries: list[Document] = []
    for resource in found:
        entry: Document = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": _verbs(resource),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        if "list" in resource.verbs and resource.group != "metrics.k8s.io":
            entry["storageVersionHash"] = storage_hash(resource)
        entries.append(entry)
        entries.extend(_legacy_subresource(resource, sub) for sub in resource.subresources.values())
    head: Document = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    return head | {"groupVersion": f"{group}/{version}" if group else version, "resources": entries}


def _legacy_subresource(resource: Resource, sub: Subresource) -> Document:
    entry: Document = {"name": f"{resource.plural}/{sub.name}", "singularName": "", "namespaced": resource.namespaced}
    if sub.group:
        entry |= {"group": sub.group, "version": sub.version}
    return entry | {"kind": sub.kind, "verbs": sorted(sub.verbs)}
