# SPDX-License-Identifier: Apache-2.0
"""Discovery documents, reduced to what the embedded server serves on purpose.

The real server serves dozens of kinds that nothing here would act on, and custom resources of other scenarios; what is
left after this must be equal.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from springtide.local.apiserver.registry.resources import discovery_data


@cache
def _served() -> dict[tuple[str, str], frozenset[str]]:
    """(group, version) -> resources and resource/subresource names."""
    found = {}
    for document in discovery_data():
        names = {entry["resource"] for entry in document["resources"]}
        for entry in document["resources"]:
            names |= {f"{entry['resource']}/{sub['subresource']}" for sub in entry.get("subresources", ())}
        found[document["group"], document["version"]] = frozenset(names)
    return found


def only_served(document: Any) -> Any:
    """A copy without what is not served; anything but a discovery document comes back as it is."""
    kind = document.get("kind") if isinstance(document, dict) else None
    reduce = _REDUCTIONS.get(kind or "")
    return reduce(document) if reduce is not None else document


def _resource_list(document: dict[str, Any]) -> dict[str, Any]:
    group, _, version = document["groupVersion"].rpartition("/")
    names = _served().get((group, version), frozenset())
    return {**document, "resources": [entry for entry in document["resources"] if entry["name"] in names]}


def _group(document: dict[str, Any]) -> dict[str, Any]:
    versions = [entry for entry in document["versions"] if (document["name"], entry["version"]) in _served()]
    return {**document, "versions": versions}


def _group_list(document: dict[str, Any]) -> dict[str, Any]:
    groups = sorted((_group(entry) for entry in document["groups"]), key=lambda entry: str(entry["name"]))
    return {**document, "groups": [entry for entry in groups if entry["versions"]]}


def _aggregated(document: dict[str, Any]) -> dict[str, Any]:
    items = []
    for item in document["items"]:
        group = item["metadata"].get("name", "")
        versions = [
            {**version, "resources": [_aggregated_resource(group, version["version"], r) for r in version["resources"]]}
            for version in item["versions"]
            if (group, version["version"]) in _served()
        ]
        for version in versions:
            version["resources"] = [entry for entry in version["resources"] if entry]
        if versions:
            items.append({**item, "versions": versions})
    return {**document, "items": sorted(items, key=lambda item: str(item["metadata"].get("name", "")))}


def _aggregated_resource(group: str, version: str, entry: dict[str, Any]) -> dict[str, Any] | None:
    names = _served()[group, version]
    if entry["resource"] not in names:
        return None
    if "subresources" not in entry:
        return entry
    kept = [sub for sub in entry["subresources"] if f"{entry['resource']}/{sub['subresource']}" in names]
    return {**entry, "subresources": kept}


_REDUCTIONS = {
    "APIResourceList": _resource_list,
    "APIGroup": _group,
    "APIGroupList": _group_list,
    "APIGroupDiscoveryList": _aggregated,
}
