# SPDX-License-Identifier: Apache-2.0
"""The same life for every kind: `kinds.yaml` gives the objects, this the requests.

An entry of the file says where a kind lives and what its objects look like:

    - kind: ConfigMap
      path: /api/v1/namespaces/${ns}/configmaps
      minimal: {...}        what a user must write, and
      rich: {...}           all he can write: what the server adds to each is its defaulting
      change: {...}         a merge patch that is allowed
      status: {...}         a merge patch of the status subresource
      forbidden: {...}      merge patches that a PUT must refuse, by name
      invalid: {...}        merge patches on the rich object that a POST must refuse, by name
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.contract.apiserver.scenarios import Scenario, merged, steps_of

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
MINE = "labelSelector=judge=${ns}"


def lifecycles(described: list[dict[str, Any]]) -> Iterator[Scenario]:
    for entry in described:
        kind = entry["kind"].lower()
        yield Scenario(f"life-of-{kind}", "kinds", tuple(steps_of(_life(entry))))
        if "invalid" in entry:
            yield Scenario(f"refused-{kind}", "kinds", tuple(steps_of(_refusals(entry))))


def _object(entry: dict[str, Any], which: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"judge": "${ns}"}}
    body = {"apiVersion": entry.get("apiVersion", "v1"), "kind": entry["kind"], "metadata": metadata}
    return dict(merged(body, entry[which]))


def _names(entry: dict[str, Any]) -> tuple[str, str]:
    names = entry.get("names")
    if names:
        return names[0], names[1]
    return ("minimal", "rich") if "${ns}" in entry["path"] else ("${ns}-minimal", "${ns}-rich")


def _life(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [*_reads(entry), *_writes(entry), *_subresources(entry), *_endings(entry)]


def _reads(entry: dict[str, Any]) -> list[dict[str, Any]]:
    path, (minimal, rich) = entry["path"], _names(entry)
    return [
        {"as": "create-minimal", "do": f"POST {path}", "body": _object(entry, "minimal", minimal)},
        {"as": "create-again", "do": f"POST {path}", "body": _object(entry, "minimal", minimal)},
        {"as": "create-rich", "do": f"POST {path}", "body": _object(entry, "rich", rich)},
        {"as": "get", "do": f"GET {path}/{rich}"},
        {"as": "list", "do": f"GET {path}?{MINE}"},
        {"as": "table", "do": f"GET {path}?{MINE}", "headers": {"Accept": TABLE}},
        {"as": "table-of-one", "do": f"GET {path}/{rich}?includeObject=None", "headers": {"Accept": TABLE}},
        {"as": "partial", "do": f"GET {path}/{rich}", "headers": {"Accept": PARTIAL}},
        {"as": "partial-list", "do": f"GET {path}?{MINE}", "headers": {"Accept": PARTIAL_LIST}},
        {"as": "watch", "do": f"GET {path}?watch=1&resourceVersion=0&{MINE}", "events": 2},
    ]


def _writes(entry: dict[str, Any]) -> list[dict[str, Any]]:
    path, (minimal, rich) = entry["path"], _names(entry)
    note = {"metadata": {"annotations": {"judge/note": "changed"}}}
    patch = [
        {"op": "test", "path": "/metadata/name", "value": rich},
        {"op": "add", "path": "/metadata/labels/patched", "value": "json"},
    ]
    applied = _object(entry, "rich", rich)
    change, label = merged(note, entry.get("change", {})), {"metadata": {"labels": {"a": "b"}}}
    steps = [
        {"as": "update", "do": f"PUT {path}/{rich}", "from": "get", "change": change},
        {"as": "update-stale", "do": f"PUT {path}/{rich}", "from": "get", "change": label},
        {"as": "patch-json", "do": f"PATCH {path}/{rich}", "type": "json", "body": patch},
        {"as": "patch-merge", "do": f"PATCH {path}/{rich}", "type": "merge", "body": change},
        {"as": "patch-strategic", "do": f"PATCH {path}/{rich}", "type": "strategic", "body": entry["rich"]},
        {
            "as": "apply",
            "do": f"PATCH {path}/{rich}?fieldManager=applier&force=true",
            "type": "apply",
            "body": applied,
        },
        {"as": "apply-conflict", "do": f"PATCH {path}/{rich}?fieldManager=other", "type": "apply",
         "body": merged(applied, {"metadata": {"labels": {"judge": "${ns}-other"}}})},
        {"as": "apply-new", "do": f"PATCH {path}/{minimal}-applied?fieldManager=applier", "type": "apply",
         "body": merged(_object(entry, "minimal", f"{minimal}-applied"), {})},
    ]  # fmt: skip
    if "names" in entry:
        steps.pop()
    if "forbidden" in entry:
        steps.append({"as": "current", "do": f"GET {path}/{rich}"})
        for name, change in entry["forbidden"].items():
            step = {"as": f"forbidden:{name}", "do": f"PUT {path}/{rich}", "from": "current", "change": change}
            steps.append(step)
    return steps


def _subresources(entry: dict[str, Any]) -> list[dict[str, Any]]:
    path, (_, rich) = entry["path"], _names(entry)
    steps: list[dict[str, Any]] = []
    if "status" in entry:
        body = {"status": entry["status"]}
        steps += [
            {"as": "status-patch", "do": f"PATCH {path}/{rich}/status", "type": "merge", "body": body},
            {"as": "status-get", "do": f"GET {path}/{rich}/status"},
            {"as": "status-ignored", "do": f"PATCH {path}/{rich}", "type": "merge", "body": {"status": None}},
            {"as": "spec-ignored", "do": f"PUT {path}/{rich}/status", "from": "status-get",
             "change": {"metadata": {"resourceVersion": None, "labels": {"through": "status"}}}},
        ]  # fmt: skip
        steps += [{"as": "status-table", "do": f"GET {path}?{MINE}", "headers": {"Accept": TABLE}}]
    if entry.get("scale"):
        door = f"{path}/{rich}/scale"
        five, two, negative = ({"spec": {"replicas": count}} for count in (5, 2, -1))
        steps += [
            {"as": "scale-get", "do": f"GET {door}"},
            {"as": "scale-patch", "do": f"PATCH {door}", "type": "merge", "body": five},
            {"as": "scale-put", "do": f"PUT {door}", "from": "scale-patch", "change": two},
            {"as": "scale-stale", "do": f"PUT {door}", "from": "scale-get"},
            {"as": "scale-negative", "do": f"PATCH {door}", "type": "merge", "body": negative},
        ]
    return steps


def _endings(entry: dict[str, Any]) -> list[dict[str, Any]]:
    path, (minimal, rich) = entry["path"], _names(entry)
    foreground = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
    return [
        {"as": "delete-dry", "do": f"DELETE {path}/{minimal}?dryRun=All"},
        {"as": "delete-wrong-uid", "do": f"DELETE {path}/{minimal}",
         "body": {"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}}},
        {"as": "delete", "do": f"DELETE {path}/{minimal}"},
        {"as": "delete-again", "do": f"DELETE {path}/{minimal}"},
        {"as": "delete-foreground", "do": f"DELETE {path}/{rich}", "body": foreground},
        {"as": "get-deleted", "do": f"GET {path}/{rich}"},
        {"as": "delete-collection", "do": f"DELETE {path}?{MINE}"},
        {"as": "list-deleted", "do": f"GET {path}?{MINE}"},
    ]  # fmt: skip


def _refusals(entry: dict[str, Any]) -> list[dict[str, Any]]:
    rich = _object(entry, "rich", _names(entry)[1])
    return [{"do": f"POST {entry['path']}?dryRun=All", "base": rich, "cases": entry["invalid"]}]
